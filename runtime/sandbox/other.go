//go:build !linux

package sandbox

import (
	"os"
	"runtime"

	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/guard"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

// seatbeltPath is the program that starts another one with a profile.
const seatbeltPath = "/usr/bin/sandbox-exec"

// probe finds out the level: on macOS commands run with a profile, and are still asked about.
func (s *Sandbox) probe() {
	s.report = Report{Level: None, Why: "there is a sandbox on Linux, and in part on macOS", Open: []string{"everything that the user may do"}, Limits: "time"}
	if runtime.GOOS != "darwin" {
		return
	}
	if _, err := os.Stat(seatbeltPath); err != nil {
		s.report.Why = seatbeltPath + " is missing"
		return
	}
	s.report = Report{
		Level: Reduced, Why: "the profile for macOS has been tested as a text only", Limits: "time",
		Open: []string{"other processes are visible", "a server and its client cannot talk over the loopback", "hosts cannot be admitted by name"},
	}
}

// confine starts the command through sandbox-exec.
func (s *Sandbox) confine(c *supervisor.Command, g Grant, slot *slot, _ []guard.Fence) error {
	c.Args = append([]string{"sandbox-exec", "-p", s.seatbelt(g, s.dirs.temp, 0), c.Path}, c.Args[min(1, len(c.Args)):]...)
	c.Path = seatbeltPath
	c.Env = append(c.Env, s.reducedEnvironment(slot)...)
	return nil
}

// paths returns what a process with the grant can change and read, for people.
func (s *Sandbox) paths(g Grant, _ *slot, _ []guard.Fence) (writable, readable []string) {
	return append([]string{s.project, s.dirs.temp}, g.Write...), there(tools.Home())
}

// reducedEnvironment moves what is temporary to a directory that can be written to.
func (s *Sandbox) reducedEnvironment(*slot) []string { return []string{"TMPDIR=" + s.dirs.temp} }
