package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestFindPaths(t *testing.T) {
	t.Parallel()
	root, home := t.TempDir(), t.TempDir()
	tests := []struct {
		name string
		vars map[string]string
		want string
	}{
		{"home", map[string]string{"HOME": home}, filepath.Join(home, ".local", "state", "grapnel")},
		{"XDG", map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "x")}, filepath.Join(home, "x", "grapnel")},
		{"XDG must be absolute", map[string]string{"HOME": home, "XDG_STATE_HOME": "x"}, filepath.Join(home, ".local", "state", "grapnel")},
		{"GRAPNEL_HOME wins", map[string]string{"HOME": home, "XDG_STATE_HOME": "/x", "GRAPNEL_HOME": filepath.Join(home, "g")}, filepath.Join(home, "g")},
		{"without a home", map[string]string{"GRAPNEL_HOME": filepath.Join(home, "h")}, filepath.Join(home, "h")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := app.FindPaths(root, env(tt.vars))
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.State)
			assert.Equal(t, filepath.Join(tt.want, "conversations.db"), p.Conversations)
			assert.Equal(t, filepath.Join(tt.want, "memory.db"), p.Memories)
			info, err := os.Stat(tt.want)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
			entries, err := os.ReadDir(tt.want)
			require.NoError(t, err)
			assert.Empty(t, entries, "nothing is left of the probe")
		})
	}
}

func TestFindPathsRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tests := []struct {
		name, dir string
		vars      map[string]string
		want      string
	}{
		{"no directory", filepath.Join(dir, "none"), nil, "there is no directory " + filepath.Join(dir, "none") + "; make it, or name another one with --dir"},
		{"a file", file, nil, file + " is no directory; name one with --dir"},
		{"nowhere to write", dir, nil, "there is no place for the databases: set HOME, or GRAPNEL_HOME to a directory of its own"},
		{"below a file", dir, map[string]string{"GRAPNEL_HOME": filepath.Join(file, "x")},
			"the state directory " + filepath.Join(file, "x") + " cannot be written: not a directory; set GRAPNEL_HOME to one that can"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := app.FindPaths(tt.dir, env(tt.vars))
			assert.EqualError(t, err, tt.want)
		})
	}
}

func TestProjectIsWhereLinksLead(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	link := filepath.Join(state, "link")
	require.NoError(t, os.Symlink(dir, link))
	p, err := app.FindPaths(link, env(map[string]string{"GRAPNEL_HOME": filepath.Join(state, "s"), "HOME": state}))
	require.NoError(t, err)
	assert.Equal(t, real, p.Root)
	assert.Equal(t, filepath.Join("a", "b"), p.Short(filepath.Join(real, "a", "b")))
	assert.Equal(t, filepath.Join("~", "x"), p.Short(filepath.Join(state, "x")))
	assert.Equal(t, "/etc/x", p.Short("/etc/x"))
	demo, err := p.In("demo")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(state, "s", "demo", "memory.db"), demo.Memories)
	assert.DirExists(t, demo.State)
}
