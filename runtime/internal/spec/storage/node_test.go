package storage_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/rig"
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
func node(t *testing.T, s *nodes, id string, m *rig.Model, hooks ...hook.Hook) *rig.Process {
	t.Helper()
	require.NoError(t, s.beat(t, id))
	clock := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &rig.Process{Events: make(chan hook.Event, 1_000), Ended: make(chan rig.Outcome, 1)}
	p.World = rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{
		Store: s.Store, Owner: id, Node: true, Now: func() time.Time { return clock },
		Gone: func(string) bool { panic("only the store says who is dead") },
	}, hooks...)
	return p
}

func TestSpecANodeThatBeatsKeepsItsConversation(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := rig.NewGate("wait")
	first := node(t, s, "first", rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("one")), rig.Box(tool.Tool))
	second := node(t, s, "second", rig.Plays(rig.Says("two")), rig.Box(tool.Tool))
	first.Sends("1")
	<-tool.Reached
	for range 10 {
		s.pass(2 * time.Second)
		require.NoError(t, s.beat(t, "first"))
		_, err := second.Try(t.Context(), "2")
		require.ErrorIs(t, err, runtime.ErrBusy)
	}
	interrupted, err := second.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, interrupted)
	close(tool.Open)
	require.NoError(t, first.Ends().Returned)
	second.Send("2")
}

func TestSpecWhatADeadNodeHasLeftIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := rig.NewGate("wait")
	first := node(t, s, "first", rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("never asked")), rig.Box(tool.Tool))
	second := node(t, s, "second", rig.Plays(rig.Says("two")), rig.Box(tool.Tool))
	first.Sends("1")
	<-tool.Reached
	s.pass(3*time.Second + time.Millisecond)
	require.ErrorIs(t, s.beat(t, "second"), store.ErrLate)
	interrupted, err := second.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.True(t, interrupted)

	second.Resumes()
	require.NoError(t, second.Ends().Returned)
	lines := second.History()
	assert.Contains(t, lines[2], "tool c1 wait cancelled: interrupted", "its effect is not known, so it does not run twice")
	assert.Equal(t, "assistant two", lines[len(lines)-1])

	require.ErrorIs(t, s.beat(t, "first"), store.ErrLate)
	first.Runtime.CheckLeases(t.Context())
	require.ErrorIs(t, first.Ends().Returned, runtime.ErrLeaseLost, "who wakes notices, and stops")
	assert.Equal(t, lines, second.History(), "and has changed nothing")
}

func TestSpecANodeThatWasLateAndLostNothingGoesOn(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := rig.NewGate("wait")
	first := node(t, s, "first", rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("one")), rig.Box(tool.Tool))
	first.Sends("1")
	<-tool.Reached
	s.pass(time.Minute)
	require.ErrorIs(t, s.beat(t, "first"), store.ErrLate)
	first.Runtime.CheckLeases(t.Context())
	close(tool.Open)
	require.NoError(t, first.Ends().Returned)
	assert.Len(t, first.History(), 4)
}

func TestSpecANodeThatCannotReachTheStoreLetsGo(t *testing.T) {
	t.Parallel()
	s := newNodes()
	tool := rig.NewGate("wait")
	first := node(t, s, "first", rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("never asked")), rig.Box(tool.Tool))
	first.Sends("1")
	<-tool.Reached
	first.Until(event.CallStart, 1)
	first.Runtime.LoseLeases()
	require.ErrorIs(t, first.Ends().Returned, runtime.ErrLeaseLost)
}
