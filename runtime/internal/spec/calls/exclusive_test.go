package calls_test

import (
	"context"
	"sync/atomic"
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
)

// Package toolrun tests what becomes of calls, keys and slots; this is what the runtime adds.

// alone is a tool with an exclusive key. It notes how many of its calls ran at once.
type alone struct {
	running, most, starts atomic.Int32
	release               chan struct{}
}

func newAlone() *alone { return &alone{release: make(chan struct{})} }

// deaf is a tool that ignores its context and returns when it is released.
func (a *alone) deaf(name string) rig.Tool {
	x := rig.Does(name, func(context.Context) message.ToolResult {
		defer a.enter()()
		<-a.release
		return message.TextResult("late")
	})
	x.Exclusive = "key"
	return x
}

// quick is a tool that returns at once.
func (a *alone) quick(name string) rig.Tool {
	x := rig.Does(name, func(context.Context) message.ToolResult {
		defer a.enter()()
		return message.TextResult("quick")
	})
	x.Exclusive = "key"
	return x
}

func (a *alone) enter() (leave func()) {
	a.starts.Add(1)
	for now := a.running.Add(1); ; {
		if most := a.most.Load(); now <= most || a.most.CompareAndSwap(most, now) {
			return func() { a.running.Add(-1) }
		}
	}
}

// A child's call has the same keys as everybody's.
func TestSpecAChildsCallHoldsItsExclusiveKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone()
		run := rig.Tool{Tool: message.Tool{Name: "run", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
			_, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "a", Input: message.TextInput("work"), Call: env.Call})
			return message.TextResult(errText(err))
		}}
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "run", "{}")), rig.Calls(rig.Call("1", "deaf", "{}")), rig.Calls(rig.Call("2", "quick", "{}")), rig.Says("done"), rig.Says("done")),
			rig.Box(run, a.deaf("deaf"), a.quick("quick")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.Try(ctx, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		done := make(chan error, 1)
		go func() { _, err := dialog.Send(t.Context(), w.Other("bob"), message.TextInput("go"), nil); done <- err }()
		time.Sleep(time.Hour)
		assert.Equal(t, int32(1), a.starts.Load())
		assert.Equal(t, []runtime.Abandoned{{Tool: "deaf", Count: 1}}, w.Runtime.Abandoned())
		close(a.release)
		require.NoError(t, <-done)
		assert.Equal(t, int32(1), a.most.Load())
	})
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// Calls that never end give their slots back, and a tool of which too many have not
// ended is not run again before one has.
func TestSpecCallsThatNeverEndStopNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone()
		deaf := a.deaf("deaf")
		deaf.Exclusive, deaf.Timeout = "", time.Second
		w := rig.StartWith(t, rig.Plays(
			rig.Calls(rig.Call("1", "deaf", "{}"), rig.Call("2", "deaf", "{}"), rig.Call("3", "deaf", "{}"), rig.Call("4", "deaf", "{}")),
			rig.Calls(rig.Call("5", "deaf", "{}"), rig.Call("6", "quick", "{}")), rig.Says("done"), rig.Calls(rig.Call("7", "deaf", "{}")), rig.Says("done"),
		), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Slots: 1, Abandoned: 2}}, rig.Box(deaf, a.quick("quick")))
		w.Send("go")
		lines := w.History()
		assert.Contains(t, lines[2], "timed out after 1s; it did not end")
		assert.Contains(t, lines[3], "timed out after 1s; it did not end")
		for _, line := range []string{lines[4], lines[5], lines[7]} {
			assert.Contains(t, line, "deaf operation: 2 calls of deaf have not ended; it runs again when one of them has")
		}
		assert.Contains(t, lines[8], "quick: quick", "another tool has the slot")
		assert.Equal(t, []runtime.Abandoned{{Tool: "deaf", Count: 2}}, w.Runtime.Abandoned())
		close(a.release)
		synctest.Wait()
		assert.Empty(t, w.Runtime.Abandoned())
		w.Send("again")
		lines = w.History()
		assert.Contains(t, lines[len(lines)-2], "late", "the tool runs again")
	})
}

func TestSpecCloseWaitsForAbandonedCallsAndSaysHowManyAreLeft(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ends time.Duration
		want string
	}{
		"they end":    {ends: time.Minute},
		"they do not": {ends: time.Hour, want: "runtime: abandoned work has not ended: 1 in all: calls of deaf (1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newAlone()
				deaf := a.deaf("deaf")
				deaf.Timeout = time.Second
				w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "deaf", "{}")), rig.Says("done")), rig.Box(deaf))
				w.Send("go")
				time.AfterFunc(tc.ends, func() { close(a.release) })
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				began := time.Now()
				err := w.Runtime.Close(ctx)
				assert.Equal(t, min(tc.ends, 10*time.Minute), time.Since(began))
				assert.Equal(t, tc.want, errText(err))
				if tc.want != "" {
					require.ErrorIs(t, err, runtime.ErrAbandoned)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
