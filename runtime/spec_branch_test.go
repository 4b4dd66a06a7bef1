package runtime_test

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
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A conversation can go two ways (Fork) and back (Rewind). Both go by turns that
// have ended, and neither deletes anything.

func TestSpecAForkGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	w := startWith(t, plays(says("one"), says("two"), says("two again"), says("three")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: openSQLite(t, t.TempDir())})
	w.send("1")
	w.send("2")

	fork, err := w.conv.Fork(t.Context(), 1, "ann, other way")
	require.NoError(t, err)
	assert.NotEqual(t, w.conv.ID(), fork.ID())
	_, err = dialog.Send(t.Context(), fork, message.TextInput("2 again"), nil)
	require.NoError(t, err)
	w.send("3")

	assert.Equal(t, []string{"user 1", "assistant one", "user 2", "assistant two", "user 3", "assistant three"}, w.history())
	w.conv = fork
	assert.Equal(t, []string{"user 1", "assistant one", "user 2 again", "assistant two again"}, w.history())

	found, err := dialog.Conversation(t.Context(), w.rt, "a", "ann, other way")
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
	w := start(t, plays(says("one"), calls(want{"c1", "wait", `{}`}), says("two")), box(does("wait", func(context.Context) message.ToolResult {
		close(running)
		<-release
		return message.TextResult("waited")
	})))
	w.send("1")
	ended := make(chan error, 1)
	go func() { _, err := w.try(t.Context(), "2"); ended <- err }()
	<-running

	fork, err := w.conv.Fork(t.Context(), 1, "bob")
	require.NoError(t, err)
	require.ErrorIs(t, w.conv.Rewind(t.Context(), 0), runtime.ErrBusy, "but nothing can be taken away from a running turn")
	close(release)
	require.NoError(t, <-ended)
	ms, err := w.store.Messages(t.Context(), fork.ID())
	require.NoError(t, err)
	assert.Len(t, ms, 2, "what had not ended is not in it")
}

func TestSpecARewoundConversationContinuesFromThere(t *testing.T) {
	t.Parallel()
	m := plays(says("one"), calls(want{"c1", "echo", `{"s":"x"}`}), says("two"), calls(want{"c1", "echo", `{"s":"x"}`}), says("two again"))
	seen := &watcher{}
	w := startWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: openSQLite(t, t.TempDir())}, box(named("echo")), seen)
	w.send("1")
	w.send("2")
	require.ErrorIs(t, w.conv.Rewind(t.Context(), 3), store.ErrNoTurn)

	seen.events = nil
	require.NoError(t, w.conv.Rewind(t.Context(), 1))
	assert.Equal(t, []string{"user 1", "assistant one"}, w.history())
	require.Len(t, seen.events, 1)
	assert.Equal(t, "the conversation was rewound to the end of turn 1", seen.events[0].Text)

	w.events = nil
	w.send("2 again")
	assert.Equal(t, 3, m.requests[3].Messages.Len(), "the model sees nothing of what was taken away")
	assert.Equal(t, "tool c1 echo: echo:x", w.history()[4], "and ids of its calls are free again")
}

func TestSpecARewindEndsWhatASummaryStandsFor(t *testing.T) {
	t.Parallel()
	w := start(t, plays(says("one"), says("two"), says("three"), says("The summary.")))
	w.send("1")
	w.send("2")
	w.send("3")
	_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
	require.NoError(t, err)

	before := w.history()
	require.ErrorIs(t, w.conv.Rewind(t.Context(), 1), store.ErrCompacted)
	_, err = w.conv.Fork(t.Context(), 1, "bob")
	require.ErrorIs(t, err, store.ErrCompacted)
	assert.Equal(t, before, w.history())
	require.NoError(t, w.conv.Rewind(t.Context(), 2), "to the end of what it stands for")
	assert.Equal(t, before[:1], w.history())
}

func TestSpecARefusedRewindEmitsNothing(t *testing.T) {
	t.Parallel()
	seen := &watcher{}
	w := startWith(t, plays(says("one"), says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mem.New(&mem.Options{Journal: true})}, seen)
	w.send("1")
	seen.events = nil
	require.ErrorIs(t, w.conv.Rewind(t.Context(), 7), store.ErrNoTurn)
	require.Len(t, seen.events, 1)
	assert.Equal(t, "the conversation was not changed", seen.events[0].Text)
	w.send("2")
	kept, err := w.store.(store.Log).Events(t.Context(), w.conv.ID(), 0, 100)
	require.NoError(t, err)
	for i, ev := range kept[1:] {
		assert.Less(t, kept[i].Seq, ev.Seq)
	}
	assert.Equal(t, []string{"user 1", "assistant one", "user 2", "assistant two"}, w.history())
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
	seen := &watcher{}
	w := startWith(t, plays(says("one"), says("two"), says("The summary.")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: forgetful{mem.New(&mem.Options{Journal: true}), lost}}, seen)
	w.send("1")
	w.send("2")
	_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
	require.NoError(t, err)
	assert.Equal(t, event.Compacted, seen.events[len(seen.events)-1].Kind)
	require.NoError(t, w.conv.Rewind(t.Context(), 1))
	assert.Equal(t, []string{"user " + head + "The summary."}, w.history())

	seen.events = nil
	require.ErrorIs(t, w.conv.Rewind(t.Context(), 7), store.ErrNoTurn)
	assert.Equal(t, "the conversation was not changed", seen.events[0].Text)
}
