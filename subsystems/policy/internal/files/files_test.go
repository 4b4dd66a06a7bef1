package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/files"
)

// twins makes files, each with its name in other case as a second name of the same file. A directory with them answers as one
// on a file system that does not tell case apart.
func twins(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for i := 0; i < len(names); i += 2 {
		path := filepath.Join(root, names[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		if err := os.Link(path, filepath.Join(root, names[i+1])); err != nil { // it has the other name already
			require.ErrorIs(t, err, os.ErrExist)
		}
	}
	return filepath.ToSlash(root)
}

func TestFoldsCase(t *testing.T) {
	t.Parallel()
	folding, telling := twins(t, ".env", ".ENV", "a/b", "a/B"), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(telling, "dir"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(telling, "a"), nil, 0o644))
	if _, err := os.Stat(filepath.Join(telling, "A")); err == nil {
		assert.True(t, files.FoldsCase(telling, telling+"/A"), "the machine's own files")
		return
	}
	require.NoError(t, os.WriteFile(filepath.Join(telling, "A"), nil, 0o644))
	telling = filepath.ToSlash(telling)
	for path, want := range map[string]bool{
		folding + "/.env": true, folding + "/.ENV": true, folding + "/a/B": true,
		folding + "/a/new": true, folding + "/a/123": true,
		telling + "/a": false, telling + "/A": false, telling + "/new": false, telling + "/dir/new/file": false, telling + "/123": false,
		telling: false, "/": false,
	} {
		root := folding
		if len(path) >= len(telling) && path[:len(telling)] == telling {
			root = telling
		}
		assert.Equal(t, want, files.FoldsCase(root, path), path)
	}
	empty := filepath.ToSlash(t.TempDir())
	assert.False(t, files.FoldsCase(empty, empty+"/.ENV"), "nothing is there to ask with but the directory's own name")
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{".ENV", ".env"}, {"\u212aey", "key"}, {"Ä", "ä"}, {"\u017fecret", "SECRET"}, {"[A-Z]*", "[a-z]*"}} {
		assert.Equal(t, files.Fold(pair[0]), files.Fold(pair[1]))
	}
}

func TestRunsCode(t *testing.T) {
	t.Parallel()
	root := filepath.ToSlash(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Join(root, "bare.git", "hooks"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "bare.git", "HEAD"), nil, 0o644))
	for path, want := range map[string]string{
		root + "/bare.git/config": "git takes the repository from its directory", root + "/bare.git/hooks/update": "git takes the repository from its directory",
		root + "/other/hooks/update": "", root + "/config": "", root + "/bare.git/description": "", root: "",
		root + "/new/HEAD": "git may take its directory for a repository", root + "/.git/HEAD": "", root + "/.git/hooks/x": "git runs its hooks",
		"/home/a/.envrc": "shells run it", "/etc/passwd": "",
	} {
		assert.Equal(t, want, files.RunsCode(root, path), path)
	}
	assert.Equal(t, "shells run it", files.RunsCode("", "/a/.envrc"))
	hidden := root + "/.claude/worktrees/x"
	assert.Empty(t, files.RunsCode(hidden, hidden+"/main.go"), "what is above the project does not count")
}
