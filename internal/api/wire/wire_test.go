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
		{Kind: hook.EventAgentRegistered, Time: at, Agent: "a"},
		as(hook.EventTextDelta, "<&>\u2028 \n", hook.EventDetail{}),
		as(hook.EventUsage, "", hook.EventDetail{Usage: hook.Usage{Input: 1, Output: 2, Reasoning: 3}}),
		as(hook.EventCallsBegin, "", hook.EventDetail{Tools: hook.ListOf("x", "y")}),
		as(hook.EventCallStart, "", hook.EventDetail{CallID: "1", Tool: "x", Args: `{"a":"<b>","n":12345678901234567890}`}),
		as(hook.EventCallStart, "", hook.EventDetail{CallID: "1", Tool: "x", Args: `no JSON`}),
		as(hook.EventApprovalGiven, "why", hook.EventDetail{CallID: "1", Tool: "x", Args: `{}`, Answer: hook.AnswerModify, By: "API"}),
		as(hook.EventCallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Result: hook.TextResult("done"), Outcome: hook.OutcomeExecuted, Duration: 1234567 * time.Nanosecond}),
		as(hook.EventCallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Outcome: hook.OutcomeExecuted}),
		as(hook.EventCallResult, "", hook.EventDetail{CallID: "1", Tool: "x", Result: hook.FailedResult(hook.FailTimeout, ""), Outcome: hook.OutcomeTimedOut}),
		as(hook.EventHookFailed, "Guard failed", hook.EventDetail{Subsystem: "Guard", Point: hook.PointBeforeTool}),
		as(hook.EventTurnEnd, "bye", hook.EventDetail{Stop: hook.StopCompleted, Usage: hook.Usage{Input: 9}}),
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
