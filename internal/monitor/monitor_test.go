package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/monitor"
)

func TestStreamsThatLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := monitor.New(nil)
		figures := func() []int {
			a := m.Activity(t.Context())
			return []int{a.Streams, a.Lagging, int(a.Missed)}
		}
		slow, quick := m.Stream(), m.Stream()
		slow.Behind()
		quick.Behind()
		assert.Equal(t, []int{2, 0, 0}, figures())
		time.Sleep(2 * time.Second)
		quick.Has()
		slow.Behind() // the next page: it has not caught up
		slow.Missed(7)
		assert.Equal(t, []int{2, 1, 7}, figures())
		slow.Has()
		assert.Equal(t, []int{2, 0, 7}, figures())
		slow.Close()
		assert.Equal(t, []int{1, 0, 7}, figures())
	})
}

// describe returns what the monitor knows of the turn of a conversation.
func describe(m *monitor.Monitor) wire.ActiveTurn {
	a := wire.ActiveTurn{Conversation: "c"}
	m.Describe(&a)
	return a
}

// TestCallsOfSubagents are shown with those of their turn, and one id in two turns is two calls.
func TestCallsOfSubagents(t *testing.T) {
	t.Parallel()
	m, at := monitor.New(nil), time.Now().UTC()
	say := func(kind hook.EventKind, agent, turn, call string, depth int) {
		at = at.Add(time.Second)
		ev := hook.Event{Kind: kind, Time: at, Conversation: "c", Agent: agent, Turn: turn, Depth: depth, Step: 1}
		m.OnEvent(t.Context(), ev.WithDetail(hook.EventDetail{CallID: call, Tool: "tool of " + agent}))
	}
	say(event.CallStart, "a", "1", "x", 0)
	assert.Equal(t, wire.ActiveTurn{Conversation: "c"}, describe(m), "nobody saw the turn begin")
	say(event.TurnStart, "a", "1", "", 0)
	began := at
	say(event.StepStart, "a", "1", "", 0)
	say(event.CallStart, "a", "1", "x", 0)
	say(event.TurnStart, "b", "2", "", 1)
	say(event.CallStart, "b", "2", "x", 1)
	got := describe(m)
	assert.Equal(t, began, got.Since)
	assert.Equal(t, 1, got.Step)
	require.Len(t, got.Calls, 2)
	assert.Equal(t, []string{"a", "b"}, []string{got.Calls[0].Agent, got.Calls[1].Agent})
	say(event.CallResult, "b", "2", "x", 1)
	say(event.TurnEnd, "b", "2", "", 1)
	got = describe(m)
	require.Len(t, got.Calls, 1)
	assert.Equal(t, "tool of a", got.Calls[0].Tool)
	say(event.TurnEnd, "a", "1", "", 0)
	assert.Equal(t, wire.ActiveTurn{Conversation: "c"}, describe(m))
}
