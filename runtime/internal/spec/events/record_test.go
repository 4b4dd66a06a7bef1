package events_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// nosy has a say about everything, with the canary in every value and in every
// error, and keeps the runs that it hears of.
type nosy struct {
	hook.Nop
	mu    sync.Mutex
	heard int
}

func (n *nosy) OnEvent(_ context.Context, ev hook.Event) {
	if _, ok := ev.Run(); ok {
		n.mu.Lock()
		n.heard++
		n.mu.Unlock()
	}
}

func (n *nosy) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	return message.TextInput(in.Text() + rig.Canary), nil
}

func (n *nosy) RewriteRequest(_ context.Context, _ *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	req.System += rig.Canary
	return req, nil
}

func (n *nosy) RewriteReply(_ context.Context, _ *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	return reply, nil
}

func (n *nosy) RewriteArgs(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
	return `{"s":"` + rig.Canary + `"}`, nil
}

func (n *nosy) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.AnswerTool(message.TextResult(rig.Canary)), nil
}

func (n *nosy) RewriteResult(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	return message.TextResult(r.Text() + rig.Canary), nil
}

func (n *nosy) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
	return hook.ContextOutcome(rig.Canary), nil
}

func (n *nosy) AfterModel(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
	return hook.ReplyDecision{}, nil
}

func (n *nosy) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) { panic(rig.Canary) }

// A recorded turn has an event for each hook that took part, without data: no arguments, no
// results, no text of the model or the user.
func TestRecordedTurn(t *testing.T) {
	m := rig.Plays(rig.Calls(rig.Call("k1", "echo", `{"s":"`+rig.Canary+`"}`)), rig.Says(rig.Canary))
	n := new(nosy)
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Instructions: rig.Canary}, &runtime.Options{Events: runtime.Events{RecordHooks: true}}, n, rig.Box(rig.Named("echo")))
	w.Send(rig.Canary)

	var told []string
	for _, ev := range w.EventsOf(event.HookRun) {
		r, ok := ev.Run()
		require.True(t, ok)
		data, err := json.Marshal(ev)
		require.NoError(t, err)
		assert.NotContains(t, string(data), rig.Canary)
		assert.NotEmpty(t, ev.Turn)
		told = append(told, strings.TrimSpace(r.Subsystem+" "+r.Point.String()+" "+string(r.Status)+" "+string(r.Answer)))
		if r.Point == point.BeforeTool {
			assert.Equal(t, "k1 echo", r.CallID+" "+r.Tool)
			assert.Equal(t, 1, ev.Step)
		}
	}
	model := []string{"H0 RewriteRequest succeeded", "H0 RewriteReply succeeded", "H0 AfterModel succeeded"}
	assert.Equal(t, slices.Concat(
		[]string{"H0 Preprocess succeeded"}, model,
		[]string{"H1 Dispatch succeeded", "H0 RewriteArgs succeeded", "H0 BeforeTool succeeded answer",
			"H0 RewriteResult succeeded", "H0 AfterTool succeeded context"},
		model, []string{"H0 AfterTurn panicked"},
	), told)
	assert.GreaterOrEqual(t, n.heard, len(told), "hooks hear of runs like of other events")
	assert.Contains(t, w.Results()[0], rig.Canary)
}

// The runs about a call stand between its start and its result, and runs and
// outcome are the same for a single hook and for a composite.
func TestRecordedCall(t *testing.T) {
	deny := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.DenyTool("not today"), nil
	})
	m := rig.Plays(rig.Calls(rig.Call("k1", "echo", `{"s":"x"}`)), rig.Says("bye"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Instructions: "Help."}, &runtime.Options{Events: runtime.Events{RecordHooks: true}}, deny, rig.Box(rig.Named("echo")))
	w.Send("hi")
	var kinds []hook.EventKind
	for _, ev := range w.Events {
		if id := ev.Detail().CallID; id == "k1" {
			kinds = append(kinds, ev.Kind)
		}
	}
	assert.Equal(t, []hook.EventKind{event.HookRun, event.CallStart, event.HookRun, event.CallResult}, kinds, "its Dispatch, and the deny")
	assert.Equal(t, []string{"not today"}, w.Results())
}

// A program that does not ask for the record has no event of it.
func TestNotRecorded(t *testing.T) {
	w := rig.Start(t, rig.Plays(rig.Says("hi")), point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
		return hook.ModelDecision{}, nil
	}))
	w.Send("hi")
	assert.Empty(t, w.EventsOf(event.HookRun))
}
