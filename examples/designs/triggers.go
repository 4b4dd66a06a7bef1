package designs

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Triggers is a hook at all eight triggers of design 002. There a hook has one method with the
// trigger in its argument; here each trigger is an interface of one method, so that a hook that
// cannot change something has no way to say that it does.
//
//	002               here
//	BeforeExecution   BeforeTurn
//	BeforeStep        BeforeStep
//	BeforeToolUse     BeforeTool
//	AfterToolUse      AfterTool
//	AfterStep         AfterStep
//	OnStop            OnStop
//	AfterExecution    AfterTurn
//	OnError           OnTurnError
//
//hook:subsystem
type Triggers struct {
	hook.Nop
	mu  sync.Mutex
	log []string
}

func (t *Triggers) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, fmt.Sprintf(format, args...))
}

// Log returns which triggers have fired, in order.
func (t *Triggers) Log() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.log...)
}

// BeforeTurn is 002's BeforeExecution.
func (t *Triggers) BeforeTurn(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	t.note("BeforeExecution %s", in.Text())
	return hook.TurnDecision{}, nil
}

// BeforeStep is 002's BeforeStep, where its guards signal a stop.
func (t *Triggers) BeforeStep(_ context.Context, step *hook.Step) (hook.StepDecision, error) {
	t.note("BeforeStep %d", step.Number())
	if step.Number() > 4 {
		return hook.StopStep(hook.StopStepsLimit, "Step limit reached: 4/4"), nil
	}
	return hook.StepDecision{}, nil
}

// BeforeTool is 002's BeforeToolUse.
func (t *Triggers) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	t.note("BeforeToolUse %s", call.Name())
	return hook.ToolDecision{}, nil
}

// AfterTool is 002's AfterToolUse. What it decides reaches the turn, also behind calls that run at
// the same time.
func (t *Triggers) AfterTool(_ context.Context, call *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
	t.note("AfterToolUse %s %s", call.Name(), o.Outcome)
	return hook.OutcomeDecision{}, nil
}

// AfterStep is 002's AfterStep.
func (t *Triggers) AfterStep(_ context.Context, step *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
	t.note("AfterStep %d", step.Number())
	return hook.StepDecision{}, nil
}

// OnStop is 002's OnStop: it overrides a soft stop once.
func (t *Triggers) OnStop(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
	t.note("OnStop %s", s.Stop)
	if s.Continued == 0 {
		return hook.ContinueTurn("Say it in one word."), nil
	}
	return hook.StopDecision{}, nil
}

// AfterTurn is 002's AfterExecution.
func (t *Triggers) AfterTurn(_ context.Context, _ *hook.Turn, o hook.TurnOutcome) {
	t.note("AfterExecution %s", o.Stop)
}

// OnTurnError is 002's OnError: it recovers with an answer of its own.
func (t *Triggers) OnTurnError(_ context.Context, _ *hook.Turn, o hook.TurnOutcome) (hook.RecoverDecision, error) {
	t.note("OnError %s", o.Stop)
	return hook.RecoverTurn("The model is not there today."), nil
}

// Triggered is the hook with a tool.
//
//hook:composite
type Triggered struct {
	Triggers *Triggers
	Shell    *Shell
}
