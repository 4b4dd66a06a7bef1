package hook

import (
	"context"

	"github.com/grapnel-go/grapnel/hook/message"
)

// A point is a moment of the lifecycle at which hooks may act: a one-method
// interface. This file declares all points except the methods of [Hook]. The
// directive above each names its kind, its combination rule, its default fail
// policy and its default timeout, if it has one. The tables of the generator and the composites, the function adapters and
// the documentation are generated from it.
//
// Contributors add values, which the runtime merges and keeps within a budget.
// Rewriters return the value to use, and each gets the value of the one before.
// Deciders answer about the final value and cannot change it; their zero answer
// is no opinion. Wraps surround the operation. Observers return nothing. A
// returned error, a panic and a time-out are the hook's own failure. "Closed"
// below says which answer then counts as the hook's; "open" means that the
// composite continues as if the hook were absent.

// OnOpen is called once, when the process starts and before any agent is
// registered. h stays valid until OnClose has returned. An error ends the start,
// and the hooks opened before are closed in reverse order.
//
//hook:point observe each bracket failclosed
type OnOpen interface {
	OnOpen(ctx context.Context, h Host) error
}

// OnSessionStart decides whether a session begins: no opinion, reject, or add
// context, which the model gets with the session's first turn. Called once for each
// session, before its first turn; no hook is asked after the first reject. Closed:
// the session is rejected and no turn runs.
//
//hook:point decide gate failclosed answer=reject
type OnSessionStart interface {
	OnSessionStart(ctx context.Context, session *Session) (SessionDecision, error)
}

// BeforeTurn decides about a turn's final input, as Preprocess left it: no
// opinion, reject, or respond in the model's place. Called once for the input of a
// turn, before it becomes history; the first reject ends the turn. Also called once for
// each message to the running turn, before its next step; turn.Input is then that
// message. If the message is rejected, or answered in the model's place, the model never
// sees it, the event steer_refused tells its sender, and the turn continues. Closed: the
// turn, or the message, is rejected.
//
//hook:point decide gate failclosed answer=reject
type BeforeTurn interface {
	BeforeTurn(ctx context.Context, turn *Turn, in message.Input) (TurnDecision, error)
}

// TurnPolicy contributes policies: named settings of this turn that other hooks read
// with [Turn.Contributed]. Called once a turn, before all other contributions.
// Open: the turn continues without them, or with the hook's [Fallback]. A tag may make
// it closed: then the turn is rejected.
//
//hook:point contribute union failopen timeout=5s
type TurnPolicy interface {
	TurnPolicy(ctx context.Context, turn *Turn) ([]Policy, error)
}

// TurnContext contributes blocks of context, which the model gets in this turn in
// addition to the history. They are labelled and never stored. Called once a turn,
// after the policies are merged. Open: the turn continues without them, or with the
// hook's [Fallback].
//
//hook:point contribute union failopen timeout=5s
type TurnContext interface {
	TurnContext(ctx context.Context, turn *Turn) ([]ContextBlock, error)
}

// RefineContext contributes more blocks of context, after those of TurnContext.
// [Turn.Contributed] has these, the rest of the budget and the recall plan. A block
// replaces an earlier one with the same domain and id. Called once a turn. Open: the
// turn continues without them, or with the hook's [Fallback].
//
//hook:point contribute union failopen timeout=5s
type RefineContext interface {
	RefineContext(ctx context.Context, turn *Turn) ([]ContextBlock, error)
}

// TurnTools contributes changes to the agent's tools for this turn: it hides and adds
// tools, by their public names. Called once a turn. Open: the turn continues without
// them, or with the hook's [Fallback].
//
//hook:point contribute union failopen timeout=5s
type TurnTools interface {
	TurnTools(ctx context.Context, turn *Turn) ([]ToolChange, error)
}

// PromptSections contributes sections to the system prompt of this turn, after the
// agent's own. Called once a turn, last of the contributions. Open: the turn continues
// without them, or with the hook's [Fallback].
//
//hook:point contribute union failopen timeout=5s
type PromptSections interface {
	PromptSections(ctx context.Context, turn *Turn) ([]PromptSection, error)
}

// BeforeStep decides whether another step begins: no opinion or stop. Called once
// a step, before the request is made; no hook is asked after the first stop. Closed:
// the turn stops with the reason error.
//
//hook:point decide gate failclosed answer=stop
type BeforeStep interface {
	BeforeStep(ctx context.Context, step *Step) (StepDecision, error)
}

// RewriteRequest may change a request to the model, for this request only. Called
// once per request, outer hook first. Closed: the step fails.
//
//hook:point rewrite fold failclosed
type RewriteRequest interface {
	RewriteRequest(ctx context.Context, step *Step, req message.ModelRequest) (message.ModelRequest, error)
}

// BeforeModel decides about the final request: stop, reject, or respond in the
// model's place. No hook is asked after the first stop or reject. Closed: the step
// fails.
//
//hook:point decide gate failclosed answer=reject
type BeforeModel interface {
	BeforeModel(ctx context.Context, step *Step, req message.ModelRequest) (ModelDecision, error)
}

// WrapModel surrounds the stream of one model call. It may read, delay, drop or add
// chunks and must forward an error. Closed: the stream ends with the failure.
//
//hook:point wrap nest failclosed
type WrapModel interface {
	WrapModel(ctx context.Context, step *Step, req message.ModelRequest, next ModelNext) message.ModelStream
}

// OnModelError answers the failure of a model call: retry after some time, fall back
// to another model, or respond in its place; every further attempt passes
// RewriteRequest and BeforeModel again. Called once for each failed attempt, but
// not when the turn is cancelled. The first answer counts; without any the turn
// ends with the error. A hook's own failure is no opinion.
//
//hook:point decide first failclosed
type OnModelError interface {
	OnModelError(ctx context.Context, step *Step, failure message.ModelFailure) (FailureDecision, error)
}

// RewriteReply may change a whole reply before AfterModel judges it. If a hook has
// this point and holds the reply (see package composite), clients get no text until it has returned. Inner hook first. Closed:
// the step fails.
//
//hook:point rewrite fold reverse failclosed
type RewriteReply interface {
	RewriteReply(ctx context.Context, step *Step, reply message.ModelReply) (message.ModelReply, error)
}

// AfterModel judges the final reply: stop, reject, or retry with feedback. All
// are asked, inner hook first, and the most severe answer wins. Closed: the step
// fails.
//
//hook:point decide judge reverse failclosed answer=reject
type AfterModel interface {
	AfterModel(ctx context.Context, step *Step, reply message.ModelReply) (ReplyDecision, error)
}

// OnInvalidTool answers a call that cannot be bound, because the tool is unknown or
// out of scope, or its arguments are wrong: repair the arguments, rename the tool, or
// drop the whole reply and ask the model again with feedback. The runtime binds,
// validates and scopes a repaired call like any other. Called on the loop's
// goroutine, in call order, at most twice for one call. The first answer counts;
// without any the call's result is the error. A hook's own failure is no opinion.
//
//hook:point decide first failclosed
type OnInvalidTool interface {
	OnInvalidTool(ctx context.Context, step *Step, invalid InvalidCall) (RepairDecision, error)
}

// RewriteArgs may change a tool call's arguments. Called on the loop's goroutine, in
// call order, once on the model's arguments and once on each modification by a person.
// The runtime binds, validates and scopes the returned arguments again. args are
// canonical. Closed: the call is denied.
//
//hook:point rewrite fold failclosed
type RewriteArgs interface {
	RewriteArgs(ctx context.Context, call *ToolCall, args message.JSON) (message.JSON, error)
}

// BeforeTool decides whether a bound call may run: no opinion, stop, deny, ask,
// answer in the tool's place, or narrow the grant. Called on the loop's goroutine,
// in call order, before any call of the step runs; no hook is asked after the first
// deny or stop. call.Args are final; if a person modifies them, BeforeTool is called
// again. call.Grant is what the hooks before this one left; no answer widens it. Closed:
// denied.
//
//hook:point decide gate failclosed answer=deny
type BeforeTool interface {
	BeforeTool(ctx context.Context, call *ToolCall) (ToolDecision, error)
}

// Approve answers the question of a BeforeTool that asked, usually by asking a person;
// it may block until ctx ends. The first answer counts; without any the call is
// refused. asked is the decision of BeforeTool. Closed: refused.
//
//hook:point decide first failclosed answer=refuse
type Approve interface {
	Approve(ctx context.Context, call *ToolCall, asked ToolDecision) (ApprovalDecision, error)
}

// WrapTool surrounds the execution of a call. Inside it the runtime waits for the
// exclusive key and a slot, applies the timeout and recovers panics. Called
// concurrently for the calls of a step. It calls next.Run once; a second time only
// for a tool that is read-only or idempotent. If it panics after next has returned,
// the result of next counts; otherwise the call gets an error result.
//
//hook:point wrap nest failclosed
type WrapTool interface {
	WrapTool(ctx context.Context, call *ToolCall, next ToolNext) message.ToolResult
}

// RewriteResult may change a result before other points and clients see it. Called on the
// loop's goroutine in completion order, inner hook first. Closed: withheld.
//
//hook:point rewrite fold reverse failclosed
type RewriteResult interface {
	RewriteResult(ctx context.Context, call *ToolCall, result message.ToolResult) (message.ToolResult, error)
}

// AfterTool judges how a call ended: stop, withhold, or add context. Called
// exactly once for every call that the model made, also for one that never ran, on the
// loop's goroutine in completion order, inner hook first; all are asked and the
// most severe answer wins. Closed: withheld.
//
//hook:point decide judge reverse failclosed answer=withhold
type AfterTool interface {
	AfterTool(ctx context.Context, call *ToolCall, outcome ToolOutcome) (OutcomeDecision, error)
}

// AfterStep judges how a step ended: no opinion or stop. Called exactly once for
// every step that began, also for one that failed, after its messages are stored;
// all are asked, inner hook first. Closed: the turn stops with the reason error.
//
//hook:point decide judge reverse failclosed answer=stop
type AfterStep interface {
	AfterStep(ctx context.Context, step *Step, outcome StepOutcome) (StepDecision, error)
}

// OnStop may continue a turn that is about to end, with feedback to the model. Called
// only if all reasons to stop are soft, and a limited number of times in a turn. The
// first answer counts. A hook's own failure is no opinion.
//
//hook:point decide first failclosed
type OnStop interface {
	OnStop(ctx context.Context, turn *Turn, stopping Stopping) (StopDecision, error)
}

// OnTurnError may recover a turn that failed, with an output of its own. Called
// once, after the turn's last step, unless it was cancelled. The first answer
// counts; without any the turn ends with the error. A hook's own failure is no
// opinion.
//
//hook:point decide first failclosed
type OnTurnError interface {
	OnTurnError(ctx context.Context, turn *Turn, outcome TurnOutcome) (RecoverDecision, error)
}

// AfterTurn observes how a turn ended. Called exactly once for every turn that
// began, inner hook first; ctx is not the turn's and still alive.
//
//hook:point observe each reverse failopen
type AfterTurn interface {
	AfterTurn(ctx context.Context, turn *Turn, outcome TurnOutcome)
}

// BeforeCompaction decides about a compaction before the model writes the summary:
// skip it, say what the summary has to keep, or supply the summary. No hook is asked
// after the first skip. A hook's own failure is no opinion.
//
//hook:point decide gate failclosed
type BeforeCompaction interface {
	BeforeCompaction(ctx context.Context, conversation *Conversation, compaction Compaction) (CompactionDecision, error)
}

// AfterCompaction observes the effect of a compaction. Called once for every
// compaction that took effect, inner hook first.
//
//hook:point observe each reverse failopen
type AfterCompaction interface {
	AfterCompaction(ctx context.Context, conversation *Conversation, compacted Compacted)
}

// OnSessionEnd observes the end of a session, with its totals. Called exactly once
// for every session that began, inner hook first; ctx is alive.
//
//hook:point observe each reverse failopen
type OnSessionEnd interface {
	OnSessionEnd(ctx context.Context, session *Session)
}

// OnClose is called once when the process ends, after the last agent is
// unregistered, inner hook first. All are called; the errors are joined.
//
//hook:point observe each reverse bracket failopen
type OnClose interface {
	OnClose(ctx context.Context) error
}
