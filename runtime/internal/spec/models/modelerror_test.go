package models_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// What OnModelError may do about a model call that has failed.

var errBusyModel = &provider.Error{Class: message.FailureOverloaded, RetryAfter: 5 * time.Second, Err: errors.New("the model is busy")}

// onError answers the failures in turn, and the last answer from then on. It keeps
// what it was shown.
type onError struct {
	hook.Nop
	answers []hook.FailureDecision
	seen    []message.ModelFailure
	steps   []*hook.Step
}

func (o *onError) OnModelError(_ context.Context, s *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	o.seen, o.steps = append(o.seen, f), append(o.steps, s)
	return o.answers[min(len(o.seen), len(o.answers))-1], nil
}

func onErrors(answers ...hook.FailureDecision) *onError { return &onError{answers: answers} }

func models(m *rig.Model) (ids []string) {
	for _, r := range m.Requests {
		ids = append(ids, r.Model.Name)
	}
	return ids
}

func TestSpecARetriedModelCallWaitsAsLongAsHookAndProviderWant(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ hook, want time.Duration }{{0, 5 * time.Second}, {time.Second, 5 * time.Second}, {time.Minute, time.Minute}} {
		t.Run(tc.hook.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := onErrors(hook.RetryFailure(tc.hook))
				w := rig.Start(t, rig.Plays(rig.Fails(errBusyModel), rig.Says("here")), h)
				began := time.Now()
				assert.Equal(t, "here", w.Send("1").Text())
				assert.Equal(t, tc.want, time.Since(began))
				assert.Equal(t, []string{"user 1", "assistant here"}, w.History())
				require.Len(t, w.EventsOf(event.TurnRetried), 1)
				assert.Equal(t, "the model is busy", w.EventsOf(event.TurnRetried)[0].Text)
				require.NoError(t, w.Runtime.Close(t.Context()))
			})
		})
	}
}

func TestSpecTheViewOfAModelFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(yield func(message.Chunk, error) bool) {
			time.Sleep(2 * time.Second)
			rig.Fails(provider.ErrNoFinish, "half")(yield)
		}
		h := onErrors(hook.RetryFailure(0), hook.FallbackFailure("spare"), hook.RetryFailure(0))
		m := rig.Plays(slow, rig.Fails(errBusyModel), rig.Fails(errors.New("odd")), rig.Says("here"))
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil, h)
		w.Send("1")
		want := []message.ModelFailure{
			{Class: message.FailureNetwork, Err: provider.ErrNoFinish, Model: "main", Attempt: 1, Elapsed: 2 * time.Second, Released: true},
			{Class: message.FailureOverloaded, Err: errBusyModel, Model: "main", Attempt: 2, Elapsed: 2 * time.Second, RetryAfter: 5 * time.Second},
			{Class: message.FailureUnknown, Err: errors.New("odd"), Model: "spare", Attempt: 3, Elapsed: 2 * time.Second},
		}
		assert.Equal(t, want, h.seen)
		assert.Equal(t, "spare", h.steps[2].Model())
		assert.Equal(t, 1, h.steps[2].Number(), "it is the same step")
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecAFallbackIsTheModelOfTheRestOfTheStep(t *testing.T) {
	t.Parallel()
	var judged, called []string
	judge := point.AfterModelFunc(func(_ context.Context, s *hook.Step, r message.ModelReply) (hook.ReplyDecision, error) {
		judged = append(judged, s.Model()+" "+r.Model)
		if r.Text() == "bad" {
			return hook.RetryReply("better"), nil
		}
		return hook.ReplyDecision{}, nil
	})
	before := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		called = append(called, c.Step().Model())
		return hook.ToolDecision{}, nil
	})
	m := rig.Plays(rig.Fails(errBusyModel), rig.Says("bad"), rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("done"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil, onErrors(hook.FallbackFailure("spare")), judge, before, rig.Box(rig.Named("echo")))
	out := w.Send("1")
	assert.Equal(t, []string{"main", "spare", "spare", "main"}, models(m), "the next step asks the agent's model again")
	assert.Equal(t, []string{"spare spare", "spare spare", "main main"}, judged)
	assert.Equal(t, []string{"spare"}, called)
	assert.Equal(t, 2, out.Steps)
}

func TestSpecEveryAttemptPassesRewriteRequestAndBeforeModel(t *testing.T) {
	t.Parallel()
	var log []string
	rewrite := point.RewriteRequestFunc(func(_ context.Context, s *hook.Step, r message.ModelRequest) (message.ModelRequest, error) {
		log = append(log, "rewrite "+s.Model()+" "+r.Model.Name)
		r.System += fmt.Sprint(len(log))
		return r, nil
	})
	decide := point.BeforeModelFunc(func(_ context.Context, s *hook.Step, r message.ModelRequest) (hook.ModelDecision, error) {
		log = append(log, "before "+r.Model.Name+" "+r.System)
		return hook.ModelDecision{}, nil
	})
	m := rig.Plays(rig.Fails(errors.New("1")), rig.Fails(errors.New("2")), rig.Says("ok"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil, onErrors(hook.RetryFailure(0), hook.FallbackFailure("spare")), rewrite, decide)
	w.Send("1")
	assert.Equal(t, []string{
		"rewrite main main", "before main 1", "rewrite main main", "before main 3", "rewrite spare spare", "before spare 5",
	}, log, "each begins anew with the agent's own request")
}

func TestSpecBeforeModelMayStopAnotherAttempt(t *testing.T) {
	t.Parallel()
	asked := 0
	decide := point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
		if asked++; asked == 2 {
			return hook.StopModel("enough"), nil
		}
		return hook.ModelDecision{}, nil
	})
	w := rig.Start(t, rig.Plays(rig.Fails(errors.New("1")), rig.Says("never")), onErrors(hook.RetryFailure(0)), decide)
	out := w.Send("1")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Len(t, w.Model.Requests, 1)
}

func TestSpecAReplyInPlaceOfAFailureIsHeldAndJudged(t *testing.T) {
	t.Parallel()
	reply := message.ModelReply{Content: message.ListOf(message.TextBlock("try later")), Usage: message.Usage{Output: 3}}
	var judged []message.ModelReply
	judge := point.AfterModelFunc(func(_ context.Context, _ *hook.Step, r message.ModelReply) (hook.ReplyDecision, error) {
		judged = append(judged, r)
		if len(judged) == 1 {
			return hook.RetryReply("no"), nil
		}
		return hook.ReplyDecision{}, nil
	})
	rewrite := point.RewriteReplyFunc(func(_ context.Context, _ *hook.Step, r message.ModelReply) (message.ModelReply, error) {
		r.Content = r.Content.Append(message.TextBlock("!"))
		return r, nil
	})
	w := rig.StartWith(t, rig.Plays(rig.Fails(errBusyModel), rig.Fails(errBusyModel)), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil,
		onErrors(hook.RespondFailure(reply)), judge, rewrite)
	out := w.Send("1")
	assert.Equal(t, "try later!", out.Text())
	require.Len(t, judged, 2)
	assert.Equal(t, message.FinishStop, judged[0].Finish)
	assert.Equal(t, "main", judged[0].Model)
	assert.Equal(t, message.Usage{Output: 6}, out.Usage)
	assert.Len(t, w.EventsOf(event.TextDelta), 2, "only what was accepted is shown")
	assert.Equal(t, []string{"user 1", "assistant try later !"}, w.History())
}

func TestSpecShownTextOfAFailedAttemptIsTakenBack(t *testing.T) {
	t.Parallel()
	reply := message.ModelReply{Content: message.ListOf(message.TextBlock("sorry"))}
	for name, tc := range map[string]struct {
		answer hook.FailureDecision
		text   string
	}{
		"retry": {hook.RetryFailure(0), "whole"}, "fallback": {hook.FallbackFailure("spare"), "whole"}, "respond": {hook.RespondFailure(reply), "sorry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Fails(errors.New("cut"), "half"), rig.Says("whole")), onErrors(tc.answer))
			out := w.Send("1")
			assert.Equal(t, tc.text, out.Text())
			var shown []string
			for _, ev := range w.Events {
				switch ev.Kind {
				case event.TextDelta:
					shown = append(shown, ev.Text)
				case event.TurnRetried:
					shown = append(shown, "-")
				}
			}
			assert.Equal(t, []string{"half", "-", tc.text}, shown)
			assert.Equal(t, []string{"user 1", "assistant " + tc.text}, w.History(), "nothing of the attempt is stored")
			rig.AssertBrackets(t, w)
		})
	}
}

func TestSpecAFailureThatNobodyAnswersEndsTheTurn(t *testing.T) {
	t.Parallel()
	broken := point.OnModelErrorFunc(func(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) {
		return hook.FailureDecision{}, errors.New("the hook is broken")
	})
	panics := point.OnModelErrorFunc(func(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) { panic("boom") })
	for name, tc := range map[string]struct {
		hooks  []hook.Hook
		failed int
	}{
		"no opinion": {[]hook.Hook{onErrors(hook.FailureDecision{})}, 0},
		"an error":   {[]hook.Hook{broken}, 1}, "an error in a composite": {[]hook.Hook{broken, hook.Nop{}}, 1},
		"a panic": {[]hook.Hook{panics}, 1}, "a panic in a composite": {[]hook.Hook{panics, hook.Nop{}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Fails(errBusyModel, "half")), tc.hooks...)
			out, err := w.Try(t.Context(), "1")
			require.ErrorIs(t, err, errBusyModel)
			assert.Equal(t, hook.StopError, out.Stop)
			assert.Len(t, w.EventsOf(event.HookFailed), tc.failed)
			assert.Equal(t, []string{"user 1"}, w.History())
			assert.Empty(t, w.EventsOf(event.TurnRetried))
		})
	}
	t.Run("a hook that fails does not keep the next from answering", func(t *testing.T) {
		t.Parallel()
		w := rig.Start(t, rig.Plays(rig.Fails(errors.New("1")), rig.Says("ok")), panics, onErrors(hook.RetryFailure(0)))
		assert.Equal(t, "ok", w.Send("1").Text())
	})
}

func TestSpecOnModelErrorIsNotAskedAboutACancelledTurn(t *testing.T) {
	t.Parallel()
	never := point.OnModelErrorFunc(func(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) {
		t.Error("it was asked")
		return hook.RetryFailure(0), nil
	})
	hangs := func(ctx context.Context) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			yield(rig.Text("half"), nil)
			<-ctx.Done()
			yield(message.Chunk{}, ctx.Err())
		}
	}
	t.Run("by its time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := startProvider(t, func(ctx context.Context, _ message.ModelRequest) message.ModelStream { return hangs(ctx) }, hook.Limits{Time: time.Second}, never)
			out, err := w.Try(t.Context(), "1")
			require.NoError(t, err)
			assert.Equal(t, hook.StopTimeLimit, out.Stop)
			require.NoError(t, w.Runtime.Close(t.Context()))
		})
	})
	t.Run("by its user", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := startProvider(t, func(ctx context.Context, _ message.ModelRequest) message.ModelStream { return hangs(ctx) }, hook.Limits{}, never)
			time.AfterFunc(time.Second, func() { dialog.Stop(w.Conv) })
			out, _ := w.Try(t.Context(), "1")
			assert.Equal(t, hook.StopUserRequested, out.Stop)
			assert.Equal(t, []string{"user 1", "assistant half"}, w.History(), "what was said is kept as before")
			require.NoError(t, w.Runtime.Close(t.Context()))
		})
	})
}

// startProvider is startWith for a provider of its own.
func startProvider(t *testing.T, p provider.Func, limits hook.Limits, hooks ...hook.Hook) *rig.World {
	t.Helper()
	w := &rig.World{T: t, Store: mem.New(nil)}
	w.Runtime = runtime.New(rig.Compose(t, hooks), p, &runtime.Options{Store: w.Store})
	require.NoError(t, w.Runtime.Open(t.Context()))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "a", Limits: limits})
	require.NoError(t, err)
	w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, "a", "ann")
	require.NoError(t, err)
	return w
}

func TestSpecACancelEndsThePauseBeforeARetry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits hook.Limits
		end    func(w *rig.World, cancel func())
		stop   hook.StopReason
	}{
		"the time limit": {hook.Limits{Time: time.Second}, func(*rig.World, func()) {}, hook.StopTimeLimit},
		"the user":       {hook.Limits{}, func(w *rig.World, _ func()) { dialog.Stop(w.Conv) }, hook.StopUserRequested},
		"the context":    {hook.Limits{}, func(_ *rig.World, cancel func()) { cancel() }, hook.StopCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := rig.StartWith(t, rig.Plays(rig.Fails(errBusyModel, "half"), rig.Says("never")), hook.AgentConfig{Name: "a", Limits: tc.limits}, nil, onErrors(hook.RetryFailure(time.Hour)))
				time.AfterFunc(time.Second, func() { tc.end(w, cancel) })
				began := time.Now()
				out, _ := w.Try(ctx, "1")
				assert.Equal(t, time.Second, time.Since(began))
				assert.Equal(t, tc.stop, out.Stop)
				assert.Len(t, w.Model.Requests, 1)
				assert.Equal(t, []string{"user 1"}, w.History(), "clients were told to drop the text, so it is not kept")
				require.NoError(t, w.Runtime.Close(t.Context()))
			})
		})
	}
}

func TestSpecAHooksOwnFailureIsNoFailureOfTheModel(t *testing.T) {
	t.Parallel()
	h := onErrors(hook.RetryFailure(0))
	wrap := point.WrapModelFunc(func(context.Context, *hook.Step, message.ModelRequest, hook.ModelNext) message.ModelStream {
		panic("boom")
	})
	w := rig.Start(t, rig.Plays(rig.Says("never")), h, wrap)
	_, err := w.Try(t.Context(), "1")
	var f *hook.Failure
	require.ErrorAs(t, err, &f)
	assert.Empty(t, h.seen, "a wrap fails closed: nobody lifts that")
}

func TestSpecTheUsageOfAFailedAttemptCounts(t *testing.T) {
	t.Parallel()
	reports := rig.Chunks(rig.Text("x"), rig.Finish(message.FinishStop), rig.Text("behind the finish"))
	price := func(model string, u message.Usage) hook.Cost {
		return hook.Cost(u.Total()) * map[string]hook.Cost{"main": 1, "spare": 100}[model]
	}
	w := rig.StartWith(t, rig.Plays(reports, rig.Says("ok")), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, &runtime.Options{Price: price}, onErrors(hook.FallbackFailure("spare")))
	out := w.Send("1")
	assert.Equal(t, message.Usage{Input: 20, Output: 10}, out.Usage)
	assert.Equal(t, hook.Cost(1515), out.Cost, "each call at the price of the model that answered")
	require.Len(t, w.EventsOf(event.Usage), 2)
	assert.Equal(t, hook.Cost(15), w.EventsOf(event.Usage)[0].Detail().Cost)
	assert.Equal(t, hook.Cost(1500), w.EventsOf(event.Usage)[1].Detail().Cost)
	assert.Equal(t, hook.Cost(1515), w.EventsOf(event.TurnEnd)[0].Detail().Cost)
}

func TestSpecRetriesOfAStepAreCapped(t *testing.T) {
	t.Parallel()
	t.Run("failures alone", func(t *testing.T) {
		t.Parallel()
		h := onErrors(hook.RetryFailure(0))
		gone := errors.New("gone")
		w := rig.Start(t, rig.Plays(append(slices.Repeat([]message.ModelStream{rig.Fails(gone)}, 23), rig.Fails(gone, "half"), rig.Says("never"))...), h)
		out, err := w.Try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRetries)
		require.ErrorIs(t, err, gone)
		assert.Equal(t, hook.StopError, out.Stop)
		assert.Equal(t, []hook.StopReason{hook.StopRetryLimit, hook.StopError}, rig.Reasons(out))
		assert.Len(t, h.seen, 24, "it is asked about each of them")
		assert.Equal(t, 24, h.seen[23].Attempt)
		assert.Len(t, w.Model.Requests, 24)
		assert.Len(t, w.EventsOf(event.TurnRetried), 23)
	})
	t.Run("past the cap a reply still counts", func(t *testing.T) {
		t.Parallel()
		again := hook.FallbackFailure("x")
		h := onErrors(again, again, again, hook.RespondFailure(message.ModelReply{Content: message.ListOf(message.TextBlock("sorry"))}))
		w := rig.Start(t, rig.Plays(rig.Fails(errBusyModel), rig.Fails(errBusyModel), rig.Fails(errBusyModel), rig.Fails(errBusyModel)), h)
		assert.Equal(t, "sorry", w.Send("1").Text())
	})
	t.Run("apart from those of AfterModel", func(t *testing.T) {
		t.Parallel()
		judge := point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
			return hook.RetryReply("better"), nil
		})
		again := hook.FallbackFailure("x")
		w := rig.Start(t, rig.Plays(rig.Fails(errBusyModel), rig.Says("1"), rig.Fails(errBusyModel), rig.Says("2"), rig.Says("3"), rig.Says("4"), rig.Says("never")), onErrors(again), judge)
		out, err := w.Try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRetries)
		assert.Len(t, w.Model.Requests, 6)
		assert.Equal(t, []hook.StopReason{hook.StopRetryLimit, hook.StopError}, rig.Reasons(out))
	})
	t.Run("the next step begins anew", func(t *testing.T) {
		t.Parallel()
		again := hook.FallbackFailure("x")
		m := rig.Plays(rig.Fails(errBusyModel), rig.Fails(errBusyModel), rig.Fails(errBusyModel), rig.Calls(rig.Call("c1", "echo", `{}`)),
			rig.Fails(errBusyModel), rig.Fails(errBusyModel), rig.Fails(errBusyModel), rig.Says("done"))
		h := onErrors(again)
		w := rig.Start(t, m, h, rig.Box(rig.Named("echo")))
		assert.Equal(t, "done", w.Send("1").Text())
		assert.Equal(t, 1, h.seen[3].Attempt)
	})
}
