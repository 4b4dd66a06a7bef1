//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package edit

import "golang.org/x/sys/unix"

// fread is FREAD of sys/fcntl.h: what can be read.
const fread = 1

func flush(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread) }
