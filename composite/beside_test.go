package composite_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// sideHost keeps what is handed over until the test runs it.
type sideHost struct {
	hears
	side    []func(context.Context)
	paths   []string
	crowded bool
}

func (h *sideHost) Go(_ context.Context, path string, run func(context.Context)) error {
	if h.crowded {
		return hook.ErrCrowded
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.side, h.paths = append(h.side, run), append(h.paths, path)
	return nil
}

// run runs what was handed over, beside whoever calls.
func (h *sideHost) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range h.side {
		wg.Go(func() { s(ctx) })
	}
	wg.Wait()
}

func observes(f func(ctx context.Context)) hook.Hook {
	return point.AfterTurnFunc(func(ctx context.Context, _ *hook.Turn, _ hook.TurnOutcome) { f(ctx) })
}

func TestRecordedObserversAreNotWaitedFor(t *testing.T) {
	var told []string
	tells := func(name string) hook.Hook { return observes(func(context.Context) { told = append(told, name) }) }
	type fields struct {
		A hook.Hook `hook:"AfterTurn: record"`
		B hook.Hook
		C []hook.Hook `hook:"AfterTurn: record"`
	}
	c, err := composite.New(&fields{tells("A"), tells("B"), []hook.Hook{tells("C0"), nil, tells("C2")}})
	require.NoError(t, err)
	host := new(sideHost)
	c.AfterTurn(t.Context(), newCall(host, "").Step().Turn(), hook.TurnOutcome{})
	assert.Equal(t, []string{"B"}, told)
	for _, run := range host.side {
		run(t.Context())
	}
	assert.Equal(t, []string{"C[2]", "C[0]", "A"}, host.paths, "from the inside out")
	assert.Equal(t, []string{"B", "C2", "C0", "A"}, told)

	c.AfterTurn(t.Context(), newCall(nil, "").Step().Turn(), hook.TurnOutcome{})
	assert.Equal(t, []string{"C2", "C0", "B", "A"}, told[4:], "without a host it is told at once")
}

// Whatever becomes of a run beside the turn is told when it is over, recorded or not.
func TestFailuresBesideTheTurnAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := observes(func(context.Context) { time.Sleep(time.Minute) })
		for _, recorded := range []bool{false, true} {
			h, err := composite.Of("test.Fields",
				field("Well", "AfterTurn: record", observes(func(context.Context) { time.Sleep(time.Second) })),
				field("Bad", "AfterTurn: record", observes(func(context.Context) { panic("secret cause") })),
				field("Slow", "AfterTurn: record,timeout=2s,visibility=audit", hangs))
			require.NoError(t, err)
			if recorded {
				h = h.Recorded(nil)
			}
			host := new(sideHost)
			queued := time.Now()
			h.AfterTurn(t.Context(), newCall(host, "").Step().Turn(), hook.TurnOutcome{})
			assert.Empty(t, host.text)
			time.Sleep(time.Second)
			host.run(t.Context())
			assert.Len(t, host.side, 3)
			assert.Equal(t, 1, h.LateHooks(), "who is late still runs")
			assert.Contains(t, host.text, `{"kind":"hook_failed","text":"Bad failed at AfterTurn","subsystem":"Bad","point":"AfterTurn"}`)
			assert.Contains(t, host.text, `{"kind":"hook_failed","text":"Slow did not answer in time at AfterTurn","subsystem":"Slow","point":"AfterTurn"}`)
			if recorded {
				assert.ElementsMatch(t, []string{
					"Well AfterTurn succeeded", `Bad AfterTurn panicked "Bad failed at AfterTurn"`,
					`Slow AfterTurn timed_out "Slow did not answer in time at AfterTurn"`,
				}, host.lines())
				for _, r := range host.runs {
					assert.Equal(t, []time.Time{queued, queued.Add(time.Second)}, []time.Time{r.Queued, r.Started})
					want := map[string]time.Duration{"Well": time.Second, "Slow": 2 * time.Second}[r.Subsystem]
					assert.Equal(t, want, r.Duration, r.Subsystem)
				}
			} else {
				assert.Len(t, host.text, 2)
			}
			time.Sleep(time.Minute)
			assert.Zero(t, h.LateHooks())
		}
	})
}

func TestARunThatClosingBreaksOffIsInterrupted(t *testing.T) {
	c, err := composite.Of("test.Fields", field("A", "AfterTurn: record", observes(func(ctx context.Context) { <-ctx.Done() })))
	require.NoError(t, err)
	host := new(sideHost)
	c.Recorded(nil).AfterTurn(t.Context(), newCall(host, "").Step().Turn(), hook.TurnOutcome{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	host.run(ctx)
	assert.Equal(t, []string{"A AfterTurn interrupted"}, host.lines())
}

// What cannot be handed over is a failure, and everybody else is told all the same.
func TestWhatCannotBeHandedOverIsTold(t *testing.T) {
	var b bool
	for _, recorded := range []bool{false, true} {
		h, err := composite.Of("test.Fields", field("B", "", observes(func(context.Context) { b = true })), field("A", "AfterTurn: record", observes(func(context.Context) {})))
		require.NoError(t, err)
		if recorded {
			h = h.Recorded(nil)
		}
		host := &sideHost{crowded: true}
		b = false
		h.AfterTurn(t.Context(), newCall(host, "").Step().Turn(), hook.TurnOutcome{})
		assert.True(t, b)
		assert.Contains(t, host.text, `{"kind":"hook_failed","text":"A failed at AfterTurn","subsystem":"A","point":"AfterTurn"}`)
		if recorded {
			assert.Equal(t, []string{`A AfterTurn failed "A failed at AfterTurn"`, "B AfterTurn succeeded"}, host.lines())
		}
	}
}
