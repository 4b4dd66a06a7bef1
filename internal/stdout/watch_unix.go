//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdout

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// watch calls gone when the pipe has no reader any more. It ends with ctx.
func watch(ctx context.Context, pipe *os.File, gone func()) {
	wake, end, err := os.Pipe()
	if err != nil {
		return // the next write finds out
	}
	context.AfterFunc(ctx, func() { _ = end.Close() })
	fds := []unix.PollFd{{Fd: int32(pipe.Fd())}, {Fd: int32(wake.Fd()), Events: unix.POLLIN}}
	go func() {
		defer wake.Close()
		for {
			_, err := unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil || fds[1].Revents != 0:
				return
			case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
				gone()
				return
			case fds[0].Revents != 0: // it was closed here
				return
			}
		}
	}()
}
