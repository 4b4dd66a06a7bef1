// Package approval asks people before a tool call runs: a hook that answers at
// the point Approve with what a person says, or has said before.
//
// What has to be asked is another hook's decision (hook.AskTool). How a person is
// reached is the host's business ([hook.Host]): a terminal, clients over a socket, a
// web page. Between the two this package has what is the same for all of them: how
// long to wait and what a silence means, what may be remembered and where, and that
// everything which goes wrong is a refusal.
//
// It is no policy. A rule here is an answer that a person gave to a call that was
// shown, kept for calls which that answer covers too.
//
// # What is remembered
//
// An answer is remembered only if the person chose one of the offers that came with
// the request, each a sentence that says all of what it covers: exactly this call;
// any call for a file, or for the files below its folder, of a tool that writes
// files; any call of a tool that neither destroys nor runs a command. A rule covers what its sentence
// says and nothing else: see the README. A modification is for its one call.
//
// # Goroutines
//
// While a person is asked, a goroutine watches for an answer that is remembered
// meanwhile; Approve waits for its end. No lock is held while a file or the host is
// waited for.
package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// DefaultTimeout is how long people have for their answer.
const DefaultTimeout = 15 * time.Minute

// Interrupted is the reason of a call that is refused because its turn ended
// before it had an answer.
const Interrupted = "The turn ended before the user answered."

// saidNo is the reason of a person who gives none.
const saidNo = "The user said no."

// Approval answers asks. It is safe for concurrent use; New makes one.
type Approval struct {
	hook.Nop
	o Options
	// conversations are the answers that were remembered for a conversation.
	conversations hook.ConversationState[answers]
	rules         *rules
}

var _ hook.Approve = (*Approval)(nil)

// TimeoutAction is what becomes of a call that nobody has answered in time.
type TimeoutAction uint8

// The timeout actions.
const (
	// RefuseOnTimeout is the default.
	RefuseOnTimeout TimeoutAction = iota
	// ApproveOnTimeout lets calls run that nobody has looked at. It is dangerous:
	// who can keep people busy, or asks while they sleep, may do everything.
	ApproveOnTimeout
)

// Options are the settings of an [Approval]; nil is all zero values.
type Options struct {
	// Timeout is how long to wait for an answer; 0 is DefaultTimeout, negative waits
	// as long as the turn goes on.
	Timeout time.Duration
	// OnTimeout is what happens then.
	OnTimeout TimeoutAction
	// Dir is the directory of the rules that outlive the process, made when the
	// first one is written. "" keeps none: answers can be remembered for a
	// conversation only.
	Dir string
	// Project is the absolute path of the directory that the tools work in, without
	// symbolic links. Rules in Dir belong to it and count nowhere else. "" offers
	// nothing that is about files.
	Project string
	// Now is the clock of what is remembered; nil is time.Now.
	Now func() time.Time
}

// New returns the subsystem.
func New(o *Options) *Approval {
	a := &Approval{}
	if o != nil {
		a.o = *o
	}
	a.o.Timeout = max(cmp.Or(a.o.Timeout, DefaultTimeout), 0)
	if a.o.Now == nil {
		a.o.Now = time.Now
	}
	a.rules = newRules(a.o.Dir, a.o.Project, &a.conversations)
	return a
}

// States implements hook.Stateful.
func (a *Approval) States() map[string]hook.State {
	return map[string]hook.State{"conversations": &a.conversations}
}

// Approve answers with a rule, or with what a person says. It blocks until there is
// an answer, the time for it is over, or ctx ends, which refuses the call. The error
// is the host's failure, and refuses it too.
func (a *Approval) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	reason := asked.Verdict().Reason
	s := a.rules.subject(call, reason)
	changed := a.rules.changes() // before the rules are read, so that none is missed
	if d, ok := a.remembered(ctx, call, s); ok {
		return d, nil
	}
	q := a.inquiry(call, reason, s)
	asking, stop := a.untilRemembered(ctx, call, s, changed)
	r, err := call.Host().Ask(asking, q)
	d, found := stop()
	switch {
	case err == nil:
		return a.answered(ctx, call, s, *q.Approval, r)
	case ctx.Err() != nil:
		return hook.RefuseCall(Interrupted), nil
	case found:
		return d, nil
	case errors.Is(err, hook.ErrUnanswered):
		return a.timedOut(ctx, call, *q.Approval), nil
	case errors.Is(err, hook.ErrNoTurn):
		return hook.RefuseCall(call.Name() + " needs a person's approval, and nobody can be asked here."), nil
	}
	return hook.ApprovalDecision{}, fmt.Errorf("ask for approval of %s: %w", call.Name(), err)
}

// inquiry is what a person is asked about the call. Its id is drawn at random, so
// that nobody answers before the call was shown, nor after a restart what was shown
// before.
func (a *Approval) inquiry(call *hook.ToolCall, reason string, s subject) hook.Inquiry {
	return hook.Inquiry{ID: rand.Text(), Timeout: a.o.Timeout, Approval: &hook.ApprovalRequest{
		CallID: call.ID(), Tool: call.Name(), Args: call.Args(), Reason: reason, Offers: s.offers(),
		ApprovedOnTimeout: a.o.Timeout > 0 && a.o.OnTimeout == ApproveOnTimeout,
	}}
}

// untilRemembered returns a context that also ends when an answer is remembered that
// covers the call. stop ends it and returns that answer.
func (a *Approval) untilRemembered(ctx context.Context, call *hook.ToolCall, s subject, changed <-chan struct{}) (
	asking context.Context, stop func() (d hook.ApprovalDecision, found bool)) {
	asking, cancel := context.WithCancel(ctx)
	var d hook.ApprovalDecision
	found := false
	var watching conc.WaitGroup
	watching.Go(func() {
		defer cancel()
		for !found {
			select {
			case <-changed:
			case <-asking.Done():
				return
			}
			changed = a.rules.changes()
			d, found = a.remembered(ctx, call, s)
		}
	})
	return asking, func() (hook.ApprovalDecision, bool) {
		cancel()
		watching.Wait()
		return d, found
	}
}

// timedOut decides about a call that nobody has answered in time.
func (a *Approval) timedOut(ctx context.Context, call *hook.ToolCall, r hook.ApprovalRequest) hook.ApprovalDecision {
	what := "nobody answered within " + a.o.Timeout.String()
	d, then := hook.RefuseCall("N"+what[1:]+"."), ": the call is refused"
	if r.ApprovedOnTimeout {
		d, then = hook.ApproveCall(), ": the call is approved, as is done here with what nobody answers"
	}
	call.Host().Emit(ctx, hook.Event{Kind: event.ApprovalTimedOut, Text: what + then}.WithDetail(hook.EventDetail{
		CallID: r.CallID, Tool: r.Tool, Args: r.Args, Answer: d.Verdict().Kind,
	}))
	return by(hook.ByTimeout, d)
}

// answered turns a response into a decision, and remembers it if that was wanted.
func (a *Approval) answered(ctx context.Context, call *hook.ToolCall, s subject, r hook.ApprovalRequest, given hook.Response) (hook.ApprovalDecision, error) {
	var reply hook.ApprovalReply
	if given.Approval != nil {
		reply = *given.Approval
	}
	if err := r.Check(reply); err != nil {
		return hook.ApprovalDecision{}, fmt.Errorf("ask for approval of %s: the host's reply: %w", r.Tool, err)
	}
	if reply.Remember != "" {
		if err := a.rules.remember(s, reply, a.o.Now()); err != nil {
			diagnose(ctx, call, "the answer counts, but could not be remembered: "+err.Error())
		}
	}
	return by(reply.By, decision(reply)), nil
}

// by returns the decision with its author.
func by(who string, d hook.ApprovalDecision) hook.ApprovalDecision {
	return hook.ApprovalDecision{Ruling: d.Under(who)}
}

func decision(r hook.ApprovalReply) hook.ApprovalDecision {
	switch r.Answer {
	case hook.AnswerApprove:
		return hook.ApproveCall()
	case hook.AnswerModify:
		return hook.ModifyCall(r.Args)
	}
	return hook.RefuseCall(cmp.Or(r.Reason, saidNo))
}

// remembered is the answer of a rule. What is wrong with one is told, and then it
// answers nothing.
func (a *Approval) remembered(ctx context.Context, call *hook.ToolCall, s subject) (hook.ApprovalDecision, bool) {
	found, ok, err := a.rules.find(s)
	if err != nil {
		diagnose(ctx, call, err.Error())
	}
	if !ok {
		return hook.ApprovalDecision{}, false
	}
	return by(hook.ByRule, decision(hook.ApprovalReply{Answer: found.Answer, Reason: found.Refusal})), true
}

func diagnose(ctx context.Context, call *hook.ToolCall, text string) {
	call.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: text})
}
