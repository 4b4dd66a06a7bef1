package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// maxPrompt is the longest prompt in bytes that is read from standard input.
const maxPrompt = 4 << 20

type runFlags struct {
	place
	agent, model, sender string
	yes                  bool
	trust                trustFlags
	hooks                hook.Visibility
	set                  daemon.Settings
	reply                daemon.ReplyLimits
}

func (c *command) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   `run "prompt"`,
		Short: "Give an agent a task, here and now",
		Long: "Runs one turn of an agent in the working directory and shows it as it happens.\n" +
			"The prompt is the argument, or standard input if the argument is -.\n\n" +
			"If `grapnel serve` is running for the same project, the turn runs there, unless --model names a model, or --set, --max-text or\n" +
			"--max-arguments is given.",
		Example: "  grapnel run --model script:answers.yaml \"What is in this directory?\"\n" +
			"  git diff | grapnel run - --agent reviewer --sender me",
		Args: onePrompt,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := c.prompt(args[0])
			if err != nil {
				return err
			}
			return c.turn(cmd.Context(), f, args[0] == "-", prompt)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.agent, "agent", daemon.DefaultAgent, "the agent to ask; grapnel agents lists them")
	cmd.Flags().StringVar(&f.model, "model", "", "the model to use instead of the agent's: script:FILE or openai:NAME")
	cmd.Flags().StringVar(&f.sender, "sender", "", "go on with the conversation of this sender (default: a new one)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	f.trust.add(cmd)
	hooksFlag(cmd, &f.hooks, "record hook runs for grapnel explain, and show them")
	setFlag(cmd, &f.set)
	replyFlags(cmd, &f.reply)
	return cmd
}

// hooksFlag is the flag that says which hook runs are shown; "" if it is not given.
func hooksFlag(cmd *cobra.Command, to *hook.Visibility, usage string) {
	cmd.Flags().Var((*hookLevel)(to), "hooks", usage+": all, or =user, =audit, =debug for those that are at least as visible")
	cmd.Flags().Lookup("hooks").NoOptDefVal = string(hook.VisibleInternal)
}

// hookLevel is a level of hook runs as a flag.
type hookLevel hook.Visibility

// String implements pflag.Value, of which package pflag wants three methods.
func (l *hookLevel) String() string { return string(*l) }

// Type implements pflag.Value.
func (l *hookLevel) Type() string { return "level" }

// Set implements pflag.Value.
func (l *hookLevel) Set(name string) error {
	v, err := hook.ParseVisibility(name)
	*l = hookLevel(v)
	return err
}

func onePrompt(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("there is no prompt; write it in quotes, grapnel run \"…\", or - to read it from standard input")
	case 1:
		return nil
	}
	return fmt.Errorf("there are %d prompts; put one prompt in quotes", len(args))
}

// prompt returns the argument, or what is on standard input for "-".
func (c *command) prompt(arg string) (string, error) {
	if arg == "-" {
		data, err := io.ReadAll(io.LimitReader(c.in, maxPrompt+1))
		if err != nil {
			return "", fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if len(data) > maxPrompt {
			return "", fmt.Errorf("the prompt on standard input is longer than %d bytes; put the text into a file and tell the agent to read it", maxPrompt)
		}
		arg = string(data)
	}
	switch {
	case strings.TrimSpace(arg) == "":
		return "", errors.New("the prompt is empty; write what the agent is to do")
	case !utf8.ValidString(arg):
		return "", errors.New("the prompt is no UTF-8 text; convert it first")
	}
	return arg, nil
}

// shower shows a turn.
type shower interface {
	OnEvent(ev hook.Event)
	Outcome(out hook.TurnOutcome)
}

// shower returns what shows a turn, with hook runs that are as visible as hooks, and the gate that keeps it still while a
// question is on the screen.
func (c *command) shower(json bool, hooks hook.Visibility) (shower, *term.Gate) {
	gate := term.NewGate(c.written)
	if json {
		return term.NewJSONPrinter(gate).ShowHooks(hooks), gate
	}
	return term.NewPrinter(gate, term.Colored(c.out)).ShowHooks(hooks), gate
}

// turn runs one turn. Everything that can be wrong with what was asked is found
// before the first event.
func (c *command) turn(ctx context.Context, f runFlags, stdinUsed bool, prompt string) (err error) {
	paths, err := c.paths(f.place)
	if err != nil {
		return err
	}
	if done, err := c.onDaemon(ctx, f, paths, stdinUsed, prompt); done {
		return err
	}
	show, gate := c.shower(f.json, f.hooks)
	approver := c.approverIn(paths.Root, f.yes, stdinUsed, gate)
	app, err := daemon.Open(ctx, daemon.Options{
		Paths: paths, Approval: atTerminal(), Inquire: approver.Inquire, Model: absolute(f.model), Note: c.note, Trust: c.trust(approver, f.trust),
		RecordHooks: f.hooks != "", Set: f.set, Reply: f.reply,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close(context.WithoutCancel(ctx))) }()
	agent, err := app.Register(ctx, f.agent, hook.AgentConfig{Model: hook.ModelSettings{Name: absolute(f.model)}})
	if err != nil {
		return err
	}
	if err := app.CheckModel(agent.Config()); err != nil {
		return err
	}
	if f.sender == "" {
		f.sender = "run-" + ulid.Make().String()
	}
	conv, err := app.Conversation(ctx, f.agent, f.sender)
	if err != nil {
		return err
	}
	out, err := app.Send(ctx, conv, message.TextInput(prompt), &runtime.SendOptions{Observe: show.OnEvent})
	if busy, ok := errors.AsType[*daemon.BusyError](err); ok {
		return busy
	}
	if err != nil && out.Stop == "" {
		return &failed{exitFailed, fmt.Errorf("the turn could not begin: %w", err)}
	}
	show.Outcome(out)
	return verdict(out)
}

// verdict turns an outcome that was shown already into an exit code.
func verdict(out hook.TurnOutcome) error {
	switch {
	case term.Cause(out) == "":
		return nil
	case out.Stop == hook.StopCancelled:
		return &failed{code: exitInterrupted}
	}
	return &failed{code: exitFailed}
}

// atTerminal are the settings of approvals at a terminal, where people have time.
func atTerminal() approval.Options { return approval.Options{Timeout: -1} }

// approver asks at the terminal, where there is one: somebody has to see the
// question as well as to answer it.
func (c *command) approver(yes, stdinUsed bool) *term.Approver {
	return c.approverIn("", yes, stdinUsed, nil)
}

// approverIn is an approver that shows what a call would change in the files
// below root, and closes the gate while it asks.
func (c *command) approverIn(root string, yes, stdinUsed bool, gate *term.Gate) *term.Approver {
	o := &term.ApproverOptions{Yes: yes, Root: root, Gate: gate}
	seen := c.screen()
	if seen != nil && !stdinUsed && term.IsTerminal(c.in) {
		o.Answers, o.Out, o.Color = c.personAt(seen), seen, term.Colored(seen)
	}
	return term.NewApprover(o)
}

// personAt is the person at the terminal; nil if they cannot be asked.
func (c *command) personAt(seen *os.File) term.Answers {
	if c.person == nil {
		ask := newPerson
		if c.newPerson != nil {
			ask = c.newPerson
		}
		p, err := ask(c.in, seen)
		if err != nil {
			c.note(err.Error())
			return nil
		}
		c.person = p
	}
	return c.person
}

// screen is where a question is seen: standard error, or the terminal itself if
// that leads elsewhere; nil if there is none.
func (c *command) screen() *os.File {
	if term.IsTerminal(c.err) {
		return c.err
	}
	if c.tty == nil {
		tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
		if err != nil {
			return nil
		}
		c.tty = tty
	}
	return c.tty
}

// wants says what the servers would start and where they would send to, or what
// would not be asked about.
func wants(s daemon.Servers) string {
	var parts []string
	if len(s.Commands) > 0 {
		parts = append(parts, "to start in "+screen.Exact(s.Dir).String()+":\n  "+listed(s.Commands))
	}
	if len(s.URLs) > 0 {
		parts = append(parts, "to send requests to:\n  "+listed(s.URLs))
	}
	if len(s.Rules) > 0 {
		parts = append(parts, "these calls to run without being asked about:\n  "+listed(s.Rules))
	}
	if len(s.Except) > 0 {
		parts[len(parts)-1] += "\n  except where these rules are stricter:\n  " + listed(s.Except)
	}
	if len(s.Hooks) > 0 {
		parts = append(parts, "subsystems that guard to be off, or to guard less:\n  "+listed(s.Hooks))
	}
	if len(s.Memories) > 0 {
		parts = append(parts, "to remember and to recall in all of your projects, not in this one alone:\n  "+listed(s.Memories))
	}
	text := screen.Exact(s.File).String() + " wants " + strings.Join(parts, "\nand ")
	if len(s.Changes) > 0 {
		text += "\nYou have allowed something else before. What has changed since:\n  " + listed(s.Changes)
	}
	return text
}

// listed are lines, each of exactly one text.
func listed(texts []string) string {
	lines := make([]string, len(texts))
	for i, t := range texts {
		lines[i] = screen.Exact(t).String()
	}
	return strings.Join(lines, "\n  ")
}

// absolute makes the file of a scripted model one of the working directory: what
// a person types is meant from there, also with --dir.
func absolute(model string) string {
	file, ok := strings.CutPrefix(model, "script:")
	if !ok || file == "" {
		return model
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return model
	}
	return "script:" + abs
}
