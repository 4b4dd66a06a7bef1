//go:build linux

package socket

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLockOfAKilledDaemon: its child holds the lock for a moment, and answers nothing.
func TestLockOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	none := func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "x.sock")
		release, err := lockFile(path + ".lock")
		require.NoError(t, err)
		asked := 0
		_, err = listen(path, func() bool { asked++; return false }, none)
		require.ErrorContains(t, err, "a daemon is running")
		assert.Greater(t, asked, 1, "it has waited")
		ln, err := listen(path, func() bool { assert.NoError(t, release()); return false }, none)
		require.NoError(t, err)
		assert.NoError(t, ln.Close())
	})
}

// TestUnlockWithACopy: a child process that does not run its own program yet has a copy of the file.
func TestUnlockWithACopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := lockFile(path)
	require.NoError(t, err)
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && to == path {
			fd, err := strconv.Atoi(filepath.Base(file))
			require.NoError(t, err)
			copied, err := syscall.Dup(fd)
			require.NoError(t, err)
			defer syscall.Close(copied) //nolint:errcheck // nothing was written
		}
	}
	require.NoError(t, unlock())
	again, err := lockFile(path)
	require.NoError(t, err)
	require.NoError(t, again())
}
