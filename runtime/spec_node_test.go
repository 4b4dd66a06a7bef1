package runtime_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Several daemons over one store are its nodes. Who beats keeps its conversations, however far its
// clock is from that of the store; what a dead one has left goes to whoever asks first.

// nodes is a store with nodes, and its clock, which the clocks of the nodes do not follow.
type nodes struct {
	*mem.Store
	passed atomic.Int64
}

func newNodes() *nodes {
	n := new(nodes)
	start := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	n.Store = mem.New(&mem.Options{Journal: true, Now: func() time.Time { return start.Add(time.Duration(n.passed.Load())) }})
	return n
}

func (n *nodes) pass(d time.Duration) { n.passed.Add(int64(d)) }

func (n *nodes) beat(t *testing.T, id string) error {
	t.Helper()
	return n.Beat(t.Context(), store.Node{ID: id, TTL: 3 * time.Second})
}

// node starts a process that is a node of the store; its clock is years behind.
func node(t *testing.T, s *nodes, id string, m *model, hooks ...hook.Hook) *process {
	t.Helper()
	require.NoError(t, s.beat(t, id))
	clock := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &process{events: make(chan hook.Event, 1_000), ended: make(chan outcome, 1)}
	p.world = startWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{
		Store: s.Store, Owner: id, Node: true, Now: func() time.Time { return clock },
		Gone: func(string) bool { panic("only the store says who is dead") },
	}, hooks...)
	return p
}

func TestSpecANodeThatBeatsKeepsItsConversation(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := newGate("wait")
	first := node(t, s, "first", plays(calls(want{"c1", "wait", `{}`}), says("one")), box(tool.tool))
	second := node(t, s, "second", plays(says("two")), box(tool.tool))
	first.sends("1")
	<-tool.reached
	for range 10 {
		s.pass(2 * time.Second)
		require.NoError(t, s.beat(t, "first"))
		_, err := second.try(t.Context(), "2")
		require.ErrorIs(t, err, runtime.ErrBusy)
	}
	interrupted, err := second.conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, interrupted)
	close(tool.open)
	require.NoError(t, first.ends().err)
	second.send("2")
}

func TestSpecWhatADeadNodeHasLeftIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := newGate("wait")
	first := node(t, s, "first", plays(calls(want{"c1", "wait", `{}`}), says("never asked")), box(tool.tool))
	second := node(t, s, "second", plays(says("two")), box(tool.tool))
	first.sends("1")
	<-tool.reached
	s.pass(3*time.Second + time.Millisecond)
	require.ErrorIs(t, s.beat(t, "second"), store.ErrLate)
	interrupted, err := second.conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.True(t, interrupted)

	second.resumes()
	require.NoError(t, second.ends().err)
	lines := second.history()
	assert.Contains(t, lines[2], "tool c1 wait cancelled: interrupted", "its effect is not known, so it does not run twice")
	assert.Equal(t, "assistant two", lines[len(lines)-1])

	require.ErrorIs(t, s.beat(t, "first"), store.ErrLate)
	first.rt.CheckLeases(t.Context())
	require.ErrorIs(t, first.ends().err, runtime.ErrLeaseLost, "who wakes notices, and stops")
	assert.Equal(t, lines, second.history(), "and has changed nothing")
}

func TestSpecANodeThatWasLateAndLostNothingGoesOn(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := newGate("wait")
	first := node(t, s, "first", plays(calls(want{"c1", "wait", `{}`}), says("one")), box(tool.tool))
	first.sends("1")
	<-tool.reached
	s.pass(time.Minute)
	require.ErrorIs(t, s.beat(t, "first"), store.ErrLate)
	first.rt.CheckLeases(t.Context())
	close(tool.open)
	require.NoError(t, first.ends().err)
	assert.Len(t, first.history(), 4)
}

func TestSpecANodeThatCannotReachTheStoreLetsGo(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := newGate("wait")
	first := node(t, s, "first", plays(calls(want{"c1", "wait", `{}`}), says("never asked")), box(tool.tool))
	first.sends("1")
	<-tool.reached
	first.until(event.CallStart, 1)
	first.rt.LoseLeases()
	require.ErrorIs(t, first.ends().err, runtime.ErrLeaseLost)
}
