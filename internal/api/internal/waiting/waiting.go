// Package waiting describes for clients what turns wait for: approvals, answers to questions, and results of calls that
// clients run. The lists of several nodes are joined here too.
package waiting

import (
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/runtime"
)

// Asks returns the calls of a conversation that wait for approval, the oldest first; "" is all conversations. others are those of other
// nodes. confined says what the sandbox would let a call do; nil says nothing.
func Asks(pending []runtime.Request, conversation string, others map[string]wire.Asks, confined func(*hook.ApprovalRequest) []string) []wire.Ask {
	out := []wire.Ask{}
	for _, q := range of(pending, conversation) {
		if q.Approval != nil {
			w := askOf(q)
			if confined != nil {
				w.Sandbox = confined(q.Approval)
			}
			out = append(out, w)
		}
	}
	for _, o := range others {
		out = append(out, o.Asks...)
	}
	slices.SortStableFunc(out, func(a, b wire.Ask) int { return a.Asked.Compare(b.Asked) })
	return out
}

func askOf(q runtime.Request) wire.Ask {
	r := q.Approval
	w := wire.Ask{
		ID: q.ID, Agent: q.Agent, Conversation: q.Conversation, Turn: q.Turn, Depth: q.Depth, CallID: r.CallID,
		Tool: r.Tool, Args: r.Args, Rounded: rounded(string(r.Args)), Masked: r.Masked,
		Shown: screen.Members(string(r.Args)).String(), Reason: r.Reason, Part: r.Part, Reaches: r.Reaches.Slice(), Remarks: r.Remarks.Slice(),
		Grant: r.Grant, Asked: q.Asked.UTC(), Expires: q.Expires().UTC(), ApprovedOnTimeout: r.ApprovedOnTimeout,
	}
	for _, o := range r.Offers.All() {
		w.Offers = append(w.Offers, wire.Offer(o))
	}
	return w
}

// Inquiries is Asks for questions.
func Inquiries(pending []runtime.Request, conversation string, others map[string]wire.Inquiries) []wire.Inquiry {
	out := []wire.Inquiry{}
	for _, q := range of(pending, conversation) {
		if q.Approval == nil && q.Call == nil {
			out = append(out, wire.Inquiry{
				ID: q.ID, Agent: q.Agent, Conversation: q.Conversation, Turn: q.Turn,
				Questions: q.Questions, Asked: q.Asked.UTC(), Expires: expires(q),
			})
		}
	}
	for _, o := range others {
		out = append(out, o.Inquiries...)
	}
	slices.SortStableFunc(out, func(a, b wire.Inquiry) int { return a.Asked.Compare(b.Asked) })
	return out
}

// Calls is Asks for calls that clients run.
func Calls(pending []runtime.Request, conversation string, others map[string]wire.Calls) []wire.Call {
	out := []wire.Call{}
	for _, q := range of(pending, conversation) {
		if q.Call != nil {
			out = append(out, wire.Call{
				ID: q.ID, Agent: q.Agent, Conversation: q.Conversation, Turn: q.Turn,
				Tool: q.Call.Tool, Args: q.Call.Args, Asked: q.Asked.UTC(), Expires: expires(q),
			})
		}
	}
	for _, o := range others {
		out = append(out, o.Calls...)
	}
	slices.SortStableFunc(out, func(a, b wire.Call) int { return a.Asked.Compare(b.Asked) })
	return out
}

func of(pending []runtime.Request, conversation string) []runtime.Request {
	return slices.DeleteFunc(pending, func(q runtime.Request) bool { return conversation != "" && q.Conversation != conversation })
}

// expires returns when nobody waits any more; zero is never.
func expires(q runtime.Request) time.Time {
	if at := q.Expires(); !at.IsZero() {
		return at.UTC()
	}
	return time.Time{}
}
