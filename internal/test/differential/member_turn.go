package differential

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// OnSessionStart implements hook.OnSessionStart.
func (m *Member) OnSessionStart(context.Context, *hook.Session) (hook.SessionDecision, error) {
	yes, err := m.at(point.OnSessionStart, "")
	if !yes {
		return hook.SessionDecision{}, err
	}
	return []hook.SessionDecision{hook.RejectSession(m.Name), hook.ContextSession(m.Name), hook.ContextSession("c")}[m.Say%3], nil
}

// BeforeTurn implements hook.BeforeTurn.
func (m *Member) BeforeTurn(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
	yes, err := m.at(point.BeforeTurn, "")
	if !yes {
		return hook.TurnDecision{}, err
	}
	return []hook.TurnDecision{hook.RejectTurn(m.Name), hook.RespondTurn(m.Name)}[m.Say%2], nil
}

// TurnPolicy implements hook.TurnPolicy.
func (m *Member) TurnPolicy(context.Context, *hook.Turn) ([]hook.Policy, error) {
	yes, err := m.at(point.TurnPolicy, "")
	if !yes {
		return nil, err
	}
	return []hook.Policy{{Domain: m.Name, Weight: m.Say}, {Key: m.Name}}[:1+m.Say%2], nil
}

// TurnContext implements hook.TurnContext.
func (m *Member) TurnContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	yes, err := m.at(point.TurnContext, "")
	if !yes {
		return nil, err
	}
	return []hook.ContextBlock{{Text: m.Name, Weight: m.Say}, {ID: m.Name}}[:1+m.Say%2], nil
}

// RefineContext implements hook.RefineContext.
func (m *Member) RefineContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	yes, err := m.at(point.RefineContext, "")
	if !yes {
		return nil, err
	}
	return []hook.ContextBlock{{Text: m.Name, Weight: m.Say}, {Domain: m.Name}}[:1+m.Say%2], nil
}

// TurnTools implements hook.TurnTools.
func (m *Member) TurnTools(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
	yes, err := m.at(point.TurnTools, "")
	if !yes {
		return nil, err
	}
	return []hook.ToolChange{{ID: m.Name, Hide: message.ListOf(m.Name)}, {Weight: m.Say}}[:1+m.Say%2], nil
}

// PromptSections implements hook.PromptSections.
func (m *Member) PromptSections(context.Context, *hook.Turn) ([]hook.PromptSection, error) {
	yes, err := m.at(point.PromptSections, "")
	if !yes {
		return nil, err
	}
	return []hook.PromptSection{{Title: m.Name}, {Text: m.Name, Weight: m.Say}}[:1+m.Say%2], nil
}

// BeforeStep implements hook.BeforeStep.
func (m *Member) BeforeStep(context.Context, *hook.Step) (hook.StepDecision, error) {
	yes, err := m.at(point.BeforeStep, "")
	if !yes {
		return hook.StepDecision{}, err
	}
	return []hook.StepDecision{hook.StopStep(hook.StopTokenLimit, m.Name), hook.StopStep(hook.StopFinishReason, m.Name), hook.StopStep(hook.StopStepsLimit, m.Name), hook.StopStep("", m.Name)}[m.Say%4], nil
}

// AfterStep implements hook.AfterStep.
func (m *Member) AfterStep(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error) {
	yes, err := m.at(point.AfterStep, "")
	if !yes {
		return hook.StepDecision{}, err
	}
	return []hook.StepDecision{hook.StopStep(hook.StopTokenLimit, m.Name), hook.StopStep(hook.StopFinishReason, m.Name), hook.StopStep(hook.StopStepsLimit, m.Name), hook.StopStep("", m.Name)}[m.Say%4], nil
}

// OnModelError implements hook.OnModelError.
func (m *Member) OnModelError(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) {
	yes, err := m.at(point.OnModelError, "")
	if !yes {
		return hook.FailureDecision{}, err
	}
	return []hook.FailureDecision{hook.RetryFailure(time.Duration(m.Say)), hook.FallbackFailure(m.Name), hook.RespondFailure(message.ModelReply{Model: m.Name})}[m.Say%3], nil
}

// OnInvalidTool implements hook.OnInvalidTool.
func (m *Member) OnInvalidTool(context.Context, *hook.Step, hook.InvalidCall) (hook.RepairDecision, error) {
	yes, err := m.at(point.OnInvalidTool, "")
	if !yes {
		return hook.RepairDecision{}, err
	}
	return []hook.RepairDecision{hook.RepairArgs(message.JSON(m.Name)), hook.RenameTool(m.Name), hook.RetryInvalid(m.Name)}[m.Say%3], nil
}

// OnStop implements hook.OnStop.
func (m *Member) OnStop(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error) {
	yes, err := m.at(point.OnStop, "")
	if !yes {
		return hook.StopDecision{}, err
	}
	return hook.ContinueTurn(m.Name), nil
}

// OnTurnError implements hook.OnTurnError.
func (m *Member) OnTurnError(context.Context, *hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error) {
	yes, err := m.at(point.OnTurnError, "")
	if !yes {
		return hook.RecoverDecision{}, err
	}
	return hook.RecoverTurn(m.Name), nil
}

// BeforeCompaction implements hook.BeforeCompaction.
func (m *Member) BeforeCompaction(context.Context, *hook.Conversation, hook.Compaction) (hook.CompactionDecision, error) {
	yes, err := m.at(point.BeforeCompaction, "")
	if !yes {
		return hook.CompactionDecision{}, err
	}
	return []hook.CompactionDecision{hook.SkipCompaction(m.Name), hook.HintCompaction(m.Name), hook.SupplyCompaction(m.Name), hook.HintCompaction("h")}[m.Say%4], nil
}

// AfterCompaction implements hook.AfterCompaction.
func (m *Member) AfterCompaction(_ context.Context, _ *hook.Conversation, c hook.Compacted) {
	if _, err := m.at(point.AfterCompaction, c.Summary); err != nil {
		panic(err)
	}
}

// OnSessionEnd implements hook.OnSessionEnd.
func (m *Member) OnSessionEnd(_ context.Context, s *hook.Session) {
	if _, err := m.at(point.OnSessionEnd, s.ID()); err != nil {
		panic(err)
	}
}
