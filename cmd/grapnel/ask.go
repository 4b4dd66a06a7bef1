package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/choose"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/socket"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/internal/term/remote"
)

type askFlags struct {
	place
	at                             target.Daemon
	agent, sender, whenBusy, guest string
	model                          choose.Flags
	files                          []string
	yes                            bool
	hooks                          hook.Visibility
	form                           app.AnswerForm
}

func (c *command) ask() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   `ask "prompt"`,
		Short: "Give an agent of the running daemon a task",
		Long: "Runs one turn of an agent of the daemon that `grapnel serve` has started for the project in the working directory,\n" +
			"or of the one on --socket or --server, and shows it as it happens.\n" +
			"What needs approval is asked here. The prompt is the argument, or standard input if the argument is -.",
		Example: "  grapnel ask --sender me \"What is in this directory?\"",
		Args:    onePrompt,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := c.Prompt(args[0])
			if err != nil {
				return err
			}
			d, err := c.daemonHere(cmd.Context(), f.at, f.hooks)
			if err != nil {
				return err
			}
			return c.askDaemon(cmd.Context(), d, f, args[0] == "-", prompt)
		},
	}
	daemonFlag(cmd, &f.at)
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
	cmd.Flags().StringVar(&f.agent, "agent", app.DefaultAgent, "the agent to ask; the daemon knows those of its project")
	cmd.Flags().StringVar(&f.sender, "sender", "", "continue the conversation of this sender (default: a new one)")
	cmd.Flags().StringVar(&f.whenBusy, "when-busy", "", "while a turn of the conversation is running: refuse, queue behind it, or steer it (default refuse)")
	cmd.Flags().StringVar(&f.guest, "guest", "", "another agent that answers this prompt in the conversation, in text and without tools")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	modelFlags(cmd, &f.model)
	filesFlag(cmd, &f.files)
	schemaFlag(cmd, &f.form)
	hooksFlag(cmd, &f.hooks, "show hook runs, if the daemon records them (grapnel serve --hooks)")
	return cmd
}

// client returns a client of the daemon. hooks is the least visibility of the hook runs that the
// client gets.
func (c *command) client(at target.Daemon, hooks hook.Visibility) (*client.Client, error) {
	if err := at.Check(); err != nil {
		return nil, err
	}
	if at.Remote() {
		return at.Client(c.getenv, client.Options{Hooks: hooks})
	}
	paths, err := c.paths(place{})
	if err != nil {
		return nil, err
	}
	named := at.Sockets()
	if len(named) == 0 {
		named = []string{""}
	}
	sockets := make([]string, len(named))
	for i, name := range named {
		if sockets[i], err = daemon.Socket(name, paths, c.getenv); err != nil {
			return nil, err
		}
	}
	o := &client.Options{Hooks: hooks, Named: at.Socket != "", Others: sockets[1:]}
	if at.Socket != "" {
		o.Start = "grapnel serve --socket " + sockets[0]
	}
	return client.New(sockets[0], o), nil
}

// daemonHere is client for the daemon of the project in the working directory. The daemon on
// the default socket may serve another project: then the error says so. One that the flags name
// is not checked.
func (c *command) daemonHere(ctx context.Context, at target.Daemon, hooks hook.Visibility) (*client.Client, error) {
	d, err := c.client(at, hooks)
	if err != nil || at != (target.Daemon{}) {
		return d, err
	}
	health, err := d.Health(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := c.paths(place{})
	if err != nil {
		return nil, err
	}
	if other := daemon.Mismatch(health, paths); other != "" {
		return nil, fmt.Errorf("the running daemon is not that of %s: %s; go there, start one for this project with `grapnel serve --socket PATH`, "+
			"or choose one with --socket or --server", paths.Root, other)
	}
	return d, nil
}

// lookTime is how long a daemon has to identify itself before a command runs without it.
const lookTime = 2 * time.Second

// onDaemon runs the turn on the daemon of the same project, if there is one and the flags
// allow it. It reports where the turn runs if a daemon is running. It returns false if the
// turn must run in this process.
func (c *command) onDaemon(ctx context.Context, f runFlags, paths app.Paths, stdinUsed bool, prompt string) (done bool, err error) {
	d := client.New(socket.Default(paths.State, c.getenv), &client.Options{Hooks: f.hooks})
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	health, err := d.Health(look)
	if err != nil {
		if errors.Is(err, client.ErrUntrusted) {
			c.Remark("in this process: " + err.Error())
		}
		return false, nil // no daemon is running, or none that answers
	}
	here := ""
	switch _, err := d.Agent(look, f.agent); {
	case !f.set.Empty():
		here = "--set is for this command alone"
	case f.reply != app.ReplyLimits{}:
		here = "--max-text and --max-arguments are for this command alone"
	case f.model.Name != "":
		here = "--model is for this command alone"
	case f.model != choose.Flags{}:
		here = "--reasoning, --temperature and --max-tokens are for this command alone"
	case daemon.Mismatch(health, paths) != "":
		here = daemon.Mismatch(health, paths)
	case health.Status != wire.StatusOK:
		here = "it is shutting down"
	case err != nil:
		here = "it has no agent " + f.agent
	case f.hooks != "" && !health.Hooks:
		here = "it does not record hook runs, which grapnel serve --hooks does"
	}
	if here != "" {
		c.Remark("in this process, not on the daemon: " + here)
		return false, nil
	}
	c.Remark("on the daemon of this project, " + d.Address())
	return true, c.askDaemon(ctx, d, f.asked(), stdinUsed, prompt)
}

// askDaemon runs one turn on the daemon.
func (c *command) askDaemon(ctx context.Context, d *client.Client, f askFlags, stdinUsed bool, prompt string) error {
	health, err := d.Health(ctx)
	if err != nil {
		return err
	}
	if f.hooks != "" && !health.Hooks {
		c.Note("the daemon does not record hook runs; start it with grapnel serve --hooks")
	}
	conv, err := d.Conversation(ctx, f.agent, f.sender)
	if err != nil {
		return err
	}
	files, err := filesOf(f.files)
	if err != nil {
		return err
	}
	turn, err := d.SendMessage(ctx, conv.ID, wire.NewMessage{Text: prompt, Files: files, WhenBusy: wire.Busy(f.whenBusy), Format: f.form.Format(), Model: f.model.Model(), Guest: f.guest})
	if err != nil {
		return err
	}
	return c.attend(ctx, d, turn, f, rootOf(f.at, health), stdinUsed)
}

// rootOf returns the directory of the daemon's project on this machine; "" if it is on another one.
func rootOf(at target.Daemon, health wire.Health) string {
	if at.Remote() {
		return ""
	}
	return health.Root
}

// attend shows a turn of the daemon to its end. An interrupt cancels the turn.
func (c *command) attend(ctx context.Context, d *client.Client, turn wire.Turn, f askFlags, root string, stdinUsed bool) error {
	show, gate := c.Shower(f.json, f.form.Asked(), f.hooks)
	out, err := remote.Attend(ctx, turn, remote.Options{Client: d, Held: f.form.Held, Approver: c.Approver(&console.Ask{Root: root, Yes: f.yes, StdinUsed: stdinUsed, Gate: gate}), Show: show, Note: c.Note})
	if follow, ok := errors.AsType[*remote.FollowError](err); ok {
		return &failed{exitFailed, follow}
	}
	if err != nil {
		return err
	}
	return verdict(out)
}
