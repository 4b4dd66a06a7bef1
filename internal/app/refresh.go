package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime"
)

// refresher has the runtime read the tools of the agents again when those of an
// MCP server have changed: when it is connected, which may be long after the
// agents were registered, and when it says that its list is another one. A turn
// that is running goes on with what it had.
type refresher struct {
	hook.Nop
	app *App
}

// OnEvent refreshes all agents, or the one that was registered while a server may
// have changed.
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
		Text: fmt.Sprintf("the agent keeps the tools that it had: %v", err)})
}

// gone reports whether there is no agent to refresh any more.
func gone(err error) bool {
	return errors.Is(err, runtime.ErrAgentUnknown) || errors.Is(err, runtime.ErrAgentClosing) || errors.Is(err, runtime.ErrClosed)
}
