package daemon

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/app"
)

// registrations registers the agents of a daemon. Agents that may wait for MCP servers are
// registered in the background, so that the others do not wait. If such a registration fails,
// the daemon serves the other agents.
type registrations struct {
	app   *app.App
	model string // the default model
	note  func(text string)

	cancel context.CancelFunc
	all    sync.WaitGroup
	late   map[string]*registration // not changed after start
}

// registration is the registration of one agent in the background.
type registration struct {
	done chan struct{}
	err  error // set before done is closed
}

// start registers the agents. It returns the errors of agents that wait for no server.
func (r *registrations) start(ctx context.Context, agents []app.Agent) error {
	ctx, r.cancel = context.WithCancel(ctx)
	r.late = map[string]*registration{}
	for _, a := range agents {
		name := a.Config.Name
		if !r.app.Waits(name) {
			if err := r.register(ctx, a); err != nil {
				return err
			}
			continue
		}
		one := &registration{done: make(chan struct{})}
		r.late[name] = one
		r.all.Go(func() {
			defer close(one.done)
			if one.err = r.register(ctx, a); one.err != nil && ctx.Err() == nil {
				r.note(fmt.Sprintf("the agent %s is not registered: %v", name, one.err))
			}
		})
	}
	return nil
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
	return out, err
}

// close cancels the running registrations and closes the app.
func (r *registrations) close(ctx context.Context) error {
	r.cancel()
	r.all.Wait()
	return r.app.Close(ctx)
}
