package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// BeforeTurn decides about the input as it will be used: it may reject it or answer
// it.

func TestSpecARejectedTurnStoresNothing(t *testing.T) {
	t.Parallel()
	alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		var seen []string
		var after []hook.TurnOutcome
		h := &life{toolbox: box()}
		h.preprocess = func(_ *hook.Turn, in message.Input) (message.Input, error) {
			return message.TextInput(in.Text() + ", preprocessed"), nil
		}
		h.beforeTurn = func(_ context.Context, turn *hook.Turn, in message.Input) (hook.TurnDecision, error) {
			assert.Equal(t, turn.Input(), in)
			if seen = append(seen, in.Text()); len(seen) == 1 {
				return hook.RejectTurn("off topic"), nil
			}
			return hook.TurnDecision{}, nil
		}
		h.afterTurn = func(_ *hook.Turn, out hook.TurnOutcome) { after = append(after, out) }
		w := start(t, plays(says("hi")), with(h)...)
		out, err := w.try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRejected)
		assert.ErrorContains(t, err, "off topic")
		assert.ErrorContains(t, err, path)
		assert.Equal(t, hook.StopDenied, out.Stop)
		assert.Equal(t, []hook.StopSignal{{Reason: hook.StopDenied, By: path, Text: "off topic"}}, out.Signals.Slice())
		assert.Equal(t, []hook.EventKind{event.TurnStart, event.Error, event.TurnEnd}, w.kinds())
		assert.Contains(t, w.events[1].Text, "off topic")
		assert.Empty(t, w.history())
		assert.Empty(t, w.model.requests)
		require.Len(t, after, 1)
		assert.Equal(t, hook.StopDenied, after[0].Stop)

		w.send("2")
		assert.Equal(t, []string{"1, preprocessed", "2, preprocessed"}, seen)
		assert.Equal(t, []string{"user 2, preprocessed", "assistant hi"}, w.history())
	})
}

func TestSpecATurnThatAHookAnswersIsStoredAtOnceAndAsksNoModel(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
			h := &life{toolbox: box()}
			h.beforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
				return hook.RespondTurn("we are closed"), nil
			}
			asked := false
			h.stop = func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
				asked = true
				return hook.ContinueTurn("more"), nil
			}
			o := &runtime.Options{Store: mem.New(&mem.Options{Journal: durable})}
			w := startWith(t, plays(), hook.AgentConfig{Name: "a"}, o, with(h)...)
			out := w.send("hello?")
			assert.Equal(t, hook.StopCompleted, out.Stop)
			assert.Equal(t, "we are closed", out.Text())
			assert.Zero(t, out.Steps)
			assert.Empty(t, w.model.requests)
			assert.False(t, asked, "the turn was answered without a step that could be gone on with")
			assert.Equal(t, []string{"user hello?", "assistant we are closed"}, w.history())
			assert.Equal(t, []hook.EventKind{
				event.TurnStart, event.TextStart, event.TextDelta, event.TextEnd, event.TurnEnd,
			}, w.kinds())
		})
	}
}

// counting is a store that keeps what was appended.
type counting struct {
	store.Store
	appends []store.Append
}

func (c *counting) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	c.appends = append(c.appends, a)
	return c.Store.Append(ctx, id, a)
}

func TestSpecInputAndAnswerOfAHookAreOneAppend(t *testing.T) {
	t.Parallel()
	c := &counting{Store: mem.New(nil)}
	h := point.BeforeTurnFunc(func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		return hook.RespondTurn("we are closed"), nil
	})
	w := startWith(t, plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: c}, h)
	w.send("hello?")
	require.NotEmpty(t, c.appends)
	assert.Equal(t, 2, c.appends[0].Messages.Len())
	for _, a := range c.appends[1:] {
		assert.Zero(t, a.Messages.Len())
	}
	rec, err := c.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	assert.Equal(t, 1, rec.Turns)
}

func TestSpecAHookThatAnswersWithNothingTookNoAction(t *testing.T) {
	t.Parallel()
	h := point.BeforeTurnFunc(func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
		return hook.RespondTurn(" "), nil
	})
	w := start(t, plays(), h)
	assert.Equal(t, hook.StopNoAction, w.send("hello?").Stop)
	assert.Equal(t, []string{"user hello?"}, w.history())
}

func TestSpecWhatIsSaidWhileAHookAnswersIsForTheModel(t *testing.T) {
	t.Parallel()
	var w *world
	h := point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if in.Text() != "hello" {
			return hook.TurnDecision{}, nil
		}
		steers(t, w, "and one more thing")
		return hook.RespondTurn("hello"), nil
	})
	w = start(t, plays(says("yes?")), h)
	assert.Equal(t, "yes?", w.send("hello").Text())
	assert.Equal(t, []string{"user hello", "assistant hello", "user and one more thing", "assistant yes?"}, w.history())
}

// OnTurnError may answer for a turn that has failed.

func TestSpecAFailedTurnIsRecoveredWithAnOutput(t *testing.T) {
	t.Parallel()
	down := errors.New("the model is down")
	cases := []struct {
		name    string
		replies []message.ModelStream
		history []string
		stop    func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error)
	}{
		{"behind the input", []message.ModelStream{breaks(down)}, []string{"user 1", "assistant sorry"}, nil},
		{"behind results", []message.ModelStream{calls(want{"c1", "echo", `{}`}), breaks(down)},
			[]string{"user 1", "assistant [c1 echo {}]", "tool c1 echo: echo:", "assistant sorry"}, nil},
		{"behind an answer", []message.ModelStream{says("one"), breaks(down)}, []string{"user 1", "assistant one", "assistant sorry"},
			func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
				return hook.ContinueTurn("go on"), nil
			}},
		{"in the middle of its text", []message.ModelStream{func(yield func(message.Chunk, error) bool) {
			_ = yield(text("half a"), nil) && yield(message.Chunk{}, down)
		}}, []string{"user 1", "assistant sorry"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
				var asked []hook.TurnOutcome
				var ended []hook.TurnOutcome
				h := &life{toolbox: box(named("echo")), stop: c.stop}
				h.turnError = func(turn *hook.Turn, out hook.TurnOutcome) (hook.RecoverDecision, error) {
					asked = append(asked, out)
					s := turn.Standing()
					require.Equal(t, 1, s.Errors.Len())
					require.ErrorIs(t, s.Errors.At(0), down)
					return hook.RecoverTurn("sorry"), nil
				}
				h.afterTurn = func(_ *hook.Turn, out hook.TurnOutcome) { ended = append(ended, out) }
				w := start(t, plays(c.replies...), with(h)...)
				out := w.send("1")
				assert.Equal(t, hook.StopCompleted, out.Stop)
				assert.Equal(t, "sorry", out.Text())
				require.NoError(t, out.Err)
				signals := out.Signals.Slice()
				assert.Equal(t, hook.StopError, signals[0].Reason, "what went wrong stays visible")
				assert.Equal(t, hook.StopCompleted, signals[len(signals)-1].Reason)
				require.Len(t, asked, 1)
				assert.Equal(t, hook.StopError, asked[0].Stop)
				require.ErrorIs(t, asked[0].Err, down)
				assert.Equal(t, []hook.TurnOutcome{out}, ended)
				assert.Equal(t, c.history, w.history())
				ms, err := w.store.Messages(t.Context(), w.conv.ID())
				require.NoError(t, err)
				assert.Empty(t, history.Check(ms))
				assert.Empty(t, w.eventsOf(event.Error))
				told := w.eventsOf(event.Diagnostic)
				require.Len(t, told, 1)
				assert.Contains(t, told[0].Text, "the model is down")
				assert.Contains(t, told[0].Text, path)
				deltas := w.eventsOf(event.TextDelta)
				assert.Equal(t, "sorry", deltas[len(deltas)-1].Text)
			})
		})
	}
}

func TestSpecWithoutAnAnswerTheTurnEndsWithTheError(t *testing.T) {
	t.Parallel()
	down := errors.New("the model is down")
	asked := 0
	h := &life{toolbox: box()}
	h.turnError = func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
		asked++
		return hook.RecoverDecision{}, nil
	}
	w := start(t, plays(breaks(down)), h)
	out, err := w.try(t.Context(), "1")
	require.ErrorIs(t, err, down)
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Equal(t, 1, asked)
	assert.Len(t, w.eventsOf(event.Error), 1)
}

func TestSpecATurnWithoutStoredInputIsRecoveredWithoutAHistory(t *testing.T) {
	t.Parallel()
	h := &life{toolbox: box()}
	h.preprocess = func(*hook.Turn, message.Input) (message.Input, error) { return message.Input{}, errBroken }
	h.turnError = func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
		return hook.RecoverTurn("sorry"), nil
	}
	w := start(t, plays(), h)
	assert.Equal(t, "sorry", w.send("1").Text())
	assert.Empty(t, w.history(), "an answer to nothing is no history")
}

func TestSpecNobodyRecoversWhatWasCancelledStoppedOrRejected(t *testing.T) {
	t.Parallel()
	asked := 0
	h := &life{toolbox: box(), turnError: func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
		asked++
		return hook.RecoverTurn("sorry"), nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	h.beforeStep = func(s *hook.Step) (hook.StepDecision, error) {
		switch s.Turn().Input().Text() {
		case "cancel":
			cancel()
			return hook.StepDecision{}, ctx.Err()
		case "stop":
			return hook.StopStep(hook.StopCostLimit, "too dear"), nil
		}
		return hook.StepDecision{}, nil
	}
	h.beforeTurn = func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if in.Text() == "reject" {
			return hook.RejectTurn("no"), nil
		}
		return hook.TurnDecision{}, nil
	}
	w := start(t, plays(), h)
	for line, stop := range map[string]hook.StopReason{"cancel": hook.StopCancelled, "stop": hook.StopCostLimit, "reject": hook.StopDenied} {
		turn := t.Context()
		if line == "cancel" {
			turn = ctx
		}
		out, _ := w.try(turn, line)
		assert.Equal(t, stop, out.Stop, line)
	}
	assert.Zero(t, asked)
}
