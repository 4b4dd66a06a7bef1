package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// The values of --on-ask-timeout.
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
	set               app.Settings
	sandbox           string
	reply             app.ReplyLimits
	listen            daemon.Listen
	store             storeFlags
	log               daemon.LogOptions
}

func (c *command) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the agents of a project for many clients, until it is interrupted",
		Long: "Serves the project's agents on a unix socket that only you can open. `grapnel ask`, `events` and\n" +
			"`conversations` use it, and every program that speaks HTTP can: see docs/openapi.yaml.\n\n" +
			"With --listen it serves them over TCP too, to who has a token of `grapnel token create`. An address that\n" +
			"other machines can reach needs a certificate, which may be replaced while the daemon runs.\n\n" +
			"After an interrupt the daemon waits for the running turns, and cancels them after the grace period. A second\n" +
			"interrupt ends it at once. Either way the conversations have all that was done.\n\n" +
			"Turns that were running when a process died are resumed.",
		Args: noArgs, Annotations: map[string]string{outlives: "its clients need it"},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serveAPI(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "the project to work in (default: the working directory)")
	socketFlag(cmd, &f.socket)
	cmd.Flags().StringVar(&f.model, "model", "", "the model of the agents that name none: VENDOR:NAME, a NAME that only one vendor has, or script:FILE")
	f.trust.add(cmd)
	cmd.Flags().BoolVar(&f.resume, "resume", true, "resume the turns that were interrupted when a process died")
	cmd.Flags().BoolVar(&f.hooks, "hooks", false, "record every hook run as an event, and keep it for grapnel explain")
	cmd.Flags().DurationVar(&f.askTimeout, "ask-timeout", approval.DefaultTimeout, "how long to wait for the approval of a tool call; 0 waits as long as its turn runs")
	cmd.Flags().StringVar(&f.onAskTimeout, "on-ask-timeout", onTimeoutRefuse, "what to do with the call after that time: refuse it, or approve it, which is dangerous: all calls run that nobody looks at")
	cmd.Flags().DurationVar(&f.grace, "grace", api.DefaultGrace, "how long running turns may continue after an interrupt")
	setFlag(cmd, &f.set)
	sandboxFlag(cmd, &f.sandbox)
	replyFlags(cmd, &f.reply)
	cmd.Flags().StringVar(&f.listen.Address, "listen", "", "also serve over TCP on this address, such as 127.0.0.1:7777")
	cmd.Flags().StringVar(&f.listen.Cert, "tls-cert", "", "the certificate for --listen, with those between it and its authority, in PEM")
	cmd.Flags().StringVar(&f.listen.Key, "tls-key", "", "the key of the certificate, in PEM")
	cmd.Flags().StringSliceVar(&f.listen.Hosts, "host", nil, "a further name, with its port, by which clients reach --listen, such as localhost:8080 behind a tunnel")
	f.store.add(cmd)
	cmd.Flags().StringVar(&f.log.Level, "log-level", "info", "what is written to standard error: debug, with each request, info, warn or error; grapnel log-level changes it")
	cmd.Flags().StringVar(&f.log.Form, "log-format", daemon.LogPlain, "how it is written: plain, text (key=value, with times) or json")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return cmd
}

// daemonFlag adds the flags that name a daemon.
func daemonFlag(cmd *cobra.Command, to *target.Daemon) {
	socketFlag(cmd, &to.Socket)
	cmd.Flags().Lookup("socket").Usage += "; several, with commas, are daemons over one store, of which any one will do"
	serverFlag(cmd, to)
}

// serverFlag adds the flags that name a server.
func serverFlag(cmd *cobra.Command, to *target.Daemon) {
	cmd.Flags().StringVar(&to.Server, "server", "", "the daemon over TCP (grapnel serve --listen), such as https://build.example:7777; several as with --socket")
	cmd.Flags().StringVar(&to.TokenFile, "token-file", "", "the file with the token for --server, that only you can read (default: the token in $"+target.TokenVariable+")")
	cmd.Flags().StringVar(&to.CA, "ca", "", "the authority of the certificate of --server, in PEM (default: those of the system)")
}

// hereOnly returns an error if a flag is given that cannot reach a server.
func hereOnly(cmd *cobra.Command, at target.Daemon, flags ...string) error {
	for _, name := range flags {
		if at.Named() && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for a turn in this process, and --server and --socket run it on the daemon; leave one out", name)
		}
	}
	return at.Check()
}

func socketFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "socket", "", "the daemon's socket (default: grapnel/grapnel.sock in $XDG_RUNTIME_DIR, or run/grapnel.sock in the state directory)")
}

// serveAPI serves until ctx ends. If it fails before, it leaves nothing open.
func (c *command) serveAPI(ctx context.Context, f serveFlags) error {
	paths, err := c.paths(f.place)
	if err != nil {
		return err
	}
	if err := f.store.into(&paths); err != nil {
		return err
	}
	asks, err := c.asks(f)
	if err != nil {
		return err
	}
	if f.listen.Address == "" && (f.listen.Cert != "" || len(f.listen.Hosts) > 0) {
		return errors.New("--tls-cert, --tls-key and --host are for TCP; give an address with --listen")
	}
	socket, err := daemon.Socket(f.socket, paths, c.getenv)
	if err != nil {
		return err
	}
	f.log.Note, f.log.Mask, f.log.To = c.Note, c.Mask, screen.New(c.Err)
	if f.log.Form == daemon.LogJSON {
		f.log.To = screen.JSONWriter(c.Err)
	}
	said, err := daemon.NewLog(f.log)
	if err != nil {
		return err
	}
	d, err := daemon.Open(ctx, daemon.Options{Socket: socket, Log: said, Listen: f.listen, Between: f.store.between, Grace: f.grace, Resume: f.resume, App: app.Options{
		Paths: paths, Approval: asks, Model: app.AbsoluteModel(f.model), Note: said.Note, Trust: c.trust(c.Approver(nil), f.trust),
		TrustLater: c.trust(term.NewApprover(nil), f.trust),
		Node:       f.store.node, RecordHooks: f.hooks, Set: f.set, Sandbox: f.sandbox, Reply: f.reply,
	}})
	if err != nil {
		return err
	}
	for _, at := range append([]string{socket}, d.URLs()...) {
		_ = screen.New(c.Out).Print(screen.Format("grapnel: serving %s on %s\n", paths.Root, at)) // it serves also if nobody reads that
	}
	if err := d.Run(ctx); err != nil {
		return &failed{exitFailed, err}
	}
	return nil
}

// asks returns the options of approvals from the flags.
func (c *command) asks(f serveFlags) (approval.Options, error) {
	o := approval.Options{Timeout: f.askTimeout}
	if f.askTimeout < 0 {
		return o, fmt.Errorf("--ask-timeout is %s; give a time such as 15m, or 0 to wait as long as the turn runs", f.askTimeout)
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
		c.Note(fmt.Sprintf("DANGEROUS: a call that nobody answers within %s is approved, whatever it does (--on-ask-timeout)", f.askTimeout))
	default:
		return o, fmt.Errorf("--on-ask-timeout is %.20q; write refuse or approve", f.onAskTimeout)
	}
	return o, nil
}

// daemonOrPaths returns the daemon that the flags name, or that of the working directory's project. If the flags name
// none and none is running, it returns the paths of the project.
func (c *command) daemonOrPaths(ctx context.Context, at target.Daemon) (*client.Client, app.Paths, error) {
	d, err := c.client(at, "")
	if err != nil {
		return nil, app.Paths{}, err
	}
	health, away := d.Health(ctx)
	if at != (target.Daemon{}) || away != nil && !errors.Is(away, client.ErrNotRunning) {
		return d, app.Paths{}, nil
	}
	paths, err := c.paths(place{})
	if err == nil && away == nil && daemon.Mismatch(health, paths) == "" {
		return d, paths, nil
	}
	return nil, paths, err
}

// overDaemon calls do with a client of the daemon of the working directory's project. If none
// is running and the flags name none, this process serves as the daemon during the call:
// without MCP servers, and without the agents that require them.
func (c *command) overDaemon(ctx context.Context, at target.Daemon, do func(d *client.Client) error) error {
	d, paths, err := c.daemonOrPaths(ctx, at)
	if err != nil {
		return err
	}
	if d != nil {
		return do(d)
	}
	return daemon.Within(ctx, app.Options{Paths: paths, Note: c.Note}, do)
}
