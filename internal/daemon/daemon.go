// Package daemon serves the agents of a project to many clients. It serves the program of
// package app with the API of package api, on a unix socket that only its user can open, and over TCP if that is wanted.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/explain"
	"github.com/grapnel-go/grapnel/internal/metrics"
	"github.com/grapnel-go/grapnel/internal/monitor"
	"github.com/grapnel-go/grapnel/internal/socket"
	"github.com/grapnel-go/grapnel/runtime"
)

// Options of Open.
type Options struct {
	// App is the program. Open sets App.Recent.
	App app.Options
	// Socket is the absolute path of the unix socket.
	Socket string
	Listen Listen
	// Between is how daemons over one database reach each other.
	Between Between
	// Grace is how long running turns may continue when the daemon ends; 0 is api.DefaultGrace.
	Grace time.Duration
	// Log is told what happens beside App.Note, which may be its Note; nil is nobody.
	Log *Log
	// Resume makes the daemon resume turns that were interrupted when a process died.
	Resume bool
}

// Listen is how the daemon listens on TCP.
type Listen struct {
	// Address is such as 127.0.0.1:7777; "" is none.
	Address string
	// Cert and Key are files in PEM; "" is no TLS.
	Cert, Key string
	// Hosts are further values of Host that requests may have.
	Hosts []string
}

// recentEvents is how many events of a conversation are held for clients that come late or come
// back. They get older events from the store.
const recentEvents = 4096

// Daemon serves one project. The caller calls Run.
type Daemon struct {
	listener net.Listener
	stores   *app.Stores
	doors    []api.Door
	between  *between // nil without a database that others share
	own      *served  // for the daemon's user
	tenants  *tenants
}

// Open listens on the socket, which systemd may have made for it, opens the program and registers all agents of the project. Those that wait for MCP servers are
// registered in the background. If it fails, nothing is left open.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	ln, err := listenLocal(ctx, o.Socket)
	if err != nil {
		return nil, err
	}
	d := &Daemon{listener: ln}
	if o.App.Note == nil {
		o.App.Note = func(string) {}
	}
	if o.Log == nil {
		if o.Log, err = NewLog(LogOptions{Note: o.App.Note}); err != nil {
			return nil, err
		}
	}
	if o.App.Stores, err = app.OpenStores(ctx, o.App.Paths); err == nil {
		d.stores = o.App.Stores
		err = d.listen(ctx, o)
	}
	if err == nil {
		d.between, err = listenToNodes(ctx, o)
	}
	if err == nil {
		err = d.open(ctx, o)
	}
	if err != nil {
		d.stores.Close()
		err = errors.Join(err, d.between.close())
		for _, door := range d.doors {
			err = errors.Join(err, door.Listener.Close())
		}
		return nil, errors.Join(err, ln.Close())
	}
	return d, nil
}

// listen opens the door over TCP, if there is to be one.
func (d *Daemon) listen(ctx context.Context, o Options) error {
	if o.Listen.Address == "" {
		return nil
	}
	var cert *access.Certificate
	if o.Listen.Cert != "" || o.Listen.Key != "" {
		err := outside(o.App.Paths.Root, keyFile{"--tls-cert", o.Listen.Cert}, keyFile{"--tls-key", o.Listen.Key})
		if err != nil {
			return err
		}
		if cert, err = access.LoadCertificate(o.Listen.Cert, o.Listen.Key, o.App.Note); err != nil {
			return err
		}
	}
	gate := access.NewGate(o.App.Stores.Tokens(), o.App.Paths.Project(), o.App.Note)
	ln, door, err := access.Listen(ctx, o.Listen.Address, cert, o.Listen.Hosts, gate)
	if err == nil {
		d.doors = append(d.doors, api.Door{Listener: ln, Door: door})
	}
	return err
}

// URLs returns where the daemon listens over TCP.
func (d *Daemon) URLs() (out []string) {
	for _, door := range d.doors {
		out = append(out, door.URL)
	}
	return out
}

// open opens the program for the daemon's user, and prepares the tenants of owners.
func (d *Daemon) open(ctx context.Context, o Options) error {
	o.App.Recent, o.App.Schedules = recentEvents, true
	shared := sharing{doors: d.doors, between: d.between, measured: metrics.New(d.activity)}
	var err error
	if d.tenants, err = newTenants(o, shared); err != nil {
		return err
	}
	shared.tenants, shared.reloaded = api.Tenants{Server: d.tenants.server, Active: d.tenants.active}, d.tenants.reload
	if d.own, err = serve(ctx, o, shared); err != nil {
		return err
	}
	o.Log.masks(d.own.app.Mask)
	d.tenants.own = d.own.app
	d.own.app.WhenNodesDie(func() {
		d.own.server.TakeOver()
		d.tenants.takeOver()
	})
	return nil
}

// sharing is what the tenants of a daemon have together, and what each knows of the others.
type sharing struct {
	doors    []api.Door
	between  *between // nil without a database that other daemons share
	measured *metrics.Metrics
	tenants  api.Tenants
	// reloaded is called when the agents have been reloaded; nil is nobody.
	reloaded func(ctx context.Context)
}

// served is the program for one tenant, behind its server.
type served struct {
	app    *app.App
	server *api.Server
	end    func(context.Context) error
	reload func(context.Context) (wire.Reloaded, error)
	// keep deletes what the limits on retention name, until its context ends.
	keep func(context.Context)
}

// serve opens the program for the tenant of the paths and registers its agents. If it fails, nothing is left open.
func serve(ctx context.Context, o Options, shared sharing) (*served, error) {
	agents, err := app.Agents(o.App.Paths, nil)
	if err != nil {
		return nil, err
	}
	counted := new(stats)
	watching := monitor.New(&monitor.Options{Starting: true, Answered: func(r monitor.Request) {
		shared.measured.Answered(r)
		o.Log.answered(r)
	}})
	if shared.between != nil {
		o.App.Node.URL = shared.between.url
	}
	o.App.Extra = slices.Concat(o.App.Extra, []hook.Hook{counted, watching, shared.measured})
	opened, err := app.Open(ctx, o.App)
	if err != nil {
		return nil, err
	}
	said := o.App.Note
	o.App.Note = func(text string) { said(opened.Mask(text)) }
	r := registrations{app: opened, model: opened.DefaultModel().Name, note: o.App.Note, ended: watching.Registered}
	made := keptAgents(opened, o.App.Stores)
	if err := r.start(ctx, agents, made); err != nil {
		return nil, errors.Join(err, r.close(context.WithoutCancel(ctx)))
	}
	reload := o.Log.reloading(r.reload)
	options := apiOptions(opened, o.App.Paths)
	options.Agents, options.Doors, options.Monitor = made, shared.doors, watching
	options.Metrics, options.Level = shared.measured.Handler(), &o.Log.level
	options.Await, options.Log, options.Reload, options.Stats = r.await, o.Log.info, func(ctx context.Context) (wire.Reloaded, error) {
		done, err := reload(ctx)
		if err == nil && shared.reloaded != nil {
			shared.reloaded(ctx)
		}
		return done, err
	}, counted.all
	options.Grace, options.ResumeAll, options.Hooks, options.Model = o.Grace, o.Resume, o.App.RecordHooks, opened.DefaultModel().Name
	options.Tenants = &shared.tenants
	keeper, err := opened.Keeper()
	if err != nil {
		return nil, errors.Join(err, r.close(context.WithoutCancel(ctx)))
	}
	options.Delete = deleting(keeper)
	shared.between.serve(opened, &options)
	opened.RunSchedules(r.await)
	server := api.New(options)
	opened.WhenNodesDie(server.TakeOver)
	return &served{opened, server, r.close, reload, keeper.Run}, nil
}

// Run serves until ctx ends, and then closes everything that Open has opened. Call it once.
func (d *Daemon) Run(ctx context.Context) error {
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	var kept sync.WaitGroup
	defer func() {
		if d.between != nil {
			d.between.client.Close()
		}
	}()
	kept.Go(func() { d.own.keep(keeping) })
	kept.Go(func() { d.tenants.run(keeping) })
	return d.own.server.Run(ctx, d.listener, func(ctx context.Context) error {
		stop()
		kept.Wait()
		others := d.tenants.close() // they may use the database of the daemon's user
		err := errors.Join(others, d.own.end(ctx))
		d.stores.Close()
		return err
	})
}

func apiOptions(a *app.App, paths app.Paths) api.Options {
	o := api.Options{
		Runtime: a.Runtime, Store: a.Store, Mask: a.Mask, Root: paths.Root, State: paths.State,
		Project: paths.Project(), Abandoned: app.Abandoned,
		Agent: app.DefaultAgent, Plan: a.Runtime.Plan(), Check: a.CheckModel,
		Tools: func(agent *runtime.Agent) []wire.Tool { return toolsOf(a, agent) }, Commands: func(agent *runtime.Agent) []wire.Command { return commandsOf(a, agent) },
		Inspect: inspecting(a), Start: a.Start, Resume: a.Resume, Interrupted: a.Interrupted, Undo: a.Undo,
		Explain: func(events []hook.Event) wire.Explained { return explain.Explain(events, a.Runtime.Plan()).Explained },
		Sandbox: func() (wire.Sandbox, error) { return sandboxOf(a) }, Confined: a.Confined,
	}
	if a.Hooks.MCP != nil {
		o.Servers = func() []wire.Server { return serversOf(a) }
	}
	if m := a.Hooks.Memory; m != nil {
		o.Memories = memories{m}
	}
	if s := a.Hooks.Schedule; s != nil {
		o.Schedules = schedules{s}
	}
	return o
}

// sandboxOf says what commands of the program's agents can change, read and reach.
func sandboxOf(a *app.App) (wire.Sandbox, error) {
	e, err := a.Confinement()
	list := func(all []string) []string { return append([]string{}, all...) } // none is an empty list
	return wire.Sandbox{
		Level: string(e.Level), Why: e.Why, Remedy: e.Remedy, Open: e.Open, Limits: e.Limits, Layers: e.Layers, Mode: string(e.Mode), Project: e.Project,
		Confined: e.Confined, Unasked: e.Unasked, Writable: list(e.Writable), Readable: list(e.Readable), Protected: list(e.Protected),
		Hosts: list(e.Hosts), Variables: list(e.Variables), UnixSockets: e.UnixSockets,
	}, err
}

func toolsOf(a *app.App, agent *runtime.Agent) []wire.Tool {
	tools := a.Tools(agent)
	out := make([]wire.Tool, len(tools))
	for i, t := range tools {
		out[i] = wire.Tool(t)
	}
	return out
}

func commandsOf(a *app.App, agent *runtime.Agent) []wire.Command {
	commands := a.Typed(agent)
	out := make([]wire.Command, len(commands))
	for i, c := range commands {
		out[i] = wire.Command(c)
	}
	return out
}

// Socket returns the absolute path of the named socket; "" is the default socket of the daemon of
// these paths.
func Socket(named string, paths app.Paths, getenv func(string) string) (string, error) {
	if named == "" {
		return socket.Default(paths.State, getenv), nil
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find the socket: %w", err)
	}
	return path, nil
}

// Mismatch returns why the daemon with that health is not the daemon of the paths; "" if it is.
func Mismatch(health wire.Health, paths app.Paths) string {
	switch {
	case health.Root != paths.Root:
		return "it works in " + health.Root
	case health.State != paths.State:
		return "its databases are in " + health.State
	}
	return ""
}
