// Package approval asks people before a tool call runs: a hook that answers at
// the point Approve with what a person says, or has said before.
//
// What has to be asked is another hook's decision (hook.AskTool). How a person is
// reached is a [Channel]'s business: a terminal, clients over a socket, a web page.
// Between the two this package has what is the same for all of them: how long to
// wait and what a silence means, what may be remembered and where, and that
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
// Each ask has a goroutine, which ends when the channel's Ask returns; a channel
// that does not return when its context ends is counted by [Approval.Abandoned] and
// waited for by OnClose. No lock is held while a channel, a file or the host is
// waited for.
package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// DefaultTimeout is how long people have for their answer.
const DefaultTimeout = 15 * time.Minute

// grace is how long a channel whose context has ended may take to return. An
// answer that it has accepted in the last moment counts.
const grace = time.Second

// Interrupted is the reason of a call that is refused because its turn ended
// before it had an answer.
const Interrupted = "The turn ended before the user answered."

// saidNo is the reason of a person who gives none.
const saidNo = "The user said no."

// Who has answered, as the last word of the path in a decision's verdict and in
// the event approval_given, where it is not the name that a channel gives.
const (
	ByRule    = "rule"    // a person, earlier
	ByTimeout = "timeout" // nobody, in time
)

// Approval answers asks. It is safe for concurrent use; New makes one.
type Approval struct {
	hook.Nop
	o Options
	// conversations are the answers that were remembered for a conversation.
	conversations hook.ConversationState[answers]
	rules         *rules

	mu     sync.Mutex
	closed bool
	// asking counts the goroutines in which channels ask, and abandoned those of them
	// that were given up.
	asking, abandoned int
	// closing is closed when the process ends, and idle when no channel asks then.
	closing, idle chan struct{}
}

var (
	_ hook.Approve = (*Approval)(nil)
	_ hook.OnClose = (*Approval)(nil)
)

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
	// Channel reaches the people. Nil is nobody: what no rule answers is refused.
	Channel Channel
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
	// Now is the clock of what requests say; nil is time.Now.
	Now func() time.Time
}

// New returns the subsystem.
func New(o *Options) *Approval {
	a := &Approval{closing: make(chan struct{}), idle: make(chan struct{})}
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
// is the channel's failure, and refuses it too.
func (a *Approval) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	r := a.request(call, asked.Verdict().Reason)
	s := a.rules.subject(call, r)
	changed := a.rules.changes() // before the rules are read, so that none is missed
	if d, ok := a.remembered(ctx, call, s); ok {
		return d, nil
	}
	if a.o.Channel == nil {
		return hook.RefuseCall(call.Name() + " needs a person's approval, and nobody can be asked here."), nil
	}
	r.Offers = s.offers()
	asking, cancel := a.deadline(ctx)
	defer cancel(nil)
	w := a.start(asking, r)
	for {
		select {
		case <-w.ended:
			return a.conclude(ctx, asking, call, s, w)
		case <-asking.Done():
			return a.conclude(ctx, asking, call, s, w)
		case <-a.closing:
			cancel(ErrClosing)
			return a.conclude(ctx, asking, call, s, w)
		case <-changed:
			changed = a.rules.changes()
			d, ok := a.remembered(ctx, call, s)
			if !ok {
				continue
			}
			cancel(ErrAnswered)
			if out, ok := w.lastMoment(); ok && out.err == nil {
				return a.answered(ctx, call, s, r, out.reply)
			}
			return d, nil
		}
	}
}

// Causes with which the context of [Channel.Ask] ends, besides that of the turn.
var (
	ErrTimeout  = errors.New("approval: nobody answered in time")
	ErrAnswered = errors.New("approval: an answer that was remembered meanwhile holds")
	ErrClosing  = errors.New("approval: the process is ending")
)

// deadline returns the context of an ask.
func (a *Approval) deadline(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	asking, cancel := context.WithCancelCause(ctx)
	if a.o.Timeout == 0 {
		return asking, cancel
	}
	asking, stop := context.WithTimeoutCause(asking, a.o.Timeout, ErrTimeout)
	return asking, func(cause error) {
		cancel(cause)
		stop()
	}
}

// conclude decides when the channel has returned, or is not waited for any more.
func (a *Approval) conclude(ctx, asking context.Context, call *hook.ToolCall, s subject, w *waiting) (hook.ApprovalDecision, error) {
	out, ok := w.lastMoment()
	switch cause := context.Cause(asking); {
	case ok && out.err == nil:
		return a.answered(ctx, call, s, w.r, out.reply)
	case ctx.Err() != nil, errors.Is(cause, ErrClosing), errors.Is(out.err, ErrClosing):
		return hook.RefuseCall(Interrupted), nil
	case errors.Is(cause, ErrTimeout):
		return a.timedOut(ctx, call, w.r), nil
	}
	return hook.ApprovalDecision{}, fmt.Errorf("ask for approval of %s: %w", w.r.Tool, out.err)
}

// timedOut does what is to be done with a call that nobody has answered in time.
func (a *Approval) timedOut(ctx context.Context, call *hook.ToolCall, r Request) hook.ApprovalDecision {
	what := "nobody answered within " + a.o.Timeout.String()
	d, then := hook.RefuseCall("N"+what[1:]+"."), ": the call is refused"
	if r.ApprovedOnTimeout {
		d, then = hook.ApproveCall(), ": the call is approved, as is done here with what nobody answers"
	}
	call.Host().Emit(ctx, hook.Event{Kind: event.ApprovalTimedOut, Text: what + then}.WithDetail(hook.EventDetail{
		CallID: r.CallID, Tool: r.Tool, Args: r.Args, Answer: d.Verdict().Kind,
	}))
	return by(ByTimeout, d)
}

// answered turns a reply into a decision, and remembers it if that was wanted.
func (a *Approval) answered(ctx context.Context, call *hook.ToolCall, s subject, r Request, reply Reply) (hook.ApprovalDecision, error) {
	if err := r.Check(reply); err != nil {
		return hook.ApprovalDecision{}, fmt.Errorf("ask for approval of %s: the channel's reply: %w", r.Tool, err)
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

func decision(r Reply) hook.ApprovalDecision {
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
	return by(ByRule, decision(Reply{Answer: found.Answer, Reason: found.Refusal})), true
}

func diagnose(ctx context.Context, call *hook.ToolCall, text string) {
	call.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: text})
}

// request is what a call is asked about; the offers are still missing.
func (a *Approval) request(call *hook.ToolCall, reason string) Request {
	r := Request{
		CallID: call.ID(), Tool: call.Name(), Args: call.Args(), Reason: reason,
		Asked: a.o.Now(), ApprovedOnTimeout: a.o.Timeout > 0 && a.o.OnTimeout == ApproveOnTimeout,
	}
	if a.o.Timeout > 0 {
		r.Expires = r.Asked.Add(a.o.Timeout)
	}
	if call.Step() != nil && call.Step().Turn() != nil {
		turn := call.Step().Turn()
		r.Agent, r.Conversation, r.Turn, r.Depth = turn.Agent().Name, turn.Root().Conversation().ID(), turn.ID(), turn.Depth()
	}
	return r
}

// OnClose refuses what still waits, and returns when no channel is asking any more.
// The error says that one still was when ctx ended.
func (a *Approval) OnClose(ctx context.Context) error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.closing)
		a.restLocked()
	}
	a.mu.Unlock()
	select {
	case <-a.idle:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-a.idle: // both
		return nil
	default:
		return fmt.Errorf("approval: a channel is still asking: %w", context.Cause(ctx))
	}
}

// restLocked tells OnClose when nobody is asking any more.
func (a *Approval) restLocked() {
	if a.closed && a.asking == 0 {
		close(a.idle)
	}
}
