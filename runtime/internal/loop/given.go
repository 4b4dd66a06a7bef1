package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/given"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// give adds tools of the caller and its client to those that the agent has in this turn. They take
// no tool's place. Children and guests do not get them.
func (t *Turn) give(caller given.Toolset, client []message.Tool) error {
	if caller == nil && len(client) == 0 {
		return nil
	}
	if t.guestName() != "" {
		return fmt.Errorf("%w: a guest has no tools", ErrGiven)
	}
	set, err := t.newSet(caller, client)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGiven, err)
	}
	ch := contribution.Tools{Added: make([]hook.AddedTool, len(set.Tools()))}
	for i, tool := range set.Tools() {
		switch _, s := t.view.Find(tool.Name); s {
		case scope.Available:
			return fmt.Errorf("%w: the agent has a tool %q; give yours another name", ErrGiven, tool.Name)
		case scope.NotAvailable:
			return fmt.Errorf("%w: the tool %q is not available to this agent; give yours another name", ErrGiven, tool.Name)
		}
		ch.Added[i].Tool = tool
	}
	t.given, t.view = set, t.answering.overlaid(t.view, ch)
	return nil
}

func (t *Turn) newSet(caller given.Toolset, client []message.Tool) (given.Set, error) {
	own, err := t.schemaOf(caller)
	if err != nil {
		return given.Set{}, err
	}
	return given.New(caller, own, client, t.askClient)
}

// schemaOf returns the tools of the caller; none for nil.
func (t *Turn) schemaOf(caller given.Toolset) (tools []message.Tool, err error) {
	if caller == nil {
		return nil, nil
	}
	t.enterForeign(point.Schema)
	defer t.exitForeign()
	defer failure.Catch(point.Schema, &err)
	return caller.Schema(), nil
}

// giveAgain gives a resumed turn the tools that it had. The client's are stored; those of the
// caller run only if it gives them again. All calls of others are answered as not available.
func (t *Turn) giveAgain(was *durable.Interrupted, caller given.Toolset) {
	names := slices.Clone(was.Caller)
	var client []message.Tool
	for _, tool := range was.Client {
		names = append(names, tool.Name)
		if _, s := t.view.Find(tool.Name); s == scope.NotRegistered { // else the agent has got a tool of that name
			client = append(client, tool.Tool())
		}
	}
	if t.give(caller, client) != nil { // the same, of the caller's
		_ = t.give(nil, client)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return t.given.Owner(name) != nil })
	taken := func(name string) bool {
		_, s := t.view.Find(name)
		return s != scope.NotRegistered
	}
	lost := slices.DeleteFunc(slices.Clone(names), taken)
	t.ungiven = slices.DeleteFunc(names, func(name string) bool { return !taken(name) })
	if len(lost) > 0 {
		t.view = t.view.With(contribution.Tools{Hidden: lost})
	}
}

// askClient forwards a call to the client and waits for its result.
func (t *Turn) askClient(ctx context.Context, call *hook.ToolCall) (message.ToolResult, error) {
	defer t.InHost()()
	a, err := t.env.Requests.Ask(ctx, human.Request{
		Inquiry: hook.Inquiry{ID: call.ID(), Timeout: call.Tool().Timeout}, Call: &human.Call{Tool: call.Name(), Args: call.Args()},
		Conversation: t.thread.ID(), Agent: t.thread.Agent.Name, Turn: t.id, Asked: t.env.Now(),
	}, func() {
		t.thread.Host.Emit(ctx, hook.Event{Kind: event.ClientCall}.WithDetail(hook.EventDetail{CallID: call.ID(), Tool: call.Name(), Args: call.Args()}))
	})
	if err != nil {
		return message.ToolResult{}, err
	}
	return *a.Result, nil
}
