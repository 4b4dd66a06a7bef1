package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/term"
)

// command is the program with what it reads and writes.
type command struct {
	in, out, err *os.File
	getenv       func(string) string
	// tty is the terminal where questions are asked, once it was needed.
	tty *os.File
	// person answers at the terminal, once somebody was needed; newPerson makes one,
	// nil as usual.
	person    term.Answers
	newPerson func(in, out *os.File) (term.Answers, error)
	// written is out as commands write to it; root makes it.
	written *stdout.Output
}

// The exit codes.
const (
	exitFailed      = 1
	exitWrong       = 2
	exitHungUp      = 129
	exitInterrupted = 130
	exitTerminated  = 143
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

// signalled is why the program's context has ended.
type signalled struct{ signal os.Signal }

func (s signalled) Error() string {
	if s.signal == os.Interrupt {
		return "interrupted"
	}
	return "told to end (" + s.signal.String() + ")"
}

func (signalled) Unwrap() error { return context.Canceled }

// code is the exit code that a shell gives a program which the signal ends.
func (s signalled) code() int {
	switch s.signal {
	case os.Interrupt:
		return exitInterrupted
	case syscall.SIGHUP:
		return exitHungUp
	}
	return exitTerminated
}

// listen returns a context that the first signal ends, with [signalled] as the
// cause; a second one ends the program at once. The caller calls stop. A write to a
// pipe that nobody reads is an error from then on, and does not end the program.
func listen() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // else it was started to outlive its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	signals, pipes := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, ends...)
	signal.Notify(pipes, syscall.SIGPIPE) // signal.Ignore would reach the commands that are started
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled{s})
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		waiting.Wait()
	}
}

// execute runs the program and returns its exit code.
func (c *command) execute(args []string) int {
	ctx, stop := listen()
	defer stop()
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if p, ok := c.person.(io.Closer); ok {
		_ = p.Close() // it has only read
	}
	if c.tty != nil {
		_ = c.tty.Close() // nothing is lost: it was only written to
	}
	code, text := c.result(ctx, err)
	if text != "" {
		_ = screen.New(c.err).Print(screen.Format("grapnel: %s\n", screen.Rows(strings.TrimSpace(text)))) // there is nobody else to tell
	}
	return code
}

// result is the exit code and what is left to say.
func (c *command) result(ctx context.Context, err error) (code int, text string) {
	if text := lost(c.written, err); text != "" {
		err = &failed{exitFailed, errors.New(text)}
	}
	if err == nil {
		return 0, ""
	}
	code, text = exitWrong, err.Error()
	if f, ok := errors.AsType[*failed](err); ok {
		code = f.code
	}
	s, ok := errors.AsType[signalled](context.Cause(ctx))
	switch {
	case !ok:
		return code, text
	case errors.Is(err, context.Canceled):
		text = s.Error() + " before the turn began"
	case text == "" && s.code() != exitInterrupted:
		text = s.Error()
	}
	return s.code(), text
}

// lost says why the output is lost, if that is how a command has come to end with err;
// else it is "".
func lost(out *stdout.Output, err error) string {
	why, ok := errors.AsType[stdout.LostError](context.Cause(out.Lost()))
	if !ok {
		return ""
	}
	f, quiet := errors.AsType[*failed](err)
	quiet = quiet && f.err == nil
	switch {
	case quiet && f.code == exitInterrupted:
		return why.Error() + "; the turn was cancelled, and what had finished is kept in the conversation"
	case err == nil || quiet || errors.Is(err, context.Canceled) || errors.Is(err, why.Err):
		return why.Error()
	}
	return ""
}

func (c *command) root() *cobra.Command {
	c.written = stdout.New(c.out)
	root := &cobra.Command{
		Use:   "grapnel",
		Short: "Runs agents whose subsystems are joined by generated code",
		Long: "Grapnel runs agents: skills, memory, MCP servers and tools of the operating system,\n" +
			"joined into one value by generated code.\n\nTo see it work: grapnel demo",
		Args: knownCommand, PersistentPreRun: c.bind, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(c.in)
	root.SetOut(screen.New(c.written))
	root.SetErr(screen.New(c.err))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(c.demo(), c.run(), c.chat(), c.tools(), c.agents(), c.plan(), c.serveDemo(),
		c.serve(), c.ask(), c.events(), c.conversations(), c.explain(), c.policy(), c.approvals(), c.memory())
	return root
}

// outlives marks a command that goes on when its output is lost.
const outlives = "outlives its output"

// bind ends a command whose output is lost.
func (c *command) bind(cmd *cobra.Command, _ []string) {
	if cmd.Annotations[outlives] == "" {
		cmd.SetContext(c.written.Bind(cmd.Context()))
	}
}

// knownCommand refuses an argument of a command that has only commands below it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	meant := ""
	if near := spell.Closest(args[0], names); near != "" {
		meant = fmt.Sprintf("did you mean %s? ", near)
	}
	return fmt.Errorf("unknown command %q for %q; %s`%s --help` lists the commands", args[0], cmd.CommandPath(), meant, cmd.CommandPath())
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

func setFlag(cmd *cobra.Command, to *daemon.Settings) {
	cmd.Flags().Var(to, "set", "turn a subsystem off or tune it, above what hooks.json says: Memory=off, \"Guard=BeforeTool: timeout=2s\"; may be repeated")
}

func (c *command) paths(p place) (daemon.Paths, error) {
	paths, err := daemon.FindPaths(p.dir, c.getenv)
	if paths.Note != "" {
		c.note(paths.Note)
	}
	return paths, err
}

// note tells the person something beside the output.
func (c *command) note(text string) {
	_ = screen.New(c.err).Print(screen.Format("note: %s\n", screen.Rows(text))) // the output tells whether one can write
}

// print writes to standard output.
func (c *command) print(t screen.Text) error { return screen.New(c.written).Print(t) }
