package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

// TestPrune: what is old and what a killed program left goes; what is in use stays.
func TestPrune(t *testing.T) {
	t.Parallel()
	d, err := openDirs(filepath.Join(t.TempDir(), "state"), "/project")
	require.NoError(t, err)
	long := time.Now().Add(-kept - time.Hour)
	aged := func(parts ...string) string {
		path := filepath.Join(parts...)
		require.NoError(t, os.MkdirAll(path, 0o700))
		require.NoError(t, os.Chtimes(path, long, long))
		return path
	}
	held, err := d.take(false)
	require.NoError(t, err)
	require.NoError(t, held.makeLayers())
	for _, c := range tools.Caches() {
		upper, _ := held.layer(c.Name)
		require.NoError(t, os.Chtimes(upper, long, long))
	}
	other, left := aged(d.layers, "7", "npm", "upper"), aged(d.layers, "extra-1")
	oldFile, newFile := aged(d.temp, "old"), filepath.Join(d.temp, "new")
	require.NoError(t, os.Mkdir(newFile, 0o700))
	d.prune(time.Now().Add(-kept))
	assert.NoDirExists(t, other)
	assert.NoDirExists(t, left)
	assert.NoDirExists(t, oldFile)
	assert.DirExists(t, newFile)
	assert.DirExists(t, held.dir)
	held.free()
	d.prune(time.Now().Add(-kept))
	assert.NoDirExists(t, held.dir)
}

// TestExtraLayers: when all sets are held, a process gets one of its own, which ends with it.
func TestExtraLayers(t *testing.T) {
	t.Parallel()
	d, err := openDirs(filepath.Join(t.TempDir(), "state"), "/project")
	require.NoError(t, err)
	var all []*slot
	seen := map[string]bool{}
	for range maxSlots + 1 {
		s, err := d.take(false)
		require.NoError(t, err)
		assert.False(t, seen[s.dir])
		seen[s.dir] = true
		all = append(all, s)
	}
	last := all[maxSlots]
	for _, s := range all {
		s.free()
	}
	assert.NoDirExists(t, last.dir)
	assert.DirExists(t, all[0].dir)
}

// TestRemoveAll: what nobody may read or change goes too, and links are not followed. It shows something for an ordinary user only.
func TestRemoveAll(t *testing.T) {
	t.Parallel()
	dir, outside := filepath.Join(t.TempDir(), "layer"), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "mod", "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mod", "a", "file"), nil, 0o400))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "mod", "link")))
	require.NoError(t, os.Chmod(outside, 0o500))
	require.NoError(t, os.Chmod(filepath.Join(dir, "mod", "a"), 0o500))
	require.NoError(t, os.Chmod(filepath.Join(dir, "mod"), 0o000))
	require.NoError(t, removeAll(dir))
	assert.NoDirExists(t, dir)
	info, err := os.Stat(outside)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o500), info.Mode().Perm())
}

// TestLayersAfterACrash: a layer that was given back keeps what is in it; one that was not begins anew.
func TestLayersAfterACrash(t *testing.T) {
	t.Parallel()
	d, err := openDirs(filepath.Join(t.TempDir(), "state"), "/project")
	require.NoError(t, err)
	use := func(given bool) (found bool) {
		s, err := d.take(false)
		require.NoError(t, err)
		require.NoError(t, s.makeLayers())
		upper, _ := s.layer("npm")
		_, err = os.Lstat(filepath.Join(upper, "built"))
		require.NoError(t, os.WriteFile(filepath.Join(upper, "built"), nil, 0o600))
		require.NoError(t, os.MkdirAll(filepath.Join(s.mark("npm"), "incompat", "volatile"), 0o700)) // as the kernel does
		require.NoError(t, os.Chmod(s.mark("npm"), 0))
		if given {
			s.free()
		} else {
			require.NoError(t, s.lock.Unlock())
		}
		return err == nil
	}
	assert.False(t, use(true))
	assert.True(t, use(false), "it was given back")
	d.prune(time.Now().Add(-kept))
	info, err := os.Stat((&slot{dir: filepath.Join(d.layers, "0")}).mark("npm"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "its owner can remove what the kernel closed")
	assert.False(t, use(true), "it was not")
}
