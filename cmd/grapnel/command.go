package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/terminal"
)

// command is the program with what it reads and writes.
type command struct {
	in, out, err *os.File
	getenv       func(string) string
	// tty is the terminal where questions are asked, once it was needed.
	tty *os.File
}

// The exit codes.
const (
	exitFailed      = 1
	exitWrong       = 2
	exitInterrupted = 130
)

// failed is an error with an exit code of its own; every other one is
// exitWrong. A nil error says that everything has been said already.
type failed struct {
	code int
	err  error
}

func (f *failed) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failed) Unwrap() error { return f.err }

// execute runs the program and returns its exit code. The first interrupt
// cancels what is running, a second one ends the program at once.
func (c *command) execute(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if c.tty != nil {
		_ = c.tty.Close() // nothing is lost: it was only written to
	}
	if err == nil {
		return 0
	}
	code := exitWrong
	var f *failed
	if errors.As(err, &f) {
		code = f.code
	}
	text := err.Error()
	if ctx.Err() != nil {
		code = exitInterrupted
		if errors.Is(err, context.Canceled) {
			text = "interrupted before the turn began"
		}
	}
	if text != "" {
		fmt.Fprintln(c.err, "grapnel: "+terminal.Clean(strings.TrimSpace(text)))
	}
	return code
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "grapnel",
		Short: "Runs agents whose subsystems are joined by generated code",
		Long: "Grapnel runs agents: skills, memory, MCP servers and tools of the operating system,\n" +
			"joined into one value by generated code.\n\nTo see it work: grapnel demo",
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(c.demo(), c.run(), c.tools(), c.agents(), c.plan(), c.serveDemo(),
		c.serve(), c.ask(), c.events(), c.conversations())
	return root
}

// noArgs refuses arguments with a sentence.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, but got %q; `%s --help` lists the flags", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// place is the flags that say where to work, and the daemon's paths for them.
type place struct {
	dir  string
	json bool
}

func (p *place) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.dir, "dir", "", "the project to work in (default: the working directory)")
	cmd.Flags().BoolVar(&p.json, "json", false, "write JSON, for programs")
}

func (c *command) paths(p place) (daemon.Paths, error) { return daemon.FindPaths(p.dir, c.getenv) }

// note tells the person something beside the output.
func (c *command) note(text string) { fmt.Fprintln(c.err, "note: "+terminal.Clean(text)) }
