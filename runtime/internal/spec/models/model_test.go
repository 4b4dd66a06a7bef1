package models_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func TestRewriteRequestTouchesTheRequestOnly(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("ok"))
	rewrite := point.RewriteRequestFunc(func(_ context.Context, s *hook.Step, r message.ModelRequest) (message.ModelRequest, error) {
		r.System += " In French."
		r.Messages = r.Messages.Append(message.UserText("(hint)"))
		return r, nil
	})
	w := rig.Start(t, m, rewrite)
	w.Send("hi")
	assert.Equal(t, "Help. In French.", m.Requests[0].System)
	assert.Equal(t, 2, m.Requests[0].Messages.Len())
	assert.Equal(t, []string{"user hi", "assistant ok"}, w.History())
}

func TestBeforeModelMayStopRejectOrRespond(t *testing.T) {
	t.Parallel()
	decides := func(d hook.ModelDecision, err error) hook.Hook {
		return point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) { return d, err })
	}
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		w := rig.Start(t, rig.Plays(), decides(hook.StopModel("budget"), nil))
		out := w.Send("hi")
		assert.Equal(t, hook.StopStopRequested, out.Stop)
		assert.Equal(t, "budget", out.Signals.At(0).Text)
		assert.Equal(t, []string{"user hi"}, w.History())
		assert.Empty(t, w.Model.Requests)
	})
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		w := rig.Start(t, rig.Plays(), decides(hook.RejectModel("not that"), nil))
		out, err := w.Try(t.Context(), "hi")
		require.ErrorIs(t, err, runtime.ErrRejected)
		assert.Equal(t, hook.StopError, out.Stop)
		assert.Contains(t, w.EventsOf(event.Error)[0].Text, "not that")
	})
	t.Run("respond", func(t *testing.T) {
		t.Parallel()
		w := rig.Start(t, rig.Plays(), decides(hook.RespondModel(message.ModelReply{Content: message.ListOf(message.TextBlock("cached"))}), nil))
		out := w.Send("hi")
		assert.Equal(t, "cached", out.Text())
		assert.Empty(t, w.Model.Requests)
		assert.Equal(t, []string{"user hi", "assistant cached"}, w.History())
		assert.Equal(t, "cached", w.EventsOf(event.TextDelta)[0].Text)
	})
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		w := rig.Start(t, rig.Plays(), decides(hook.ModelDecision{}, errors.New("password is hunter2")))
		_, err := w.Try(t.Context(), "hi")
		var f *hook.Failure
		require.ErrorAs(t, err, &f)
		assert.Equal(t, point.BeforeModel, f.Point)
		assert.NotContains(t, w.EventsOf(event.Error)[0].Text, "hunter2", "the cause is not for clients")
		assert.Len(t, w.EventsOf(event.HookFailed), 1)
		assert.Equal(t, []string{"user hi"}, w.History())
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
			return func(yield func(message.Chunk, error) bool) { yield(rig.Text("a"), nil); panic(broken) }
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
				w := rig.Start(t, rig.Plays(rig.Says("ok")), hooks...)
				out, err := w.Try(t.Context(), "hi")
				require.ErrorIs(t, err, broken)
				var f *hook.Failure
				require.ErrorAs(t, err, &f)
				assert.Equal(t, tc.point, f.Point)
				assert.Equal(t, hook.StopError, out.Stop)
				assert.Equal(t, []string{"user hi"}, w.History())
				rig.AssertBrackets(t, w)
				assert.Len(t, w.EventsOf(event.Error), 1)
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
	w := rig.Start(t, rig.Plays(rig.Says("the key ", "is ", "sk-123")), redact)
	w.Send("tell")
	deltas := w.EventsOf(event.TextDelta)
	require.Len(t, deltas, 1)
	assert.Equal(t, "the key is [gone]", deltas[0].Text)
	assert.Equal(t, "assistant the key is [gone]", w.History()[1])
	rig.AssertBrackets(t, w)
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
	m := rig.Plays(rig.Says("bad"), rig.Says("worse"), rig.Says("good"))
	w := rig.Start(t, m, judge)
	out := w.Send("hi")
	assert.Equal(t, "good", out.Text())
	assert.Equal(t, 1, out.Steps)
	assert.Equal(t, []string{"user hi", "assistant good"}, w.History(), "feedback is never stored")
	assert.Len(t, w.EventsOf(event.TurnRetried), 2)
	last := m.Requests[2].Messages
	require.Equal(t, 3, last.Len())
	assert.Equal(t, "feedback", last.At(2).Label)
	assert.Equal(t, "be good", last.At(2).Text())
	assert.Equal(t, message.Usage{Input: 30, Output: 15}, out.Usage, "dropped replies have cost something")

	w = rig.Start(t, rig.Plays(rig.Says("bad"), rig.Says("bad"), rig.Says("bad"), rig.Says("bad"), rig.Says("good")), judge)
	out, err := w.Try(t.Context(), "hi")
	require.ErrorIs(t, err, runtime.ErrRetries)
	assert.Len(t, w.Model.Requests, 4)
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Equal(t, hook.StopRetryLimit, out.Signals.At(0).Reason, "the other reason is kept")
	rig.AssertBrackets(t, w)
}

func TestAfterModelMayStopWithTheReplySoFar(t *testing.T) {
	t.Parallel()
	stop := point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
		return hook.StopReply("enough"), nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"))), stop, rig.Box(rig.Does("x", rig.Never(t))))
	out := w.Send("hi")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, []string{"user hi", "assistant [1 x {}]", "tool 1 x cancelled: not run: the turn was stopped"}, w.History())

	w = rig.Start(t, rig.Plays(rig.Says("so far")), stop)
	out = w.Send("hi")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, "so far", out.Text())
	assert.Equal(t, []string{"user hi", "assistant so far"}, w.History())
}

func TestABrokenStreamIsAnErrorAndNotAnAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream message.ModelStream
		want   error
	}{
		"no finish": {rig.Chunks(rig.Text("looks whole.")), provider.ErrNoFinish},
		"protocol":  {rig.Chunks(rig.Finish(message.FinishStop), rig.Text("more")), provider.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(tc.stream, rig.Says("fine")))
			_, err := w.Try(t.Context(), "hi")
			require.ErrorIs(t, err, tc.want)
			assert.Equal(t, []string{"user hi"}, w.History())
			rig.AssertBrackets(t, w)
			assert.Equal(t, "fine", w.Send("again").Text())
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
		"nothing":        {rig.Chunks(rig.Finish(message.FinishStop)), hook.StopNoAction, 1},
		"only reasoning": {rig.Chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, rig.Finish(message.FinishStop)), hook.StopNoAction, 1},
		"stop":           {rig.Chunks(rig.Text("a"), rig.Finish(message.FinishStop)), hook.StopCompleted, 2},
		"length":         {rig.Chunks(rig.Text("a"), rig.Finish(message.FinishLength)), hook.StopMaxTokens, 2},
		"filter":         {rig.Chunks(rig.Text("a"), rig.Finish(message.FinishFilter)), hook.StopRefused, 2},
		"other":          {rig.Chunks(rig.Text("a"), rig.Finish(message.FinishOther)), hook.StopCompleted, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(tc.stream))
			out := w.Send("hi")
			assert.Equal(t, tc.want, out.Stop)
			assert.Len(t, w.History(), tc.stored)
		})
	}
}

func TestCallIDsAreMadeUnique(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(
		rig.Calls(rig.Call("", "x", `{"s":"a"}`), rig.Call("", "x", `{"s":"b"}`), rig.Call("same", "x", `{"s":"c"}`), rig.Call("same", "x", `{"s":"d"}`)),
		rig.Calls(rig.Call("same", "x", `{"s":"e"}`)), rig.Says("done")), rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, []string{
		"user go",
		`assistant [call_1 x {"s":"a"}] [call_2 x {"s":"b"}] [same x {"s":"c"}] [call_4 x {"s":"d"}]`,
		"tool call_1 x: x:a", "tool call_2 x: x:b", "tool same x: x:c", "tool call_4 x: x:d",
		`assistant [call_5 x {"s":"e"}]`, "tool call_5 x: x:e", "assistant done",
	}, w.History())
}

func TestACallWithoutArgumentsIsOneWithNone(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "")), rig.Says("done")), rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, []string{"assistant [1 x {}]", "tool 1 x: x:"}, w.History()[1:3])
}

func TestLimitsOfATurn(t *testing.T) {
	t.Parallel()
	forever := make([]message.ModelStream, 30)
	for i := range forever {
		forever[i] = rig.Calls(rig.Call("", "x", "{}"))
	}
	w := rig.Start(t, rig.Plays(forever...), rig.Box(rig.Named("x")))
	out := w.Send("go")
	assert.Equal(t, hook.StopStepsLimit, out.Stop)
	assert.Equal(t, 20, out.Steps)

	w = rig.StartWith(t, rig.Plays(forever...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: -1}}, nil, rig.Box(rig.Named("x")))
	assert.Equal(t, 31, w.Send("go").Steps, "no limit is none")

	w = rig.Start(t, rig.Plays(forever...), rig.Box(rig.Named("x")), point.BeforeStepFunc(func(_ context.Context, s *hook.Step) (hook.StepDecision, error) {
		if s.Number() > 2 {
			return hook.StopStep(hook.StopStepsLimit, "enough"), nil
		}
		return hook.StepDecision{}, nil
	}))
	assert.Equal(t, 2, w.Send("go").Steps, "a step that BeforeStep has stopped asked no model")
	assert.Len(t, w.Model.Requests, 2)

	w = rig.StartWith(t, rig.Plays(forever...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 3}}, nil, rig.Box(rig.Named("x")))
	assert.Equal(t, 3, w.Send("go").Steps)

	w = rig.StartWith(t, rig.Plays(forever...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Tokens: 31}, Model: message.Model{MaxTokens: 7}}, nil, rig.Box(rig.Named("x")))
	out = w.Send("go")
	assert.Equal(t, hook.StopTokenLimit, out.Stop)
	assert.Equal(t, 3, out.Steps)
	assert.Equal(t, 7, w.Model.Requests[0].Model.MaxTokens)
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
		w := rig.Start(t, rig.Plays(rig.Says("hi", "ho")), hooks...)
		out := w.Send("go")
		assert.Equal(t, map[string]string{"alone": "hi!ho!", "twice": "hi!!ho!!"}[name], out.Text())
		assert.Len(t, w.EventsOf(event.TextDelta), 2, "the stream stays live")
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
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), add, rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, []string{
		"user go", "assistant [1 x {}] [call_2 x {}] [call_3 x {}]", "tool 1 x: x:", "tool call_2 x: x:", "tool call_3 x: x:", "assistant done",
	}, w.History())
}
