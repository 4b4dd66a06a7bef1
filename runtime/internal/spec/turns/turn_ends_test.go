package turns_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// BeforeTurn decides about the input as it will be used: it may reject it or answer
// it.

func TestSpecARejectedTurnStoresNothing(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
		var seen []string
		var after []hook.TurnOutcome
		h := &rig.Life{Toolbox: rig.Box()}
		h.AtPreprocess = func(_ *hook.Turn, in message.Input) (message.Input, error) {
			return message.TextInput(in.Text() + ", preprocessed"), nil
		}
		h.AtBeforeTurn = func(_ context.Context, turn *hook.Turn, in message.Input) (hook.TurnDecision, error) {
			assert.Equal(t, turn.Input(), in)
			if seen = append(seen, in.Text()); len(seen) == 1 {
				return hook.RejectTurn("off topic"), nil
			}
			return hook.TurnDecision{}, nil
		}
		h.AtAfterTurn = func(_ *hook.Turn, out hook.TurnOutcome) { after = append(after, out) }
		w := rig.Start(t, rig.Plays(rig.Says("hi")), with(h)...)
		out, err := w.Try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRejected)
		assert.ErrorContains(t, err, "off topic")
		assert.ErrorContains(t, err, path)
		assert.Equal(t, hook.StopDenied, out.Stop)
		assert.Equal(t, []hook.StopSignal{{Reason: hook.StopDenied, By: path, Text: "off topic"}}, out.Signals.Slice())
		assert.Equal(t, []hook.EventKind{event.TurnStart, event.Error, event.TurnEnd}, w.Kinds())
		assert.Contains(t, w.Events[1].Text, "off topic")
		assert.Empty(t, w.History())
		assert.Empty(t, w.Model.Requests)
		require.Len(t, after, 1)
		assert.Equal(t, hook.StopDenied, after[0].Stop)

		w.Send("2")
		assert.Equal(t, []string{"1, preprocessed", "2, preprocessed"}, seen)
		assert.Equal(t, []string{"user 2, preprocessed", "assistant hi"}, w.History())
	})
}

func TestSpecATurnThatAHookAnswersIsStoredAtOnceAndAsksNoModel(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		rig.Alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
			h := &rig.Life{Toolbox: rig.Box()}
			h.AtBeforeTurn = func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
				return hook.RespondTurn("we are closed"), nil
			}
			asked := false
			h.AtStop = func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
				asked = true
				return hook.ContinueTurn("more"), nil
			}
			o := &runtime.Options{Store: mem.New(&mem.Options{Journal: durable})}
			w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, o, with(h)...)
			out := w.Send("hello?")
			assert.Equal(t, hook.StopCompleted, out.Stop)
			assert.Equal(t, "we are closed", out.Text())
			assert.Zero(t, out.Steps)
			assert.Empty(t, w.Model.Requests)
			assert.False(t, asked, "the turn was answered without a step that could be gone on with")
			assert.Equal(t, []string{"user hello?", "assistant we are closed"}, w.History())
			assert.Equal(t, []hook.EventKind{
				event.TurnStart, event.TextStart, event.TextDelta, event.TextEnd, event.TurnEnd,
			}, w.Kinds())
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
	w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: c}, h)
	w.Send("hello?")
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
	w := rig.Start(t, rig.Plays(), h)
	assert.Equal(t, hook.StopNoAction, w.Send("hello?").Stop)
	assert.Equal(t, []string{"user hello?"}, w.History())
}

func TestSpecWhatIsSaidWhileAHookAnswersIsForTheModel(t *testing.T) {
	t.Parallel()
	var w *rig.World
	h := point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if in.Text() != "hello" {
			return hook.TurnDecision{}, nil
		}
		rig.Steers(t, w, "and one more thing")
		return hook.RespondTurn("hello"), nil
	})
	w = rig.Start(t, rig.Plays(rig.Says("yes?")), h)
	assert.Equal(t, "yes?", w.Send("hello").Text())
	assert.Equal(t, []string{"user hello", "assistant hello", "user and one more thing", "assistant yes?"}, w.History())
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
		{"behind the input", []message.ModelStream{rig.Fails(down)}, []string{"user 1", "assistant sorry"}, nil},
		{"behind results", []message.ModelStream{rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Fails(down)},
			[]string{"user 1", "assistant [c1 echo {}]", "tool c1 echo: echo:", "assistant sorry"}, nil},
		{"behind an answer", []message.ModelStream{rig.Says("one"), rig.Fails(down)}, []string{"user 1", "assistant one", "assistant sorry"},
			func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
				return hook.ContinueTurn("go on"), nil
			}},
		{"in the middle of its text", []message.ModelStream{func(yield func(message.Chunk, error) bool) {
			_ = yield(rig.Text("half a"), nil) && yield(message.Chunk{}, down)
		}}, []string{"user 1", "assistant sorry"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig.Alike(t, func(t *testing.T, path string, with func(hook.Hook) []hook.Hook) {
				var asked []hook.TurnOutcome
				var ended []hook.TurnOutcome
				h := &rig.Life{Toolbox: rig.Box(rig.Named("echo")), AtStop: c.stop}
				h.AtTurnError = func(turn *hook.Turn, out hook.TurnOutcome) (hook.RecoverDecision, error) {
					asked = append(asked, out)
					s := turn.Standing()
					require.Equal(t, 1, s.Errors.Len())
					require.ErrorIs(t, s.Errors.At(0), down)
					return hook.RecoverTurn("sorry"), nil
				}
				h.AtAfterTurn = func(_ *hook.Turn, out hook.TurnOutcome) { ended = append(ended, out) }
				w := rig.Start(t, rig.Plays(c.replies...), with(h)...)
				out := w.Send("1")
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
				assert.Equal(t, c.history, w.History())
				ms, err := w.Store.Messages(t.Context(), w.Conv.ID())
				require.NoError(t, err)
				assert.Empty(t, history.Check(ms))
				assert.Empty(t, w.EventsOf(event.Error))
				told := w.EventsOf(event.Diagnostic)
				require.Len(t, told, 1)
				assert.Contains(t, told[0].Text, "the model is down")
				assert.Contains(t, told[0].Text, path)
				deltas := w.EventsOf(event.TextDelta)
				assert.Equal(t, "sorry", deltas[len(deltas)-1].Text)
			})
		})
	}
}

func TestSpecWithoutAnAnswerTheTurnEndsWithTheError(t *testing.T) {
	t.Parallel()
	down := errors.New("the model is down")
	asked := 0
	h := &rig.Life{Toolbox: rig.Box()}
	h.AtTurnError = func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
		asked++
		return hook.RecoverDecision{}, nil
	}
	w := rig.Start(t, rig.Plays(rig.Fails(down)), h)
	out, err := w.Try(t.Context(), "1")
	require.ErrorIs(t, err, down)
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Equal(t, 1, asked)
	assert.Len(t, w.EventsOf(event.Error), 1)
}

func TestSpecATurnWithoutStoredInputIsRecoveredWithoutAHistory(t *testing.T) {
	t.Parallel()
	h := &rig.Life{Toolbox: rig.Box()}
	h.AtPreprocess = func(*hook.Turn, message.Input) (message.Input, error) { return message.Input{}, rig.ErrBroken }
	h.AtTurnError = func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
		return hook.RecoverTurn("sorry"), nil
	}
	w := rig.Start(t, rig.Plays(), h)
	assert.Equal(t, "sorry", w.Send("1").Text())
	assert.Empty(t, w.History(), "an answer to nothing is no history")
}

func TestSpecNobodyRecoversWhatWasCancelledStoppedOrRejected(t *testing.T) {
	t.Parallel()
	asked := 0
	h := &rig.Life{Toolbox: rig.Box(), AtTurnError: func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
		asked++
		return hook.RecoverTurn("sorry"), nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	h.AtBeforeStep = func(s *hook.Step) (hook.StepDecision, error) {
		switch s.Turn().Input().Text() {
		case "cancel":
			cancel()
			return hook.StepDecision{}, ctx.Err()
		case "stop":
			return hook.StopStep(hook.StopCostLimit, "too dear"), nil
		}
		return hook.StepDecision{}, nil
	}
	h.AtBeforeTurn = func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if in.Text() == "reject" {
			return hook.RejectTurn("no"), nil
		}
		return hook.TurnDecision{}, nil
	}
	w := rig.Start(t, rig.Plays(), h)
	for line, stop := range map[string]hook.StopReason{"cancel": hook.StopCancelled, "stop": hook.StopCostLimit, "reject": hook.StopDenied} {
		turn := t.Context()
		if line == "cancel" {
			turn = ctx
		}
		out, _ := w.Try(turn, line)
		assert.Equal(t, stop, out.Stop, line)
	}
	assert.Zero(t, asked)
}
