//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package api

import "errors"

// lockFile refuses: a socket that cannot be closed to other users is none to
// listen on.
func lockFile(string) (unlock func() error, err error) {
	return nil, errors.New("a daemon cannot be served on this system: it has no private unix sockets")
}
