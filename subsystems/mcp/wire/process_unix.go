//go:build unix

package wire

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a new process group, so that a
// server that is started through npx or a shell ends as a whole.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup and terminateGroup signal the group; an error means that nobody is
// left in it.
func killGroup(leader int)      { _ = syscall.Kill(-leader, syscall.SIGKILL) }
func terminateGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }
