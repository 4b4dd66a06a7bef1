package socket_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/socket"
)

func TestListen(t *testing.T) {
	t.Parallel()
	short := func(t *testing.T) string {
		dir, err := os.MkdirTemp("", "grapnel-")
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
		return dir
	}
	t.Run("modes", func(t *testing.T) {
		path := filepath.Join(short(t), "a", "b", "x.sock")
		ln, err := socket.Listen(t.Context(), path)
		require.NoError(t, err)
		assert.Equal(t, fs.ModeDir|0o700, mode(t, filepath.Dir(path)))
		assert.Equal(t, fs.ModeSocket|0o600, mode(t, path))
		_, err = socket.Listen(t.Context(), path)
		assert.ErrorContains(t, err, "a daemon is running on "+path+" already; stop it")
		require.NoError(t, ln.Close())
		assert.NoFileExists(t, path)
		again, err := socket.Listen(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, again.Close())
		require.NoError(t, again.Close())
	})
	t.Run("a socket that was left", func(t *testing.T) {
		path := filepath.Join(short(t), "x.sock")
		left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		require.NoError(t, err)
		left.SetUnlinkOnClose(false)
		require.NoError(t, left.Close())
		require.FileExists(t, path)
		ln, err := socket.Listen(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, ln.Close())
	})
	t.Run("a socket that somebody else listens on", func(t *testing.T) {
		path := filepath.Join(short(t), "x.sock")
		other, err := net.Listen("unix", path)
		require.NoError(t, err)
		defer other.Close()
		_, err = socket.Listen(t.Context(), path)
		assert.ErrorContains(t, err, "a daemon is running on")
		assert.FileExists(t, path)
	})
	wrong := []struct {
		name string
		make func(t *testing.T, dir string) (path string)
		says string
	}{
		{"a file", func(t *testing.T, dir string) string {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x.sock"), []byte("precious"), 0o600))
			return filepath.Join(dir, "x.sock")
		}, "is not a socket"},
		{"a symbolic link for a socket", func(t *testing.T, dir string) string {
			require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "x.sock")))
			return filepath.Join(dir, "x.sock")
		}, "is not a socket"},
		{"a symbolic link for a lock", func(t *testing.T, dir string) string {
			require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "x.sock.lock")))
			return filepath.Join(dir, "x.sock")
		}, "lock"},
		{"a symbolic link for a directory", func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
			require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
			return filepath.Join(dir, "link", "x.sock")
		}, "is a symbolic link"},
		{"a directory open to the group", func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			require.NoError(t, os.Chmod(filepath.Join(dir, "d"), 0o750))
			return filepath.Join(dir, "d", "x.sock")
		}, "is open to others (mode 0750); chmod 700 it"},
		{"a directory for everybody", func(t *testing.T, dir string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			require.NoError(t, os.Chmod(filepath.Join(dir, "d"), 0o777|fs.ModeSticky))
			return filepath.Join(dir, "d", "x.sock")
		}, "open to others"},
		{"a directory of another user", func(t *testing.T, dir string) string {
			if os.Geteuid() != 0 { // nobody else can give a directory away
				return "/x.sock"
			}
			require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			require.NoError(t, os.Chown(filepath.Join(dir, "d"), 65534, 65534))
			return filepath.Join(dir, "d", "x.sock")
		}, "belongs to another user"},
		{"a file for a directory", func(t *testing.T, dir string) string {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
			return filepath.Join(dir, "f", "x.sock")
		}, "no directory"},
		{"a relative path", func(*testing.T, string) string { return "x.sock" }, "must be absolute"},
		{"a long path", func(_ *testing.T, dir string) string { return filepath.Join(dir, strings.Repeat("x", 100)) }, "at most"},
	}
	for _, tt := range wrong {
		t.Run(tt.name, func(t *testing.T) {
			dir := short(t)
			_, err := socket.Listen(t.Context(), tt.make(t, dir))
			require.ErrorContains(t, err, tt.says)
			assert.ErrorContains(t, err, " ", "a sentence")
		})
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

func TestDefault(t *testing.T) {
	t.Parallel()
	env := func(value string) func(string) string {
		return func(name string) string {
			if name == "XDG_RUNTIME_DIR" {
				return value
			}
			return ""
		}
	}
	assert.Equal(t, "/run/user/7/grapnel/grapnel.sock", socket.Default("/state", env("/run/user/7")))
	assert.Equal(t, "/state/run/grapnel.sock", socket.Default("/state", env("")))
	assert.Equal(t, "/state/run/grapnel.sock", socket.Default("/state", env("relative")))
}
