//go:build !linux

package ostools

import "os/exec"

// awaitExit waits until the command has ended and reaps it: here there is no way
// to do the one without the other.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
