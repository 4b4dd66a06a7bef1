package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime"
)

// refresher refreshes the tools of the agents when those of an MCP server have changed: when it
// connects, which may be long after the agents were registered, and when it reports another
// list. A running turn keeps its tools.
type refresher struct {
	hook.Nop
	app *App
}

// OnEvent refreshes all agents, or an agent that has just been registered, because a server
// may have changed meanwhile.
func (r *refresher) OnEvent(ctx context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.ServerConnected:
		for _, name := range r.app.Runtime.Agents() {
			r.refresh(ctx, ev, name)
		}
	case event.AgentRegistered:
		r.refresh(ctx, ev, ev.Agent)
	}
}

func (r *refresher) refresh(ctx context.Context, ev hook.Event, agent string) {
	err := r.app.Runtime.Refresh(ctx, agent)
	if err == nil || gone(err) {
		return
	}
	ev.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Agent: agent,
		Text: fmt.Sprintf("the agent keeps its previous tools: %v", err)})
}

// gone reports whether the agent no longer exists.
func gone(err error) bool {
	return errors.Is(err, runtime.ErrAgentUnknown) || errors.Is(err, runtime.ErrAgentClosing) || errors.Is(err, runtime.ErrClosed)
}
