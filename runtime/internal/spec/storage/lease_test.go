package storage_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
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
	tool := rig.NewGate("wait")
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("one")), runtime.Options{Gone: alive}, rig.Box(tool.Tool))
	second := rig.Boot(t, dir, rig.Plays(rig.Says("two")), runtime.Options{Gone: alive}, rig.Box(tool.Tool))
	first.Sends("1")
	<-tool.Reached

	_, err := second.Try(t.Context(), "2")
	require.ErrorIs(t, err, runtime.ErrBusy)
	require.ErrorIs(t, err, store.ErrLeased)
	require.ErrorIs(t, second.Conv.Rewind(t.Context(), 0), runtime.ErrBusy)
	_, err = second.Conv.Compact(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrBusy)

	second.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		return dialog.Send(ctx, second.Conv, message.TextInput("2"), &runtime.TurnOptions{WhenBusy: runtime.Queue, Observe: o.Observe})
	})
	close(tool.Open)
	require.NoError(t, first.Ends().Returned)
	require.NoError(t, second.Ends().Returned)
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "assistant one", "user 2", "assistant two"}, second.History())
	first.Send("3")
	assert.Len(t, first.History(), 8, "and the first goes on where the second has ended")
}

func TestSpecAProcessThatWasTakenForDeadCannotWriteAnyMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := rig.NewGate("wait")
	first := rig.Boot(t, dir, rig.Plays(rig.Says("zero"), rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("too late")), runtime.Options{Owner: "first", Lease: 300 * time.Millisecond}, rig.Box(tool.Tool))
	first.Send("0")
	first.Sends("1")
	<-tool.Reached

	var asked []string
	second := rig.Boot(t, dir, rig.Plays(rig.Says("two")), runtime.Options{Gone: func(owner string) bool {
		asked = append(asked, owner)
		return true
	}}, rig.Box(tool.Tool))
	second.Send("2")
	assert.Equal(t, []string{"first"}, asked)

	out := first.Ends()
	require.ErrorIs(t, out.Returned, runtime.ErrLeaseLost, "it is cancelled, and not left to go on for nothing")
	lines := second.History()
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

		w := rig.StartSlowly(t, rig.Seconds, shared)
		_, err = w.Try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrBusy)
		began := time.Now()
		_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("1"), &runtime.TurnOptions{WhenBusy: runtime.Queue})
		require.NoError(t, err)
		assert.InDelta(t, time.Minute+time.Second, time.Since(began), float64(time.Second))
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecALongTurnKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := mem.New(&mem.Options{Journal: true})
		w := rig.StartSlowly(t, func(bool) time.Duration { return time.Hour }, shared)
		ended := make(chan error, 1)
		go func() { _, err := w.Try(t.Context(), "1"); ended <- err }()
		time.Sleep(30 * time.Minute)
		_, err := shared.Claim(t.Context(), w.Conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
		require.ErrorIs(t, err, store.ErrLeased)
		require.NoError(t, <-ended)
		_, err = shared.Claim(t.Context(), w.Conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
		require.NoError(t, err, "and frees it at its end")
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecAStaleProcessCannotCompact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := mem.New(&mem.Options{Journal: true})
		w := rig.StartSlowly(t, rig.Seconds, shared)
		w.Send("1")
		w.Send("2")
		refused := make(chan error, 1)
		go func() {
			_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
			refused <- err
		}()
		synctest.Wait() // the model is asked for the summary
		_, err := shared.Claim(t.Context(), w.Conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
		require.NoError(t, err)
		require.ErrorIs(t, <-refused, runtime.ErrBusy)
		assert.Len(t, w.History(), 4)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecATurnThatRunsElsewhereIsNotInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := rig.NewGate("wait")
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("one")), runtime.Options{Gone: alive}, rig.Box(tool.Tool))
	second := rig.Boot(t, dir, rig.Plays(), runtime.Options{Gone: alive}, rig.Box(tool.Tool))
	first.Sends("1")
	<-tool.Reached
	interrupted, err := second.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, interrupted, "its process lives")
	close(tool.Open)
	require.NoError(t, first.Ends().Returned)
}

// unread is a store whose messages cannot be read.
type unread struct{ *mem.Store }

func (unread) Messages(context.Context, string) ([]message.Message, error) { return nil, errDisk }

func TestSpecAConversationThatCannotBeReadIsLeftToOthers(t *testing.T) {
	t.Parallel()
	shared := mem.New(&mem.Options{Journal: true})
	w := rig.StartWith(t, rig.Plays(rig.Says("one")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: shared})
	w.Send("1")
	blind := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: unread{shared}})
	_, err := blind.Try(t.Context(), "2")
	require.ErrorIs(t, err, errDisk)
	_, err = shared.Claim(t.Context(), w.Conv.ID(), store.Claim{Owner: "another", Hold: time.Minute})
	require.NoError(t, err, "the lease is free")
}

// A clock that was wrong has left a lease that ends in a hundred years: it keeps
// nobody out, and one that a process may take does.
func TestSpecALeaseThatEndsTooLateKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	for hold, want := range map[time.Duration]error{100 * 365 * 24 * time.Hour: nil, runtime.LongestLease + time.Minute: nil, runtime.LongestLease / 2: runtime.ErrBusy} {
		st := mem.New(nil)
		w := rig.StartWith(t, rig.Plays(rig.Says("one")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st})
		_, err := st.Claim(t.Context(), w.Conv.ID(), store.Claim{Owner: "somebody", Hold: hold})
		require.NoError(t, err)
		_, err = w.Try(t.Context(), "go")
		require.ErrorIs(t, err, want, "%s", hold)
	}
}
