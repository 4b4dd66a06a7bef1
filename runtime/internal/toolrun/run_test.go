package toolrun_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
)

var wide = toolrun.Options{Slots: 8, Abandoned: 8}

func TestTheToolIsToldOfItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		var env hook.Env
		x := tool{message.Tool{Name: "x", Timeout: time.Hour}, func(_ context.Context, e *hook.Env) message.ToolResult {
			env = *e
			e.Progress("half done")
			return message.ToolResult{}
		}}
		runs := b.runs(x)
		runs[0].Place = runs[0].Place.Narrowed(hook.Grant{Timeout: time.Minute, MaxOutput: 7})
		began := time.Now()
		b.runAll(t.Context(), runs)
		assert.Same(t, runs[0].Place, env.Call)
		assert.Equal(t, runs[0].Place.Grant(), env.Grant)
		assert.Equal(t, "key", env.Key)
		assert.Equal(t, 1, env.Attempt)
		assert.Equal(t, began.Add(time.Minute), env.Deadline, "the shorter limit counts")
		assert.Equal(t, []string{"half done"}, b.host.all())
		b.close()
	})
}

func TestADeadlineOfTheTurnIsToldWithoutATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var deadline time.Time
		b.all(ctx, tool{message.Tool{Name: "x"}, func(_ context.Context, e *hook.Env) message.ToolResult {
			deadline = e.Deadline
			return message.ToolResult{}
		}})
		assert.Equal(t, time.Now().Add(time.Minute), deadline)
		b.close()
	})
}

func TestATimeLimitMarksTheResult(t *testing.T) {
	t.Parallel()
	ends := func(r message.ToolResult) tool {
		x := does("x", func(ctx context.Context) message.ToolResult { <-ctx.Done(); return r })
		x.Timeout = time.Second
		return x
	}
	for name, tc := range map[string]struct{ result, want message.ToolResult }{
		"cancelled": {message.FailedResult(message.FailCancelled, "stopped"), message.FailedResult(message.FailTimeout, "timed out after 1s")},
		"failed":    {message.FailedResult(message.FailOperation, "partial"), message.FailedResult(message.FailTimeout, "partial")},
		"timed out": {message.FailedResult(message.FailTimeout, "too slow"), message.FailedResult(message.FailTimeout, "too slow")},
		"done":      {message.TextResult("done after all"), message.TextResult("done after all")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, wide, nil)
				assert.Equal(t, tc.want, b.all(t.Context(), ends(tc.result))[0].Result)
				b.close()
			})
		})
	}
	t.Run("the turn was cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, wide, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			assert.Equal(t, "stopped", b.all(ctx, ends(message.FailedResult(message.FailCancelled, "stopped")))[0].Result.Text())
			b.close()
		})
	})
}

func TestAWrapMakesAttempts(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, time.Minute} {
		for name, fail := range map[string]func(){"panic": func() { panic("flaky") }, "goexit": goruntime.Goexit} {
			if limit == 0 && name == "goexit" {
				continue // that ends the goroutine of the wrap
			}
			t.Run(name+" "+limit.String(), func(t *testing.T) {
				t.Parallel()
				var attempts []int
				x := tool{message.Tool{Name: "x", Timeout: limit, Exclusive: "key"}, func(_ context.Context, env *hook.Env) message.ToolResult {
					if attempts = append(attempts, env.Attempt); env.Attempt == 1 {
						fail()
					}
					return message.TextResult("ok")
				}}
				b := newBench(t, wide, point.WrapToolFunc(func(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
					assert.Equal(t, composite.PanicResult(), next.Run(ctx))
					return next.Run(ctx)
				}))
				assert.Equal(t, "ok", b.all(t.Context(), x)[0].Result.Text())
				assert.Equal(t, []int{1, 2}, attempts)
				b.close()
			})
		}
	}
}

// The attempt that did not start takes nothing from the one before it.
func TestTheResultOfTheAttemptBeforeStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, toolrun.Options{Slots: 4, Abandoned: 1}, point.WrapToolFunc(func(ctx context.Context, c *hook.ToolCall, next hook.ToolNext) message.ToolResult {
			next.Run(ctx)
			return next.Run(ctx)
		}))
		hangs := deaf("x", release)
		hangs.Timeout = time.Second
		end := b.all(t.Context(), hangs)[0]
		assert.Equal(t, "timed out after 1s; it did not end, and what it did is not known", end.Result.Text())
		assert.Equal(t, message.OutcomeTimedOut, end.Outcome)
		close(release)
		b.close()
	})
}

func TestAWrapThatPanicsLeavesTheResultIfThereIsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, wide, point.WrapToolFunc(func(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
		next.Run(ctx)
		panic("late")
	}))
	assert.Equal(t, "x", b.all(t.Context(), says("x"))[0].Result.Text())
	b.close()
}

func TestAWrapStartsNothingForAnAbandonedCall(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release, ran := make(chan struct{}), false
			b := newBench(t, wide, point.WrapToolFunc(func(_ context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
				<-release
				return next.Run(context.Background())
			}))
			x := does("x", func(context.Context) message.ToolResult { ran = true; return message.ToolResult{} })
			x.Waits, x.Timeout = waits, time.Hour
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			b.all(ctx, x)
			require.Len(t, b.runner.Close(ctx), 1)
			close(release)
			synctest.Wait()
			assert.False(t, ran)
		})
	}
}

func TestAnAbandonedCallReportsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release := newBench(t, wide, nil), make(chan struct{})
		x := tool{message.Tool{Name: "x"}, func(_ context.Context, env *hook.Env) message.ToolResult {
			env.Progress("begun")
			<-release
			env.Progress("still here")
			return message.ToolResult{}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b.all(ctx, x)
		close(release)
		b.close()
		assert.Equal(t, []string{"begun"}, b.host.all())
	})
}

// The owner of a turn whose loop hangs gives up the calls in its place.
func TestAbandonSaysHowFarTheCallIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, release, loop := newBench(t, toolrun.Options{Slots: 2, Abandoned: 8}, nil), make(chan struct{}), make(chan struct{})
		runs := b.runs(says("done"), says("also done"), deaf("runs", release))
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			b.runner.RunAll(ctx, toolrun.Env{Hooks: b.hooks, Events: t.Context(), Grace: grace}, runs, func(int, composite.Completion) { <-loop })
		}()
		synctest.Wait()
		cancel()
		assert.Equal(t, abandoned.Ended, runs[1].Abandon())
		assert.Equal(t, composite.Completion{Result: message.TextResult("also done"), Outcome: message.OutcomeExecuted}, runs[1].End())
		assert.Equal(t, abandoned.Running, runs[2].Abandon())
		assert.Equal(t, []abandoned.Work{{Tool: "runs", Count: 1}}, b.runner.Abandoned())
		never := b.runs(does("never", func(context.Context) message.ToolResult { panic("it ran") }))
		assert.Equal(t, abandoned.Waiting, never[0].Abandon())
		ends, _ := b.runAll(t.Context(), never)
		assert.Equal(t, "cancelled before it started", ends[0].Result.Text())
		close(loop)
		close(release)
		<-returned
		b.close()
	})
}

func TestACallWithoutHooksPanicsIntoItsResult(t *testing.T) {
	t.Parallel()
	b := newBench(t, wide, nil)
	end := b.all(t.Context(), does("x", func(context.Context) message.ToolResult { panic(errors.New("secret")) }))[0]
	assert.Equal(t, composite.PanicResult(), end.Result)
	assert.Equal(t, message.OutcomePanicked, end.Outcome)
	b.close()
}
