// Package socket listens on a unix socket that only its user can open, and that no two daemons have.
package socket

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

// maxPath is the longest path of a unix socket in bytes that all systems allow.
const maxPath = 103

// Listen listens on the unix socket path, for the user alone. It makes the directory with
// mode 0700. An existing directory must belong to the user, be closed to others and be no
// symbolic link. The socket has mode 0600. Listen replaces the socket of a daemon that was
// killed; it returns an error if a daemon listens there. Closing the listener removes the
// socket.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	return listen(path, func() bool { return answers(ctx, path) }, func() (net.Listener, error) { return bind(ctx, path) })
}

// Take is Listen for a socket that a service manager listens on already, at the same path. Closing the listener leaves the socket.
// After an error the listener is closed.
func Take(path string, ln net.Listener) (net.Listener, error) {
	if at := ln.Addr(); at.Network() != "unix" || at.String() != path {
		return nil, errors.Join(fmt.Errorf("the service manager listens on %s, and the daemon's socket is %s; write the same in ListenStream and --socket", at, path), ln.Close())
	}
	unknown := func() bool { return false } // the service manager's own socket would answer
	taken, err := listen(path, unknown, func() (net.Listener, error) { return ln, nil })
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return taken, nil
}

// listen calls bind if the directory of the socket is the user's alone and no other daemon has its lock. It does not wait for the
// lock of a daemon that is served, which is one that answers.
func listen(path string, served func() bool, bind func() (net.Listener, error)) (net.Listener, error) {
	if !filepath.IsAbs(path) || len(path) > maxPath {
		return nil, fmt.Errorf("the socket %q: the path must be absolute and at most %d bytes long; choose another one with --socket", path, maxPath)
	}
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	unlock, err := lock(path+".lock", served)
	if err != nil {
		if errors.Is(err, errLocked) {
			return nil, running(path)
		}
		return nil, fmt.Errorf("lock the socket: %w", err)
	}
	ln, err := bind()
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return &listener{Listener: ln, unlock: unlock}, nil
}

// patience is how long a lock is waited for that no daemon seems to have. A child process that a killed daemon had started holds the lock
// until it runs its own program.
const patience = 2 * time.Second

// lock takes the lock of the file. It waits for a lock whose daemon is not served, and returns errLocked at the latest after patience.
func lock(file string, served func() bool) (unlock func() error, err error) {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(patience); ; <-again.C {
		unlock, err = lockFile(file)
		if !errors.Is(err, errLocked) || served() || time.Now().After(end) {
			return unlock, err
		}
	}
}

func running(path string) error {
	return fmt.Errorf("a daemon is running on %s already; stop it, or choose another socket with --socket", path)
}

// errLocked: another process holds the lock.
var errLocked = errors.New("locked")

// privateDir makes the directory, or checks that only the user can open its files.
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

// bind listens on the path. It replaces a socket that no daemon listens on. The caller holds
// the lock, so that no other process does the same.
func bind(ctx context.Context, path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("the socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s exists and is not a socket; choose another path with --socket", path)
	case answers(ctx, path):
		return nil, running(path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket of a daemon that has ended: %w", err)
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

// answers reports whether a process listens on the socket.
func answers(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // nothing was sent
	}
	return err == nil
}

// listener releases the lock after it has removed the socket.
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

// Default returns the default socket of a daemon:
// $XDG_RUNTIME_DIR/grapnel/grapnel.sock, or run/grapnel.sock in the state directory.
func Default(state string, getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "grapnel", "grapnel.sock")
	}
	return filepath.Join(state, "run", "grapnel.sock")
}
