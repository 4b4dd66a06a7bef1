//go:build !unix

package wire

import (
	"os"
	"os/exec"
)

// Without process groups only the process itself is ended.
func ownGroup(*exec.Cmd) {}

func killGroup(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

func terminateGroup(leader int) { killGroup(leader) }
