//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package socket

import "errors"

// lockFile returns an error: this system cannot close a socket to other users.
func lockFile(string) (unlock func() error, err error) {
	return nil, errors.New("a daemon cannot be served on this system: it has no private unix sockets")
}
