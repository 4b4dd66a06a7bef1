package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/choose"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/chat"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/term/remote"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

type chatFlags struct {
	dir, agent, sender string
	at                 target.Daemon
	model              choose.Flags
	yes                bool
	trust              trustFlags
	hooks              hook.Visibility
	set                app.Settings
	sandbox            string
	reply              app.ReplyLimits
}

func (c *command) chat() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to an agent at the terminal",
		Long: "Talks to an agent at the terminal: each line that you type is a turn, shown as it happens.\n" +
			"/help lists the commands and the skills; Ctrl-C interrupts a turn, Ctrl-D leaves.\n" +
			"If standard input is no terminal, each of its lines is a turn.\n" +
			"With --server or --socket the turns run on the daemon there. A message that mentions a file as @path brings the file of this machine.",
		Example: "  grapnel chat\n  grapnel chat --agent reviewer --sender me",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := hereOnly(cmd, f.at, "dir", "set", "sandbox", "model", "reasoning", "temperature", "max-tokens",
				"max-text", "max-arguments", startServersFlag, acceptRulesFlag); err != nil {
				return err
			}
			return c.talk(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "the project to work in (default: the working directory)")
	cmd.Flags().StringVar(&f.agent, "agent", app.DefaultAgent, "the agent to talk to; grapnel agents lists them")
	modelFlags(cmd, &f.model)
	cmd.Flags().StringVar(&f.sender, "sender", "", "continue the conversation of this sender (default: a new one)")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	f.trust.add(cmd)
	daemonFlag(cmd, &f.at)
	hooksFlag(cmd, &f.hooks, "record hook runs for grapnel explain, and show them")
	setFlag(cmd, &f.set)
	sandboxFlag(cmd, &f.sandbox)
	replyFlags(cmd, &f.reply)
	return cmd
}

// talk runs a conversation. Until it begins, an interrupt ends the program; then the chat
// handles Ctrl-C.
func (c *command) talk(starting context.Context, f chatFlags) (err error) {
	paths, err := c.paths(place{dir: f.dir})
	if err != nil {
		return err
	}
	color := term.Colored(c.Out)
	ed, err := edit.New(c.In, c.Out, &edit.Options{Write: c.Written, Dumb: c.getenv("TERM") == "dumb", Color: color})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ed.Close()) }()
	session := chat.New(ed, color)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(starting))
	defer cancel(nil)
	begun := context.AfterFunc(starting, func() { cancel(context.Cause(starting)) })
	o := chat.Options{Agent: f.agent, Sender: f.sender, Root: paths.Root, Mask: c.Masked, Hooks: f.hooks}
	end := func() error { return nil }
	place := paths.Root
	if f.at.Named() {
		place = cmp.Or(f.at.Server, paths.Root)
		o.Host, err = c.chatThere(ctx, f, chatApprover(session, ed, "", f.yes, color), session)
	} else {
		end, err = c.chatHere(ctx, &o, f, paths, chatApprover(session, ed, paths.Root, f.yes, color))
	}
	if err != nil {
		return notBegun(starting, err)
	}
	defer func() { err = errors.Join(err, end()) }()
	if ed.Interactive() {
		if o.History, err = edit.OpenHistory(paths.History(place)); err != nil {
			c.Note(err.Error()) // the conversation continues without a history
		}
	}
	if !begun() {
		return notBegun(starting, context.Canceled)
	}
	defer console.Interrupts(session.Interrupt, cancel)()
	defer context.AfterFunc(c.Written.Lost(), func() { cancel(context.Cause(c.Written.Lost())) })()
	return ended(session.Run(ctx, o))
}

// chatHere makes this process the host. The caller calls end.
func (c *command) chatHere(ctx context.Context, o *chat.Options, f chatFlags, paths app.Paths, approver *term.Approver) (end func() error, err error) {
	opened, err := app.Open(ctx, app.Options{
		Paths: paths, Approval: atTerminal(), Inquire: approver.Inquire, Note: c.Note, Trust: c.trust(approver, f.trust),
		RecordHooks: f.hooks != "", Set: f.set, Sandbox: f.sandbox, Reply: f.reply,
	})
	if err != nil {
		return nil, err
	}
	end = func() error { return opened.Close(context.WithoutCancel(ctx)) }
	_, over, err := c.register(ctx, opened, f.agent, hook.AgentConfig{Model: f.model.Model()}, approver)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	o.Host, o.Mask = &chat.Local{App: opened, Over: over, Paths: paths}, opened.Mask
	return end, nil
}

// chatThere returns a host on a server.
func (c *command) chatThere(ctx context.Context, f chatFlags, approver *term.Approver, shown *chat.Chat) (talk.Host, error) {
	d, err := c.client(f.at, f.hooks)
	if err != nil {
		return nil, err
	}
	health, err := d.Health(ctx)
	if err != nil {
		return nil, err
	}
	if f.hooks != "" && !health.Hooks {
		c.Note("the daemon does not record hook runs; start it with grapnel serve --hooks")
	}
	return &remote.Host{Client: d, Approver: approver, Note: shown.Note}, nil
}

// chatApprover returns an approver that asks the person at the terminal, if there is one.
func chatApprover(session *chat.Chat, ed *edit.Editor, root string, yes, color bool) *term.Approver {
	o := &term.ApproverOptions{Yes: yes, Out: ed, Root: root, Color: color}
	if ed.Interactive() {
		o.Answers = session
	}
	return term.NewApprover(o)
}

// notBegun returns the error of a conversation that did not begin: an interrupt, a lost
// output, or err.
func notBegun(starting context.Context, err error) error {
	if lost, ok := errors.AsType[stdout.LostError](context.Cause(starting)); ok {
		return lost
	}
	if errors.Is(err, context.Canceled) {
		return &failed{exitInterrupted, errors.New("interrupted before the conversation began")}
	}
	return err
}

// ended converts the end of a conversation to an exit code.
func ended(err error) error {
	if errors.Is(err, chat.ErrFailed) {
		return &failed{code: exitFailed}
	}
	if s, ok := errors.AsType[console.Signalled](err); ok {
		return &failed{code: codeOf(s)}
	}
	return err
}
