package hook

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Host is what the runtime offers back to a hook, within the turn's budget,
// depth and cancellation. Its methods are safe for concurrent use.
type Host interface {
	// Emit adds an event to the stream of the place it was got from. The runtime
	// fills in sequence, time and place, and cuts a text that is longer than a tool
	// result may be. It waits, a second at most, where events are emitted faster than
	// they are taken. The host of an event never does: what OnEvent emits with it is
	// delivered after the event.
	Emit(ctx context.Context, ev Event)
	// Ask asks the people of the conversation, questions or whether a call may run,
	// and returns their answer. It blocks until there is one, the inquiry's time is over
	// (ErrUnanswered) or ctx ends, so a tool that calls it says [Tool.Waits]. Where
	// nobody can be asked, as outside a conversation, the error is ErrNoTurn.
	Ask(ctx context.Context, q Inquiry) (Response, error)
	// RunAgent runs an agent as a child of the turn that is running, and returns
	// when the child's turn has ended. The child passes the same hooks, may use no
	// tool that its parent may not, spends of the parent's limits, and ends with
	// ctx. The error is the outcome's, or says why no turn began: ErrNoTurn,
	// ErrDepth, ErrChildren, ErrUngated, or that there is no such agent. A tool that calls it says
	// [Tool.Waits].
	RunAgent(ctx context.Context, run AgentRun) (TurnOutcome, error)
	// CallModel asks a model once, apart from the history and without tools: for a
	// summary, a title, a judgement. A request without a model asks the agent's. Its
	// tokens count as the turn's, and it ends with ctx or with the turn. It passes no
	// point, so that a hook at a point may call it, and is not repeated. What of an
	// answer is longer than a tool result may be is an error, as is a call in it.
	// Outside a turn the error is ErrNoTurn; if the turn has used up its tokens,
	// ErrBudget.
	CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error)
	// Enqueue queues a job, to be done once for its kind and key. It returns when
	// the job is stored as durably as conversations are.
	Enqueue(ctx context.Context, job Job) error
	// Beside runs something that nobody waits for, and returns at once. path names the member that asks. The host calls run once, in a
	// goroutine for which the runtime waits before it closes the hook; runs of one path and one conversation come one after the other,
	// in the order in which they were handed over. run's context has the values of ctx and ends when the runtime closes and can wait no
	// longer. With it a host emits, and queues jobs; whatever needs a turn is ErrNoTurn, also while the turn still runs, and its events
	// are those of the turn as long as it does. A panic is reported as the failure of path. The error is ErrCrowded if too many runs
	// wait already, or says that the runtime is closed; then run is not called.
	Beside(ctx context.Context, path string, run func(ctx context.Context)) error
}

// Sentinels of a Host that callers test with errors.Is.
var (
	// ErrNoTurn: the host was asked for something that there is only within a turn.
	ErrNoTurn = errors.New("hook: no turn is running here")
	// ErrUnanswered: nobody answered in time.
	ErrUnanswered = errors.New("hook: nobody answered in time")
	// ErrBudget: the turn has used up its tokens.
	ErrBudget = errors.New("hook: the turn has used up its tokens")
	// ErrCrowded: too much waits to be run beside the turns of a conversation.
	ErrCrowded = errors.New("hook: too much waits to be run beside the turns of this conversation")
	// ErrDepth: agents may not run agents any deeper.
	ErrDepth = errors.New("hook: agents are running agents too deep")
	// ErrChildren: the turn and those below it have run as many agents as they may.
	ErrChildren = errors.New("hook: this turn has run as many agents as it may")
	// ErrUngated: the agent that is to be run does without a gate that the agent which
	// runs it passes.
	ErrUngated = errors.New("hook: the agent passes fewer gates")
)

// AgentRun says what a child turn is to do.
type AgentRun struct {
	// Agent is the name of the agent: a registered one, or one that the runtime
	// can find and register.
	Agent string
	Input message.Input
	// Instructions are added behind the agent's own, for this run; "" adds none.
	Instructions string
	// Tools are the public names that the child may use of those that it and its
	// parent have both; nil is all of them, empty and non-nil none.
	Tools []string
	// Call is the tool call that runs the agent, nil if none does, and Index tells
	// the runs of one call apart. Both name the child's conversation.
	Call  *ToolCall
	Index int
}

// NoHost is the host of a place that has none: nobody listens, and there is
// nobody to ask. Hosts of tests embed it.
type NoHost struct{}

var _ Host = NoHost{}

// Emit implements Host: it drops the event.
func (NoHost) Emit(context.Context, Event) {}

// Ask implements Host: ErrNoTurn.
func (NoHost) Ask(context.Context, Inquiry) (Response, error) { return Response{}, ErrNoTurn }

// RunAgent implements Host: ErrNoTurn.
func (NoHost) RunAgent(context.Context, AgentRun) (TurnOutcome, error) {
	return TurnOutcome{Stop: StopError, Err: ErrNoTurn}, ErrNoTurn
}

// CallModel implements Host: ErrNoTurn.
func (NoHost) CallModel(context.Context, message.ModelRequest) (message.ModelReply, error) {
	return message.ModelReply{}, ErrNoTurn
}

// Enqueue implements Host: ErrNoTurn.
func (NoHost) Enqueue(context.Context, Job) error { return ErrNoTurn }

// Beside implements Host: it runs at once, and is waited for.
func (NoHost) Beside(ctx context.Context, _ string, run func(context.Context)) error {
	run(context.WithoutCancel(ctx))
	return nil
}

func hostOr(h Host) Host {
	if h == nil {
		return NoHost{}
	}
	return h
}

// Failure is a hook's own failure: the error it returned or the panic that was
// recovered from it. It is what the fail policy acts on, never an answer.
type Failure struct {
	// Subsystem is the path of the field, "Core.Guard".
	Subsystem string
	Point     Point
	// Err is the returned error; for a panic, an error that holds its value.
	Err error
	// Panic says that the hook panicked; Stack is where.
	Panic bool
	Stack []byte
	// Late says that it did not answer within its timeout; it may still run.
	Late bool
}

// Error names the place and the cause. It is for operators: causes may quote
// what the hook was working on, so a model is told Public instead.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s: %v", f.Subsystem, f.Point, f.Err) }

// Public names the place without the cause.
func (f *Failure) Public() string {
	who, what := f.Subsystem, "failed"
	if who == "" {
		who = "a hook"
	}
	if f.Late {
		what = "did not answer in time"
	}
	return fmt.Sprintf("%s %s at %s", who, what, f.Point)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Under returns the failure as seen from outside the field named owner.
func (f *Failure) Under(owner string) *Failure {
	out := *f
	out.Subsystem = under(owner, f.Subsystem)
	return &out
}

// Ruling returns the answer that takes the place of the failed hook's under a closed fail policy. A stop has the stop reason error.
// AnswerNone gives no opinion.
func (f *Failure) Ruling(kind Answer) Ruling {
	if kind == AnswerNone {
		return Ruling{}
	}
	v := Verdict{Kind: kind, Reason: f.Public(), By: f.Subsystem, Failure: f}
	if kind == AnswerStop {
		v.Stop = StopError
	}
	return Ruling{&answer{Verdict: v}}
}

// Event returns the event that tells of the failure. What is written
// of it, text and JSON, leaves the cause out, which may quote secrets; [Event.Failure]
// has it.
func (f *Failure) Event() Event {
	return Event{Kind: kindHookFailed, Text: f.Public(), detail: &eventDetail{
		EventDetail: EventDetail{Subsystem: f.Subsystem, Point: f.Point}, failure: f,
	}}
}

// under joins the path of a field and a path inside it, which may be an index.
func under(owner, inner string) string {
	switch {
	case inner == "":
		return owner
	case owner == "":
		return inner
	}
	if inner[0] == '[' {
		return owner + inner
	}
	return owner + "." + inner
}
