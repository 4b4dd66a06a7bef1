package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Two processes may have one database open, but one conversation is one
// process's at a time: the one that holds its lease.

func alive(string) bool { return false }

func TestSpecAConversationThatRunsElsewhereIsRefusedOrWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := newGate("wait")
	first := boot(t, dir, plays(calls(want{"c1", "wait", `{}`}), says("one")), runtime.Options{Gone: alive}, box(tool.tool))
	second := boot(t, dir, plays(says("two")), runtime.Options{Gone: alive}, box(tool.tool))
	first.sends("1")
	<-tool.reached

	_, err := second.try(t.Context(), "2")
	require.ErrorIs(t, err, runtime.ErrBusy)
	require.ErrorIs(t, err, store.ErrLeased)
	require.ErrorIs(t, second.conv.Rewind(t.Context(), 0), runtime.ErrBusy)
	_, err = second.conv.Compact(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrBusy)

	second.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		return dialog.Send(ctx, second.conv, message.TextInput("2"), &runtime.TurnOptions{WhenBusy: runtime.Queue, Observe: o.Observe})
	})
	close(tool.open)
	require.NoError(t, first.ends().err)
	require.NoError(t, second.ends().err)
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "assistant one", "user 2", "assistant two"}, second.history())
	first.send("3")
	assert.Len(t, first.history(), 8, "and the first goes on where the second has ended")
}

func TestSpecAProcessThatWasTakenForDeadCannotWriteAnyMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := newGate("wait")
	first := boot(t, dir, plays(says("zero"), calls(want{"c1", "wait", `{}`}), says("too late")), runtime.Options{Owner: "first", Lease: 300 * time.Millisecond}, box(tool.tool))
	first.send("0")
	first.sends("1")
	<-tool.reached

	var asked []string
	second := boot(t, dir, plays(says("two")), runtime.Options{Gone: func(owner string) bool {
		asked = append(asked, owner)
		return true
	}}, box(tool.tool))
	second.send("2")
	assert.Equal(t, []string{"first"}, asked)

	out := first.ends()
	require.ErrorIs(t, out.err, runtime.ErrLeaseLost, "it is cancelled, and not left to go on for nothing")
	lines := second.history()
	require.Len(t, lines, 7)
	assert.Contains(t, lines[4], "tool c1 wait cancelled: interrupted")
	assert.Equal(t, []string{"user 2", "assistant two"}, lines[5:])
}

func TestSpecALeaseThatNobodyProlongsRunsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := mem.New(&mem.Options{Journal: true})
		rec, err := shared.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
		require.NoError(t, err)
		_, err = shared.Claim(t.Context(), rec.ID, store.Claim{Owner: "a process that died", Hold: time.Minute})
		require.NoError(t, err)

		w := startSlowly(t, seconds, shared)
		_, err = w.try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrBusy)
		began := time.Now()
		_, err = dialog.Send(t.Context(), w.conv, message.TextInput("1"), &runtime.TurnOptions{WhenBusy: runtime.Queue})
		require.NoError(t, err)
		assert.InDelta(t, time.Minute+time.Second, time.Since(began), float64(time.Second))
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestSpecALongTurnKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := mem.New(&mem.Options{Journal: true})
		w := startSlowly(t, func(bool) time.Duration { return time.Hour }, shared)
		ended := make(chan error, 1)
		go func() { _, err := w.try(t.Context(), "1"); ended <- err }()
		time.Sleep(30 * time.Minute)
		_, err := shared.Claim(t.Context(), w.conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
		require.ErrorIs(t, err, store.ErrLeased)
		require.NoError(t, <-ended)
		_, err = shared.Claim(t.Context(), w.conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
		require.NoError(t, err, "and frees it at its end")
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestSpecAStaleProcessCannotCompact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := mem.New(&mem.Options{Journal: true})
		w := startSlowly(t, seconds, shared)
		w.send("1")
		w.send("2")
		refused := make(chan error, 1)
		go func() {
			_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			refused <- err
		}()
		synctest.Wait() // the model is asked for the summary
		_, err := shared.Claim(t.Context(), w.conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
		require.NoError(t, err)
		require.ErrorIs(t, <-refused, runtime.ErrBusy)
		assert.Len(t, w.history(), 4)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestSpecATurnThatRunsElsewhereIsNotInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := newGate("wait")
	first := boot(t, dir, plays(calls(want{"c1", "wait", `{}`}), says("one")), runtime.Options{Gone: alive}, box(tool.tool))
	second := boot(t, dir, plays(), runtime.Options{Gone: alive}, box(tool.tool))
	first.sends("1")
	<-tool.reached
	interrupted, err := second.conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, interrupted, "its process lives")
	close(tool.open)
	require.NoError(t, first.ends().err)
}

// unread is a store whose messages cannot be read.
type unread struct{ *mem.Store }

func (unread) Messages(context.Context, string) ([]message.Message, error) { return nil, errDisk }

func TestSpecAConversationThatCannotBeReadIsLeftToOthers(t *testing.T) {
	t.Parallel()
	shared := mem.New(&mem.Options{Journal: true})
	w := startWith(t, plays(says("one")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: shared})
	w.send("1")
	blind := startWith(t, plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: unread{shared}})
	_, err := blind.try(t.Context(), "2")
	require.ErrorIs(t, err, errDisk)
	_, err = shared.Claim(t.Context(), w.conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
	require.NoError(t, err, "the lease is free")
}

// A clock that was wrong has left a lease that ends in a hundred years: it keeps
// nobody out, and one that a process may take does.
func TestSpecALeaseThatEndsTooLateKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	for hold, want := range map[time.Duration]error{100 * 365 * 24 * time.Hour: nil, runtime.LongestLease + time.Minute: nil, runtime.LongestLease / 2: runtime.ErrBusy} {
		st := mem.New(nil)
		w := startWith(t, plays(says("one")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st})
		_, err := st.Claim(t.Context(), w.conv.ID(), store.Claim{Owner: "somebody", Hold: hold})
		require.NoError(t, err)
		_, err = w.try(t.Context(), "go")
		require.ErrorIs(t, err, want, "%s", hold)
	}
}
