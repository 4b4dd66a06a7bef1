package laws_test

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/laws"
)

// silent has no opinion at any point. Parts embed it for the points that their law
// is not about.
type silent struct{ hook.Nop }

var _ laws.Part = silent{}

func (silent) OnOpen(context.Context, hook.Host) error { return nil }
func (silent) OnClose(context.Context) error           { return nil }

func (silent) OnSessionStart(context.Context, *hook.Session) (d hook.SessionDecision, err error) {
	return
}

func (silent) BeforeTurn(context.Context, *hook.Turn, message.Input) (d hook.TurnDecision, err error) {
	return
}

func (silent) TurnPolicy(context.Context, *hook.Turn) ([]hook.Policy, error)        { return nil, nil }
func (silent) TurnContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) { return nil, nil }
func (silent) RefineContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	return nil, nil
}
func (silent) TurnTools(context.Context, *hook.Turn) ([]hook.ToolChange, error) { return nil, nil }
func (silent) PromptSections(context.Context, *hook.Turn) ([]hook.PromptSection, error) {
	return nil, nil
}

func (silent) BeforeStep(context.Context, *hook.Step) (d hook.StepDecision, err error) { return }

func (silent) RewriteRequest(_ context.Context, _ *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	return req, nil
}

func (silent) BeforeModel(context.Context, *hook.Step, message.ModelRequest) (d hook.ModelDecision, err error) {
	return
}

func (silent) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	return next.Stream(ctx)
}

func (silent) OnModelError(context.Context, *hook.Step, message.ModelFailure) (d hook.FailureDecision, err error) {
	return
}

func (silent) RewriteReply(_ context.Context, _ *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	return reply, nil
}

func (silent) AfterModel(context.Context, *hook.Step, message.ModelReply) (d hook.ReplyDecision, err error) {
	return
}

func (silent) OnInvalidTool(context.Context, *hook.Step, hook.InvalidCall) (d hook.RepairDecision, err error) {
	return
}

func (silent) RewriteArgs(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
	return args, nil
}

func (silent) BeforeTool(context.Context, *hook.ToolCall) (d hook.ToolDecision, err error) { return }

func (silent) Approve(context.Context, *hook.ToolCall, hook.ToolDecision) (d hook.ApprovalDecision, err error) {
	return
}

func (silent) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	return next.Run(ctx)
}

func (silent) RewriteResult(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	return r, nil
}

func (silent) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
	return
}

func (silent) AfterStep(context.Context, *hook.Step, hook.StepOutcome) (d hook.StepDecision, err error) {
	return
}

func (silent) OnStop(context.Context, *hook.Turn, hook.Stopping) (d hook.StopDecision, err error) {
	return
}

func (silent) OnTurnError(context.Context, *hook.Turn, hook.TurnOutcome) (d hook.RecoverDecision, err error) {
	return
}

func (silent) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) {}

func (silent) BeforeCompaction(context.Context, *hook.Conversation, hook.Compaction) (d hook.CompactionDecision, err error) {
	return
}

func (silent) AfterCompaction(context.Context, *hook.Conversation, hook.Compacted) {}
func (silent) OnSessionEnd(context.Context, *hook.Session)                         {}
