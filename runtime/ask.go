package runtime

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
)

// Request is what waits for a person's answer: questions of an agent, or a tool call
// that needs approval.
type Request = human.Request

// Ask implements hook.Host. The events of a call tell that it needs approval, so
// that such a request has no event of its own.
func (h *host) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	t := h.inTurn(ctx)
	if t == nil {
		return hook.Response{}, hook.ErrNoTurn
	}
	listed, asked := func() {}, false
	if q.Approval == nil {
		listed = func() {
			asked = true
			h.emit(ctx, hook.Event{Kind: event.QuestionAsked}.WithDetail(hook.EventDetail{Inquiry: q}))
		}
	}
	a, err := h.rt.requests.Ask(ctx, Request{
		Inquiry: q, Conversation: h.log.Top().Conversation(), Agent: h.log.Agent(), Turn: t.ID(), Depth: t.Depth(), Asked: h.rt.o.Now(),
	}, listed)
	if asked {
		h.emit(context.WithoutCancel(ctx), questionGiven(q, a, err))
	}
	return a.Response, err
}

// questionGiven is the event that tells how an inquiry has ended.
func questionGiven(q hook.Inquiry, a human.Answer, err error) hook.Event {
	given := hook.Event{Kind: event.QuestionGiven}
	switch {
	case errors.Is(err, hook.ErrUnanswered):
		given.Text = "nobody answered in time"
	case err != nil:
		given.Text = "nobody waits for an answer any more"
	}
	return given.WithDetail(hook.EventDetail{Inquiry: q, Response: a.Response, By: a.By})
}

// Pending returns the requests that wait for an answer, the oldest first. It does not
// wait: a call that approval_asked has told of may still be about to ask; see
// AwaitPending.
func (r *Runtime) Pending() []Request { return r.requests.Pending() }

// AwaitPending waits until Pending has the requests for approval that the events
// approval_asked of the conversation have told of so far, "" is every conversation. A
// call that is approved or refused without a person's help makes none. It must not
// be called by a hook or an observer while it is told of that event, for which the
// call waits. The error is the cause of ctx.
func (r *Runtime) AwaitPending(ctx context.Context, conversation string) error {
	return r.requests.AwaitExpected(ctx, conversation)
}

// Answer answers a request of a conversation; by names who answers. A request for
// approval can also be found by its id alone, with conversation "".
//
// An answer to questions may come before they are put, as long as a turn of the
// conversation runs: a client that has seen the call which will ask need not wait.
// Such an answer is checked when the questions are put; one that does not fit is
// dropped then, and another one is waited for.
//
// The error is ErrRequestUnknown if nobody asks that and nobody is about to,
// ErrAnswered if somebody has answered or nobody waits any more; otherwise it says
// what does not fit the request.
func (r *Runtime) Answer(conversation, id, by string, response hook.Response) error {
	early := r.runs(conversation)
	return r.requests.Answer(human.Key{Conversation: conversation, ID: id}, human.Answer{Response: response, By: by}, early)
}

// runs reports whether a turn of the conversation is running here.
func (r *Runtime) runs(conversation string) bool {
	for _, a := range r.all() {
		for _, c := range a.all() {
			if c.ID() == conversation && c.thread.Current() != nil {
				return true
			}
		}
	}
	return false
}
