package hooktest

import (
	"context"
	"errors"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// diary is what several members note in common: who was called where, in order.
type diary struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	point hook.Point
	name  string
}

func (d *diary) note(p hook.Point, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry{p, name})
}

// at returns who was called at the point, in order.
func (d *diary) at(p hook.Point) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.entries {
		if e.point == p {
			names = append(names, e.name)
		}
	}
	return names
}

// behaviour is what a member does at its points.
type behaviour int

const (
	silent  behaviour = iota
	severe            // it gives the answer that holds back most
	failing           // it returns an error, where it can
	panics
)

// reason is what a member says with its answer.
const reason = "the kit's member says so"

// member is a hook at every point, of which the kit makes composites.
type member struct {
	hook.Nop
	name string
	does behaviour
	// only, if set, is the point at which it does that.
	only  hook.Point
	diary *diary
}

// called notes the call. It panics or returns an error if the member is to.
func (m *member) called(p hook.Point) error {
	m.diary.note(p, m.name)
	if m.only != 0 && m.only != p {
		return nil
	}
	switch m.does {
	case panics:
		panic(marker)
	case failing:
		return errors.New(marker)
	}
	return nil
}

// decided is called with the severe answer of a point.
func decided[D any](m *member, p hook.Point, answer D) (none D, err error) {
	if err := m.called(p); err != nil || m.does != severe || m.only != 0 && m.only != p {
		return none, err
	}
	return answer, nil
}

// OnOpen implements hook.OnOpen.
func (m *member) OnOpen(context.Context, hook.Host) error { return m.called(hook.PointOnOpen) }

// OnClose implements hook.OnClose.
func (m *member) OnClose(context.Context) error { return m.called(hook.PointOnClose) }

// OnRegisterAgent implements hook.Hook.
func (m *member) OnRegisterAgent(context.Context, *hook.AgentConfig) error {
	return m.called(hook.PointOnRegisterAgent)
}

// OnUnregisterAgent implements hook.Hook.
func (m *member) OnUnregisterAgent(context.Context, *hook.AgentConfig) {
	_ = m.called(hook.PointOnUnregisterAgent)
}

// OnBuildAgent implements hook.Hook.
func (m *member) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	return cfg, m.called(hook.PointOnBuildAgent)
}

// Preprocess implements hook.Hook.
func (m *member) Preprocess(_ context.Context, _ *hook.Turn, in hook.Input) (hook.Input, error) {
	return in, m.called(hook.PointPreprocess)
}

// OnEvent implements hook.Hook.
func (m *member) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == composeEvent {
		_ = m.called(hook.PointOnEvent)
	}
}

// composeEvent is what the kit tells a composite.
const composeEvent hook.EventKind = "hooktest_compose"

// OnSessionStart implements hook.OnSessionStart.
func (m *member) OnSessionStart(context.Context, *hook.Session) (hook.SessionDecision, error) {
	return decided(m, hook.PointOnSessionStart, hook.RejectSession(reason))
}

// BeforeTurn implements hook.BeforeTurn.
func (m *member) BeforeTurn(context.Context, *hook.Turn, hook.Input) (hook.TurnDecision, error) {
	return decided(m, hook.PointBeforeTurn, hook.RejectTurn(reason))
}

// BeforeStep implements hook.BeforeStep.
func (m *member) BeforeStep(context.Context, *hook.Step) (hook.StepDecision, error) {
	return decided(m, hook.PointBeforeStep, hook.StopStep(hook.StopStepsLimit, reason))
}

// BeforeModel implements hook.BeforeModel.
func (m *member) BeforeModel(context.Context, *hook.Step, hook.ModelRequest) (hook.ModelDecision, error) {
	return decided(m, hook.PointBeforeModel, hook.StopModel(reason))
}

// OnModelError implements hook.OnModelError.
func (m *member) OnModelError(context.Context, *hook.Step, hook.ModelFailure) (hook.FailureDecision, error) {
	return decided(m, hook.PointOnModelError, hook.RetryFailure(0))
}

// AfterModel implements hook.AfterModel.
func (m *member) AfterModel(context.Context, *hook.Step, hook.ModelReply) (hook.ReplyDecision, error) {
	return decided(m, hook.PointAfterModel, hook.StopReply(reason))
}

// OnInvalidTool implements hook.OnInvalidTool.
func (m *member) OnInvalidTool(context.Context, *hook.Step, hook.InvalidCall) (hook.RepairDecision, error) {
	return decided(m, hook.PointOnInvalidTool, hook.RetryInvalid(reason))
}

// BeforeTool implements hook.BeforeTool.
func (m *member) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return decided(m, hook.PointBeforeTool, hook.StopTool(reason))
}

// Approve implements hook.Approve.
func (m *member) Approve(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
	return decided(m, hook.PointApprove, hook.RefuseCall(reason))
}

// AfterTool implements hook.AfterTool.
func (m *member) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
	return decided(m, hook.PointAfterTool, hook.StopOutcome(reason))
}

// AfterStep implements hook.AfterStep.
func (m *member) AfterStep(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
	return decided(m, hook.PointAfterStep, hook.StopStep(hook.StopStepsLimit, reason))
}

// OnStop implements hook.OnStop.
func (m *member) OnStop(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
	return decided(m, hook.PointOnStop, hook.ContinueTurn(reason))
}

// OnTurnError implements hook.OnTurnError.
func (m *member) OnTurnError(context.Context, *hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
	return decided(m, hook.PointOnTurnError, hook.RecoverTurn(reason))
}

// BeforeCompaction implements hook.BeforeCompaction.
func (m *member) BeforeCompaction(context.Context, *hook.Conversation, hook.Compaction) (hook.CompactionDecision, error) {
	return decided(m, hook.PointBeforeCompaction, hook.SkipCompaction(reason))
}

// TurnPolicy implements hook.TurnPolicy.
func (m *member) TurnPolicy(context.Context, *hook.Turn) ([]hook.Policy, error) {
	return []hook.Policy{{Domain: "hooktest", Key: m.name, Value: "on"}}, m.called(hook.PointTurnPolicy)
}

// TurnContext implements hook.TurnContext.
func (m *member) TurnContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	return []hook.ContextBlock{{Domain: "hooktest", ID: m.name, Text: "a block"}}, m.called(hook.PointTurnContext)
}

// RefineContext implements hook.RefineContext.
func (m *member) RefineContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	return []hook.ContextBlock{{Domain: "hooktest", ID: m.name, Text: "a block"}}, m.called(hook.PointRefineContext)
}

// TurnTools implements hook.TurnTools.
func (m *member) TurnTools(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
	return []hook.ToolChange{{ID: m.name, Hide: hook.ListOf(foreignTool)}}, m.called(hook.PointTurnTools)
}

// PromptSections implements hook.PromptSections.
func (m *member) PromptSections(context.Context, *hook.Turn) ([]hook.PromptSection, error) {
	return []hook.PromptSection{{ID: m.name, Text: "a section"}}, m.called(hook.PointPromptSections)
}

// RewriteRequest implements hook.RewriteRequest.
func (m *member) RewriteRequest(_ context.Context, _ *hook.Step, v hook.ModelRequest) (hook.ModelRequest, error) {
	return v, m.called(hook.PointRewriteRequest)
}

// RewriteReply implements hook.RewriteReply.
func (m *member) RewriteReply(_ context.Context, _ *hook.Step, v hook.ModelReply) (hook.ModelReply, error) {
	return v, m.called(hook.PointRewriteReply)
}

// RewriteArgs implements hook.RewriteArgs.
func (m *member) RewriteArgs(_ context.Context, _ *hook.ToolCall, v hook.JSON) (hook.JSON, error) {
	return v, m.called(hook.PointRewriteArgs)
}

// RewriteResult implements hook.RewriteResult.
func (m *member) RewriteResult(_ context.Context, _ *hook.ToolCall, v hook.ToolResult) (hook.ToolResult, error) {
	return v, m.called(hook.PointRewriteResult)
}

// AfterTurn implements hook.AfterTurn.
func (m *member) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) {
	_ = m.called(hook.PointAfterTurn)
}

// AfterCompaction implements hook.AfterCompaction.
func (m *member) AfterCompaction(context.Context, *hook.Conversation, hook.Compacted) {
	_ = m.called(hook.PointAfterCompaction)
}

// OnSessionEnd implements hook.OnSessionEnd.
func (m *member) OnSessionEnd(context.Context, *hook.Session) { _ = m.called(hook.PointOnSessionEnd) }

// WrapTool implements hook.WrapTool. A wrap has no error to return, so one that is to
// fail panics.
func (m *member) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) hook.ToolResult {
	if err := m.called(hook.PointWrapTool); err != nil {
		panic(err)
	}
	return next.Run(ctx)
}

// WrapModel implements hook.WrapModel.
func (m *member) WrapModel(ctx context.Context, _ *hook.Step, _ hook.ModelRequest, next hook.ModelNext) hook.ModelStream {
	if err := m.called(hook.PointWrapModel); err != nil {
		panic(err)
	}
	return next.Stream(ctx)
}
