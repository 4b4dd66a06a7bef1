package guard

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMoveToAnotherFileSystem: what is moved away to another file system is there whole, without what has no content; what cannot be
// copied stays under a name that nothing runs, and is no repository.
func TestMoveToAnotherFileSystem(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	quarantine, err := os.MkdirTemp("/dev/shm", "quarantine")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(quarantine) })
	g, err := New(Options{Project: project, Quarantine: quarantine, Once: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, g.Close()) })
	before, err := g.Look()
	require.NoError(t, err)

	make := func(dir string) {
		for _, sub := range []string{"objects", "refs", "hooks"} {
			require.NoError(t, os.MkdirAll(filepath.Join(project, dir, sub), 0o700))
		}
		require.NoError(t, os.WriteFile(filepath.Join(project, dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(project, dir, "config"), []byte("[core]\n\tfsmonitor = x\n"), 0o400))
	}
	make("a/.git")
	require.NoError(t, syscall.Mkfifo(filepath.Join(project, "a/.git/pipe"), 0o600))
	require.NoError(t, os.Symlink("HEAD", filepath.Join(project, "a/.git/link")))
	require.NoError(t, os.Chmod(filepath.Join(project, "a/.git/hooks"), 0))
	require.NoError(t, os.WriteFile(filepath.Join(project, ".envrc"), []byte("x"), 0))
	moved := g.Clean(before)
	require.Len(t, moved, 2)
	var git string
	for _, m := range moved {
		if m.Path == "a/.git" {
			git = m.To
		}
		assert.True(t, strings.HasPrefix(m.To, quarantine), m.To)
		assert.NoFileExists(t, filepath.Join(project, m.Path))
	}
	text, err := os.ReadFile(filepath.Join(git, "link"))
	require.NoError(t, err)
	assert.Equal(t, "ref: refs/heads/main\n", string(text))
	assert.NoFileExists(t, filepath.Join(git, "pipe"))

	make("b/.git")
	long := filepath.Join(project, "b/.git")
	for range 30 { // deeper than a path of the kernel may be long, once it lies in the quarantine
		long = filepath.Join(long, strings.Repeat("x", 120))
	}
	require.NoError(t, os.MkdirAll(long, 0o700))
	g.o.Quarantine = filepath.Join(quarantine, strings.Repeat("y", 200), strings.Repeat("y", 200), strings.Repeat("y", 200))
	require.NoError(t, os.MkdirAll(g.o.Quarantine, 0o700))
	moved = g.Clean(before)
	require.Len(t, moved, 1)
	assert.Equal(t, project, filepath.Dir(moved[0].To), "it could not be copied")
	assert.NoFileExists(t, filepath.Join(moved[0].To, "HEAD"))
	assert.FileExists(t, filepath.Join(moved[0].To, "HEAD.quarantine"))
	entries, err := os.ReadDir(g.o.Quarantine)
	require.NoError(t, err)
	assert.Empty(t, entries, "half a copy")
}
