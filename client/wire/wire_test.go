package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// TestEventsComeBack: an event that is decoded and written again is the same on
// the wire.
func TestEventsComeBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	base := hook.Event{Seq: 7, Time: at, Agent: "a", Conversation: "c", Turn: "t", Step: 2}
	as := func(kind hook.EventKind, text string, d hook.EventDetail) hook.Event {
		ev := base
		ev.Kind, ev.Text = kind, text
		return ev.WithDetail(d)
	}
	events := []hook.Event{
		{Kind: event.AgentRegistered, Time: at, Agent: "a"},
		as(event.TextDelta, "<&>\u2028 \n", hook.EventDetail{}),
		as(event.Usage, "", hook.EventDetail{Usage: message.Usage{Input: 1, Output: 2, Reasoning: 3}}),
		as(event.CallsBegin, "", hook.EventDetail{Tools: message.ListOf("x", "y")}),
		as(event.CallStart, "", hook.EventDetail{CallID: "1", Tool: "x", Args: `{"a":"<b>","n":12345678901234567890}`}),
		as(event.CallStart, "", hook.EventDetail{CallID: "1", Tool: "x", Args: `no JSON`}),
		as(event.ApprovalGiven, "why", hook.EventDetail{CallID: "1", Tool: "x", Args: `{}`, Answer: hook.AnswerModify, By: "API"}),
		as(event.CallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Result: message.TextResult("done"), Outcome: message.OutcomeExecuted, Duration: 1234567 * time.Nanosecond}),
		as(event.CallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Outcome: message.OutcomeExecuted}),
		as(event.CallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Result: message.FailedResult(message.FailTimeout, ""), Outcome: message.OutcomeTimedOut}),
		as(event.HookFailed, "Guard failed", hook.EventDetail{Subsystem: "Guard", Point: point.BeforeTool}),
		as(event.TurnEnd, "bye", hook.EventDetail{Stop: hook.StopCompleted, Usage: message.Usage{Input: 9}}),
	}
	for _, ev := range events {
		want, err := json.Marshal(ev)
		require.NoError(t, err)
		back, err := wire.DecodeEvent(want)
		require.NoError(t, err)
		got, err := json.Marshal(back)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
	}
	_, err := wire.DecodeEvent([]byte(`{"kind":3}`))
	assert.Error(t, err)
}
