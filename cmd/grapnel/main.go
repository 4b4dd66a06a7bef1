// Command grapnel runs agents: one task at a time, in the directory where it is
// started.
//
//	grapnel demo                 see it work: no key, no network
//	grapnel run "prompt"         give an agent a task
//	grapnel chat                 talk to an agent
//	grapnel agents, tools, plan  list agents and tools, show the composite
//	grapnel explain              show which subsystems decided about a tool call
//
// Exit codes: 0 success, 1 the turn failed or the output was lost, 2 a mistake in the
// command, and nothing was done, 129 the terminal was closed, 130 interrupted, 143
// ended by SIGTERM.
package main

import (
	"fmt"
	"os"

	"github.com/grapnel-go/grapnel/internal/supervisor"
)

func main() {
	// The environment may hold a key, and commands run as the same user.
	if err := supervisor.HideMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "grapnel: commands can read the environment of this program:", err)
	}
	c := newCommand(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	os.Exit(c.execute(os.Args[1:]))
}
