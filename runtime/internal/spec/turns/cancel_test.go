package turns_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

func TestLawACancelKeepsFinishedResultsAndMarksTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stubborn := rig.Does("stubborn", func(context.Context) message.ToolResult {
			<-release
			return message.TextResult("too late")
		})
		outcomes := map[string]message.Outcome{}
		after := point.AfterToolFunc(func(ctx context.Context, c *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
			assert.NoError(t, ctx.Err(), "AfterTool can still work")
			outcomes[c.ID()] = o.Outcome
			return hook.OutcomeDecision{}, nil
		})
		w := rig.StartWith(t, rig.Plays(
			rig.Calls(rig.Call("1", "quick", "{}"), rig.Call("2", "polite", "{}"), rig.Call("3", "stubborn", "{}"), rig.Call("4", "nobody", "{}")),
			rig.Says("back again"),
		), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, after,
			rig.Box(rig.Sleeps("quick", time.Millisecond), rig.Sleeps("polite", time.Hour), stubborn))
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user pressed a key")
		go func() {
			time.Sleep(10 * time.Millisecond)
			cancel(why)
		}()
		began := time.Now()
		out, err := w.Try(ctx, "go")

		require.ErrorIs(t, err, why)
		assert.Equal(t, hook.StopCancelled, out.Stop)
		assert.Equal(t, time.Second+10*time.Millisecond, time.Since(began), "one grace period")
		assert.Equal(t, map[string]message.Outcome{
			"1": message.OutcomeExecuted, "2": message.OutcomeInterrupted, "3": message.OutcomeInterrupted, "4": message.OutcomeUnknown,
		}, outcomes)
		h := w.History()
		require.Len(t, h, 6, "the message and all results are there together: %v", h)
		assert.Equal(t, "tool 1 quick: quick", h[2])
		assert.Contains(t, h[3], "tool 2 polite cancelled:")
		assert.Contains(t, h[4], "tool 3 stubborn cancelled: interrupted")
		assert.Equal(t, event.TurnEnd, w.Kinds()[len(w.Kinds())-1])
		rig.AssertBrackets(t, w)

		close(release)
		synctest.Wait()
		again := w.Send("still there?")
		assert.Equal(t, "back again", again.Text(), "the next turn works")
		assert.Len(t, w.Model.Requests[1].Messages.Slice(), 7)
	})
}

func TestLawACancelKeepsTheTextSoFar(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	half := func(yield func(message.Chunk, error) bool) {
		_ = yield(rig.Text("half an "), nil) && yield(rig.Text("answer"), nil) &&
			yield(message.Chunk{Kind: message.ChunkCallStart, CallID: "1", Tool: "x"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Text: `{"s":`}, nil)
		cancel()
		yield(message.Chunk{}, ctx.Err())
	}
	w := rig.Start(t, rig.Plays(half, rig.Says("and the rest")), rig.Box(rig.Does("x", rig.Never(t))))
	out, err := w.Try(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, hook.StopCancelled, out.Stop)
	assert.Equal(t, "half an answer", out.Text())
	assert.Equal(t, []string{"user go", "assistant half an answer"}, w.History())
	rig.AssertBrackets(t, w)
	assert.Equal(t, "and the rest", w.Send("go on").Text())
}

func TestLawPartialTextPassesTheHooksThatAReplyPasses(t *testing.T) {
	t.Parallel()
	broken := func(cancel func()) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			yield(rig.Text("the secret is"), nil)
			cancel()
			yield(message.Chunk{}, context.Canceled)
		}
	}
	rewrite := point.RewriteReplyFunc(func(_ context.Context, _ *hook.Step, r message.ModelReply) (message.ModelReply, error) {
		r.Content = message.ListOf(message.TextBlock("[redacted]"))
		return r, nil
	})
	reject := point.AfterModelFunc(func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
		return hook.RejectReply("no"), nil
	})
	for name, tc := range map[string]struct {
		h    hook.Hook
		want []string
	}{
		"rewritten": {rewrite, []string{"user go", "assistant [redacted]"}},
		"rejected":  {reject, []string{"user go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			w := rig.Start(t, rig.Plays(broken(cancel)), tc.h)
			_, err := w.Try(ctx, "go")
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, tc.want, w.History())
		})
	}
}

func TestACancelDuringApprovalCancelsTheBatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ask := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.AskTool("sure?"), nil
	})
	wait := point.ApproveFunc(func(ctx context.Context, _ *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
		cancel()
		<-ctx.Done()
		return hook.ApprovalDecision{}, ctx.Err()
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}"))), ask, wait, rig.Box(rig.Does("x", rig.Never(t))))
	_, err := w.Try(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	for _, ev := range w.EventsOf(event.CallResult) {
		assert.Equal(t, message.OutcomeCancelled, ev.Detail().Outcome)
	}
	assert.Len(t, w.History(), 4)
}

func TestATurnEndsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "slow", "{}")), rig.Says("next")),
			hook.AgentConfig{Name: "a", Limits: hook.Limits{Time: time.Minute}}, nil, rig.Box(rig.Sleeps("slow", time.Hour)))
		began := time.Now()
		out, err := w.Try(t.Context(), "go")
		require.NoError(t, err)
		assert.Equal(t, hook.StopTimeLimit, out.Stop)
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Len(t, w.History(), 3)
		assert.Equal(t, "next", w.Send("more").Text())
	})
}

func TestAToolEndsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		polite := rig.Sleeps("polite", time.Hour)
		polite.Timeout = time.Minute
		talks := rig.Does("talks", func(ctx context.Context) message.ToolResult {
			<-ctx.Done()
			return message.FailedResult(message.FailOperation, "half of it")
		})
		talks.Timeout = time.Minute
		release := make(chan struct{})
		deaf := rig.Does("deaf", func(context.Context) message.ToolResult { <-release; return message.TextResult("late") })
		deaf.Timeout = time.Minute
		narrow := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
			if c.Name() == "granted" {
				return hook.NarrowTool(hook.Grant{Timeout: time.Second}), nil
			}
			return hook.ToolDecision{}, nil
		})
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "polite", "{}"), rig.Call("2", "talks", "{}"), rig.Call("3", "deaf", "{}"), rig.Call("4", "granted", "{}")), rig.Says("done")),
			narrow, rig.Box(polite, talks, deaf, rig.Sleeps("granted", time.Hour)))
		began := time.Now()
		w.Send("go")
		assert.Equal(t, time.Minute+5*time.Second, time.Since(began))
		h := w.History()
		assert.Equal(t, "tool 1 polite timeout: timed out after 1m0s", h[2])
		assert.Equal(t, "tool 2 talks timeout: half of it", h[3], "what the tool has to say stays")
		assert.Contains(t, h[4], "tool 3 deaf timeout: timed out after 1m0s; it did not end")
		assert.Equal(t, "tool 4 granted timeout: timed out after 1s", h[5])
		for _, ev := range w.EventsOf(event.CallResult) {
			assert.Equal(t, message.OutcomeTimedOut, ev.Detail().Outcome)
		}
		close(release)
		synctest.Wait()
	})
}

func TestAProviderThatIgnoresItsContextIsLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	endless := func(yield func(message.Chunk, error) bool) {
		for i := 0; ; i++ {
			if i == 10 {
				cancel()
			}
			if !yield(rig.Text("x"), nil) {
				return
			}
		}
	}
	w := rig.Start(t, rig.Plays(endless))
	out, err := w.Try(ctx, "go")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "xxxxxxxxxx", out.Text())
}
