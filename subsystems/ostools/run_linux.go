package ostools

import (
	"os/exec"
	"syscall"
	"unsafe"
)

// awaitExit waits until the command has ended and leaves it unreaped, so that
// its id still names its process group.
func awaitExit(cmd *exec.Cmd) {
	const (
		byPID   = 1          // P_PID
		options = 0x01000004 // WNOWAIT | WEXITED
	)
	var info [128]byte // siginfo_t; nobody reads it
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(cmd.Process.Pid),
			uintptr(unsafe.Pointer(&info)), options, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}
