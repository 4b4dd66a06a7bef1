package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Host is the runtime's services for hooks, within the turn's budget, depth and
// cancellation. Its methods are safe for concurrent use.
type Host interface {
	// Emit adds an event to the stream of the place whose Host method returned this
	// host. The runtime fills in sequence, time and place, and cuts a text that is
	// longer than the limit of a tool result. If the event queue is full, Emit waits for
	// at most a second. The host of an event never waits: it delivers the event after
	// the one that OnEvent handles.
	Emit(ctx context.Context, ev Event)
	// Ask puts questions to the people of the conversation, or asks them whether a call
	// may run, and returns their answer. It blocks until they answer, the inquiry's
	// timeout passes (ErrUnanswered) or ctx ends; a tool that calls it declares
	// [message.Tool].Waits. Where there is nobody to ask, as outside a conversation, the
	// error is ErrNoTurn.
	Ask(ctx context.Context, q Inquiry) (Response, error)
	// RunAgent runs an agent as a child of the running turn, and returns when the
	// child's turn has ended. The child passes the same hooks, may use only tools
	// that its parent may use, spends from the parent's limits, and ends with ctx.
	// The error is the outcome's, or says why no turn began: ErrNoTurn, ErrDepth,
	// ErrChildren, ErrUngated, or an unknown agent. A tool that calls it declares
	// [message.Tool].Waits.
	RunAgent(ctx context.Context, run AgentRun) (TurnOutcome, error)
	// CallModel asks a model once, without history and tools: for a summary, a title,
	// a judgement. A request without a model goes to the agent's. Its tokens count as
	// the turn's, and it ends with ctx or with the turn. It passes no point but
	// OnModelError, which may retry it, and which sees a turn whose input has the label
	// message.LabelModelCall; a call from within OnModelError does not pass it again, so that
	// hooks cannot call each other without end. An answer that is longer than
	// the limit of a tool result, or that calls a tool, is an error. Outside a turn the
	// error is ErrNoTurn; if the turn may use no more tokens or money, ErrBudget.
	//
	// The host of a queued job asks a model too, until the attempt ends. An attempt has the
	// limits of one turn of the agent whose conversation queued the job, and its tokens count
	// as that agent's. It passes no point: the job is retried instead.
	CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error)
	// Compact replaces older turns of the conversation by a summary, for a hook that sees
	// that the model's window is nearly full. Text says why; the event compaction_auto
	// tells it. Requests that the turn makes afterwards begin with the summary, but not one
	// that RewriteRequest has in hand: the runtime makes it anew when the hook returns. The
	// running turn is never summarised. The stored history changes when the turn has ended.
	// The hooks of compaction act, with Compaction.Auto. Errors are those of the runtime's
	// Conversation.Compact, of which none changes anything, and outside a turn ErrNoTurn.
	Compact(ctx context.Context, why string, o CompactOptions) (Compacted, error)
	// Enqueue queues a job, which runs once for its kind and key. Within a turn the job is
	// stored in one step with what the turn does next, at the latest with its end: if the
	// process dies before that, the turn is resumed without the job, and calls Enqueue again
	// where it does the same again. Elsewhere, as in a background run, Enqueue returns when
	// the job is stored as durably as conversations are. The error is ErrCrowded if too many
	// jobs of the turn wait, or says why the job cannot be stored.
	Enqueue(ctx context.Context, job Job) error
	// Go runs a function in the background and returns at once. path names the member that asks. The host calls run once, in a
	// goroutine of its own, and the runtime waits for that goroutine before it closes the hook. Runs of one path and one conversation
	// follow each other in the order of the calls. run's context has the values of ctx; it ends when the runtime closes and stops
	// waiting. A host called with that context emits events and queues jobs; calls that need a turn return ErrNoTurn, even while the
	// turn still runs. Its events belong to the turn until that ends. A panic is reported as a failure of path. The error is ErrCrowded
	// if too many runs wait already, or says that the runtime is closed; then run is not called.
	Go(ctx context.Context, path string, run func(ctx context.Context)) error
}

// Sentinels of a Host that callers test with errors.Is.
var (
	// ErrNoTurn: the service is available only within a turn.
	ErrNoTurn = errors.New("hook: no turn is running here")
	// ErrUnanswered: nobody answered in time.
	ErrUnanswered = errors.New("hook: nobody answered in time")
	// ErrBudget: the turn has used up its tokens, or a limit on spending is reached.
	ErrBudget = errors.New("hook: the turn has used up its tokens")
	// ErrCrowded: too many background runs or jobs of the conversation wait already.
	ErrCrowded = errors.New("hook: too much background work of this conversation waits already")
	// ErrDepth: the chain of agents that run agents has reached its limit.
	ErrDepth = errors.New("hook: agents are running agents too deep")
	// ErrChildren: the turn and its children have run as many agents as they may.
	ErrChildren = errors.New("hook: this turn has run as many agents as it may")
	// ErrUngated: the child agent lacks a gate that its parent passes.
	ErrUngated = errors.New("hook: the agent passes fewer gates than the agent that runs it")
)

// AgentRun is the task of a child turn.
type AgentRun struct {
	// Agent is the name of a registered agent, or of one that the runtime can find and
	// register.
	Agent string
	Input message.Input
	// Instructions are appended to the agent's own, for this run; "" appends none.
	Instructions string
	// Tools are the public names of the tools that the child may use, out of those that
	// both it and its parent have; nil is all of them, empty and non-nil none.
	Tools []string
	// Call is the tool call that runs the agent; nil if none does. Index distinguishes
	// several runs by one call. Both are part of the id of the child's conversation.
	Call  *ToolCall
	Index int
}

// NoHost is the host of a place without a runtime: nobody listens, and nobody can be
// asked. Hosts of tests embed it.
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

// Compact implements Host: ErrNoTurn.
func (NoHost) Compact(context.Context, string, CompactOptions) (Compacted, error) {
	return Compacted{}, ErrNoTurn
}

// CallModel implements Host: ErrNoTurn.
func (NoHost) CallModel(context.Context, message.ModelRequest) (message.ModelReply, error) {
	return message.ModelReply{}, ErrNoTurn
}

// Enqueue implements Host: ErrNoTurn.
func (NoHost) Enqueue(context.Context, Job) error { return ErrNoTurn }

// Go implements Host: it calls run and waits for it.
func (NoHost) Go(ctx context.Context, _ string, run func(context.Context)) error {
	run(context.WithoutCancel(ctx))
	return nil
}

func hostOr(h Host) Host {
	if h == nil {
		return NoHost{}
	}
	return h
}

// Failure is a hook's own failure: the error it returned, or its recovered panic.
// The fail policy acts on it; it is never an answer.
type Failure struct {
	// Subsystem is the path of the field, "Core.Guard".
	Subsystem string
	Point     Point
	// Err is the returned error; for a panic, an error that holds its value.
	Err error
	// Panic: the hook panicked; Stack is where.
	Panic bool
	Stack []byte
	// Late: the hook did not answer within its timeout; it may still run.
	Late bool

	// silent: only hooks hear of it.
	silent bool
}

// Silently returns the failure as one of which only hooks hear.
func (f *Failure) Silently() *Failure {
	out := *f
	out.silent = true
	return &out
}

// Error names the place and the cause. It is for operators: a cause may quote
// the values that the hook worked on, so a model gets Public instead.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s: %v", f.Subsystem, f.Point, f.Err) }

// Public names the place without the cause, and the public text of an [Error].
func (f *Failure) Public() string {
	name, failed := cmp.Or(f.Subsystem, "a hook"), "failed"
	if f.Late {
		failed = "did not answer in time"
	}
	place := fmt.Sprintf("%s %s at %s", name, failed, f.Point)
	if text := publicText(f.Err); text != "" {
		return place + ": " + text
	}
	return place
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
// has it. Of a silent failure it is an internal diagnostic.
func (f *Failure) Event() Event {
	if f.silent {
		return Event{Kind: kindDiagnostic, Text: f.Public(), detail: &privateDetail{
			EventDetail: EventDetail{Subsystem: f.Subsystem, Point: f.Point, Code: "hook.failed_silently", Visibility: visibleInternal}, failure: f,
		}}
	}
	return Event{Kind: kindHookFailed, Text: f.Public(), detail: &privateDetail{
		EventDetail: EventDetail{Subsystem: f.Subsystem, Point: f.Point}, failure: f,
	}}
}

// under joins the path of a field and a path inside it, which may be an index.
func under(owner, inner string) string {
	if owner == "" || inner == "" || inner[0] == '[' {
		return owner + inner
	}
	return owner + "." + inner
}
