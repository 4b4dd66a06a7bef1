package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Cast is a model for each agent, by the agent's name.
type Cast map[string]*Model

func (c Cast) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return c[req.Model.Name].Stream(ctx, req)
}

// Stage is a runtime with the agent "chief" and others. Each asks the model of its
// own name.
func Stage(t *testing.T, c Cast, o *runtime.Options, cfgs []hook.AgentConfig, hooks ...hook.Hook) *World {
	t.Helper()
	if o == nil {
		o = &runtime.Options{}
	}
	if o.Store == nil {
		o.Store = mem.New(&mem.Options{Journal: true})
	}
	w := &World{T: t, Store: o.Store}
	w.Runtime = runtime.New(Compose(t, hooks), c, o)
	require.NoError(t, w.Runtime.Open(t.Context()))
	t.Cleanup(func() { _ = w.Runtime.Close(context.Background()) })
	for _, cfg := range cfgs {
		cfg.Model.Name = cfg.Name
		_, err := w.Runtime.Register(t.Context(), cfg)
		require.NoError(t, err)
	}
	var err error
	w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, "chief", "ann")
	require.NoError(t, err)
	return w
}

// Agents are configurations with these names.
func Agents(names ...string) []hook.AgentConfig {
	out := make([]hook.AgentConfig, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Delegates is a reply that gives each agent a task.
func Delegates(names ...string) message.ModelStream {
	tasks := make([]delegate.Task, len(names))
	for i, name := range names {
		tasks[i] = delegate.Task{Agent: name, Message: "task " + fmt.Sprint(i)}
	}
	args, err := json.Marshal(delegate.DelegateInput{Tasks: tasks})
	if err != nil {
		panic(err)
	}
	return Calls(Call("d1", "delegate", string(args)))
}
