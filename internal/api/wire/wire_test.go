package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/api/wire"
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
		as(event.CallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Result: message.TextResult("done"), Outcome: hook.OutcomeExecuted, Duration: 1234567 * time.Nanosecond}),
		as(event.CallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Outcome: hook.OutcomeExecuted}),
		as(event.CallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Result: message.FailedResult(message.FailTimeout, ""), Outcome: hook.OutcomeTimedOut}),
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

func TestParts(t *testing.T) {
	t.Parallel()
	parts := []wire.Part{
		{ID: "E-0"},
		{ID: "E-1", Data: []byte(`{"a":1}`)},
		{ID: "E-9", Name: wire.StreamLagged, Data: []byte(`{"missed":8}`)},
		{Name: wire.StreamClosed, Data: []byte(`{}`)},
	}
	var written bytes.Buffer
	written.WriteString(":a comment\n\n:\n\nretry: 100\n\n")
	for _, p := range parts {
		require.NoError(t, p.Write(&written))
	}
	text := written.Bytes()
	read := func(text []byte) (out []wire.Part) {
		r := wire.NewPartReader(bytes.NewReader(text))
		for {
			p, err := r.Next()
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				return out
			}
			out = append(out, p)
		}
	}
	assert.Equal(t, parts, read(text))
	assert.Equal(t, parts, read(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))))
	assert.Equal(t, parts[:3], read(text[:len(text)-1]), "what is cut off is not there")
	assert.Equal(t, []wire.Part{{Data: []byte("a\nb")}}, read([]byte("data:a\ndata: b\n\n")))
}

func FuzzPartReader(f *testing.F) {
	f.Add([]byte("id: E-1\ndata: {}\n\n"))
	f.Add([]byte("event: lagged\ndata:\r\n\r\n:x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := wire.NewPartReader(bytes.NewReader(text))
		for {
			p, err := r.Next()
			if err != nil {
				return
			}
			if p.ID == "" && p.Name == "" && p.Data == nil {
				t.Fatal("a part of nothing")
			}
			if _, err := wire.DecodeEvent(p.Data); err == nil {
				continue
			}
		}
	})
}
