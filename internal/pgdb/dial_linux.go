package pgdb

import "golang.org/x/sys/unix"

// limitSilence ends a connection whose data nobody acknowledges.
func limitSilence(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds())) //nolint:gosec // a file descriptor
}
