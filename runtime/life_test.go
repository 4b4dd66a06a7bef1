package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// life is one subsystem that acts at all points of sessions, turns and steps; what
// is nil says nothing.
type life struct {
	*toolbox
	sessionStart func(*hook.Session) (hook.SessionDecision, error)
	sessionEnd   func(*hook.Session)
	preprocess   func(*hook.Turn, message.Input) (message.Input, error)
	beforeTurn   func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error)
	beforeStep   func(*hook.Step) (hook.StepDecision, error)
	afterStep    func(context.Context, *hook.Step, hook.StepOutcome) (hook.StepDecision, error)
	stop         func(context.Context, *hook.Turn, hook.Stopping) (hook.StopDecision, error)
	turnError    func(*hook.Turn, hook.TurnOutcome) (hook.RecoverDecision, error)
	afterTurn    func(*hook.Turn, hook.TurnOutcome)
}

func (l *life) OnSessionStart(_ context.Context, s *hook.Session) (hook.SessionDecision, error) {
	if l.sessionStart == nil {
		return hook.SessionDecision{}, nil
	}
	return l.sessionStart(s)
}

func (l *life) OnSessionEnd(_ context.Context, s *hook.Session) {
	if l.sessionEnd != nil {
		l.sessionEnd(s)
	}
}

func (l *life) Preprocess(_ context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	if l.preprocess == nil {
		return in, nil
	}
	return l.preprocess(t, in)
}

func (l *life) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if l.beforeTurn == nil {
		return hook.TurnDecision{}, nil
	}
	return l.beforeTurn(ctx, t, in)
}

func (l *life) BeforeStep(_ context.Context, s *hook.Step) (hook.StepDecision, error) {
	if l.beforeStep == nil {
		return hook.StepDecision{}, nil
	}
	return l.beforeStep(s)
}

func (l *life) AfterStep(ctx context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
	if l.afterStep == nil {
		return hook.StepDecision{}, nil
	}
	return l.afterStep(ctx, s, o)
}

func (l *life) OnStop(ctx context.Context, t *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
	if l.stop == nil {
		return hook.StopDecision{}, nil
	}
	return l.stop(ctx, t, s)
}

func (l *life) OnTurnError(_ context.Context, t *hook.Turn, o hook.TurnOutcome) (hook.RecoverDecision, error) {
	if l.turnError == nil {
		return hook.RecoverDecision{}, nil
	}
	return l.turnError(t, o)
}

func (l *life) AfterTurn(_ context.Context, t *hook.Turn, o hook.TurnOutcome) {
	if l.afterTurn != nil {
		l.afterTurn(t, o)
	}
}

// alike runs a test with the hook alone and as a member of a composite; path is the
// hook's there.
func alike(t *testing.T, test func(t *testing.T, path string, with func(hook.Hook) []hook.Hook)) {
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		test(t, "", func(h hook.Hook) []hook.Hook { return []hook.Hook{h} })
	})
	t.Run("composed", func(t *testing.T) {
		t.Parallel()
		test(t, "H0", func(h hook.Hook) []hook.Hook { return []hook.Hook{h, &life{toolbox: box()}} })
	})
}

var errBroken = errors.New("broken, and the cause is secret")
