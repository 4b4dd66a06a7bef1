package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/choose"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

type runFlags struct {
	place
	agent, sender string
	model         choose.Flags
	form          app.AnswerForm
	yes           bool
	files         []string
	trust         trustFlags
	hooks         hook.Visibility
	set           app.Settings
	reply         app.ReplyLimits
}

func (c *command) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   `run "prompt"`,
		Short: "Give an agent a task in the working directory",
		Long: "Runs one turn of an agent in the working directory and shows it as it happens.\n" +
			"The prompt is the argument, or standard input if the argument is -.\n\n" +
			"If `grapnel serve` is running for the same project, the turn runs there, unless a flag is about the model, or --set,\n" +
			"--max-text or --max-arguments is given.",
		Example: "  grapnel run --model script:answers.yaml \"What is in this directory?\"\n" +
			"  git diff | grapnel run - --agent reviewer --sender me",
		Args: onePrompt,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := c.Prompt(args[0])
			if err != nil {
				return err
			}
			return c.turn(cmd.Context(), f, args[0] == "-", prompt)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.agent, "agent", app.DefaultAgent, "the agent to ask; grapnel agents lists them")
	modelFlags(cmd, &f.model)
	cmd.Flags().StringVar(&f.sender, "sender", "", "continue the conversation of this sender (default: a new one)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	filesFlag(cmd, &f.files)
	f.trust.add(cmd)
	hooksFlag(cmd, &f.hooks, "record hook runs for grapnel explain, and show them")
	setFlag(cmd, &f.set)
	replyFlags(cmd, &f.reply)
	schemaFlag(cmd, &f.form)
	return cmd
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

func onePrompt(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("there is no prompt; write it in quotes, grapnel run \"…\", or - to read it from standard input")
	case 1:
		return nil
	}
	return fmt.Errorf("there are %d prompts; put one prompt in quotes", len(args))
}

// turn runs one turn. It finds all mistakes in the flags and the project before the first
// event.
func (c *command) turn(ctx context.Context, f runFlags, stdinUsed bool, prompt string) (err error) {
	paths, err := c.paths(f.place)
	if err != nil {
		return err
	}
	if done, err := c.onDaemon(ctx, f, paths, stdinUsed, prompt); done {
		return err
	}
	show, gate := c.Shower(f.json, f.form.Asked(), f.hooks)
	approver := c.Approver(&console.Ask{Root: paths.Root, Yes: f.yes, StdinUsed: stdinUsed, Gate: gate})
	opened, err := app.Open(ctx, app.Options{
		Paths: paths, Approval: atTerminal(), Inquire: approver.Inquire, Model: app.AbsoluteModel(f.model.Name), Note: c.Note, Trust: c.trust(approver, f.trust),
		RecordHooks: f.hooks != "", Set: f.set, Reply: f.reply,
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
	if f.sender == "" {
		f.sender = "run-" + ulid.Make().String()
	}
	conv, err := opened.Conversation(ctx, f.agent, f.sender)
	if err != nil {
		return err
	}
	input, err := inputOf(prompt, f.files)
	if err != nil {
		return err
	}
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
	out = f.form.Held(out)
	show.Outcome(out)
	return verdict(out)
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
