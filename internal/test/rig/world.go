package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// World is a runtime with one agent and one conversation.
type World struct {
	T       *testing.T
	Runtime *runtime.Runtime
	Model   *Model
	Store   store.Store
	Conv    *runtime.Conversation
	Events  []hook.Event
}

// Start runs the hook with the model and registers the agent "a". Hooks are the
// members of a dynamic composite, in their order; one alone is used as it is.
func Start(t *testing.T, m *Model, hooks ...hook.Hook) *World {
	return StartWith(t, m, hook.AgentConfig{Name: "a", Instructions: "Help."}, nil, hooks...)
}

func StartWith(t *testing.T, m *Model, cfg hook.AgentConfig, o *runtime.Options, hooks ...hook.Hook) *World {
	t.Helper()
	if o == nil {
		o = &runtime.Options{}
	}
	if o.Store == nil {
		o.Store = mem.New(nil)
	}
	w := &World{T: t, Model: m, Store: o.Store}
	w.Runtime = runtime.New(Compose(t, hooks), m, o)
	require.NoError(t, w.Runtime.Open(t.Context()))
	t.Cleanup(func() { _ = w.Runtime.Close(context.Background()) })
	_, err := w.Runtime.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, cfg.Name, "ann")
	require.NoError(t, err)
	return w
}

func Compose(t *testing.T, hooks []hook.Hook) hook.Hook {
	t.Helper()
	switch len(hooks) {
	case 0:
		return nil
	case 1:
		return hooks[0]
	}
	type none struct{}
	c, err := composite.New(&none{})
	require.NoError(t, err)
	for i, h := range hooks {
		c, err = c.With(fmt.Sprintf("H%d", i), h, plan.Options{})
		require.NoError(t, err)
	}
	return c
}

// Send runs a turn that has to succeed.
func (w *World) Send(line string) hook.TurnOutcome {
	w.T.Helper()
	out, err := w.Try(w.T.Context(), line)
	require.NoError(w.T, err)
	return out
}

func (w *World) Try(ctx context.Context, line string) (hook.TurnOutcome, error) {
	return dialog.Send(ctx, w.Conv, message.TextInput(line), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.Events = append(w.Events, ev) }})
}

func (w *World) Kinds() []hook.EventKind {
	out := make([]hook.EventKind, len(w.Events))
	for i, ev := range w.Events {
		out[i] = ev.Kind
	}
	return out
}

func (w *World) EventsOf(kind hook.EventKind) []hook.Event {
	var out []hook.Event
	for _, ev := range w.Events {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

// Results returns the text of each call result event, in the order of delivery.
func (w *World) Results() []string {
	var out []string
	for _, ev := range w.EventsOf(event.CallResult) {
		out = append(out, ev.Detail().Result.Text())
	}
	return out
}

// History returns what the store has, one line per message.
func (w *World) History() []string {
	w.T.Helper()
	ms, err := w.Store.Messages(context.Background(), w.Conv.ID())
	require.NoError(w.T, err)
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = Line(m)
	}
	return out
}

func Line(m message.Message) string {
	s := string(m.Role)
	if m.Role == message.RoleTool {
		s += " " + m.CallID + " " + m.Tool
		if m.Result.IsError() {
			s += " " + string(m.Result.Failure)
		}
		return s + ": " + m.Result.Text()
	}
	for _, b := range m.Content.All() {
		switch b.Kind {
		case message.BlockToolCall:
			s += fmt.Sprintf(" [%s %s %s]", b.CallID, b.Tool, b.JSON)
		default:
			s += " " + b.Text
		}
	}
	return s
}

// Tasks returns what delegate has brought back.
func (w *World) Tasks() []delegate.TaskResult {
	w.T.Helper()
	var out []delegate.TaskResult
	results := w.Results()
	require.NoError(w.T, json.Unmarshal([]byte(results[len(results)-1]), &out), results[len(results)-1])
	return out
}

// Agent is that of the conversation.
func (w *World) Agent() *runtime.Agent { return w.Conv.Agent() }

// Other returns another conversation of the agent.
func (w *World) Other(sender string) *runtime.Conversation {
	c, err := dialog.Conversation(w.T.Context(), w.Runtime, "a", sender)
	require.NoError(w.T, err)
	return c
}

// With runs a turn with the options.
func (w *World) With(o runtime.TurnOptions) (hook.TurnOutcome, error) {
	o.Observe = func(ev hook.Event) { w.Events = append(w.Events, ev) }
	return dialog.Send(w.T.Context(), w.Conv, message.TextInput("go"), &o)
}

// RunsClient runs a turn with the client's tools, and acts on the events.
func (w *World) RunsClient(tools []message.Tool, on map[hook.EventKind]func(hook.Event)) hook.TurnOutcome {
	w.T.Helper()
	out, err := dialog.Send(w.T.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{ClientTools: tools, Observe: func(ev hook.Event) {
		w.Events = append(w.Events, ev)
		if act := on[ev.Kind]; act != nil {
			act(ev)
		}
	}})
	require.NoError(w.T, err)
	return out
}

// Drain returns the events that have come.
func (p *Process) Drain() (out []hook.Event) {
	for {
		select {
		case ev := <-p.Events:
			out = append(out, ev)
		default:
			return out
		}
	}
}

// SendsAs runs a turn of the sender with the agent.
func (w *World) SendsAs(agent, sender string) hook.TurnOutcome {
	w.T.Helper()
	conv, err := dialog.Conversation(w.T.Context(), w.Runtime, agent, sender)
	require.NoError(w.T, err)
	out, err := dialog.Send(w.T.Context(), conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.Events = append(w.Events, ev) }})
	require.NoError(w.T, err)
	return out
}
