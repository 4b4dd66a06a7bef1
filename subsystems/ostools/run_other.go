//go:build !unix

package ostools

import (
	"io/fs"
	"os"
	"os/exec"
)

const openFlags = 0

// Without process groups only the shell itself is killed.
func ownGroup(*exec.Cmd) {}

func killGroup(leader *os.Process) { _ = leader.Kill() }

func exitCode(s *os.ProcessState) int { return s.ExitCode() }

func names(fs.FileInfo) uint64 { return 1 }
