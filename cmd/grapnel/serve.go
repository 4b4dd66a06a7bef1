package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/client"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// What can be done with a call that nobody has approved in time.
const (
	onTimeoutRefuse  = "refuse"
	onTimeoutApprove = "approve"
)

type serveFlags struct {
	place
	socket, model     string
	resume, hooks     bool
	trust             trustFlags
	askTimeout, grace time.Duration
	onAskTimeout      string
	set               daemon.Settings
	reply             daemon.ReplyLimits
}

func (c *command) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the agents of a project for many clients, until it is interrupted",
		Long: "Serves the project's agents on a unix socket that only you can open. `grapnel ask`, `events` and\n" +
			"`conversations` talk to it, and so can every program that speaks HTTP: docs/openapi.yaml.\n\n" +
			"An interrupt lets the turns in flight end, and cancels them after the grace period; a second one ends\n" +
			"the daemon at once. What was done is in the conversations either way.\n\n" +
			"Turns that were running when a process died are resumed.",
		Args: noArgs, Annotations: map[string]string{outlives: "its clients need it"},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serveAPI(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "the project to work in (default: the working directory)")
	socketFlag(cmd, &f.socket)
	cmd.Flags().StringVar(&f.model, "model", "", "the model of the agents that name none: script:FILE or openai:NAME")
	f.trust.add(cmd)
	cmd.Flags().BoolVar(&f.resume, "resume", true, "go on with the turns that were interrupted when a process died")
	cmd.Flags().BoolVar(&f.hooks, "hooks", false, "record every hook run as an event, and keep it for grapnel explain")
	cmd.Flags().DurationVar(&f.askTimeout, "ask-timeout", approval.DefaultTimeout, "how long to wait for the approval of a tool call; 0 waits as long as its turn goes on")
	cmd.Flags().StringVar(&f.onAskTimeout, "on-ask-timeout", onTimeoutRefuse, "what then becomes of the call: refuse, or approve, which is dangerous, as everything runs that nobody looks at")
	cmd.Flags().DurationVar(&f.grace, "grace", api.DefaultGrace, "how long turns in flight may go on after an interrupt")
	setFlag(cmd, &f.set)
	replyFlags(cmd, &f.reply)
	return cmd
}

func socketFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "socket", "", "the daemon's socket (default: grapnel/grapnel.sock in $XDG_RUNTIME_DIR, or run/grapnel.sock in the state directory)")
}

// socketPath returns the socket that was named, or the default one.
func (c *command) socketPath(named string, paths daemon.Paths) (string, error) {
	if named == "" {
		return api.DefaultSocket(paths.State, c.getenv), nil
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find the socket: %w", err)
	}
	return path, nil
}

// serveAPI serves until ctx ends. Nothing is left open if it fails before.
func (c *command) serveAPI(ctx context.Context, f serveFlags) (err error) {
	paths, err := c.paths(f.place)
	if err != nil {
		return err
	}
	socket, err := c.socketPath(f.socket, paths)
	if err != nil {
		return err
	}
	ln, err := api.Listen(ctx, socket)
	if err != nil {
		return err
	}
	server, end, err := c.assemble(ctx, f, paths)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	_ = screen.New(c.out).Print(screen.Format("grapnel: serving %s on %s\n", paths.Root, socket)) // it serves all the same
	if err := server.Run(ctx, ln, end); err != nil {
		return &failed{exitFailed, err}
	}
	return nil
}

// recentEvents is how many events of a conversation are held for clients that come
// late, or come back; from a longer absence they get what the store has.
const recentEvents = 4096

// assemble opens the daemon with all agents of the project. It returns what closes it.
func (c *command) assemble(ctx context.Context, f serveFlags, paths daemon.Paths) (*api.Server, func(context.Context) error, error) {
	agents, err := daemon.Agents(paths, nil)
	if err != nil {
		return nil, nil, err
	}
	asks, err := c.asks(f)
	if err != nil {
		return nil, nil, err
	}
	app, err := daemon.Open(ctx, daemon.Options{
		Paths: paths, Approval: asks, Recent: recentEvents, Model: absolute(f.model), Note: c.note, Trust: c.trust(c.approver(false, false), f.trust),
		RecordHooks: f.hooks, Set: f.set, Reply: f.reply,
	})
	if err != nil {
		return nil, nil, err
	}
	r := registrations{command: c, app: app, model: absolute(f.model)}
	if err := r.start(ctx, agents); err != nil {
		return nil, nil, errors.Join(err, r.close(context.WithoutCancel(ctx)))
	}
	o := apiOptions(app, paths)
	o.Await = r.await
	o.Grace, o.GoOn, o.Log, o.Hooks, o.Model = f.grace, f.resume, c.note, f.hooks, absolute(f.model)
	return api.New(o), r.close, nil
}

// asks are the settings of approvals that the flags say.
func (c *command) asks(f serveFlags) (approval.Options, error) {
	o := approval.Options{Timeout: f.askTimeout}
	if f.askTimeout < 0 {
		return o, fmt.Errorf("--ask-timeout is %s; give a time such as 15m, or 0 to wait as long as the turn goes on", f.askTimeout)
	}
	if f.askTimeout == 0 {
		o.Timeout = -1
	}
	switch f.onAskTimeout {
	case onTimeoutRefuse:
	case onTimeoutApprove:
		if o.Timeout < 0 {
			return o, errors.New("--on-ask-timeout approve needs a time: give one with --ask-timeout")
		}
		o.OnTimeout = approval.ApproveOnTimeout
		c.note(fmt.Sprintf("DANGEROUS: what nobody answers within %s is approved, whatever it does (--on-ask-timeout)", f.askTimeout))
	default:
		return o, fmt.Errorf("--on-ask-timeout is %.20q; it is refuse or approve", f.onAskTimeout)
	}
	return o, nil
}

func apiOptions(app *daemon.App, paths daemon.Paths) api.Options {
	return api.Options{
		Runtime: app.Runtime, Store: app.Store, Root: paths.Root, State: paths.State,
		Project: paths.Project(), Abandoned: daemon.Abandoned,
		Agent: daemon.DefaultAgent, Plan: app.Runtime.Plan(), Check: app.CheckModel,
		Tools: func(a *runtime.Agent) []wire.Tool { return toolsOf(app, a) },
		Start: app.Start, Resume: app.Resume, Interrupted: app.Interrupted,
	}
}

// overDaemon does something over the daemon of the working directory's project. Where
// none is running, and no other one was named, this process is one for as long as that
// takes: with the agents of the project that can do without MCP servers, which are not
// started.
func (c *command) overDaemon(ctx context.Context, socket string, do func(d *client.Client) error) (err error) {
	d, err := c.client(socket, "")
	if err != nil {
		return err
	}
	health, away := d.Health(ctx)
	if socket != "" || away != nil && !errors.Is(away, client.ErrNotRunning) {
		return do(d)
	}
	paths, err := c.paths(place{})
	if err != nil {
		return err
	}
	if away == nil && foreign(health, paths) == "" {
		return do(d)
	}
	dir, err := os.MkdirTemp("", "grapnel-")
	if err != nil {
		return fmt.Errorf("make a directory for a socket: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	app, err := daemon.Open(ctx, daemon.Options{Paths: paths, Note: c.note})
	if err != nil {
		return err
	}
	agents, _ := daemon.Agents(paths, nil) // Open has read them
	for _, a := range agents {
		_, _ = app.Register(ctx, a.Config.Name, hook.AgentConfig{}) // who needs one that is not there is told so
	}
	socket = filepath.Join(dir, "socket")
	ln, err := api.Listen(ctx, socket)
	if err != nil {
		return errors.Join(err, app.Close(context.WithoutCancel(ctx)))
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- api.New(apiOptions(app, paths)).Run(serving, ln, app.Close) }()
	err = do(client.New(socket, nil))
	stop()
	return errors.Join(err, <-ended)
}

func toolsOf(app *daemon.App, a *runtime.Agent) []wire.Tool {
	tools := app.Tools(a)
	out := make([]wire.Tool, len(tools))
	for i, t := range tools {
		out[i] = wire.Tool(t)
	}
	return out
}
