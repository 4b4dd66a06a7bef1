package remote

import (
	"context"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

// asker puts the asks of one conversation to the person at the terminal.
type asker struct {
	d            *client.Client
	approver     *term.Approver
	conversation string
	note         func(text string)
	// asking are the questions under way.
	asking map[asked]*question
}

// asked is the call that a question is about, as ids of calls are unique within a
// turn, or an inquiry.
type asked struct{ turn, call, inquiry string }

// question is one ask that the person is thinking about.
type question struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// observe asks when an event says that somebody has to, and takes the question
// back when it has its answer from elsewhere.
func (a *asker) observe(ctx context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.ApprovalAsked:
		a.pending(ctx, asked{turn: ev.Turn, call: ev.Detail().CallID})
	case event.ApprovalGiven:
		a.end(asked{turn: ev.Turn, call: ev.Detail().CallID})
	case event.QuestionAsked:
		a.inquire(ctx, ev.Agent, ev.Detail().Inquiry)
	case event.QuestionGiven:
		a.end(asked{inquiry: ev.Detail().Inquiry.ID})
	}
}

// pending asks about the call, the zero asked for every one that waits.
func (a *asker) pending(ctx context.Context, about asked) {
	if about == (asked{}) {
		inquiries, err := a.d.Inquiries(ctx, a.conversation)
		if err != nil {
			return // the stream says what became of the daemon
		}
		for _, q := range inquiries {
			a.inquire(ctx, q.Agent, hook.Inquiry{ID: q.ID, Questions: q.Questions})
		}
	}
	asks, err := a.d.Asks(ctx, a.conversation)
	if err != nil {
		return
	}
	for _, ask := range asks {
		key := asked{turn: ask.Turn, call: ask.CallID}
		if a.asking[key] == nil && (about == asked{} || key == about) {
			a.ask(ctx, key, ask)
		}
	}
}

// begin runs put until it returns or the question is taken back.
func (a *asker) begin(ctx context.Context, key asked, put func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	q := &question{cancel: cancel, done: make(chan struct{})}
	a.asking[key] = q
	go func() {
		defer close(q.done)
		put(ctx)
	}()
}

func (a *asker) inquire(ctx context.Context, agent string, q hook.Inquiry) {
	key := asked{inquiry: q.ID}
	if a.asking[key] != nil {
		return
	}
	a.begin(ctx, key, func(ctx context.Context) {
		r, by, ok := a.answer(ctx, term.Request{Agent: agent, Inquiry: q})
		if ok {
			a.taken(a.d.Reply(ctx, q.ID, wire.Reply{Conversation: a.conversation, By: by, Given: wire.GivenOf(r)}))
		}
	})
}

func (a *asker) ask(ctx context.Context, key asked, ask wire.Ask) {
	a.begin(ctx, key, func(ctx context.Context) {
		r, by, ok := a.answer(ctx, requestOf(ask))
		if !ok {
			return
		}
		reply := r.Approval
		a.taken(a.d.Answer(ctx, ask.ID, wire.Answer{
			Answer: wire.AnswerKind(reply.Answer), Args: reply.Args, Reason: reply.Reason, Remember: reply.Remember, By: by,
		}))
	})
}

// taken tells the person of an answer that the daemon does not take from them. One that comes too late is no error: the stream shows what
// holds.
func (a *asker) taken(err error) {
	if client.CodeOf(err) == wire.CodeForbidden {
		a.note("the answer was not taken: " + err.Error() + "; the turn waits for somebody who may answer")
	}
}

// answer asks the person; ok is false if the request was answered elsewhere, or the
// turn is being cancelled.
func (a *asker) answer(ctx context.Context, r term.Request) (answer hook.Response, by string, ok bool) {
	answer, by, err := a.approver.Inquire(ctx, r)
	if err != nil {
		answer, by = term.Unasked(r.Inquiry), term.ByNobody
	}
	return answer, by, ctx.Err() == nil
}

// requestOf is the ask as the person at the terminal gets it.
func requestOf(ask wire.Ask) term.Request {
	offers := make([]hook.Offer, len(ask.Offers))
	for i, o := range ask.Offers {
		offers[i] = hook.Offer(o)
	}
	return term.Request{Agent: ask.Agent, Depth: ask.Depth, Expires: ask.Expires, Inquiry: hook.Inquiry{
		ID: ask.ID, Approval: &hook.ApprovalRequest{
			CallID: ask.CallID, Tool: ask.Tool, Args: ask.Args, Masked: ask.Masked, Reason: ask.Reason, Part: ask.Part, Grant: ask.Grant,
			ApprovedOnTimeout: ask.ApprovedOnTimeout,
			Reaches:           message.Freeze(ask.Reaches), Remarks: message.Freeze(ask.Remarks), Offers: message.Freeze(offers),
		},
	}}
}

// end takes the question about the call back, the zero asked all of them.
func (a *asker) end(about asked) {
	for key, q := range a.asking {
		if about == (asked{}) || key == about {
			q.cancel()
			<-q.done
			delete(a.asking, key)
		}
	}
}
