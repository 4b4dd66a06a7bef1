package storage_test

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A conversation can go two ways (Fork) and back (Rewind). Both go by turns that
// have ended, and neither deletes anything.

func TestSpecAForkGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("two again"), rig.Says("three")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: rig.OpenSQLite(t, t.TempDir())})
	w.Send("1")
	w.Send("2")

	fork, err := w.Conv.Fork(t.Context(), 1, "ann, other way")
	require.NoError(t, err)
	assert.NotEqual(t, w.Conv.ID(), fork.ID())
	_, err = dialog.Send(t.Context(), fork, message.TextInput("2 again"), nil)
	require.NoError(t, err)
	w.Send("3")

	assert.Equal(t, []string{"user 1", "assistant one", "user 2", "assistant two", "user 3", "assistant three"}, w.History())
	w.Conv = fork
	assert.Equal(t, []string{"user 1", "assistant one", "user 2 again", "assistant two again"}, w.History())

	found, err := dialog.Conversation(t.Context(), w.Runtime, "a", "ann, other way")
	require.NoError(t, err)
	assert.Same(t, fork, found, "it is a conversation like any other")
	_, err = fork.Fork(t.Context(), 1, "ann")
	require.ErrorIs(t, err, store.ErrExists)
	_, err = fork.Fork(t.Context(), 3, "ann, third way")
	require.ErrorIs(t, err, store.ErrNoTurn)
}

func TestSpecAForkMayBeMadeWhileATurnRuns(t *testing.T) {
	t.Parallel()
	running, release := make(chan struct{}), make(chan struct{})
	w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("two")), rig.Box(rig.Does("wait", func(context.Context) message.ToolResult {
		close(running)
		<-release
		return message.TextResult("waited")
	})))
	w.Send("1")
	ended := make(chan error, 1)
	go func() { _, err := w.Try(t.Context(), "2"); ended <- err }()
	<-running

	fork, err := w.Conv.Fork(t.Context(), 1, "bob")
	require.NoError(t, err)
	require.ErrorIs(t, w.Conv.Rewind(t.Context(), 0), runtime.ErrBusy, "but nothing can be taken away from a running turn")
	close(release)
	require.NoError(t, <-ended)
	ms, err := w.Store.Messages(t.Context(), fork.ID())
	require.NoError(t, err)
	assert.Len(t, ms, 2, "what had not ended is not in it")
}

func TestSpecARewoundConversationContinuesFromThere(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("one"), rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("two"), rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("two again"))
	seen := &rig.Watcher{}
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: rig.OpenSQLite(t, t.TempDir())}, rig.Box(rig.Named("echo")), seen)
	w.Send("1")
	w.Send("2")
	require.ErrorIs(t, w.Conv.Rewind(t.Context(), 3), store.ErrNoTurn)

	seen.Events = nil
	require.NoError(t, w.Conv.Rewind(t.Context(), 1))
	assert.Equal(t, []string{"user 1", "assistant one"}, w.History())
	require.Len(t, seen.Events, 1)
	assert.Equal(t, "the conversation was rewound to the end of turn 1", seen.Events[0].Text)

	w.Events = nil
	w.Send("2 again")
	assert.Equal(t, 3, m.Requests[3].Messages.Len(), "the model sees nothing of what was taken away")
	assert.Equal(t, "tool c1 echo: echo:x", w.History()[4], "and ids of its calls are free again")
}

func TestSpecARewindEndsWhatASummaryStandsFor(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("three"), rig.Says("The summary.")))
	w.Send("1")
	w.Send("2")
	w.Send("3")
	_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
	require.NoError(t, err)

	before := w.History()
	require.ErrorIs(t, w.Conv.Rewind(t.Context(), 1), store.ErrCompacted)
	_, err = w.Conv.Fork(t.Context(), 1, "bob")
	require.ErrorIs(t, err, store.ErrCompacted)
	assert.Equal(t, before, w.History())
	require.NoError(t, w.Conv.Rewind(t.Context(), 2), "to the end of what it stands for")
	assert.Equal(t, before[:1], w.History())
}

func TestSpecARefusedRewindEmitsNothing(t *testing.T) {
	t.Parallel()
	seen := &rig.Watcher{}
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mem.New(&mem.Options{Journal: true})}, seen)
	w.Send("1")
	seen.Events = nil
	require.ErrorIs(t, w.Conv.Rewind(t.Context(), 7), store.ErrNoTurn)
	require.Len(t, seen.Events, 1)
	assert.Equal(t, "the conversation was not changed", seen.Events[0].Text)
	w.Send("2")
	kept, err := w.Store.(store.Log).Events(t.Context(), w.Conv.ID(), 0, 100)
	require.NoError(t, err)
	for i, ev := range kept[1:] {
		assert.Less(t, kept[i].Seq, ev.Seq)
	}
	assert.Equal(t, []string{"user 1", "assistant one", "user 2", "assistant two"}, w.History())
}

// forgetful is a store that makes changes and then reports them as failed.
type forgetful struct {
	*mem.Store
	lost error
}

func (s forgetful) Compact(ctx context.Context, id string, at store.At, n int, summary message.Message) (int64, error) {
	v, err := s.Store.Compact(ctx, id, at, n, summary)
	return v, cmp.Or(err, s.lost)
}

func (s forgetful) Rewind(ctx context.Context, id string, at store.At, turns int) (int64, error) {
	v, err := s.Store.Rewind(ctx, id, at, turns)
	return v, cmp.Or(err, s.lost)
}

func TestSpecAChangeThatWasMadeIsNotReportedAsFailed(t *testing.T) {
	t.Parallel()
	lost := errors.New("the connection was lost")
	seen := &rig.Watcher{}
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("The summary.")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: forgetful{mem.New(&mem.Options{Journal: true}), lost}}, seen)
	w.Send("1")
	w.Send("2")
	_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
	require.NoError(t, err)
	assert.Equal(t, event.Compacted, seen.Events[len(seen.Events)-1].Kind)
	require.NoError(t, w.Conv.Rewind(t.Context(), 1))
	assert.Equal(t, []string{"user " + rig.SummaryHead + "The summary."}, w.History())

	seen.Events = nil
	require.ErrorIs(t, w.Conv.Rewind(t.Context(), 7), store.ErrNoTurn)
	assert.Equal(t, "the conversation was not changed", seen.Events[0].Text)
}
