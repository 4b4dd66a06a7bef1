package calls_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	own "github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

type noArgs struct{}

// A result has the label of its tool, and without one is external, whether it failed or not. What the runtime says itself is trusted. A
// turn has the weakest label of what its model was given.
func TestLabelsOfResultsAndTurns(t *testing.T) {
	t.Parallel()
	of := func(name string, trust message.Trust, err error) *own.Tool {
		return own.New(name, "", func(context.Context, noArgs) (string, error) { return "x", err }, &own.Options{Trust: trust})
	}
	says := own.New("says", "", func(context.Context, noArgs) (message.ToolResult, error) {
		r := message.TextResult("x")
		r.Trust = message.TrustWorkspace
		return r, nil
	}, nil)
	late := own.New("late", "", func(context.Context, noArgs) (message.ToolResult, error) {
		return message.FailedResult(message.FailTimeout, "as a server says"), nil
	}, nil)
	tools := own.Set(late, of("own", message.TrustTrusted, nil), of("file", message.TrustWorkspace, nil), of("none", "", nil),
		of("fails", "", errors.New("as a page says")), of("ownfails", message.TrustTrusted, errors.New("no")), says)
	for name, want := range map[string]message.Trust{
		"own": message.TrustTrusted, "file": message.TrustWorkspace, "none": message.TrustExternal, "fails": message.TrustExternal,
		"ownfails": message.TrustTrusted, "says": message.TrustWorkspace, "nothere": message.TrustTrusted, "late": message.TrustExternal,
	} {
		rt := runtime.New(tools, script.New(script.Rule{Calls: []script.Call{{Tool: name}}}, script.Rule{Say: "done"}), nil)
		require.NoError(t, rt.Open(t.Context()))
		agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
		require.NoError(t, err)
		conv, err := agent.Conversation(t.Context(), "ann")
		require.NoError(t, err)
		var got []message.Trust
		out, err := conv.Send(t.Context(), message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
			if d := ev.Detail(); d.Outcome != "" {
				got = append(got, d.Result.Trust)
			}
		}})
		require.NoError(t, err)
		assert.Equal(t, []message.Trust{want}, got, name)
		assert.Equal(t, want, out.Trust, name)
		require.NoError(t, rt.Close(context.WithoutCancel(t.Context())))
	}
}
