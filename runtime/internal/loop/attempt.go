package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
)

// Limits of one step, for all hooks together.
const (
	// maxRetries is how often hooks may ask for another reply because they refuse one.
	maxRetries = 3
	// maxRequests is the number of model calls after which a failed one is final.
	maxRequests = 24
)

// attempts are the model calls of one step.
type attempts struct {
	// made counts them. began is when the first one began.
	made  int
	began time.Time
	// retries counts refused replies.
	retries int
}

// add counts the next model call.
func (a *attempts) add(now time.Time) {
	if a.made == 0 {
		a.began = now
	}
	a.made++
}

// failed returns the error of the last call, with the number of tries.
func (a *attempts) failed(err error, now time.Time) error {
	if a.made < 2 {
		return err
	}
	return fmt.Errorf("%w (after %d tries in %s)", err, a.made, now.Sub(a.began).Round(time.Millisecond))
}

// retryReply drops a reply because a hook wants another one, and adds the reason for the model.
// It is false at the limit of retries: then the turn fails.
func (t *Turn) retryReply(v hook.Verdict) bool {
	t.emit(hook.Event{Kind: event.TurnRetried, Text: v.Reason})
	if t.attempts.retries == maxRetries {
		t.signal(hook.StopRetryLimit, v.By, v.Reason)
		return t.fail(fmt.Errorf("%w: %d: %s", ErrRetries, maxRetries, v.Reason))
	}
	t.attempts.retries++
	t.history.addEphemeral("feedback", v.Reason)
	return true
}

// askModelError asks OnModelError about a failed model call. It does not ask if the turn was
// cancelled, if the error is a hook's own failure, or if a limit on spending refused the call:
// all of these end the step.
func (t *Turn) askModelError(model string, err error) (hook.FailureDecision, message.ModelFailure) {
	var own *hook.Failure
	var refused *spending.RefusedError
	if !t.hooks.Has(point.OnModelError) || t.ctx.Err() != nil || errors.As(err, &own) || errors.As(err, &refused) {
		return hook.FailureDecision{}, message.ModelFailure{}
	}
	class, after := provider.Classify(err)
	failure := message.ModelFailure{
		Class: class, Err: err, Model: model, Attempt: t.attempts.made,
		Elapsed: t.env.Now().Sub(t.attempts.began), RetryAfter: after, Released: t.response.shown,
	}
	t.enterForeign(point.OnModelError)
	d, _ := t.hooks.OnModelError(answersFailure(t.ctx), t.step, failure)
	return exitForeignDecided(t.ctx, t, d), failure
}

// handleModelError applies the decision of OnModelError about a failed call. If again is false,
// a reply with a finish is the hook's; without a finish the turn is over.
func (t *Turn) handleModelError(req message.ModelRequest, partial message.ModelReply, err error) (reply message.ModelReply, again bool) {
	if t.hooks.Has(point.OnModelError) {
		t.updatePlace()
	}
	d, failure := t.askModelError(req.Model.Name, err)
	switch v := d.Verdict(); v.Kind {
	case hook.AnswerRetry, hook.AnswerFallback:
		return message.ModelReply{}, t.retryRequest(d, failure)
	case hook.AnswerRespond:
		if failure.Released {
			t.emit(hook.Event{Kind: event.TurnRetried, Text: PublicText(err)})
		}
		t.response.held = true
		return withFinish(d.Reply()), false
	}
	t.endBrokenStream(partial, t.attempts.failed(err, t.env.Now()))
	return message.ModelReply{}, false
}

// retryRequest prepares another attempt, after the pause that the hook and the provider ask for.
// It is false if the turn is over.
func (t *Turn) retryRequest(d hook.FailureDecision, failure message.ModelFailure) bool {
	v := d.Verdict()
	if t.attempts.made >= maxRequests {
		t.signal(hook.StopRetryLimit, v.By, PublicText(failure.Err))
		return t.fail(tooManyRequests(failure.Err))
	}
	if t.tokensUsedUp() {
		return false
	}
	t.emit(retried(d, failure))
	if !t.prepareRetry(d, failure) {
		return t.signalCancelled()
	}
	return true
}

// retried is the event that says why the model is asked again, and after which pause.
func retried(d hook.FailureDecision, failure message.ModelFailure) hook.Event {
	v := d.Verdict()
	ev := hook.Event{Kind: event.TurnRetried, Text: PublicText(failure.Err)}
	if v.Kind == hook.AnswerFallback {
		ev.Text += "; asking " + d.Model() + " instead"
	}
	return ev.WithDetail(hook.EventDetail{Answer: v.Kind, By: v.By, Duration: pauseOf(d, failure)})
}

// pauseOf is how long to wait before another attempt. What the provider asks for is a minimum.
func pauseOf(d hook.FailureDecision, failure message.ModelFailure) time.Duration {
	if d.Verdict().Kind == hook.AnswerFallback {
		return 0
	}
	return max(d.After(), failure.RetryAfter)
}

// prepareRetry waits, or changes the model of the step. It is false if the context ended.
func (t *Turn) prepareRetry(d hook.FailureDecision, failure message.ModelFailure) bool {
	if d.Verdict().Kind == hook.AnswerFallback {
		t.step = hook.NewStep(t.place, t.number, d.Model())
	}
	return pause(t.ctx, pauseOf(d, failure))
}

func tooManyRequests(err error) error { return fmt.Errorf("%w: %d: %w", ErrRetries, maxRequests, err) }

// withFinish returns a hook's reply with a finish.
func withFinish(reply message.ModelReply) message.ModelReply {
	if reply.Finish == "" {
		reply.Finish = message.FinishStop
	}
	return reply
}

// pause waits for d. It is false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
