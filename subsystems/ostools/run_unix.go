//go:build unix

package ostools

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// openFlags keep the opening of a pipe from waiting for its other end.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// ownGroup makes the command the leader of a new process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills every process of the group; an error means that there is none.
func killGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// exitCode returns the exit code, or 128 and the signal as shells do.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
