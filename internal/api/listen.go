package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/privatedir"
)

// maxPath is the longest path of a unix socket in bytes, on the systems where it
// is shortest.
const maxPath = 103

// Listen listens on the unix socket path, for the user alone: its directory is
// made with mode 0700, or has to be the user's own, no symbolic link and closed
// to others; the socket has mode 0600. A socket that is left from a daemon that
// was killed is replaced; one that a daemon listens on is an error that says so.
// Closing the listener removes the socket.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if !filepath.IsAbs(path) || len(path) > maxPath {
		return nil, fmt.Errorf("the socket %q: a path has to be absolute and at most %d bytes long; choose another one with --socket", path, maxPath)
	}
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		if errors.Is(err, errLocked) {
			return nil, running(path)
		}
		return nil, fmt.Errorf("lock the socket: %w", err)
	}
	ln, err := bind(ctx, path)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return &listener{Listener: ln, unlock: unlock}, nil
}

func running(path string) error {
	return fmt.Errorf("a daemon is running on %s already; stop it, or choose another socket with --socket", path)
}

// errLocked: somebody else has the lock.
var errLocked = errors.New("locked")

// privateDir makes the directory, or checks that nobody else can get at what is
// in it.
func privateDir(dir string) error {
	const fix = "choose a directory of its own with --socket"
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("the directory of the socket, %s, is a symbolic link; name the directory itself, or %s", dir, fix)
	}
	if err := privatedir.Make(dir); err != nil {
		return fmt.Errorf("the directory of the socket cannot be used: %w; %s", err, fix)
	}
	return nil
}

// bind listens, in the place of a socket that nobody listens on. The caller has
// the lock, so that nobody else does the same.
func bind(ctx context.Context, path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("the socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is there and is no socket; choose another one with --socket", path)
	case answers(ctx, path):
		return nil, running(path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket of a daemon that is gone: %w", err)
		}
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), ln.Close())
	}
	return ln, nil
}

// answers reports whether somebody listens on the socket.
func answers(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // nothing was said
	}
	return err == nil
}

// listener gives the lock back after the socket is gone.
type listener struct {
	net.Listener
	once   sync.Once
	unlock func() error
	err    error
}

func (l *listener) Close() error {
	l.once.Do(func() { l.err = errors.Join(l.Listener.Close(), l.unlock()) })
	return l.err
}

// DefaultSocket is where a daemon listens if nothing else is said:
// $XDG_RUNTIME_DIR/grapnel/grapnel.sock, or run/grapnel.sock in the state
// directory.
func DefaultSocket(state string, getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "grapnel", "grapnel.sock")
	}
	return filepath.Join(state, "run", "grapnel.sock")
}
