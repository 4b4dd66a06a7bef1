package hook

import (
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Answer is the kind of answer that a decision holds.
type Answer string

// The answers. Which of them a point allows follows from the constructors of its
// decision type: an illegal answer does not compile.
const (
	AnswerNone     Answer = ""         // no opinion
	AnswerApprove  Answer = "approve"  // go on
	AnswerModify   Answer = "modify"   // go on with other arguments
	AnswerNarrow   Answer = "narrow"   // go on with a smaller grant
	AnswerContext  Answer = "context"  // go on, and tell the model something
	AnswerHint     Answer = "hint"     // go on, and heed this
	AnswerContinue Answer = "continue" // do not end yet, with feedback
	AnswerRepair   Answer = "repair"   // try with these arguments
	AnswerRename   Answer = "rename"   // try the tool of this name
	AnswerFallback Answer = "fallback" // ask this model
	AnswerRecover  Answer = "recover"  // end with this output in the error's place
	AnswerSupply   Answer = "supply"   // this is the summary, do not ask the model
	AnswerRespond  Answer = "respond"  // this is the reply, do not ask the model
	AnswerAnswer   Answer = "answer"   // this is the result, do not run the tool
	AnswerRetry    Answer = "retry"    // ask the model again, with feedback
	AnswerAsk      Answer = "ask"      // a person has to approve
	AnswerRefuse   Answer = "refuse"   // approval refused
	AnswerWithhold Answer = "withhold" // the model does not get the result
	AnswerDeny     Answer = "deny"     // the call does not run
	AnswerSkip     Answer = "skip"     // it is not done
	AnswerReject   Answer = "reject"   // the session or the turn does not begin, the step fails
	AnswerStop     Answer = "stop"     // the turn ends
)

// severity orders the answers of one point: the higher one wins, and from
// blocking on it ends a gate.
func (a Answer) severity() int {
	switch a {
	case AnswerNone:
		return 0
	case AnswerApprove, AnswerModify, AnswerNarrow, AnswerContext, AnswerHint:
		return 1
	case AnswerRespond, AnswerAnswer, AnswerRetry, AnswerSupply, AnswerContinue,
		AnswerRepair, AnswerRename, AnswerFallback, AnswerRecover:
		return 2
	case AnswerAsk, AnswerRefuse, AnswerWithhold:
		return 3
	case AnswerDeny, AnswerReject, AnswerSkip:
		return blocking
	}
	return blocking + 1
}

const blocking = 4

// Verdict is what every decision can tell.
type Verdict struct {
	// Kind is AnswerNone for no opinion.
	Kind Answer
	// Reason is what the hook said, for the model and the user.
	Reason string
	// Stop is the reason that the turn gets with AnswerStop; "" with all others.
	Stop StopReason
	// By is the path of the hook that answered, "Core.Guard".
	By string
	// Failure is set if the answer is the fail policy's, because the hook failed.
	Failure *Failure
}

// answer is what a decision with an opinion points to. It holds the payloads of
// all points: it exists only for a hook that has something to say, and one type
// keeps the rules below in one place.
type answer struct {
	Verdict
	result  message.ToolResult
	grant   Grant
	reply   message.ModelReply
	args    message.JSON
	context []string
	// text is a name, a model or an output.
	text  string
	after time.Duration
}

// decided is the core of every decision: one pointer, nil for no opinion, so
// that a silent hook costs no allocation.
type decided struct{ a *answer }

// Verdict returns kind, reason and owner of the answer.
func (d decided) Verdict() Verdict {
	if d.a == nil {
		return Verdict{}
	}
	return d.a.Verdict
}

// blocks reports whether a gate asks nobody further.
func (d decided) blocks() bool { return d.a != nil && d.a.Kind.severity() >= blocking }

// payload returns the answer, or an empty one.
func (d decided) payload() answer {
	if d.a == nil {
		return answer{}
	}
	return *d.a
}

// from returns a copy with owner in front of the path; the original may be
// shared.
func (d decided) from(owner string) decided {
	if d.a == nil {
		return d
	}
	a := *d.a
	a.By = under(owner, a.By)
	if a.Failure != nil {
		a.Failure = a.Failure.Under(owner)
	}
	return decided{&a}
}

// merge returns the more severe of both; among equals the later one if outward,
// else the earlier. Grants intersect and contexts add up either way.
func (d decided) merge(later decided, outward bool) decided {
	if d.a == nil {
		return later
	}
	if later.a == nil {
		return d
	}
	win := d
	if s, l := d.a.Kind.severity(), later.a.Kind.severity(); l > s || l == s && outward {
		win = later
	}
	a := *win.a
	a.grant = d.a.grant.Intersect(later.a.grant)
	a.context = append(d.a.context[:len(d.a.context):len(d.a.context)], later.a.context...)
	return decided{&a}
}

func say(kind Answer, reason string) decided {
	v := Verdict{Kind: kind, Reason: reason}
	if kind == AnswerStop {
		v.Stop = StopStopRequested
	}
	return decided{&answer{Verdict: v}}
}

// saying is an answer about a name, a model or an output.
func saying(kind Answer, text string) decided {
	d := say(kind, "")
	d.a.text = text
	return d
}

// first returns the earlier answer if there is one: the rule of points at which
// the first answer counts.
func (d decided) first(later decided) decided {
	if d.a == nil {
		return later
	}
	return d
}

func closed(kind Answer, f *Failure) decided {
	return decided{&answer{Verdict: Verdict{Kind: kind, Reason: f.Public(), By: f.Subsystem, Failure: f}}}
}
