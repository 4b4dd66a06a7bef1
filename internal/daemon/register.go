package daemon

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
)

// registrations registers the agents of a daemon. One that may wait for MCP servers is
// registered in the background, so that no other agent waits with it; if that fails the
// daemon serves the others.
type registrations struct {
	app   *app.App
	model string // of agents that name none
	note  func(text string)

	cancel context.CancelFunc
	all    sync.WaitGroup
	late   map[string]*registration // not changed once start has returned
}

// registration is that of one agent in the background.
type registration struct {
	done chan struct{}
	err  error // set before done is closed
}

// start registers the agents. The error is that of one that waits for nothing.
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
				r.note(fmt.Sprintf("the agent %s is not there: %v", name, one.err))
			}
		})
	}
	return nil
}

func (r *registrations) register(ctx context.Context, a app.Agent) error {
	over := hook.AgentConfig{}
	if a.Config.Model.Name == "" {
		over.Model.Name = r.model
	}
	agent, err := r.app.Register(ctx, a.Config.Name, over)
	if err == nil && over.Model.Name != "" { // a model of a file's is told of at the first turn, and disturbs no other agent
		err = r.app.CheckModel(agent.Config())
	}
	return err
}

// await returns when the agent is not being registered any more, with the error if that
// has failed.
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

// close gives up what is still being registered and closes the app.
func (r *registrations) close(ctx context.Context) error {
	r.cancel()
	r.all.Wait()
	return r.app.Close(ctx)
}
