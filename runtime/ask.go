package runtime

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
)

// errMaskedArgs: see checkMasked.
var errMaskedArgs = errors.New("runtime: the arguments of the call have a secret that is masked: approve this one call as it is, or refuse it; it can be neither modified nor remembered")

// Request waits for an answer: of a person to questions or to a tool call that needs approval,
// or of a client to a call that it runs.
type Request = human.Request

// Ask implements hook.Host. A request for approval has no event of its own: those of the
// call announce it.
func (h *host) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	t := h.inTurn(ctx)
	if t == nil {
		return hook.Response{}, hook.ErrNoTurn
	}
	defer t.InHost()()
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

// questionGiven returns the event of the end of an inquiry.
func questionGiven(q hook.Inquiry, a human.Answer, err error) hook.Event {
	given := hook.Event{Kind: event.QuestionGiven}
	switch {
	case errors.Is(err, hook.ErrUnanswered):
		given.Text = "nobody answered in time"
	case err != nil:
		given.Text = "the agent stopped waiting before anybody answered"
	}
	return given.WithDetail(hook.EventDetail{Inquiry: q, Response: a.Response, By: a.By})
}

// Pending returns the requests that wait for an answer, the oldest first. It does not
// wait: the request of an event approval_asked may not be pending yet. See
// [Runtime.AwaitPending].
//
// With Events.Mask the questions and requests for approval are masked. The call of a client is not:
// the client runs it.
func (r *Runtime) Pending() []Request {
	all := r.requests.Pending()
	for i := range all {
		if r.o.Events.Mask != nil && all[i].Call == nil {
			all[i].Inquiry = r.o.Events.Mask.Inquiry(all[i].Inquiry)
		}
	}
	return all
}

// AwaitPending waits until Pending has the requests for approval of all events
// approval_asked that the conversation has emitted; "" is every conversation. A call that
// needs no person's answer after all makes no request. A hook or an observer must not
// call AwaitPending while it handles such an event, because the call waits for it. The
// error is the cause of ctx.
func (r *Runtime) AwaitPending(ctx context.Context, conversation string) error {
	return r.requests.AwaitExpected(ctx, conversation)
}

// Answer answers a request of a conversation; by names the person. The id alone, with
// conversation "", finds a request for approval.
//
// While a turn of the conversation runs, an answer may come before its questions: a
// client that has seen the tool call need not wait until it asks. Such an answer is
// checked when the questions come. If it does not fit them, it is dropped, and the
// request waits for another one.
//
// The error is ErrRequestUnknown if there is no such request and none can come,
// ErrAnswered if the request has an answer or has ended, and otherwise says why the
// answer does not fit.
func (r *Runtime) Answer(conversation, id, by string, response hook.Response) error {
	if err := r.checkMasked(conversation, id, response); err != nil {
		return err
	}
	early := r.runs(conversation)
	return r.requests.Answer(human.Key{Conversation: conversation, ID: id}, human.Answer{Response: response, By: by, At: r.o.Now()}, early)
}

// checkMasked returns an error if the answer would need arguments that the person has seen only
// masked: it changes them, or has them remembered.
func (r *Runtime) checkMasked(conversation, id string, response hook.Response) error {
	a := response.Approval
	if r.o.Events.Mask == nil || a == nil || a.Answer != hook.AnswerModify && a.Remember == "" {
		return nil
	}
	for _, q := range r.requests.Pending() {
		if q.ID == id && q.Approval != nil && (conversation == "" || q.Conversation == conversation) && r.o.Events.Mask.JSON(q.Approval.Args) != q.Approval.Args {
			return errMaskedArgs
		}
	}
	return nil
}

// AnswerCall brings the result of a call that a client runs ([TurnOptions].ClientTools).
// [Runtime.Pending] and the event client_call have such calls. The result is cut to size as that
// of any tool, its trust is external, and its Failure says whether it failed. It is stored with
// the step of the turn: if the process dies before that, the call waits again when the turn is resumed.
//
// While a turn of the conversation runs, the result may come before the call waits: a client that
// has seen call_start need not wait for client_call. It counts once the gates have let the call
// pass. The error is ErrRequestUnknown if no such call waits and none can come, and ErrAnswered
// if the call has a result or its time is over.
func (r *Runtime) AnswerCall(conversation, call string, result message.ToolResult) error {
	if conversation == "" { // ids are those of models, and those of several conversations may be equal
		return ErrRequestUnknown
	}
	return r.requests.Answer(human.Key{Conversation: conversation, ID: call}, human.Answer{Result: &result}, r.runs(conversation))
}

// runs reports whether a turn of the conversation runs in this process. What children ask is asked in the conversation that people see.
func (r *Runtime) runs(conversation string) bool {
	for _, a := range r.all() {
		for _, c := range a.all() {
			if c.ID() == conversation && c.parent == "" && c.thread.Current() != nil {
				return true
			}
		}
	}
	return false
}
