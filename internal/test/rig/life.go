package rig

import (
	"context"
	"errors"
	"testing"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Life is one subsystem that acts at all points of sessions, turns and steps; what
// is nil says nothing.
type Life struct {
	*Toolbox
	AtSessionStart func(*hook.Session) (hook.SessionDecision, error)
	AtSessionEnd   func(*hook.Session)
	AtPreprocess   func(*hook.Turn, message.Input) (message.Input, error)
	AtBeforeTurn   func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error)
	AtBeforeStep   func(*hook.Step) (hook.StepDecision, error)
	AtAfterStep    func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error)
	AtStop         func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error)
	AtTurnError    func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error)
	AtAfterTurn    func(*hook.Turn, hook.TurnOutcome)
}

func (l *Life) OnSessionStart(_ context.Context, s *hook.Session) (hook.SessionDecision, error) {
	if l.AtSessionStart == nil {
		return hook.SessionDecision{}, nil
	}
	return l.AtSessionStart(s)
}

func (l *Life) OnSessionEnd(_ context.Context, s *hook.Session) {
	if l.AtSessionEnd != nil {
		l.AtSessionEnd(s)
	}
}

func (l *Life) Preprocess(_ context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	if l.AtPreprocess == nil {
		return in, nil
	}
	return l.AtPreprocess(t, in)
}

func (l *Life) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if l.AtBeforeTurn == nil {
		return hook.TurnDecision{}, nil
	}
	return l.AtBeforeTurn(ctx, t, in)
}

func (l *Life) BeforeStep(_ context.Context, s *hook.Step) (hook.StepDecision, error) {
	if l.AtBeforeStep == nil {
		return hook.StepDecision{}, nil
	}
	return l.AtBeforeStep(s)
}

func (l *Life) AfterStep(ctx context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
	if l.AtAfterStep == nil {
		return hook.StepDecision{}, nil
	}
	return l.AtAfterStep(ctx, s, o)
}

func (l *Life) OnStop(ctx context.Context, t *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
	if l.AtStop == nil {
		return hook.StopDecision{}, nil
	}
	return l.AtStop(ctx, t, s)
}

func (l *Life) OnTurnError(_ context.Context, t *hook.Turn, o hook.TurnOutcome) (hook.RecoverDecision, error) {
	if l.AtTurnError == nil {
		return hook.RecoverDecision{}, nil
	}
	return l.AtTurnError(t, o)
}

func (l *Life) AfterTurn(_ context.Context, t *hook.Turn, o hook.TurnOutcome) {
	if l.AtAfterTurn != nil {
		l.AtAfterTurn(t, o)
	}
}

// Alike runs a test with the hook alone and as a member of a composite; path is the
// hook's there.
func Alike(t *testing.T, test func(t *testing.T, path string, with func(hook.Hook) []hook.Hook)) {
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		test(t, "", func(h hook.Hook) []hook.Hook { return []hook.Hook{h} })
	})
	t.Run("composed", func(t *testing.T) {
		t.Parallel()
		test(t, "H0", func(h hook.Hook) []hook.Hook { return []hook.Hook{h, &Life{Toolbox: Box()}} })
	})
}

var ErrBroken = errors.New("broken, and the cause is secret")
