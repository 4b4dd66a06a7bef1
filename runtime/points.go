package runtime

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// points are the hook's points, nil for what is absent. A composite applies fail
// policies to its members itself; here they are applied to the hook as a whole,
// which may be a single subsystem.
type points struct {
	onSessionStart hook.OnSessionStart
	beforeTurn     hook.BeforeTurn
	beforeStep     hook.BeforeStep
	rewriteArgs    hook.RewriteArgs
	beforeTool     hook.BeforeTool
	approve        hook.Approve
	wrapTool       hook.WrapTool
	rewriteResult  hook.RewriteResult
	afterTool      hook.AfterTool
	rewriteRequest hook.RewriteRequest
	beforeModel    hook.BeforeModel
	wrapModel      hook.WrapModel
	rewriteReply   hook.RewriteReply
	afterModel     hook.AfterModel
	afterStep      hook.AfterStep
	onStop         hook.OnStop
	onTurnError    hook.OnTurnError
	afterTurn      hook.AfterTurn
	contribute     contributors
	onSessionEnd   hook.OnSessionEnd

	onModelError     hook.OnModelError
	onInvalidTool    hook.OnInvalidTool
	beforeCompaction hook.BeforeCompaction
	afterCompaction  hook.AfterCompaction

	onOpen  hook.OnOpen
	onClose hook.OnClose
}

func pointsOf(h hook.Hook) points {
	set := hook.PointsOf(h)
	return points{
		onSessionStart: has[hook.OnSessionStart](h, set, hook.PointOnSessionStart),
		beforeTurn:     has[hook.BeforeTurn](h, set, hook.PointBeforeTurn),
		beforeStep:     has[hook.BeforeStep](h, set, hook.PointBeforeStep),
		rewriteArgs:    has[hook.RewriteArgs](h, set, hook.PointRewriteArgs),
		beforeTool:     has[hook.BeforeTool](h, set, hook.PointBeforeTool),
		approve:        has[hook.Approve](h, set, hook.PointApprove),
		wrapTool:       has[hook.WrapTool](h, set, hook.PointWrapTool),
		rewriteResult:  has[hook.RewriteResult](h, set, hook.PointRewriteResult),
		afterTool:      has[hook.AfterTool](h, set, hook.PointAfterTool),
		rewriteRequest: has[hook.RewriteRequest](h, set, hook.PointRewriteRequest),
		beforeModel:    has[hook.BeforeModel](h, set, hook.PointBeforeModel),
		wrapModel:      has[hook.WrapModel](h, set, hook.PointWrapModel),
		rewriteReply:   has[hook.RewriteReply](h, set, hook.PointRewriteReply),
		afterModel:     has[hook.AfterModel](h, set, hook.PointAfterModel),
		afterStep:      has[hook.AfterStep](h, set, hook.PointAfterStep),
		onStop:         has[hook.OnStop](h, set, hook.PointOnStop),
		onTurnError:    has[hook.OnTurnError](h, set, hook.PointOnTurnError),
		afterTurn:      has[hook.AfterTurn](h, set, hook.PointAfterTurn),
		contribute:     contributorsOf(h, set),
		onSessionEnd:   has[hook.OnSessionEnd](h, set, hook.PointOnSessionEnd),

		onModelError:     has[hook.OnModelError](h, set, hook.PointOnModelError),
		onInvalidTool:    has[hook.OnInvalidTool](h, set, hook.PointOnInvalidTool),
		beforeCompaction: has[hook.BeforeCompaction](h, set, hook.PointBeforeCompaction),
		afterCompaction:  has[hook.AfterCompaction](h, set, hook.PointAfterCompaction),

		onOpen:  has[hook.OnOpen](h, set, hook.PointOnOpen),
		onClose: has[hook.OnClose](h, set, hook.PointOnClose),
	}
}

func has[P any](h hook.Hook, set hook.PointSet, at hook.Point) P {
	var p P
	if set.Has(at) {
		p, _ = h.(P)
	}
	return p
}

// seesRequest reports whether a hook looks at the turn before the model answers.
func (p *points) seesRequest() bool {
	return p.beforeStep != nil || p.rewriteRequest != nil || p.beforeModel != nil || p.wrapModel != nil
}

// seesReply reports whether a hook looks at the turn before tools run.
func (p *points) seesReply() bool { return p.rewriteReply != nil || p.afterModel != nil }

// gatesCalls reports whether a hook has a say about calls before they run, which may
// take as long as a person takes to answer.
func (p *points) gatesCalls() bool {
	return p.rewriteArgs != nil || p.beforeTool != nil || p.approve != nil
}

// mayGoOn reports whether a hook may have a turn say more that has said its last.
func (p *points) mayGoOn() bool { return p.onStop != nil || p.onTurnError != nil }

// failureOf makes the failure of the hook as a whole of the error it returned.
func failureOf(p hook.Point, err error) *hook.Failure {
	if f, ok := err.(*hook.Failure); ok {
		return f
	}
	return &hook.Failure{Point: p, Err: err}
}

// panicOf makes a failure of a recovered value; composites panic with theirs.
func panicOf(p hook.Point, value any) *hook.Failure {
	if f, ok := value.(*hook.Failure); ok {
		return f
	}
	err, ok := value.(error)
	if !ok {
		err = fmt.Errorf("%v", value)
	}
	return &hook.Failure{Point: p, Err: fmt.Errorf("panic: %w", err), Panic: true, Stack: debug.Stack()}
}

// caught is deferred around a call of the hook: a panic becomes *f, an error in
// *err too.
func caught(p hook.Point, err *error) {
	if v := recover(); v != nil {
		*err = panicOf(p, v)
	} else if *err != nil {
		*err = failureOf(p, *err)
	}
}

// decision is what the decision types have in common.
type decision[D any] interface {
	composite.Decision[D]
	Verdict() hook.Verdict
}

// answered turns the failure of a decider into the answer that its point has for
// it, which may be none. Clients are told of it, also if it is a composite that has
// done so: what its decision carries it leaves to the runtime to report.
func answered[D decision[D]](ctx context.Context, t *turn, d D, err error) D {
	f := d.Verdict().Failure
	if err != nil {
		f = err.(*hook.Failure)
		d = d.Closed(f)
	}
	if f != nil {
		t.hookFailed(ctx, f)
	}
	return d
}

func (p *points) open(ctx context.Context, h hook.Host) (err error) {
	if p.onOpen == nil {
		return nil
	}
	defer caught(hook.PointOnOpen, &err)
	return p.onOpen.OnOpen(ctx, h)
}

func (p *points) close(ctx context.Context) (err error) {
	if p.onClose == nil {
		return nil
	}
	defer caught(hook.PointOnClose, &err)
	return p.onClose.OnClose(ctx)
}

func (p *points) argsRewritten(ctx context.Context, t *turn, call *hook.ToolCall) (args hook.JSON, err error) {
	if p.rewriteArgs == nil {
		return call.Args(), nil
	}
	t.away(hook.PointRewriteArgs)
	defer t.caught(hook.PointRewriteArgs, &err)
	return p.rewriteArgs.RewriteArgs(ctx, call, call.Args())
}

func (p *points) decideTool(ctx context.Context, t *turn, call *hook.ToolCall) (d hook.ToolDecision, err error) {
	if p.beforeTool == nil {
		return d, nil
	}
	t.away(hook.PointBeforeTool)
	defer t.caught(hook.PointBeforeTool, &err)
	return p.beforeTool.BeforeTool(ctx, call)
}

func (p *points) approval(ctx context.Context, t *turn, call *hook.ToolCall, asked hook.ToolDecision) (d hook.ApprovalDecision, err error) {
	if p.approve == nil {
		return d, nil
	}
	t.away(hook.PointApprove)
	defer t.caught(hook.PointApprove, &err)
	return p.approve.Approve(ctx, call, asked)
}

func (p *points) resultRewritten(ctx context.Context, t *turn, call *hook.ToolCall, in hook.ToolResult) (out hook.ToolResult, err error) {
	if p.rewriteResult == nil {
		return in, nil
	}
	t.away(hook.PointRewriteResult)
	defer t.caught(hook.PointRewriteResult, &err)
	return p.rewriteResult.RewriteResult(ctx, call, in)
}

func (p *points) judgeTool(ctx context.Context, t *turn, call *hook.ToolCall, o hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
	if p.afterTool == nil {
		return d, nil
	}
	t.away(hook.PointAfterTool)
	defer t.caught(hook.PointAfterTool, &err)
	return p.afterTool.AfterTool(ctx, call, o)
}

func (p *points) requestRewritten(ctx context.Context, t *turn, step *hook.Step, in hook.ModelRequest) (out hook.ModelRequest, err error) {
	if p.rewriteRequest == nil {
		return in, nil
	}
	t.away(hook.PointRewriteRequest)
	defer t.caught(hook.PointRewriteRequest, &err)
	return p.rewriteRequest.RewriteRequest(ctx, step, in)
}

func (p *points) decideModel(ctx context.Context, t *turn, step *hook.Step, req hook.ModelRequest) (d hook.ModelDecision, err error) {
	if p.beforeModel == nil {
		return d, nil
	}
	t.away(hook.PointBeforeModel)
	defer t.caught(hook.PointBeforeModel, &err)
	return p.beforeModel.BeforeModel(ctx, step, req)
}

func (p *points) replyRewritten(ctx context.Context, t *turn, step *hook.Step, in hook.ModelReply) (out hook.ModelReply, err error) {
	if p.rewriteReply == nil {
		return in, nil
	}
	t.away(hook.PointRewriteReply)
	defer t.caught(hook.PointRewriteReply, &err)
	return p.rewriteReply.RewriteReply(ctx, step, in)
}

func (p *points) judgeReply(ctx context.Context, t *turn, step *hook.Step, reply hook.ModelReply) (d hook.ReplyDecision, err error) {
	if p.afterModel == nil {
		return d, nil
	}
	t.away(hook.PointAfterModel)
	defer t.caught(hook.PointAfterModel, &err)
	return p.afterModel.AfterModel(ctx, step, reply)
}

func (p *points) turnEnded(ctx context.Context, t *turn, turn *hook.Turn, out hook.TurnOutcome) (err error) {
	if p.afterTurn == nil {
		return nil
	}
	t.away(hook.PointAfterTurn)
	defer t.caught(hook.PointAfterTurn, &err)
	p.afterTurn.AfterTurn(ctx, turn, out)
	return nil
}

func (p *points) sessionStarted(ctx context.Context, t *turn, session *hook.Session) (d hook.SessionDecision, err error) {
	if p.onSessionStart == nil {
		return d, nil
	}
	t.away(hook.PointOnSessionStart)
	defer t.caught(hook.PointOnSessionStart, &err)
	return p.onSessionStart.OnSessionStart(ctx, session)
}

func (p *points) sessionEnded(ctx context.Context, t *turn, session *hook.Session) (err error) {
	if p.onSessionEnd == nil {
		return nil
	}
	t.away(hook.PointOnSessionEnd)
	defer t.caught(hook.PointOnSessionEnd, &err)
	p.onSessionEnd.OnSessionEnd(ctx, session)
	return nil
}

func (p *points) decideTurn(ctx context.Context, t *turn, turn *hook.Turn, in hook.Input) (d hook.TurnDecision, err error) {
	if p.beforeTurn == nil {
		return d, nil
	}
	t.away(hook.PointBeforeTurn)
	defer t.caught(hook.PointBeforeTurn, &err)
	return p.beforeTurn.BeforeTurn(ctx, turn, in)
}

func (p *points) decideStep(ctx context.Context, t *turn, step *hook.Step) (d hook.StepDecision, err error) {
	if p.beforeStep == nil {
		return d, nil
	}
	t.away(hook.PointBeforeStep)
	defer t.caught(hook.PointBeforeStep, &err)
	return p.beforeStep.BeforeStep(ctx, step)
}

func (p *points) judgeStep(ctx context.Context, t *turn, step *hook.Step, o hook.StepOutcome) (d hook.StepDecision, err error) {
	if p.afterStep == nil {
		return d, nil
	}
	t.away(hook.PointAfterStep)
	defer t.caught(hook.PointAfterStep, &err)
	return p.afterStep.AfterStep(ctx, step, o)
}

func (p *points) turnStopping(ctx context.Context, t *turn, turn *hook.Turn, s hook.Stopping) (d hook.StopDecision, err error) {
	if p.onStop == nil {
		return d, nil
	}
	t.away(hook.PointOnStop)
	defer t.caught(hook.PointOnStop, &err)
	return p.onStop.OnStop(ctx, turn, s)
}

func (p *points) turnFailed(ctx context.Context, t *turn, turn *hook.Turn, out hook.TurnOutcome) (d hook.RecoverDecision, err error) {
	if p.onTurnError == nil {
		return d, nil
	}
	t.away(hook.PointOnTurnError)
	defer t.caught(hook.PointOnTurnError, &err)
	return p.onTurnError.OnTurnError(ctx, turn, out)
}
