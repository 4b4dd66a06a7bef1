// Command grapnel runs agents: one task at a time, in the directory where it is
// started.
//
//	grapnel demo                 see it work: no key, no network
//	grapnel run "prompt"         give an agent a task
//	grapnel chat                 talk to an agent
//	grapnel agents, tools, plan  what there is, and how it is put together
//	grapnel explain              who had a say in a tool call
//
// Exit codes: 0 done, 1 the turn failed or nobody can read the output, 2 what was
// asked is wrong and nothing has happened, 129 the terminal has gone, 130
// interrupted, 143 told to end by SIGTERM.
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
