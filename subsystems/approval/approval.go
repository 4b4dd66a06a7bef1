// Package approval asks people before a tool call runs: a hook that decides at the
// point Approve with a person's answer, now or remembered.
//
// Another hook decides which calls need approval (hook.AskTool). The host
// ([hook.Host]) reaches the person: on a terminal, by clients over a socket, on a web
// page. This package decides the rest: how long to wait and what happens after that,
// which answers are remembered and where. Every failure refuses the call.
//
// The package is not a policy. A rule here is a person's answer to one call, kept for
// further calls that the answer covers.
//
// # What is remembered
//
// An answer is remembered only if the person chose one of the request's offers. Each
// offer is a sentence that says which calls it covers: exactly this call; for a tool
// that writes files, any call for this file or for the files below its folder; for a
// tool that neither destroys nor runs commands, any call. A rule covers the calls of
// its sentence and no others: see the README. A modification counts for one call.
//
// # Goroutines
//
// While Approve waits for a person, a goroutine watches for a remembered answer from
// elsewhere; Approve waits for its end. No lock is held during calls of the host or of
// the file system.
package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// DefaultTimeout is how long people have for their answer.
const DefaultTimeout = 15 * time.Minute

// Interrupted is the reason for the refusal of a call whose turn ended before the answer.
const Interrupted = "The turn ended before the user answered."

// saidNo is the reason if the person gives none.
const saidNo = "The user said no."

// Approval answers asks. It is safe for concurrent use; New makes one.
type Approval struct {
	hook.Nop
	o Options
	// conversations has the answers that count for one conversation.
	conversations hook.ConversationState[answers]
	rules         *rules
}

var (
	_ hook.Approve    = (*Approval)(nil)
	_ hook.BeforeTurn = (*Approval)(nil)
)

// TimeoutAction decides about calls without an answer in time.
type TimeoutAction uint8

// The timeout actions.
const (
	// RefuseOnTimeout is the default.
	RefuseOnTimeout TimeoutAction = iota
	// ApproveOnTimeout runs calls that no person has seen. It is dangerous: an agent
	// that keeps people busy, or asks while they sleep, may do anything.
	ApproveOnTimeout
)

// Options are the settings of an [Approval]; nil is all zero values.
type Options struct {
	// Timeout is how long to wait for an answer; 0 is DefaultTimeout, negative waits
	// until the turn ends.
	Timeout time.Duration
	// OnTimeout decides about calls without an answer after Timeout.
	OnTimeout TimeoutAction
	// Store keeps the rules that outlive the process; [Dir] is one in files. Nil: answers can be
	// remembered for a conversation only.
	Store Store
	// Project is the absolute path, without symbolic links, of the directory in which
	// the tools work. Rules in Store count for their project only. With "" there are no
	// offers about files.
	Project string
	// Examine returns what a person should know of a call beyond its arguments. It is called
	// once for each Approve, also concurrently, and may read files; nil is nothing.
	Examine func(call *hook.ToolCall) Examined
	// Now is the clock for remembered answers; nil is time.Now.
	Now func() time.Time
}

// Examined is what is known of a call beyond its arguments.
type Examined struct {
	// Reaches are sentences about what the call would touch, without full stops.
	Reaches []string
	// Part is the part of the call that the reason is about. It counts only if the reason
	// quotes it, because another hook may be the one that asks.
	Part string
	// Rule names a class of calls that the call is in; calls with the same rule are in the same
	// class. It is offered only if Reason is why the call needs approval. "" is none. Examine
	// must judge each call by itself: a call is covered if and only if it has the rule.
	Rule string
	// Reason is why the examiner itself would ask.
	Reason string
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
	a.rules = newRules(a.o.Store, a.o.Project, &a.conversations)
	return a
}

// States implements hook.Stateful.
func (a *Approval) States() map[string]hook.State {
	return map[string]hook.State{"conversations": &a.conversations}
}

// Approve decides with a rule, or with a person's answer. It blocks until there is an
// answer, or until the timeout. The end of ctx refuses the call. The error is a failure
// of the host, and refuses the call, too.
func (a *Approval) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	reason := asked.Verdict().Reason
	var known Examined
	if a.o.Examine != nil {
		known = a.o.Examine(call)
	}
	s := a.rules.subject(call, reason)
	if known.Reason == reason {
		s.rule = known.Rule
	}
	changed := a.rules.changes() // before the rules are read, so that none is missed
	if d, ok := a.remembered(ctx, call, s); ok {
		return d, nil
	}
	q := a.inquiry(call, reason, known, s)
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

// inquiry returns the request to the person. Its id is random, so that no client can
// answer it before it was shown, nor answer a request from before a restart.
func (a *Approval) inquiry(call *hook.ToolCall, reason string, known Examined, s subject) hook.Inquiry {
	if !strings.Contains(reason, strconv.Quote(known.Part)) {
		known.Part = ""
	}
	return hook.Inquiry{ID: rand.Text(), Timeout: a.o.Timeout, Approval: &hook.ApprovalRequest{
		CallID: call.ID(), Tool: call.Name(), Args: call.Args(), Reason: reason, Part: known.Part, Grant: call.Grant(),
		Reaches: message.Freeze(known.Reaches), Remarks: message.Freeze(remarks(call.Args())), Offers: s.offers(),
		ApprovedOnTimeout: a.o.Timeout > 0 && a.o.OnTimeout == ApproveOnTimeout,
	}}
}

// untilRemembered returns a context that also ends when an answer to another call is
// remembered that covers this one. stop ends the context and returns that answer.
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

// timedOut decides about a call without an answer in time.
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

// answered turns a response into a decision, and remembers it if the person chose so.
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

// remembered returns the decision of a rule. It reports a rule that it cannot read, and
// then returns no decision.
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
