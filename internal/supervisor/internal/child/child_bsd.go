//go:build unix && !linux

package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Program returns the file of this program.
func Program() (string, error) { return os.Executable() }

// adoptOrphans does nothing: only Linux has subreapers. The supervisor cannot find a
// process that left the group of its command.
func adoptOrphans() {}

func closesOnExec(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil || flags&unix.FD_CLOEXEC != 0
}

// awaitChild waits until a child has ended and reaps it: these systems cannot wait without
// reaping. It returns 0 if there is no child.
func awaitChild() (int, syscall.WaitStatus) {
	var status syscall.WaitStatus
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != syscall.EINTR {
			return pid, status
		}
	}
}

// reaped returns the status that awaitChild returned.
func reaped(_ int, status syscall.WaitStatus) syscall.WaitStatus { return status }

// killAll kills the groups of all commands.
func (c *child) killAll() {
	c.mu.Lock() // held to the end: no more reports
	for pid := range c.leaders {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}
