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
)

// maxRetries is how often the hooks may ask for another reply in one step, at
// whatever point: so a step asks a model four times at most.
const maxRetries = 3

// attempts are the model calls of one step.
type attempts struct {
	// made is their number, and began when the first of them did.
	made  int
	began time.Time
	// retries is how many of them a hook has asked for.
	retries int
}

// add counts a model call that is about to be made.
func (a *attempts) add(now time.Time) {
	if a.made == 0 {
		a.began = now
	}
	a.made++
}

// retry counts one more, if there may be one.
func (a *attempts) retry() bool {
	if a.retries == maxRetries {
		return false
	}
	a.retries++
	return true
}

// retryReply drops a reply because a hook wants another one, and tells the model why.
// False if there have been as many as there may be: then the turn has failed.
func (t *Turn) retryReply(v hook.Verdict) bool {
	t.emit(hook.Event{Kind: event.TurnRetried, Text: v.Reason})
	if !t.attempts.retry() {
		t.signal(hook.StopRetryLimit, v.By, v.Reason)
		return t.fail(fmt.Errorf("%w: %d: %s", ErrRetries, maxRetries, v.Reason))
	}
	t.history.addEphemeral("feedback", v.Reason)
	return true
}

// askModelError asks OnModelError what to do about a model call that has failed. It is
// not asked where the turn is cancelled, nor about a hook's own failure: the step
// fails of that.
func (t *Turn) askModelError(model string, err error) (hook.FailureDecision, message.ModelFailure) {
	var own *hook.Failure
	if !t.hooks.Has(point.OnModelError) || t.ctx.Err() != nil || errors.As(err, &own) {
		return hook.FailureDecision{}, message.ModelFailure{}
	}
	class, after := provider.Classify(err)
	failure := message.ModelFailure{
		Class: class, Err: err, Model: model, Attempt: t.attempts.made,
		Elapsed: t.env.Now().Sub(t.attempts.began), RetryAfter: after, Released: t.response.shown,
	}
	t.enterForeign(point.OnModelError)
	d, _ := t.hooks.OnModelError(t.ctx, t.step, failure)
	return exitForeignDecided(t.ctx, t, d), failure
}

// handleModelError does what OnModelError says of a failed call. again: the model is to be
// asked once more. Without that the reply is the hook's, if it has a finish;
// otherwise the turn is over.
func (t *Turn) handleModelError(req message.ModelRequest, partial message.ModelReply, err error) (reply message.ModelReply, again bool) {
	if t.hooks.Has(point.OnModelError) {
		t.updatePlace()
	}
	d, failure := t.askModelError(req.Model, err)
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
	t.endBrokenStream(partial, err)
	return message.ModelReply{}, false
}

// retryRequest makes the step ready for another attempt, after the pause that the
// answer and the provider want. False if the turn is over.
func (t *Turn) retryRequest(d hook.FailureDecision, failure message.ModelFailure) bool {
	v := d.Verdict()
	if !t.attempts.retry() {
		t.signal(hook.StopRetryLimit, v.By, PublicText(failure.Err))
		return t.fail(tooManyRetries(failure.Err))
	}
	t.emit(hook.Event{Kind: event.TurnRetried, Text: PublicText(failure.Err)})
	if !t.prepareRetry(d, failure) {
		return t.signalCancelled()
	}
	return true
}

// prepareRetry waits, or changes the model of the step. False if the context ended.
func (t *Turn) prepareRetry(d hook.FailureDecision, failure message.ModelFailure) bool {
	if d.Verdict().Kind == hook.AnswerFallback {
		t.step = hook.NewStep(t.place, t.number, d.Model())
		return t.ctx.Err() == nil
	}
	return pause(t.ctx, max(d.After(), failure.RetryAfter))
}

func tooManyRetries(err error) error { return fmt.Errorf("%w: %d: %w", ErrRetries, maxRetries, err) }

// withFinish is a reply of a hook, which may have left out what a model always says.
func withFinish(reply message.ModelReply) message.ModelReply {
	if reply.Finish == "" {
		reply.Finish = message.FinishStop
	}
	return reply
}

// pause waits for so long; false if ctx ends before.
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
