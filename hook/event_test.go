package hook_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

func at(kind hook.EventKind, seq uint64) hook.Event {
	return hook.Event{
		Kind: kind, Seq: seq, Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
		Agent: "writer", Conversation: "c1", Turn: "t1", Step: 2,
	}
}

func TestEventShape(t *testing.T) {
	call := hook.EventDetail{CallID: "k1", Tool: "bash", Args: `{"command":"a < b"}`}
	done := call
	done.Result, done.Outcome, done.Duration = message.TextResult("ok\n<done>"), message.OutcomeExecuted, 1500*time.Microsecond
	failed := call
	failed.Result, failed.Outcome = message.FailedResult(message.FailDenied, "not here"), message.OutcomeDenied
	empty := call
	empty.Outcome = message.OutcomeExecuted
	asked := call
	asked.Answer, asked.By = hook.AnswerApprove, "Approval"

	text := at(event.TextDelta, 1)
	text.Text = `say "hi"`
	over := at(event.TurnEnd, 9)
	over.Text, over.Omitted, over.Step = "bye", 7, 0
	events := []hook.Event{
		{},
		{Kind: event.AgentRegistered, Agent: "writer"},
		text,
		at(event.Usage, 2).WithDetail(hook.EventDetail{Usage: message.Usage{Input: 10, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5}}),
		at(event.CallsBegin, 3).WithDetail(hook.EventDetail{Tools: message.ListOf("bash", "read")}),
		at(event.CallStart, 4).WithDetail(call),
		at(event.ApprovalGiven, 5).WithDetail(asked),
		at(event.CallResult, 6).WithDetail(done),
		at(event.CallResult, 7).WithDetail(failed),
		at(event.CallResult, 8).WithDetail(empty),
		over.WithDetail(hook.EventDetail{Stop: hook.StopCompleted, Usage: message.Usage{Output: 1}, Cost: hook.Dollar / 1000}),
		(&hook.Failure{Subsystem: "Core.Guard", Point: point.BeforeTool}).Event(),
		hook.Diagnostic{Code: event.CodeContextTruncated, Text: "cut"}.Event(),
		hook.Diagnostic{Code: "memory.stale", Text: "old", Visibility: event.VisibleUser}.Event(),
		denied().Event(),
		hook.Run{Subsystem: "Skills", Point: point.Preprocess, Status: event.RunSucceeded, Changed: true, Visibility: event.VisibleAudit, Input: "aa", Output: "bb"}.Event(),
		hook.Run{Subsystem: "OS", Point: point.BeforeTool, Status: event.RunSkipped, By: "Core.Guard"}.Event(),
	}
	var sb strings.Builder
	for _, ev := range events {
		data, err := json.Marshal(ev)
		require.NoError(t, err)
		sb.Write(append(data, '\n'))
	}
	golden(t, "events.golden", sb.String())
}

func TestEventWithAnythingCanBeWritten(t *testing.T) {
	ev := hook.Event{Kind: event.CallStart}.WithDetail(hook.EventDetail{Args: `{"command":`})
	data, err := json.Marshal(ev)
	require.NoError(t, err)
	assert.True(t, json.Valid(data))
}

func TestEventDetailIsACopy(t *testing.T) {
	ev := hook.Event{}.WithDetail(hook.EventDetail{Tool: "bash"})
	d := ev.Detail()
	d.Tool = "changed"
	assert.Equal(t, "bash", ev.Detail().Tool)
	assert.Equal(t, hook.EventDetail{}, hook.Event{}.Detail())
	assert.NotNil(t, hook.Event{}.Host())
	assert.Equal(t, host{name: "h"}, ev.WithHost(host{name: "h"}).Host())
	assert.Equal(t, "bash", ev.WithHost(host{name: "h"}).Detail().Tool)
}

func TestPassingAnEventIsFree(t *testing.T) {
	var h hook.Hook = hook.Nop{}
	ev := at(event.TextDelta, 1).WithHost(host{name: "h"}).WithDetail(hook.EventDetail{Tool: "bash"})
	ctx := t.Context()
	noAllocs(t, "passing an event", func() { h.OnEvent(ctx, ev) })
	noAllocs(t, "making a text delta", func() { h.OnEvent(ctx, hook.Event{Kind: event.TextDelta, Text: "x"}) })
	noAllocs(t, "reading the detail", func() { _ = ev.Detail() })
}

func TestDetails(t *testing.T) {
	call := hook.NewToolCall(hook.ToolCallData{ID: "k1", Tool: message.Tool{Name: "bash"}, Args: `{"a":1}`})
	names := message.ListOf("bash")
	end := &hook.CallEnd{Call: call, Result: message.TextResult("ok"), Outcome: message.OutcomeExecuted, Duration: time.Second}
	cases := []struct {
		name   string
		allocs float64
		event  func() hook.Event
		want   hook.EventDetail
	}{
		{"call", 1, func() hook.Event { return hook.Event{}.WithCall(call) }, hook.EventDetail{CallID: "k1", Tool: "bash", Args: `{"a":1}`}},
		{"end", 1, func() hook.Event { return hook.Event{}.WithEnd(end) },
			hook.EventDetail{CallID: "k1", Tool: "bash", Result: message.TextResult("ok"), Outcome: message.OutcomeExecuted, Duration: time.Second}},
		{"tools", 1, func() hook.Event { return hook.Event{}.WithTools(names) }, hook.EventDetail{Tools: message.ListOf("bash")}},
		{"usage", 1, func() hook.Event { return hook.Event{}.WithUsage(message.Usage{Input: 3}, 7, hook.StopCompleted) },
			hook.EventDetail{Usage: message.Usage{Input: 3}, Cost: 7, Stop: hook.StopCompleted}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, c.event().Detail())
			var ev hook.Event
			assert.LessOrEqual(t, allocs.PerRun(100, func() { ev = c.event() }), c.allocs)
			assert.Equal(t, c.want, ev.Detail())
		})
	}
	ev := hook.Event{Kind: event.TextDelta}
	ev.SetHost(host{name: "h"})
	assert.Equal(t, host{name: "h"}, ev.Host())
}

func TestAFailureEventKeepsTheCauseToTheProgram(t *testing.T) {
	f := &hook.Failure{Subsystem: "Core.Guard", Point: point.BeforeTool, Err: errors.New("password is hunter2")}
	ev := f.Event()
	assert.Same(t, f, ev.Failure())
	assert.Equal(t, hook.EventDetail{Subsystem: "Core.Guard", Point: point.BeforeTool}, ev.Detail())
	data, err := json.Marshal(ev)
	require.NoError(t, err)
	assert.NotContains(t, string(data)+ev.Text, "hunter2")
	assert.Nil(t, hook.Event{}.Failure())
}

func denied() hook.Run {
	return hook.Run{
		Subsystem: "Core.Guard", Point: point.BeforeTool, CallID: "k1", Tool: "bash",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 1500 * time.Microsecond,
		Status: event.RunDenied, Answer: hook.AnswerDeny, Reason: "not on Sundays", Input: event.Digest(message.JSON("{}")),
	}
}

func TestAHookRunIsReadAsItWasWritten(t *testing.T) {
	ev := denied().Event()
	ev.Seq, ev.Conversation, ev.Turn = 3, "c1", "t1"
	data, err := json.Marshal(ev)
	require.NoError(t, err)
	var back hook.Event
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, ev, back)
	run, ok := back.Run()
	assert.True(t, ok)
	assert.Equal(t, denied(), run)
	assert.Equal(t, ev.Detail(), back.Detail())
	assert.Equal(t, ev, ev.WithHost(host{name: "h"}).Detached())
	_, ok = at(event.CallStart, 1).WithDetail(hook.EventDetail{Tool: "bash"}).Run()
	assert.False(t, ok)
}

func TestDigestIsTheHashOfTheText(t *testing.T) {
	const empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // printf {} | sha256sum
	assert.Equal(t, empty, event.Digest(message.JSON("{}")))
	assert.Equal(t, empty, event.Digest(struct{}{}))
	assert.NotEqual(t, event.Digest(message.TextResult("a")), event.Digest(message.TextResult("b")))
	assert.Empty(t, event.Digest(func() {}))
}

func TestAnswersThatDeny(t *testing.T) {
	for _, a := range []hook.Answer{hook.AnswerDeny, hook.AnswerRefuse, hook.AnswerReject, hook.AnswerWithhold, hook.AnswerStop} {
		assert.True(t, a.Denies(), a)
	}
	for _, a := range []hook.Answer{hook.AnswerNone, hook.AnswerApprove, hook.AnswerAsk, hook.AnswerAnswer, hook.AnswerRetry, hook.AnswerNarrow} {
		assert.False(t, a.Denies(), a)
	}
	assert.True(t, hook.AnswerDeny.Outweighs(hook.AnswerAsk))
	assert.False(t, hook.AnswerDeny.Outweighs(hook.AnswerDeny))
	assert.False(t, hook.AnswerNone.Outweighs(hook.AnswerContext))
}
