package runtime_test

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
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// What OnModelError may do about a model call that has failed.

var errBusyModel = &provider.Error{Class: message.FailureOverloaded, RetryAfter: 5 * time.Second, Err: errors.New("the model is busy")}

// fails is a stream that ends with an error behind the words.
func fails(err error, words ...string) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, w := range words {
			if !yield(text(w), nil) {
				return
			}
		}
		yield(message.Chunk{}, err)
	}
}

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

func models(m *model) (ids []string) {
	for _, r := range m.requests {
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
				w := start(t, plays(fails(errBusyModel), says("here")), h)
				began := time.Now()
				assert.Equal(t, "here", w.send("1").Text())
				assert.Equal(t, tc.want, time.Since(began))
				assert.Equal(t, []string{"user 1", "assistant here"}, w.history())
				require.Len(t, w.eventsOf(event.TurnRetried), 1)
				assert.Equal(t, "the model is busy", w.eventsOf(event.TurnRetried)[0].Text)
				require.NoError(t, w.rt.Close(t.Context()))
			})
		})
	}
}

func TestSpecTheViewOfAModelFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(yield func(message.Chunk, error) bool) {
			time.Sleep(2 * time.Second)
			fails(provider.ErrNoFinish, "half")(yield)
		}
		h := onErrors(hook.RetryFailure(0), hook.FallbackFailure("spare"), hook.RetryFailure(0))
		m := plays(slow, fails(errBusyModel), fails(errors.New("odd")), says("here"))
		w := startWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil, h)
		w.send("1")
		want := []message.ModelFailure{
			{Class: message.FailureNetwork, Err: provider.ErrNoFinish, Model: "main", Attempt: 1, Elapsed: 2 * time.Second, Released: true},
			{Class: message.FailureOverloaded, Err: errBusyModel, Model: "main", Attempt: 2, Elapsed: 2 * time.Second, RetryAfter: 5 * time.Second},
			{Class: message.FailureUnknown, Err: errors.New("odd"), Model: "spare", Attempt: 3, Elapsed: 2 * time.Second},
		}
		assert.Equal(t, want, h.seen)
		assert.Equal(t, "spare", h.steps[2].Model())
		assert.Equal(t, 1, h.steps[2].Number(), "it is the same step")
		require.NoError(t, w.rt.Close(t.Context()))
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
	m := plays(fails(errBusyModel), says("bad"), calls(want{"c1", "echo", `{}`}), says("done"))
	w := startWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil, onErrors(hook.FallbackFailure("spare")), judge, before, box(named("echo")))
	out := w.send("1")
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
	m := plays(fails(errors.New("1")), fails(errors.New("2")), says("ok"))
	w := startWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil, onErrors(hook.RetryFailure(0), hook.FallbackFailure("spare")), rewrite, decide)
	w.send("1")
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
	w := start(t, plays(fails(errors.New("1")), says("never")), onErrors(hook.RetryFailure(0)), decide)
	out := w.send("1")
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Len(t, w.model.requests, 1)
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
	w := startWith(t, plays(fails(errBusyModel), fails(errBusyModel)), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, nil,
		onErrors(hook.RespondFailure(reply)), judge, rewrite)
	out := w.send("1")
	assert.Equal(t, "try later!", out.Text())
	require.Len(t, judged, 2)
	assert.Equal(t, message.FinishStop, judged[0].Finish)
	assert.Equal(t, "main", judged[0].Model)
	assert.Equal(t, message.Usage{Output: 6}, out.Usage)
	assert.Len(t, w.eventsOf(event.TextDelta), 2, "only what was accepted is shown")
	assert.Equal(t, []string{"user 1", "assistant try later !"}, w.history())
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
			w := start(t, plays(fails(errors.New("cut"), "half"), says("whole")), onErrors(tc.answer))
			out := w.send("1")
			assert.Equal(t, tc.text, out.Text())
			var shown []string
			for _, ev := range w.events {
				switch ev.Kind {
				case event.TextDelta:
					shown = append(shown, ev.Text)
				case event.TurnRetried:
					shown = append(shown, "-")
				}
			}
			assert.Equal(t, []string{"half", "-", tc.text}, shown)
			assert.Equal(t, []string{"user 1", "assistant " + tc.text}, w.history(), "nothing of the attempt is stored")
			assertBrackets(t, w)
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
			w := start(t, plays(fails(errBusyModel, "half")), tc.hooks...)
			out, err := w.try(t.Context(), "1")
			require.ErrorIs(t, err, errBusyModel)
			assert.Equal(t, hook.StopError, out.Stop)
			assert.Len(t, w.eventsOf(event.HookFailed), tc.failed)
			assert.Equal(t, []string{"user 1"}, w.history())
			assert.Empty(t, w.eventsOf(event.TurnRetried))
		})
	}
	t.Run("a hook that fails does not keep the next from answering", func(t *testing.T) {
		t.Parallel()
		w := start(t, plays(fails(errors.New("1")), says("ok")), panics, onErrors(hook.RetryFailure(0)))
		assert.Equal(t, "ok", w.send("1").Text())
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
			yield(text("half"), nil)
			<-ctx.Done()
			yield(message.Chunk{}, ctx.Err())
		}
	}
	t.Run("by its time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := startProvider(t, func(ctx context.Context, _ message.ModelRequest) message.ModelStream { return hangs(ctx) }, hook.Limits{Time: time.Second}, never)
			out, err := w.try(t.Context(), "1")
			require.NoError(t, err)
			assert.Equal(t, hook.StopTimeLimit, out.Stop)
			require.NoError(t, w.rt.Close(t.Context()))
		})
	})
	t.Run("by its user", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := startProvider(t, func(ctx context.Context, _ message.ModelRequest) message.ModelStream { return hangs(ctx) }, hook.Limits{}, never)
			time.AfterFunc(time.Second, func() { dialog.Stop(w.conv) })
			out, _ := w.try(t.Context(), "1")
			assert.Equal(t, hook.StopUserRequested, out.Stop)
			assert.Equal(t, []string{"user 1", "assistant half"}, w.history(), "what was said is kept as before")
			require.NoError(t, w.rt.Close(t.Context()))
		})
	})
}

// startProvider is startWith for a provider of its own.
func startProvider(t *testing.T, p provider.Func, limits hook.Limits, hooks ...hook.Hook) *world {
	t.Helper()
	w := &world{t: t, store: mem.New(nil)}
	w.rt = runtime.New(compose(t, hooks), p, &runtime.Options{Store: w.store})
	require.NoError(t, w.rt.Open(t.Context()))
	_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "a", Limits: limits})
	require.NoError(t, err)
	w.conv, err = dialog.Conversation(t.Context(), w.rt, "a", "ann")
	require.NoError(t, err)
	return w
}

func TestSpecACancelEndsThePauseBeforeARetry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits hook.Limits
		end    func(w *world, cancel func())
		stop   hook.StopReason
	}{
		"the time limit": {hook.Limits{Time: time.Second}, func(*world, func()) {}, hook.StopTimeLimit},
		"the user":       {hook.Limits{}, func(w *world, _ func()) { dialog.Stop(w.conv) }, hook.StopUserRequested},
		"the context":    {hook.Limits{}, func(_ *world, cancel func()) { cancel() }, hook.StopCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := startWith(t, plays(fails(errBusyModel, "half"), says("never")), hook.AgentConfig{Name: "a", Limits: tc.limits}, nil, onErrors(hook.RetryFailure(time.Hour)))
				time.AfterFunc(time.Second, func() { tc.end(w, cancel) })
				began := time.Now()
				out, _ := w.try(ctx, "1")
				assert.Equal(t, time.Second, time.Since(began))
				assert.Equal(t, tc.stop, out.Stop)
				assert.Len(t, w.model.requests, 1)
				assert.Equal(t, []string{"user 1"}, w.history(), "clients were told to drop the text, so it is not kept")
				require.NoError(t, w.rt.Close(t.Context()))
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
	w := start(t, plays(says("never")), h, wrap)
	_, err := w.try(t.Context(), "1")
	var f *hook.Failure
	require.ErrorAs(t, err, &f)
	assert.Empty(t, h.seen, "a wrap fails closed: nobody lifts that")
}

func TestSpecTheUsageOfAFailedAttemptCounts(t *testing.T) {
	t.Parallel()
	reports := chunks(text("x"), finish(message.FinishStop), text("behind the finish"))
	price := func(model string, u message.Usage) hook.Cost {
		return hook.Cost(u.Total()) * map[string]hook.Cost{"main": 1, "spare": 100}[model]
	}
	w := startWith(t, plays(reports, says("ok")), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}}, &runtime.Options{Price: price}, onErrors(hook.FallbackFailure("spare")))
	out := w.send("1")
	assert.Equal(t, message.Usage{Input: 20, Output: 10}, out.Usage)
	assert.Equal(t, hook.Cost(1515), out.Cost, "each call at the price of the model that answered")
	require.Len(t, w.eventsOf(event.Usage), 2)
	assert.Equal(t, hook.Cost(15), w.eventsOf(event.Usage)[0].Detail().Cost)
	assert.Equal(t, hook.Cost(1500), w.eventsOf(event.Usage)[1].Detail().Cost)
	assert.Equal(t, hook.Cost(1515), w.eventsOf(event.TurnEnd)[0].Detail().Cost)
}

func TestSpecRetriesOfAStepAreCapped(t *testing.T) {
	t.Parallel()
	t.Run("failures alone", func(t *testing.T) {
		t.Parallel()
		h := onErrors(hook.RetryFailure(0))
		gone := errors.New("gone")
		w := start(t, plays(append(slices.Repeat([]message.ModelStream{fails(gone)}, 23), fails(gone, "half"), says("never"))...), h)
		out, err := w.try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRetries)
		require.ErrorIs(t, err, gone)
		assert.Equal(t, hook.StopError, out.Stop)
		assert.Equal(t, []hook.StopReason{hook.StopRetryLimit, hook.StopError}, reasons(out))
		assert.Len(t, h.seen, 24, "it is asked about each of them")
		assert.Equal(t, 24, h.seen[23].Attempt)
		assert.Len(t, w.model.requests, 24)
		assert.Len(t, w.eventsOf(event.TurnRetried), 23)
	})
	t.Run("past the cap a reply still counts", func(t *testing.T) {
		t.Parallel()
		again := hook.FallbackFailure("x")
		h := onErrors(again, again, again, hook.RespondFailure(message.ModelReply{Content: message.ListOf(message.TextBlock("sorry"))}))
		w := start(t, plays(fails(errBusyModel), fails(errBusyModel), fails(errBusyModel), fails(errBusyModel)), h)
		assert.Equal(t, "sorry", w.send("1").Text())
	})
	t.Run("apart from those of AfterModel", func(t *testing.T) {
		t.Parallel()
		judge := point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
			return hook.RetryReply("better"), nil
		})
		again := hook.FallbackFailure("x")
		w := start(t, plays(fails(errBusyModel), says("1"), fails(errBusyModel), says("2"), says("3"), says("4"), says("never")), onErrors(again), judge)
		out, err := w.try(t.Context(), "1")
		require.ErrorIs(t, err, runtime.ErrRetries)
		assert.Len(t, w.model.requests, 6)
		assert.Equal(t, []hook.StopReason{hook.StopRetryLimit, hook.StopError}, reasons(out))
	})
	t.Run("the next step begins anew", func(t *testing.T) {
		t.Parallel()
		again := hook.FallbackFailure("x")
		m := plays(fails(errBusyModel), fails(errBusyModel), fails(errBusyModel), calls(want{"c1", "echo", `{}`}),
			fails(errBusyModel), fails(errBusyModel), fails(errBusyModel), says("done"))
		h := onErrors(again)
		w := start(t, m, h, box(named("echo")))
		assert.Equal(t, "done", w.send("1").Text())
		assert.Equal(t, 1, h.seen[3].Attempt)
	})
}

func reasons(out hook.TurnOutcome) (rs []hook.StopReason) {
	for _, s := range out.Signals.All() {
		rs = append(rs, s.Reason)
	}
	return rs
}
