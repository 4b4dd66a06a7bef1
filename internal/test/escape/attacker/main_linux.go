package main

import (
	"fmt"
	"io"
	"os"
)

// attack is one subcommand: what it prints goes to out, and args are at least as many as usage has words.
type attack struct {
	name, usage string
	args        int
	run         func(out io.Writer, args []string) error
}

// attacks are all subcommands.
func attacks() []attack {
	return append(append([]attack{
		{"tcp", "ADDRESS TEXT", 2, sendTo("tcp")},
		{"udp", "ADDRESS TEXT", 2, sendTo("udp")},
		{"unix", "PATH TEXT", 2, sendTo("unix")},
		{"unixgram", "PATH TEXT", 2, sendTo("unixgram")},
		{"mptcp", "ADDRESS TEXT", 2, mptcp},
		{"pairconnect", "PATH TEXT", 2, pairConnect},
		{"int80", "PATH TEXT", 2, oldABI},
		{"x32", "PATH TEXT", 2, x32},
		{"socket", "FAMILY TYPE PROTOCOL", 3, oneSocket},
		{"families", "", 0, families},
		{"links", "", 0, links},
		{"fds", "NAME", 1, descriptors},
		{"read", "PATH…", 1, readAll},
	}, processes()...), calls()...)
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	for _, a := range attacks() {
		if len(args) > 0 && args[0] == a.name {
			if len(args)-1 < a.args {
				return fmt.Errorf("usage: %s %s", a.name, a.usage)
			}
			if err := a.run(out, args[1:]); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("unknown attack %q", args)
}

// reached prints that a call which a sandbox refuses was made.
func reached(out io.Writer, what string) error {
	_, err := fmt.Fprintf(out, "reached: %s\n", what)
	return err
}
