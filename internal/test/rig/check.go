package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// closers says which kind closes which.
var closers = map[hook.EventKind]hook.EventKind{
	event.TurnEnd: event.TurnStart, event.StepEnd: event.StepStart,
	event.TextEnd: event.TextStart, event.ReasoningEnd: event.ReasoningStart,
	event.CallsComplete: event.CallsBegin, event.ApprovalGiven: event.ApprovalAsked,
	event.QuestionGiven: event.QuestionAsked,
}

// Unbalanced returns the first mistake in the brackets of a stream; "" is none. In a stream
// of several processes the start of a turn closes everything that was open: the turn is
// resumed, or another one has begun.
func Unbalanced(events []hook.Event) string {
	var open []hook.EventKind
	epoch := int64(0)
	for _, ev := range events {
		if ev.Kind == event.TurnStart && ev.Depth == 0 && ev.Epoch != epoch {
			open, epoch = nil, ev.Epoch
		}
		begins := false
		for _, kind := range closers {
			begins = begins || kind == ev.Kind
		}
		switch kind, ends := closers[ev.Kind]; {
		case begins:
			open = append(open, ev.Kind)
		case ends && (len(open) == 0 || open[len(open)-1] != kind):
			return fmt.Sprintf("%s at %d closes nothing: open are %v", ev.Kind, ev.Seq, open)
		case ends:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Sprint("left open: ", open)
	}
	return ""
}

// KeptEvents are those that the store has.
func KeptEvents(t *testing.T, st store.Store, id string) (events []hook.Event) {
	t.Helper()
	kept, err := st.(store.Log).Events(context.Background(), id, 0, 1_000_000)
	require.NoError(t, err)
	for _, k := range kept {
		var ev hook.Event
		require.NoError(t, json.Unmarshal([]byte(k.Data), &ev))
		events = append(events, ev)
	}
	return events
}

// AssertBrackets checks that what began has ended.
func AssertBrackets(t *testing.T, w *World) {
	t.Helper()
	for open, end := range map[hook.EventKind]hook.EventKind{
		event.TurnStart: event.TurnEnd, event.StepStart: event.StepEnd, event.TextStart: event.TextEnd,
		event.ReasoningStart: event.ReasoningEnd, event.CallsBegin: event.CallsComplete,
		event.CallStart: event.CallResult, event.ApprovalAsked: event.ApprovalGiven,
	} {
		assert.Len(t, w.EventsOf(end), len(w.EventsOf(open)), "%s and %s", open, end)
	}
}

// OpenSQLite opens the database of that name in dir.
func OpenSQLite(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "conversations.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// SummaryHead is how a summary begins when the model is shown it.
const SummaryHead = "Summary of the earlier part of this conversation, which is not shown any more:\n\n"

// Never is a tool that must not run.
func Never(t *testing.T) func(context.Context) message.ToolResult {
	return func(context.Context) message.ToolResult {
		t.Error("a call ran that must not")
		return message.ToolResult{}
	}
}

// Canary is text that goes everywhere but into the record of a hook run.
const Canary = "CANARY-4711"

// Reasons are those of the signals to stop.
func Reasons(out hook.TurnOutcome) (rs []hook.StopReason) {
	for _, s := range out.Signals.All() {
		rs = append(rs, s.Reason)
	}
	return rs
}

// Steers steers the running turn with each line.
func Steers(t *testing.T, w *World, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, dialog.Steer(t.Context(), w.Conv, message.TextInput(line)))
	}
}
