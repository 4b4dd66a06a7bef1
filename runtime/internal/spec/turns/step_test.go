package turns_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// BeforeStep and AfterStep surround every step, and either may end the turn. OnStop
// may have a turn go on that would end for soft reasons.

func TestSpecBeforeStepEndsTheTurnBeforeTheModelIsAsked(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		var after []int
		h := &rig.Life{Toolbox: rig.Box(rig.Named("echo"))}
		h.AtBeforeStep = func(s *hook.Step) (hook.StepDecision, error) {
			if s.Number() == 2 {
				assert.Equal(t, 3, s.Turn().Standing().History.Len(), "it sees what is stored")
				return hook.StopStep(hook.StopTokenLimit, "Token limit reached: 15/10").WithContext(`{"maxTokens":10}`), nil
			}
			return hook.StepDecision{}, nil
		}
		h.AtAfterStep = func(_ context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
			if after = append(after, s.Number()); s.Number() == 2 {
				o.Duration = 0
				assert.Equal(t, hook.StepOutcome{}, o, "nothing has happened")
			}
			return hook.StepDecision{}, nil
		}
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`))), with(h)...)
		out := w.Send("1")
		assert.Equal(t, hook.StopTokenLimit, out.Stop)
		assert.Equal(t, []hook.StopSignal{{Reason: hook.StopTokenLimit, By: path, Text: "Token limit reached: 15/10", Context: `{"maxTokens":10}`}}, out.Signals.Slice())
		assert.Equal(t, []int{1, 2}, after, "the step had begun")
		assert.Len(t, w.EventsOf(event.StepStart), 2)
		assert.Len(t, w.EventsOf(event.StepEnd), 2)
		assert.Len(t, w.Model.Requests, 1)
	})
}

func TestSpecAfterStepGetsTheEndOfTheStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var outcomes []hook.StepOutcome
		var stored []int
		h := &rig.Life{Toolbox: rig.Box(rig.Named("echo"), rig.Sleeps("slow", time.Second))}
		h.AtAfterStep = func(_ context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
			outcomes, stored = append(outcomes, o), append(stored, s.Turn().Standing().History.Len())
			return hook.StepDecision{}, nil
		}
		down := errors.New("down")
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "slow", `{}`), rig.Call("c2", "echo", `{}`), rig.Call("c3", "nobody", `{}`)), rig.Fails(down)), h)
		_, err := w.Try(t.Context(), "1")
		require.ErrorIs(t, err, down)
		require.Len(t, outcomes, 2)
		first := outcomes[0]
		assert.Equal(t, message.FinishTools, first.Finish)
		assert.Equal(t, message.Usage{Input: 10, Output: 5}, first.Usage)
		assert.Equal(t, time.Second, first.Duration)
		require.NoError(t, first.Err)
		var ends []string
		for _, c := range first.Calls.All() {
			ends = append(ends, c.Call.ID()+" "+string(c.Outcome))
		}
		assert.Equal(t, []string{"c1 executed", "c2 executed", "c3 unknown"}, ends, "in call order")
		assert.Equal(t, []int{5, 5}, stored, "its messages are stored")
		assert.Empty(t, outcomes[1].Finish)
		assert.Zero(t, outcomes[1].Calls.Len())
		assert.Equal(t, down, outcomes[1].Err)
	})
}

func TestSpecAfterStepMayEndTheTurn(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		h := &rig.Life{Toolbox: rig.Box(rig.Named("echo"))}
		h.AtAfterStep = func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
			return hook.StopStep(hook.StopFinishReason, `Finish reason "tool_calls" matched stop condition`), nil
		}
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`))), with(h)...)
		out := w.Send("1")
		assert.Equal(t, hook.StopFinishReason, out.Stop)
		assert.Equal(t, path, out.Signals.At(0).By)
		assert.Len(t, w.Model.Requests, 1)
		assert.Len(t, w.History(), 3)
	})
}

func TestSpecAfterStepRunsOnceForEveryStepHoweverItEnds(t *testing.T) {
	t.Parallel()
	type ctxKey struct{}
	cases := map[string]struct {
		model func(cancel func()) message.ModelStream
		life  func(h *rig.Life, cancel func())
		stop  hook.StopReason
	}{
		"a model that panics":     {model: func(func()) message.ModelStream { return func(func(message.Chunk, error) bool) { panic("boom") } }, stop: hook.StopError},
		"a model that is cut off": {model: func(func()) message.ModelStream { return rig.Chunks(rig.Text("half")) }, stop: hook.StopError},
		"a cancel before the step": {life: func(h *rig.Life, cancel func()) {
			h.AtBeforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
				cancel()
				return hook.TurnDecision{}, nil
			}
		}, stop: hook.StopCancelled},
		"a cancel in BeforeStep": {life: func(h *rig.Life, cancel func()) {
			h.AtBeforeStep = func(*hook.Step) (hook.StepDecision, error) {
				cancel()
				return hook.StepDecision{}, nil
			}
		}, stop: hook.StopCancelled},
		"a cancel in the stream": {model: func(cancel func()) message.ModelStream {
			return func(yield func(message.Chunk, error) bool) {
				_ = yield(rig.Text("half"), nil)
				cancel()
				_ = yield(rig.Text("the other"), nil)
			}
		}, stop: hook.StopCancelled},
		"a cancel in a tool": {model: func(func()) message.ModelStream { return rig.Calls(rig.Call("c1", "cancel", `{}`)) }, life: func(h *rig.Life, cancel func()) {
			h.Tools = []rig.Tool{rig.Does("cancel", func(context.Context) message.ToolResult { cancel(); return message.TextResult("done") })}
		}, stop: hook.StopCancelled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig.Alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, 1))
				defer cancel()
				var after []hook.StepOutcome
				h := &rig.Life{Toolbox: rig.Box()}
				if c.life != nil {
					c.life(h, cancel)
				}
				h.AtAfterStep = func(ctx context.Context, _ *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
					require.NoError(t, ctx.Err(), "it has the grace period")
					after = append(after, o)
					return hook.StepDecision{}, nil
				}
				m := rig.Plays()
				if c.model != nil {
					m = rig.Plays(c.model(cancel))
				}
				w := rig.Start(t, m, with(h)...)
				out, err := w.Try(ctx, "1")
				require.Error(t, err)
				assert.Equal(t, c.stop, out.Stop)
				require.Len(t, after, 1)
				require.Error(t, after[0].Err)
				assert.Len(t, w.EventsOf(event.StepEnd), 1)
			})
		})
	}
}

// critic has a turn go on as often as it has something to say.
func critic(feedback ...string) func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
	return func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
		if s.Continued >= len(feedback) {
			return hook.StopDecision{}, nil
		}
		return hook.ContinueTurn(feedback[s.Continued]), nil
	}
}

func TestSpecOnStopContinuesATurnWithFeedback(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
		var asked []hook.Stopping
		h := &rig.Life{Toolbox: rig.Box()}
		say := critic("too short", "")
		h.AtStop = func(ctx context.Context, turn *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
			asked = append(asked, s)
			assert.Equal(t, s.Continued+2, turn.Standing().History.Len(), "the answer so far is stored")
			return say(ctx, turn, s)
		}
		w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("three")), with(h)...)
		out := w.Send("1")
		assert.Equal(t, hook.StopCompleted, out.Stop)
		assert.Equal(t, "three", out.Text())
		assert.Equal(t, []string{"user 1", "assistant one", "assistant two", "assistant three"}, w.History())
		ms, err := w.Store.Messages(t.Context(), w.Conv.ID())
		require.NoError(t, err)
		assert.Empty(t, history.Check(ms))
		last := func(n int) message.Message {
			m := w.Model.Requests[n].Messages
			return m.At(m.Len() - 1)
		}
		assert.Equal(t, "too short", last(1).Text())
		assert.Equal(t, "feedback", last(1).Label)
		assert.True(t, last(1).Ephemeral)
		assert.Equal(t, "Go on.", last(2).Text(), "no request ends with an answer")
		var said []string
		for i, s := range asked {
			assert.Equal(t, hook.StopCompleted, s.Stop)
			assert.Equal(t, i, s.Continued)
			said = append(said, s.Message.Text())
		}
		assert.Equal(t, []string{"one", "two", "three"}, said)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecOnStopIsCapped(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		h := &rig.Life{Toolbox: rig.Box(), AtStop: func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
			return hook.ContinueTurn("again"), nil
		}}
		w := rig.Start(t, rig.Plays(), with(h)...)
		out := w.Send("1")
		assert.Equal(t, hook.StopCompleted, out.Stop)
		assert.Equal(t, 9, out.Steps, "8 times")
		told := w.EventsOf(event.Diagnostic)
		require.Len(t, told, 1)
		assert.Contains(t, told[0].Text, "8 times")
		assert.Contains(t, told[0].Text, path)
	})
}

func TestSpecOnStopLiftsNoHardStop(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply  message.ModelStream
		stop   hook.StopReason
		limits hook.Limits
		step   hook.StopReason
		asked  bool
	}{
		"completed":           {reply: rig.Says("hi"), stop: hook.StopCompleted, asked: true},
		"no action":           {reply: rig.Says(""), stop: hook.StopNoAction, asked: true},
		"a filter":            {reply: rig.Chunks(rig.Text("I"), rig.Finish(message.FinishFilter)), stop: hook.StopRefused, asked: true},
		"a finish of a guard": {reply: rig.Says("hi"), step: hook.StopFinishReason, stop: hook.StopFinishReason, asked: true},
		"cut off":             {reply: rig.Chunks(rig.Text("I"), rig.Finish(message.FinishLength)), stop: hook.StopMaxTokens},
		"a failure":           {reply: rig.Fails(rig.ErrBroken), stop: hook.StopError},
		"tokens":              {reply: rig.Calls(rig.Call("c1", "echo", `{}`)), limits: hook.Limits{Tokens: 10}, stop: hook.StopTokenLimit},
		"steps":               {reply: rig.Calls(rig.Call("c1", "echo", `{}`)), limits: hook.Limits{Steps: 1}, stop: hook.StopStepsLimit},
		"a limit of a guard":  {reply: rig.Says("hi"), step: hook.StopCostLimit, stop: hook.StopCostLimit},
		"a denial of a guard": {reply: rig.Says("hi"), step: hook.StopDenied, stop: hook.StopDenied},
		"a stop of a guard":   {reply: rig.Says("hi"), step: hook.StopStopRequested, stop: hook.StopStopRequested},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := []hook.StopReason{}
			h := &rig.Life{Toolbox: rig.Box(rig.Named("echo"))}
			h.AtStop = func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
				asked = append(asked, s.Stop)
				return hook.StopDecision{}, nil
			}
			h.AtAfterStep = func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
				if c.step == "" {
					return hook.StepDecision{}, nil
				}
				return hook.StopStep(c.step, "enough"), nil
			}
			w := rig.StartWith(t, rig.Plays(c.reply), hook.AgentConfig{Name: "a", Limits: c.limits}, nil, h)
			out, _ := w.Try(t.Context(), "1")
			assert.Equal(t, c.stop, out.Stop)
			if c.asked {
				assert.Equal(t, []hook.StopReason{c.stop}, asked)
			} else {
				assert.Empty(t, asked)
			}
		})
	}
}

func TestSpecAnOverruledReasonStaysVisibleAndDecidesNothing(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		h := &rig.Life{Toolbox: rig.Box(rig.Named("echo")), AtStop: critic("say something", "call the tool")}
		h.AtAfterStep = func(_ context.Context, s *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
			if s.Number() == 2 {
				return hook.StopStep(hook.StopFinishReason, "matched"), nil
			}
			return hook.StepDecision{}, nil
		}
		w := rig.Start(t, rig.Plays(rig.Says(""), rig.Says("something"), rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("done")), with(h)...)
		out := w.Send("1")
		assert.Equal(t, hook.StopCompleted, out.Stop)
		assert.Equal(t, 4, out.Steps, "a step with calls is followed by another: the old reasons do not count")
		assert.Equal(t, []hook.StopSignal{
			{Reason: hook.StopNoAction}, {Reason: hook.StopFinishReason, By: path, Text: "matched"}, {Reason: hook.StopCompleted},
		}, out.Signals.Slice())
		assert.Equal(t, "done", out.Text())
	})
}

func TestSpecTheLimitOfStepsHoldsForAContinuedTurn(t *testing.T) {
	t.Parallel()
	h := &rig.Life{Toolbox: rig.Box(), AtStop: critic("1", "2", "3", "4", "5")}
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("three")), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 2}}, nil, h)
	out := w.Send("1")
	assert.Equal(t, hook.StopStepsLimit, out.Stop)
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, "two", out.Text(), "what was said last stands")
}

func TestSpecAContinuedTurnCanBeSteered(t *testing.T) {
	t.Parallel()
	for _, goesOn := range []bool{false, true} {
		var w *rig.World
		h := &rig.Life{Toolbox: rig.Box()}
		h.AtStop = func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
			if len(w.Model.Requests) > 1 {
				return hook.StopDecision{}, nil
			}
			rig.Steers(t, w, "one more thing")
			if goesOn {
				return hook.ContinueTurn("and better"), nil
			}
			return hook.StopDecision{}, nil
		}
		w = rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two")), h)
		assert.Equal(t, "two", w.Send("1").Text())
		assert.Equal(t, []string{"user 1", "assistant one", "user one more thing", "assistant two"}, w.History())
		require.ErrorIs(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("too late")), runtime.ErrIdle)
	}
}

func TestSpecATurnContinuesInADurableStore(t *testing.T) {
	t.Parallel()
	h := &rig.Life{Toolbox: rig.Box(rig.Named("echo")), AtStop: critic("more", "more")}
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("two"), rig.Says("three")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: rig.OpenSQLite(t, t.TempDir())}, h)
	w.Send("1")
	h.AtStop = nil
	w.Send("2")
	assert.Equal(t, []string{
		"user 1", "assistant one", "assistant [c1 echo {}]", "tool c1 echo: echo:", "assistant two", "assistant three",
		"user 2", "assistant nothing left to say",
	}, w.History())
	interrupted, err := w.Conv.Interrupted(t.Context())
	require.NoError(t, err)
	assert.False(t, interrupted)
	fork, err := w.Conv.Fork(t.Context(), 1, "fork")
	require.NoError(t, err)
	w.Conv = fork
	assert.Len(t, w.History(), 6, "it was one turn")
}

// What a hook's own failure means at each point, law 4.
func TestSpecFailuresOfHooksAtThePointsOfATurn(t *testing.T) {
	t.Parallel()
	cases := []struct {
		point hook.Point
		fail  func(h *rig.Life, fail func() error)
		reply message.ModelStream
		stop  hook.StopReason
		steps int
	}{
		{point.OnSessionStart, func(h *rig.Life, fail func() error) {
			h.AtSessionStart = func(*hook.Session) (hook.SessionDecision, error) { return hook.ContextSession("x"), fail() }
		}, rig.Says("hi"), hook.StopDenied, 0},
		{point.Preprocess, func(h *rig.Life, fail func() error) {
			h.AtPreprocess = func(_ *hook.Turn, in message.Input) (message.Input, error) { return in, fail() }
		}, rig.Says("hi"), hook.StopError, 0},
		{point.BeforeTurn, func(h *rig.Life, fail func() error) {
			h.AtBeforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
				return hook.RespondTurn("x"), fail()
			}
		}, rig.Says("hi"), hook.StopDenied, 0},
		{point.BeforeStep, func(h *rig.Life, fail func() error) {
			h.AtBeforeStep = func(*hook.Step) (hook.StepDecision, error) { return hook.StepDecision{}, fail() }
		}, rig.Says("hi"), hook.StopError, 0},
		{point.AfterStep, func(h *rig.Life, fail func() error) {
			h.AtAfterStep = func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
				return hook.StepDecision{}, fail()
			}
		}, rig.Says("hi"), hook.StopError, 1},
		{point.OnStop, func(h *rig.Life, fail func() error) {
			h.AtStop = func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
				return hook.ContinueTurn("x"), fail()
			}
		}, rig.Says("hi"), hook.StopCompleted, 1},
		{point.OnTurnError, func(h *rig.Life, fail func() error) {
			h.AtTurnError = func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
				return hook.RecoverTurn("x"), fail()
			}
		}, rig.Fails(errors.New("down")), hook.StopError, 1},
	}
	for _, c := range cases {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s panics=%v", c.point, panics), func(t *testing.T) {
				t.Parallel()
				rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
					h := &rig.Life{Toolbox: rig.Box()}
					ended := 0
					h.AtAfterTurn = func(*hook.Turn, hook.TurnOutcome) { ended++ }
					c.fail(h, func() error {
						if panics {
							panic("boom")
						}
						return rig.ErrBroken
					})
					w := rig.Start(t, rig.Plays(c.reply), with(h)...)
					out, err := w.Try(t.Context(), "1")
					assert.Equal(t, c.stop, out.Stop)
					assert.Equal(t, c.steps, out.Steps)
					assert.Equal(t, 1, ended)
					told := w.EventsOf(event.HookFailed)
					require.Len(t, told, 1, "told once")
					assert.Equal(t, c.point, told[0].Detail().Point)
					assert.Equal(t, path, told[0].Detail().Subsystem)
					assert.Equal(t, panics, told[0].Failure().Panic)
					for _, ev := range w.Events {
						assert.NotContains(t, ev.Text, "secret")
						assert.NotContains(t, ev.Text, "boom")
					}
					if c.stop == hook.StopDenied {
						require.ErrorIs(t, err, runtime.ErrRejected)
						assert.Empty(t, w.History())
					}
					var f *hook.Failure
					if c.stop != hook.StopCompleted && c.point != point.OnTurnError {
						require.ErrorAs(t, err, &f)
						assert.Equal(t, c.point, f.Point)
					}
				})
			})
		}
	}
}

func TestSpecAFailureAtTheEndOfASessionEndsNothingElse(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
		ended := 0
		h := &rig.Life{Toolbox: rig.Box(), AtSessionEnd: func(*hook.Session) {
			ended++
			panic("boom")
		}}
		w := rig.Start(t, rig.Plays(rig.Says("hi")), with(h)...)
		w.Send("1")
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.Equal(t, 1, ended)
	})
}

// patience is how long a composite waits for a hook.
const patience = time.Second

func TestSpecALateHookHasFailedAndIsReportedOnce(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	cases := []struct {
		point hook.Point
		hook  hook.Hook
		reply message.ModelStream
		stop  hook.StopReason
	}{
		{point.OnSessionStart, point.OnSessionStartFunc(func(ctx context.Context, _ *hook.Session) (hook.SessionDecision, error) {
			return hook.SessionDecision{}, hang(ctx)
		}), rig.Says("hi"), hook.StopDenied},
		{point.BeforeTurn, point.BeforeTurnFunc(func(ctx context.Context, _ *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
			return hook.TurnDecision{}, hang(ctx)
		}), rig.Says("hi"), hook.StopDenied},
		{point.BeforeStep, point.BeforeStepFunc(func(ctx context.Context, _ *hook.Step) (hook.StepDecision, error) {
			return hook.StepDecision{}, hang(ctx)
		}), rig.Says("hi"), hook.StopError},
		{point.AfterStep, point.AfterStepFunc(func(ctx context.Context, _ *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
			return hook.StepDecision{}, hang(ctx)
		}), rig.Says("hi"), hook.StopError},
		{point.OnStop, point.OnStopFunc(func(ctx context.Context, _ *hook.Turn, _ hook.Stopping) (hook.StopDecision, error) {
			return hook.ContinueTurn("x"), hang(ctx)
		}), rig.Says("hi"), hook.StopCompleted},
		{point.OnTurnError, point.OnTurnErrorFunc(func(ctx context.Context, _ *hook.Turn, _ hook.TurnOutcome) (hook.RecoverDecision, error) {
			return hook.RecoverTurn("x"), hang(ctx)
		}), rig.Fails(rig.ErrBroken), hook.StopError},
		{point.BeforeTool, point.BeforeToolFunc(func(ctx context.Context, _ *hook.ToolCall) (hook.ToolDecision, error) {
			return hook.ToolDecision{}, hang(ctx)
		}), rig.Calls(rig.Call("c1", "echo", `{}`)), hook.StopCompleted},
	}
	for _, c := range cases {
		t.Run(c.point.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				type none struct{}
				h, err := composite.New(&none{})
				require.NoError(t, err)
				h, err = h.With("Slow", c.hook, plan.Options{Points: []plan.PointUse{{Name: c.point.String(), Timeout: plan.Duration(patience)}}})
				require.NoError(t, err)
				h, err = h.With("Box", rig.Box(rig.Named("echo")), plan.Options{})
				require.NoError(t, err)
				began := time.Now()
				w := rig.Start(t, rig.Plays(c.reply), h)
				out, _ := w.Try(t.Context(), "1")
				assert.Equal(t, c.stop, out.Stop)
				assert.Equal(t, patience, time.Since(began))
				told := w.EventsOf(event.HookFailed)
				require.Len(t, told, 1)
				assert.True(t, told[0].Failure().Late)
				assert.Equal(t, "Slow", told[0].Detail().Subsystem)
				require.NoError(t, w.Runtime.Close(t.Context()))
				synctest.Wait()
			})
		})
	}
}
