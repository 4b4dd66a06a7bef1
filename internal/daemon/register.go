package daemon

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
)

// registrations registers the agents of a daemon. Agents that may wait for MCP servers are
// registered in the background, so that the others do not wait. If such a registration fails,
// the daemon serves the other agents.
type registrations struct {
	app   *app.App
	model string // the default model
	note  func(text string)
	ended func() // called when all have ended

	cancel context.CancelFunc
	all    sync.WaitGroup
	late   map[string]*registration // not changed after start
}

// registration is the registration of one agent in the background.
type registration struct {
	done chan struct{}
	err  error // set before done is closed
}

// start registers the agents of the files, and then those that clients have made. It returns the errors
// of the files' agents that wait for no server.
func (r *registrations) start(ctx context.Context, files []app.Agent, made kept) error {
	ctx, r.cancel = context.WithCancel(ctx)
	r.late = map[string]*registration{}
	for _, a := range files {
		if err := r.begin(ctx, a.Config, func(ctx context.Context) error { return r.register(ctx, a) }); err != nil {
			return err
		}
	}
	r.made(ctx, made.agents(r.model, r.note))
	go func() {
		r.all.Wait()
		r.app.Started()
		r.ended()
	}()
	return nil
}

// made registers the agents that clients have made. One may name another, so those that are refused are tried again as long as
// another one gets in.
func (r *registrations) made(ctx context.Context, agents []hook.AgentConfig) {
	for {
		var refused []hook.AgentConfig
		var why []error
		for _, cfg := range agents {
			err := r.begin(ctx, cfg, func(ctx context.Context) error {
				_, err := r.app.Runtime.Register(ctx, cfg)
				return err
			})
			if err != nil {
				refused, why = append(refused, cfg), append(why, err)
			}
		}
		if len(refused) == 0 {
			return
		}
		if len(refused) == len(agents) {
			for i, cfg := range refused {
				r.missing(cfg.Name, why[i])
			}
			return
		}
		agents = refused
	}
}

// begin calls register, in the background if the agent may wait for servers; else it returns its error.
func (r *registrations) begin(ctx context.Context, cfg hook.AgentConfig, register func(context.Context) error) error {
	if !r.app.Waits(cfg) {
		return register(ctx)
	}
	one := &registration{done: make(chan struct{})}
	r.late[cfg.Name] = one
	r.all.Go(func() {
		defer close(one.done)
		if one.err = register(ctx); one.err != nil && ctx.Err() == nil {
			r.missing(cfg.Name, one.err)
		}
	})
	return nil
}

func (r *registrations) missing(agent string, why error) {
	r.note(fmt.Sprintf("the agent %s is not registered: %v", agent, why))
}

func (r *registrations) register(ctx context.Context, a app.Agent) error {
	agent, err := r.app.Register(ctx, a.Config.Name, hook.AgentConfig{})
	if err == nil && a.Config.Model.Name == "" && r.model != "" { // a wrong model in an agent's file is reported at its first turn
		err = r.app.CheckModel(agent.Config())
	}
	return err
}

// await waits until the registration of the agent has ended, and returns its error.
func (r *registrations) await(ctx context.Context, agent string) error {
	one := r.late[agent]
	if one == nil {
		return nil
	}
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reload reloads the agents of the files, when their first registrations have ended.
func (r *registrations) reload(ctx context.Context) (wire.Reloaded, error) {
	for _, one := range r.late {
		select {
		case <-one.done:
		case <-ctx.Done():
			return wire.Reloaded{}, ctx.Err()
		}
	}
	done, err := r.app.Reload(ctx)
	out := wire.Reloaded{Added: done.Added, Updated: done.Updated, Removed: done.Removed, Unchanged: done.Unchanged}
	for _, no := range done.Refused {
		out.Refused = append(out.Refused, wire.Refused(no))
	}
	for _, s := range done.Settings {
		out.Settings = append(out.Settings, wire.ChangedSetting{File: s.File, Setting: s.Name, NeedsRestart: true, Problem: s.Problem})
	}
	return out, err
}

// close cancels the running registrations and closes the app.
func (r *registrations) close(ctx context.Context) error {
	r.cancel()
	r.all.Wait()
	return r.app.Close(ctx)
}
