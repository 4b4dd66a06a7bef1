//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package socket

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock, which ends with the process at the latest. The file stays: if it
// were removed, two processes could hold locks of the same name.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	// A child process between fork and exec has the file too, so closing it would not release the lock.
	return func() error { return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close()) }, nil
}
