package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/composite/view"
	"github.com/grapnel-go/grapnel/hook"
)

// The points about sessions, turns and steps; see dynamic_points.go.

// OnSessionStart implements [hook.OnSessionStart]. The error is always nil.
func (c *Composite) OnSessionStart(ctx context.Context, session *hook.Session) (hook.SessionDecision, error) {
	return decide(ctx, c, hook.PointOnSessionStart, session, func(ctx context.Context, h hook.OnSessionStart) (hook.SessionDecision, error) {
		return h.OnSessionStart(ctx, session)
	}), nil
}

// BeforeTurn implements [hook.BeforeTurn]. The error is always nil.
func (c *Composite) BeforeTurn(ctx context.Context, turn *hook.Turn, in hook.Input) (hook.TurnDecision, error) {
	return decide(ctx, c, hook.PointBeforeTurn, turn, func(ctx context.Context, h hook.BeforeTurn) (hook.TurnDecision, error) {
		return h.BeforeTurn(ctx, turn, in)
	}), nil
}

// TurnPolicy implements [hook.TurnPolicy].
func (c *Composite) TurnPolicy(ctx context.Context, turn *hook.Turn) ([]hook.Policy, error) {
	return contribute(ctx, c, hook.PointTurnPolicy, turn, func(ctx context.Context, h hook.TurnPolicy) ([]hook.Policy, error) {
		return h.TurnPolicy(ctx, turn)
	})
}

// TurnContext implements [hook.TurnContext].
func (c *Composite) TurnContext(ctx context.Context, turn *hook.Turn) ([]hook.ContextBlock, error) {
	return contribute(ctx, c, hook.PointTurnContext, turn, func(ctx context.Context, h hook.TurnContext) ([]hook.ContextBlock, error) {
		return h.TurnContext(ctx, turn)
	})
}

// RefineContext implements [hook.RefineContext].
func (c *Composite) RefineContext(ctx context.Context, turn *hook.Turn) ([]hook.ContextBlock, error) {
	return contribute(ctx, c, hook.PointRefineContext, turn, func(ctx context.Context, h hook.RefineContext) ([]hook.ContextBlock, error) {
		return h.RefineContext(ctx, turn)
	})
}

// TurnTools implements [hook.TurnTools].
func (c *Composite) TurnTools(ctx context.Context, turn *hook.Turn) ([]hook.ToolChange, error) {
	return contribute(ctx, c, hook.PointTurnTools, turn, func(ctx context.Context, h hook.TurnTools) ([]hook.ToolChange, error) {
		return h.TurnTools(ctx, turn)
	})
}

// PromptSections implements [hook.PromptSections].
func (c *Composite) PromptSections(ctx context.Context, turn *hook.Turn) ([]hook.PromptSection, error) {
	return contribute(ctx, c, hook.PointPromptSections, turn, func(ctx context.Context, h hook.PromptSections) ([]hook.PromptSection, error) {
		return h.PromptSections(ctx, turn)
	})
}

// BeforeStep implements [hook.BeforeStep]. The error is always nil.
func (c *Composite) BeforeStep(ctx context.Context, step *hook.Step) (hook.StepDecision, error) {
	return decide(ctx, c, hook.PointBeforeStep, step, func(ctx context.Context, h hook.BeforeStep) (hook.StepDecision, error) {
		return h.BeforeStep(ctx, step)
	}), nil
}

// AfterStep implements [hook.AfterStep]. The error is always nil.
func (c *Composite) AfterStep(ctx context.Context, step *hook.Step, outcome hook.StepOutcome) (hook.StepDecision, error) {
	return decide(ctx, c, hook.PointAfterStep, step, func(ctx context.Context, h hook.AfterStep) (hook.StepDecision, error) {
		return h.AfterStep(ctx, step, outcome)
	}), nil
}

// OnModelError implements [hook.OnModelError]. The error is always nil.
func (c *Composite) OnModelError(ctx context.Context, step *hook.Step, failure hook.ModelFailure) (hook.FailureDecision, error) {
	return decide(ctx, c, hook.PointOnModelError, step, func(ctx context.Context, h hook.OnModelError) (hook.FailureDecision, error) {
		return h.OnModelError(ctx, step, failure)
	}), nil
}

// OnInvalidTool implements [hook.OnInvalidTool]. The error is always nil.
func (c *Composite) OnInvalidTool(ctx context.Context, step *hook.Step, invalid hook.InvalidCall) (hook.RepairDecision, error) {
	return decide(ctx, c, hook.PointOnInvalidTool, step, func(ctx context.Context, h hook.OnInvalidTool) (hook.RepairDecision, error) {
		return h.OnInvalidTool(ctx, step, invalid)
	}), nil
}

// OnStop implements [hook.OnStop]. The error is always nil.
func (c *Composite) OnStop(ctx context.Context, turn *hook.Turn, stopping hook.Stopping) (hook.StopDecision, error) {
	return decide(ctx, c, hook.PointOnStop, turn, func(ctx context.Context, h hook.OnStop) (hook.StopDecision, error) {
		return h.OnStop(ctx, turn, stopping)
	}), nil
}

// OnTurnError implements [hook.OnTurnError]. The error is always nil.
func (c *Composite) OnTurnError(ctx context.Context, turn *hook.Turn, outcome hook.TurnOutcome) (hook.RecoverDecision, error) {
	return decide(ctx, c, hook.PointOnTurnError, turn, func(ctx context.Context, h hook.OnTurnError) (hook.RecoverDecision, error) {
		return h.OnTurnError(ctx, turn, outcome)
	}), nil
}

// AfterTurn implements [hook.AfterTurn].
func (c *Composite) AfterTurn(ctx context.Context, turn *hook.Turn, outcome hook.TurnOutcome) {
	written := func() hook.Job { return view.AfterTurn(turn, outcome) }
	observe(ctx, c, hook.PointAfterTurn, turn, written, func(ctx context.Context, h hook.AfterTurn) { h.AfterTurn(ctx, turn, outcome) })
}

// BeforeCompaction implements [hook.BeforeCompaction]. The error is always nil.
func (c *Composite) BeforeCompaction(ctx context.Context, conversation *hook.Conversation, compaction hook.Compaction) (hook.CompactionDecision, error) {
	return decide(ctx, c, hook.PointBeforeCompaction, conversation, func(ctx context.Context, h hook.BeforeCompaction) (hook.CompactionDecision, error) {
		return h.BeforeCompaction(ctx, conversation, compaction)
	}), nil
}

// AfterCompaction implements [hook.AfterCompaction].
func (c *Composite) AfterCompaction(ctx context.Context, conversation *hook.Conversation, compacted hook.Compacted) {
	written := func() hook.Job { return view.AfterCompaction(conversation, compacted) }
	observe(ctx, c, hook.PointAfterCompaction, conversation, written, func(ctx context.Context, h hook.AfterCompaction) { h.AfterCompaction(ctx, conversation, compacted) })
}

// OnSessionEnd implements [hook.OnSessionEnd].
func (c *Composite) OnSessionEnd(ctx context.Context, session *hook.Session) {
	written := func() hook.Job { return view.OnSessionEnd(session) }
	observe(ctx, c, hook.PointOnSessionEnd, session, written, func(ctx context.Context, h hook.OnSessionEnd) { h.OnSessionEnd(ctx, session) })
}
