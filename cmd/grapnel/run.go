package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/choose"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

type runFlags struct {
	place
	agent, sender string
	model         choose.Flags
	at            target.Daemon
	form          app.AnswerForm
	yes           bool
	files         []string
	trust         trustFlags
	hooks         hook.Visibility
	set           app.Settings
	sandbox       string
	reply         app.ReplyLimits
	// ephemeral: nothing of the conversation is stored. steps is a file with the prompts of a program.
	ephemeral bool
	steps     string
}

func (c *command) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   `run "prompt"`,
		Short: "Give an agent a task in the working directory",
		Long: "Runs one turn of an agent in the working directory and shows it as it happens.\n" +
			"The prompt is the argument, or standard input if the argument is -.\n\n" +
			"If `grapnel serve` is running for the same project, the turn runs there, unless a flag is about the model, or --set,\n" +
			"--max-text or --max-arguments is given, or nothing is to be stored (--ephemeral, --steps).\n" +
			"With --server it runs on the daemon there, in the directory of that daemon.",
		Example: "  grapnel run --model script:answers.yaml \"What is in this directory?\"\n" +
			"  git diff | grapnel run - --agent reviewer --sender me",
		Args: f.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := hereOnly(cmd, f.at, "dir", "set", "sandbox", "ephemeral", "steps", "max-text", "max-arguments", startServersFlag, acceptRulesFlag); err != nil {
				return err
			}
			if f.steps != "" {
				prompts, err := readSteps(f.steps)
				if err != nil {
					return err
				}
				return c.turns(cmd.Context(), f, false, prompts)
			}
			prompt, err := c.Prompt(args[0])
			if err != nil {
				return err
			}
			if f.at.Remote() {
				d, err := c.client(f.at, f.hooks)
				if err != nil {
					return err
				}
				return c.askDaemon(cmd.Context(), d, f.asked(), args[0] == "-", prompt)
			}
			return c.turns(cmd.Context(), f, args[0] == "-", []string{prompt})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.ephemeral, "ephemeral", false, "store nothing of the turn; with --sender it begins with the stored conversation")
	cmd.Flags().StringVar(&f.steps, "steps", "", "a file of prompts, separated by lines of ---, for turns one after the other until one fails; nothing of them is stored")
	cmd.Flags().StringVar(&f.agent, "agent", app.DefaultAgent, "the agent to ask; grapnel agents lists them")
	modelFlags(cmd, &f.model)
	cmd.Flags().StringVar(&f.sender, "sender", "", "continue the conversation of this sender (default: a new one)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	filesFlag(cmd, &f.files)
	f.trust.add(cmd)
	serverFlag(cmd, &f.at)
	hooksFlag(cmd, &f.hooks, "record hook runs for grapnel explain, and show them")
	setFlag(cmd, &f.set)
	sandboxFlag(cmd, &f.sandbox)
	replyFlags(cmd, &f.reply)
	schemaFlag(cmd, &f.form)
	return cmd
}

// asked returns the flags of ask for the same turn on a daemon.
func (f *runFlags) asked() askFlags {
	return askFlags{place: f.place, at: f.at, agent: f.agent, sender: f.sender, model: f.model, yes: f.yes, hooks: f.hooks, form: f.form, files: f.files}
}

func schemaFlag(cmd *cobra.Command, to *app.AnswerForm) {
	cmd.Flags().Var(to, "schema", "a file with the JSON Schema of the answer; only the answer is printed, unless --json is given")
}

// hooksFlag adds the flag for the least visibility of the hook runs that are shown.
func hooksFlag(cmd *cobra.Command, to *hook.Visibility, usage string) {
	cmd.Flags().VarPF((*hookLevel)(to), "hooks", "", usage+": all, or =user, =audit, =debug for runs that are at least as visible").NoOptDefVal = string(event.VisibleInternal)
}

// hookLevel is a visibility of hook runs as a flag.
type hookLevel hook.Visibility

// String implements pflag.Value.
func (l *hookLevel) String() string { return string(*l) }

// Type implements pflag.Value.
func (l *hookLevel) Type() string { return "level" }

// Set implements pflag.Value.
func (l *hookLevel) Set(name string) error {
	v, err := event.ParseVisibility(name)
	*l = hookLevel(v)
	return err
}

// args checks the arguments of run: one prompt, or none beside --steps.
func (f *runFlags) args(cmd *cobra.Command, args []string) error {
	if f.steps == "" {
		return onePrompt(cmd, args)
	}
	if len(args) > 0 {
		return errors.New("--steps has the prompts; leave the prompt out")
	}
	return nil
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

// turns runs a turn for each prompt, until one fails. It finds all mistakes in the flags and the
// project before the first event.
func (c *command) turns(ctx context.Context, f runFlags, stdinUsed bool, prompts []string) (err error) {
	paths, err := c.paths(f.place)
	if err != nil {
		return err
	}
	if f.ephemeral = f.ephemeral || f.steps != ""; !f.ephemeral {
		if done, err := c.onDaemon(ctx, f, paths, stdinUsed, prompts[0]); done {
			return err
		}
	}
	show, gate := c.Shower(f.json, f.form.Asked(), f.hooks)
	approver := c.Approver(&console.Ask{Root: paths.Root, Yes: f.yes, StdinUsed: stdinUsed, Gate: gate})
	opened, err := app.Open(ctx, app.Options{
		Paths: paths, Approval: atTerminal(), Inquire: approver.Inquire, Model: app.AbsoluteModel(f.model.Name), Note: c.Note, Trust: c.trust(approver, f.trust),
		RecordHooks: f.hooks != "", Set: f.set, Sandbox: f.sandbox, Reply: f.reply,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close(context.WithoutCancel(ctx))) }()
	over := hook.AgentConfig{Model: f.model.Model()}
	over.Model.Format = f.form.Format()
	if _, _, err = c.register(ctx, opened, f.agent, over, approver); err != nil {
		return err
	}
	conv, end, err := f.conversation(ctx, opened)
	if err != nil {
		return err
	}
	defer end()
	for i, prompt := range prompts {
		if len(prompts) > 1 {
			c.Remark(fmt.Sprintf("step %d of %d", i+1, len(prompts)))
		}
		input, err := inputOf(prompt, f.files)
		if err != nil {
			return err
		}
		f.files = nil // the first prompt has them, and the history
		if err := runTurn(ctx, opened, conv, input, show, f.form); err != nil {
			return err
		}
	}
	return nil
}

// conversation returns the conversation of the turns. The caller calls end after them.
func (f *runFlags) conversation(ctx context.Context, opened *app.App) (conv *runtime.Conversation, end func(), err error) {
	sender := f.sender
	if sender == "" {
		sender = "run-" + ulid.Make().String()
	}
	if !f.ephemeral {
		conv, err = opened.Conversation(ctx, f.agent, sender)
		return conv, func() {}, err
	}
	e, err := opened.Ephemeral(ctx, f.agent, sender)
	if err != nil {
		return nil, nil, err
	}
	return e.Conversation, func() { _ = e.End(context.WithoutCancel(ctx)) }, nil // no turn of it runs
}

// runTurn runs one turn and shows it. The error has the exit code of its outcome.
func runTurn(ctx context.Context, opened *app.App, conv *runtime.Conversation, input message.Input, show term.Shower, form app.AnswerForm) error {
	turn, err := opened.Start(ctx, conv, input, &runtime.TurnOptions{Observe: show.OnEvent})
	var out hook.TurnOutcome
	switch {
	case err == nil:
		out = opened.Wait(ctx, turn)
	case errors.Is(err, runtime.ErrBusy):
		return err
	case ctx.Err() != nil:
		out = hook.TurnOutcome{Stop: hook.StopCancelled, Err: err}
	default:
		return &failed{exitFailed, fmt.Errorf("the turn could not begin: %w", err)}
	}
	out = form.Held(out)
	show.Outcome(out)
	return verdict(out)
}

// Limits of a file of steps.
const (
	maxSteps     = 100
	maxStepsFile = 1 << 20
)

// readSteps reads the prompts of a program: texts separated by lines of three hyphens.
func readSteps(path string) ([]string, error) {
	data, err := conffile.Read(path, &conffile.Options{Max: maxStepsFile})
	if err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is no UTF-8 text", path)
	}
	prompts := []string{""}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if strings.TrimSpace(line) == "---" {
			prompts = append(prompts, "")
			continue
		}
		prompts[len(prompts)-1] += line
	}
	if len(prompts) > maxSteps {
		return nil, fmt.Errorf("%s has %d steps; the most are %d", path, len(prompts), maxSteps)
	}
	for i, p := range prompts {
		if prompts[i] = strings.TrimSpace(p); prompts[i] == "" {
			return nil, fmt.Errorf("step %d of %s is empty; write a prompt, or delete a line of ---", i+1, path)
		}
	}
	return prompts, nil
}

// verdict converts an outcome that was already shown to an exit code.
func verdict(out hook.TurnOutcome) error {
	switch {
	case term.Cause(out) == "":
		return nil
	case out.Stop == hook.StopCancelled, out.Stop == hook.StopUserRequested:
		return &failed{code: exitInterrupted}
	}
	return &failed{code: exitFailed}
}

// atTerminal returns the options of approvals at a terminal, which wait without a limit.
func atTerminal() approval.Options { return approval.Options{Timeout: -1} }
