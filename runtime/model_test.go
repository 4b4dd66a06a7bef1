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
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func TestRewriteRequestTouchesTheRequestOnly(t *testing.T) {
	t.Parallel()
	m := plays(says("ok"))
	rewrite := point.RewriteRequestFunc(func(_ context.Context, s *hook.Step, r message.ModelRequest) (message.ModelRequest, error) {
		r.System += " In French."
		r.Messages = r.Messages.Append(message.UserText("(hint)"))
		return r, nil
	})
	w := start(t, m, rewrite)
	w.send("hi")
	assert.Equal(t, "Help. In French.", m.requests[0].System)
	assert.Equal(t, 2, m.requests[0].Messages.Len())
	assert.Equal(t, []string{"user hi", "assistant ok"}, w.history())
}

func TestBeforeModelMayStopRejectOrRespond(t *testing.T) {
	t.Parallel()
	decides := func(d hook.ModelDecision, err error) hook.Hook {
		return point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) { return d, err })
	}
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		w := start(t, plays(), decides(hook.StopModel("budget"), nil))
		out := w.send("hi")
		assert.Equal(t, hook.StopStopRequested, out.Stop)
		assert.Equal(t, "budget", out.Signals.At(0).Text)
		assert.Equal(t, []string{"user hi"}, w.history())
		assert.Empty(t, w.model.requests)
	})
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		w := start(t, plays(), decides(hook.RejectModel("not that"), nil))
		out, err := w.try(t.Context(), "hi")
		require.ErrorIs(t, err, runtime.ErrRejected)
		assert.Equal(t, hook.StopError, out.Stop)
		assert.Contains(t, w.eventsOf(event.Error)[0].Text, "not that")
	})
	t.Run("respond", func(t *testing.T) {
		t.Parallel()
		w := start(t, plays(), decides(hook.RespondModel(message.ModelReply{Content: message.ListOf(message.TextBlock("cached"))}), nil))
		out := w.send("hi")
		assert.Equal(t, "cached", out.Text())
		assert.Empty(t, w.model.requests)
		assert.Equal(t, []string{"user hi", "assistant cached"}, w.history())
		assert.Equal(t, "cached", w.eventsOf(event.TextDelta)[0].Text)
	})
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		w := start(t, plays(), decides(hook.ModelDecision{}, errors.New("password is hunter2")))
		_, err := w.try(t.Context(), "hi")
		var f *hook.Failure
		require.ErrorAs(t, err, &f)
		assert.Equal(t, point.BeforeModel, f.Point)
		assert.NotContains(t, w.eventsOf(event.Error)[0].Text, "hunter2", "the cause is not for clients")
		assert.Len(t, w.eventsOf(event.HookFailed), 1)
		assert.Equal(t, []string{"user hi"}, w.history())
	})
}

func TestLawAHookThatFailsAtTheModelFailsTheStep(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		h     hook.Hook
		point hook.Point
	}{
		"RewriteRequest error": {point.RewriteRequestFunc(func(context.Context, *hook.Step, message.ModelRequest) (message.ModelRequest, error) {
			return message.ModelRequest{}, broken
		}), point.RewriteRequest},
		"RewriteRequest panic": {point.RewriteRequestFunc(func(context.Context, *hook.Step, message.ModelRequest) (message.ModelRequest, error) {
			panic(broken)
		}), point.RewriteRequest},
		"BeforeModel panic": {point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
			panic(broken)
		}), point.BeforeModel},
		"WrapModel panic": {point.WrapModelFunc(func(context.Context, *hook.Step, message.ModelRequest, hook.ModelNext) message.ModelStream {
			panic(broken)
		}), point.WrapModel},
		"WrapModel panic in the stream": {point.WrapModelFunc(func(context.Context, *hook.Step, message.ModelRequest, hook.ModelNext) message.ModelStream {
			return func(yield func(message.Chunk, error) bool) { yield(text("a"), nil); panic(broken) }
		}), point.WrapModel},
		"RewriteReply error": {point.RewriteReplyFunc(func(context.Context, *hook.Step, message.ModelReply) (message.ModelReply, error) {
			return message.ModelReply{}, broken
		}), point.RewriteReply},
		"AfterModel panic": {point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
			panic(broken)
		}), point.AfterModel},
	} {
		for members, hooks := range map[string][]hook.Hook{"alone": {tc.h}, "in a composite": {hook.Nop{}, tc.h}} {
			t.Run(name+" "+members, func(t *testing.T) {
				t.Parallel()
				w := start(t, plays(says("ok")), hooks...)
				out, err := w.try(t.Context(), "hi")
				require.ErrorIs(t, err, broken)
				var f *hook.Failure
				require.ErrorAs(t, err, &f)
				assert.Equal(t, tc.point, f.Point)
				assert.Equal(t, hook.StopError, out.Stop)
				assert.Equal(t, []string{"user hi"}, w.history())
				assertBrackets(t, w)
				assert.Len(t, w.eventsOf(event.Error), 1)
			})
		}
	}
}

func TestLawARewrittenReplyIsHeldBackWhole(t *testing.T) {
	t.Parallel()
	redact := point.RewriteReplyFunc(func(_ context.Context, _ *hook.Step, r message.ModelReply) (message.ModelReply, error) {
		r.Content = message.ListOf(message.TextBlock("the key is [gone]"))
		return r, nil
	})
	w := start(t, plays(says("the key ", "is ", "sk-123")), redact)
	w.send("tell")
	deltas := w.eventsOf(event.TextDelta)
	require.Len(t, deltas, 1)
	assert.Equal(t, "the key is [gone]", deltas[0].Text)
	assert.Equal(t, "assistant the key is [gone]", w.history()[1])
	assertBrackets(t, w)
}

func TestLawRetriesAreCappedAndStreamsProvisional(t *testing.T) {
	t.Parallel()
	seen := []string{}
	judge := point.AfterModelFunc(func(_ context.Context, _ *hook.Step, r message.ModelReply) (hook.ReplyDecision, error) {
		seen = append(seen, r.Text())
		if r.Text() == "good" {
			return hook.ReplyDecision{}, nil
		}
		return hook.RetryReply("be good"), nil
	})
	m := plays(says("bad"), says("worse"), says("good"))
	w := start(t, m, judge)
	out := w.send("hi")
	assert.Equal(t, "good", out.Text())
	assert.Equal(t, 1, out.Steps)
	assert.Equal(t, []string{"user hi", "assistant good"}, w.history(), "feedback is never stored")
	assert.Len(t, w.eventsOf(event.TurnRetried), 2)
	last := m.requests[2].Messages
	require.Equal(t, 3, last.Len())
	assert.Equal(t, "feedback", last.At(2).Label)
	assert.Equal(t, "be good", last.At(2).Text())
	assert.Equal(t, message.Usage{Input: 30, Output: 15}, out.Usage, "dropped replies have cost something")

	w = start(t, plays(says("bad"), says("bad"), says("bad"), says("bad"), says("good")), judge)
	out, err := w.try(t.Context(), "hi")
	require.ErrorIs(t, err, runtime.ErrRetries)
	assert.Len(t, w.model.requests, 4)
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Equal(t, hook.StopRetryLimit, out.Signals.At(0).Reason, "the other reason is kept")
	assertBrackets(t, w)
}

func TestAfterModelMayStopWithTheReplySoFar(t *testing.T) {
	t.Parallel()
	stop := point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
		return hook.StopReply("enough"), nil
	})
	w := start(t, plays(calls(want{"1", "x", "{}"})), stop, box(does("x", never(t))))
	out := w.send("hi")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, []string{"user hi", "assistant [1 x {}]", "tool 1 x cancelled: not run: the turn was stopped"}, w.history())

	w = start(t, plays(says("so far")), stop)
	out = w.send("hi")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, "so far", out.Text())
	assert.Equal(t, []string{"user hi", "assistant so far"}, w.history())
}

func TestABrokenStreamIsAnErrorAndNotAnAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream message.ModelStream
		want   error
	}{
		"no finish": {chunks(text("looks whole.")), provider.ErrNoFinish},
		"protocol":  {chunks(finish(message.FinishStop), text("more")), provider.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, plays(tc.stream, says("fine")))
			_, err := w.try(t.Context(), "hi")
			require.ErrorIs(t, err, tc.want)
			assert.Equal(t, []string{"user hi"}, w.history())
			assertBrackets(t, w)
			assert.Equal(t, "fine", w.send("again").Text())
		})
	}
}

func TestStopReasonsOfAReply(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream message.ModelStream
		want   hook.StopReason
		stored int
	}{
		"nothing":        {chunks(finish(message.FinishStop)), hook.StopNoAction, 1},
		"only reasoning": {chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, finish(message.FinishStop)), hook.StopNoAction, 1},
		"stop":           {chunks(text("a"), finish(message.FinishStop)), hook.StopCompleted, 2},
		"length":         {chunks(text("a"), finish(message.FinishLength)), hook.StopMaxTokens, 2},
		"filter":         {chunks(text("a"), finish(message.FinishFilter)), hook.StopRefused, 2},
		"other":          {chunks(text("a"), finish(message.FinishOther)), hook.StopCompleted, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, plays(tc.stream))
			out := w.send("hi")
			assert.Equal(t, tc.want, out.Stop)
			assert.Len(t, w.history(), tc.stored)
		})
	}
}

func TestCallIDsAreMadeUnique(t *testing.T) {
	t.Parallel()
	w := start(t, plays(
		calls(want{"", "x", `{"s":"a"}`}, want{"", "x", `{"s":"b"}`}, want{"same", "x", `{"s":"c"}`}, want{"same", "x", `{"s":"d"}`}),
		calls(want{"same", "x", `{"s":"e"}`}), says("done")), box(named("x")))
	w.send("go")
	assert.Equal(t, []string{
		"user go",
		`assistant [call_1 x {"s":"a"}] [call_2 x {"s":"b"}] [same x {"s":"c"}] [call_4 x {"s":"d"}]`,
		"tool call_1 x: x:a", "tool call_2 x: x:b", "tool same x: x:c", "tool call_4 x: x:d",
		`assistant [call_5 x {"s":"e"}]`, "tool call_5 x: x:e", "assistant done",
	}, w.history())
}

func TestACallWithoutArgumentsIsOneWithNone(t *testing.T) {
	t.Parallel()
	w := start(t, plays(calls(want{"1", "x", ""}), says("done")), box(named("x")))
	w.send("go")
	assert.Equal(t, []string{"assistant [1 x {}]", "tool 1 x: x:"}, w.history()[1:3])
}

func TestLimitsOfATurn(t *testing.T) {
	t.Parallel()
	forever := make([]message.ModelStream, 30)
	for i := range forever {
		forever[i] = calls(want{"", "x", "{}"})
	}
	w := start(t, plays(forever...), box(named("x")))
	out := w.send("go")
	assert.Equal(t, hook.StopStepsLimit, out.Stop)
	assert.Equal(t, 20, out.Steps)

	w = startWith(t, plays(forever...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: -1}}, nil, box(named("x")))
	assert.Equal(t, 31, w.send("go").Steps, "no limit is none")

	w = start(t, plays(forever...), box(named("x")), point.BeforeStepFunc(func(_ context.Context, s *hook.Step) (hook.StepDecision, error) {
		if s.Number() > 2 {
			return hook.StopStep(hook.StopStepsLimit, "enough"), nil
		}
		return hook.StepDecision{}, nil
	}))
	assert.Equal(t, 2, w.send("go").Steps, "a step that BeforeStep has stopped asked no model")
	assert.Len(t, w.model.requests, 2)

	w = startWith(t, plays(forever...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 3}}, nil, box(named("x")))
	assert.Equal(t, 3, w.send("go").Steps)

	w = startWith(t, plays(forever...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Tokens: 31}, Model: message.Model{MaxTokens: 7}}, nil, box(named("x")))
	out = w.send("go")
	assert.Equal(t, hook.StopTokenLimit, out.Stop)
	assert.Equal(t, 3, out.Steps)
	assert.Equal(t, 7, w.model.requests[0].Model.MaxTokens)
}

func TestAWrapOfTheModelSeesTheStream(t *testing.T) {
	t.Parallel()
	upper := point.WrapModelFunc(func(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			for c, err := range next.Stream(ctx) {
				if c.Kind == message.ChunkText {
					c.Text += "!"
				}
				if !yield(c, err) {
					return
				}
			}
		}
	})
	for name, hooks := range map[string][]hook.Hook{"alone": {upper}, "twice": {upper, upper}} {
		w := start(t, plays(says("hi", "ho")), hooks...)
		out := w.send("go")
		assert.Equal(t, map[string]string{"alone": "hi!ho!", "twice": "hi!!ho!!"}[name], out.Text())
		assert.Len(t, w.eventsOf(event.TextDelta), 2, "the stream stays live")
	}
}

func TestCallsThatAHookPutsInGetUniqueIDsToo(t *testing.T) {
	t.Parallel()
	add := point.RewriteReplyFunc(func(_ context.Context, s *hook.Step, r message.ModelReply) (message.ModelReply, error) {
		if s.Number() == 1 {
			call := message.Block{Kind: message.BlockToolCall, Tool: "x", JSON: "{}"}
			twice := call
			twice.CallID = "1"
			r.Content = r.Content.Append(call, twice)
		}
		return r, nil
	})
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), add, box(named("x")))
	w.send("go")
	assert.Equal(t, []string{
		"user go", "assistant [1 x {}] [call_2 x {}] [call_3 x {}]", "tool 1 x: x:", "tool call_2 x: x:", "tool call_3 x: x:", "assistant done",
	}, w.history())
}
