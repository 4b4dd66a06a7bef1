package turns_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// However many hooks hang at the ends of sessions, all are called, and the wait is two
// grace periods.
func TestSpecSessionsEndConcurrentlyOnceOneHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, grace = 50, 5 * time.Second
		release := make(chan struct{})
		var ended atomic.Int32
		h := point.OnSessionEndFunc(func(context.Context, *hook.Session) { ended.Add(1); <-release })
		w := rig.StartWith(t, rig.Plays(many(n)...), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: grace}}, h)
		sendMany(t, w, n)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		require.ErrorIs(t, w.Runtime.Close(ctx), runtime.ErrAbandoned)
		assert.Equal(t, 2*grace, time.Since(began))
		assert.EqualValues(t, n, ended.Load())
		close(release)
	})
}

// If all hooks of closing hang, Close returns all the same, and the rest is done when the
// hooks return.
func TestSpecCloseEndsHoweverMuchHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, grace = 50, 5 * time.Second
		release, left := make(chan struct{}), atomic.Int32{}
		h := unregistering{f: func() { <-release; left.Add(1) }}
		w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: grace}}, h)
		for i := range n - 1 {
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: fmt.Sprint("a", i)})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		err := w.Runtime.Close(ctx)
		require.ErrorIs(t, err, runtime.ErrAbandoned)
		assert.ErrorContains(t, err, "OnUnregisterAgent")
		assert.LessOrEqual(t, time.Since(began), 6*grace)
		close(release)
		synctest.Wait()
		assert.EqualValues(t, n, left.Load())
		assert.Empty(t, w.Runtime.Abandoned())
	})
}

// A guest whose prompt hangs does not enter the conversation when the prompt returns.
func TestSpecAnAbandonedGuestDoesNotEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var hangs atomic.Bool
		h := prompting{f: func(agent string) {
			if hangs.Load() && agent == "guest" {
				<-release
			}
		}}
		w := rig.StartWith(t, rig.Plays(rig.Says("x")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, h)
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "guest"})
		require.NoError(t, err)
		hangs.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = dialog.Send(ctx, w.Conv, message.TextInput("go"), &runtime.TurnOptions{Guest: "guest"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		hangs.Store(false)
		close(release)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, w.Runtime.Unregister(t.Context(), "guest"))
		assert.Zero(t, time.Since(began))
	})
}

// many are replies that only say something.
func many(n int) (out []message.ModelStream) {
	for range n {
		out = append(out, rig.Says("x"))
	}
	return out
}

// sendMany has a turn in each of n conversations.
func sendMany(t *testing.T, w *rig.World, n int) {
	for i := range n {
		c, err := dialog.Conversation(t.Context(), w.Runtime, "a", fmt.Sprint(i))
		require.NoError(t, err)
		_, err = dialog.Send(t.Context(), c, message.TextInput("x"), nil)
		require.NoError(t, err)
	}
}

// unregistering gets the agents that are unregistered.
type unregistering struct {
	hook.Nop
	f func()
}

func (u unregistering) OnUnregisterAgent(context.Context, *hook.AgentConfig) { u.f() }

// prompting gets the requests for the prompt of an agent.
type prompting struct {
	hook.Nop
	f func(agent string)
}

func (p prompting) SystemPrompt(cfg *hook.AgentConfig) string { p.f(cfg.Name); return "" }

// A wrap that comes back to a call which was given up starts no tool, also after Close.
func TestSpecAWrapStartsNothingForACallThatWasGivenUp(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(fmt.Sprint("waits ", waits), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, ran := make(chan struct{}), false
				wrap := point.WrapToolFunc(func(_ context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
					<-release
					return next.Run(context.Background())
				})
				x := rig.Tool{Tool: message.Tool{Name: "x", Waits: waits, Timeout: time.Hour}, Run: func(context.Context, *hook.Env, string) message.ToolResult {
					ran = true
					return message.TextResult("done")
				}}
				w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("never")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, wrap, rig.Box(x))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := w.Try(ctx, "go")
				require.Error(t, err)
				require.ErrorIs(t, w.Runtime.Close(ctx), runtime.ErrAbandoned)
				close(release)
				synctest.Wait()
				assert.False(t, ran)
			})
		})
	}
}
