package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/term/console"
)

// command is the program with its input, outputs and environment.
type command struct {
	console.Console
	getenv func(string) string
	// ports returns where model servers of this machine are looked for.
	ports func() []models.Port
}

func newCommand(in, out, err *os.File, getenv func(string) string) *command {
	return &command{Console: console.Console{In: in, Out: out, Err: err}, getenv: getenv, ports: models.UsualPorts}
}

// The exit codes.
const (
	exitFailed      = 1
	exitWrong       = 2
	exitHungUp      = 129
	exitInterrupted = 130
	exitTerminated  = 143
)

// failed is an error with an exit code; that of other errors is exitWrong. With a nil err
// everything was printed already.
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

// codeOf returns the exit code that shells give to a program that the signal ended.
func codeOf(s console.Signalled) int {
	switch s.Signal {
	case os.Interrupt:
		return exitInterrupted
	case syscall.SIGHUP:
		return exitHungUp
	}
	return exitTerminated
}

// execute runs the program and returns its exit code.
func (c *command) execute(args []string) int {
	ctx, stop := console.Listen()
	defer stop()
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	c.Close()
	code, text := c.result(ctx, err)
	if text != "" {
		_ = screen.New(c.Err).Print(screen.Format("grapnel: %s\n", screen.Rows(strings.TrimSpace(c.Masked(text))))) // if that fails, nobody can read it
	}
	return code
}

// result returns the exit code and the text that is still to be printed.
func (c *command) result(ctx context.Context, err error) (code int, text string) {
	if text := lost(c.Written, err); text != "" {
		err = &failed{exitFailed, errors.New(text)}
	}
	if err == nil {
		return 0, ""
	}
	code, text = exitWrong, err.Error()
	if f, ok := errors.AsType[*failed](err); ok {
		code = f.code
	}
	s, ok := errors.AsType[console.Signalled](context.Cause(ctx))
	switch {
	case !ok:
		return code, text
	case errors.Is(err, context.Canceled):
		text = s.Error() + " before the turn began"
	case text == "" && codeOf(s) != exitInterrupted:
		text = s.Error()
	}
	return codeOf(s), text
}

// lost returns why the output is lost if that is the reason why the command ended with err;
// otherwise "".
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
	c.Written = stdout.New(c.Out)
	root := &cobra.Command{
		Use:   "grapnel",
		Short: "Runs agents whose subsystems are joined by generated code",
		Long: "Grapnel runs agents: skills, memory, MCP servers and tools of the operating system,\n" +
			"joined into one value by generated code.\n\nTo see it work: grapnel demo",
		Args: knownCommand, PersistentPreRun: c.bind, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(c.In)
	root.SetOut(screen.New(c.Written))
	root.SetErr(screen.New(c.Err))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(c.demo(), c.run(), c.chat(), c.tools(), c.agents(), c.plan(), c.serveDemo(),
		c.serve(), c.ask(), c.events(), c.conversations(), c.explain(), c.policy(), c.sandbox(), c.approvals(), c.memory(), c.cost(), c.runs(), c.jobs(), c.audit(), c.models(), c.schedule(), c.token(), c.top(), c.nodes(), c.store(), c.logLevel(), c.erase())
	return root
}

// outlives marks a command that continues when its output is lost.
const outlives = "outlives its output"

// bind makes a command end when its output is lost.
func (c *command) bind(cmd *cobra.Command, _ []string) {
	if cmd.Annotations[outlives] == "" {
		cmd.SetContext(c.Written.Bind(cmd.Context()))
	}
}

// knownCommand refuses arguments of a command that only has subcommands.
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

// noArgs refuses all arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, but got %q; `%s --help` lists the flags", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// place has the flags of commands that work in a project.
type place struct {
	dir  string
	json bool
}

func (p *place) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.dir, "dir", "", "the project to work in (default: the working directory)")
	cmd.Flags().BoolVar(&p.json, "json", false, "write JSON, for programs")
}

func setFlag(cmd *cobra.Command, to *app.Settings) {
	cmd.Flags().Var(to, "set", "turn a subsystem off or tune it, overriding hooks.json: Memory=off, \"Guard=BeforeTool: timeout=2s\"; may be repeated")
}

func (c *command) paths(p place) (app.Paths, error) {
	paths, err := app.FindPaths(p.dir, c.getenv)
	if r, wrong := paths.Redactor(); err == nil && wrong == nil { // what opens something reports wrong settings
		c.Mask = r.Text
	}
	if paths.Note != "" {
		c.Note(paths.Note)
	}
	return paths, err
}
