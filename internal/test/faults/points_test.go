package faults_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/points"
)

// elsewhere are the points without faults here, and where theirs are.
var elsewhere = map[string]string{
	"OnOpen": "runtime: it ends the start", "OnClose": "runtime: nothing comes behind it",
	"BeforeCompaction": "runtime: these conversations are not compacted", "AfterCompaction": "runtime: as BeforeCompaction",
}

// faults are those that have to occur at the points where a fault is what a hook of that kind can do.
func faults() []string {
	var out []string
	for _, info := range point.All() {
		_, not := elsewhere[info.Name]
		switch {
		case not, info.Name == "Approve", info.Kind == "wrap", info.Kind == "facade" && info.Name != "Preprocess":
		case info.Kind == "facade":
			out = append(out, info.Name+" panic", info.Name+" error", info.Name+" answer")
		case info.Kind == "observe":
			out = append(out, info.Name+" panic")
		default:
			out = append(out, info.Name+" panic", info.Name+" error", info.Name+" hang", info.Name+" ignores ctx")
			if info.Name != "OnModelError" && info.Name != "OnInvalidTool" { // these tell which answer
				out = append(out, info.Name+" answer")
			}
		}
	}
	return out
}

func TestThereAreFaultsAtEveryPoint(t *testing.T) {
	t.Parallel()
	had := map[string]bool{}
	for _, name := range occur() {
		var point string
		_, _ = fmt.Sscan(name, &point)
		had[point] = true
	}
	for _, info := range point.All() {
		if _, ok := elsewhere[info.Name]; ok || info.Kind == "facade" {
			continue
		}
		assert.True(t, had[info.Name], "no fault at %s has to have occurred", info.Name)
	}
}

// meet plays a fault at the points that have no method below: everybody's answers, and no answer to be told of.
func (c *chaos) meet(ctx context.Context, p hook.Point, shown ...any) (any, error) {
	name := p.String()
	if _, ok := elsewhere[name]; ok {
		return nil, nil
	}
	answers := points.Answers(p, "note", 0)
	answer, err := c.rig.w.misbehave(ctx, name, points.Text(shown[0]), len(answers))
	if answer < 0 {
		return nil, err
	}
	return answers[answer], err
}

// The points of sessions, turns and steps.

// BeforeTurn implements hook.BeforeTurn.
func (c *chaos) BeforeTurn(ctx context.Context, t *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
	switch answer, err := c.rig.w.misbehave(ctx, "BeforeTurn", t.ID(), 3); answer {
	case 0:
		return hook.RejectTurn("no"), err
	case 1:
		return hook.RespondTurn("instead"), err
	case 2:
		return hook.RespondTurn(""), err
	default:
		return hook.TurnDecision{}, err
	}
}

// TurnPolicy implements hook.TurnPolicy.
func (c *chaos) TurnPolicy(ctx context.Context, t *hook.Turn) ([]hook.Policy, error) {
	answer, err := c.rig.w.misbehave(ctx, "TurnPolicy", t.ID(), 1)
	return []hook.Policy{{Domain: "chaos", Key: "answer", Value: fmt.Sprint(answer)}}, err
}

// TurnContext implements hook.TurnContext.
func (c *chaos) TurnContext(ctx context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
	return c.blocks(ctx, "TurnContext", t)
}

// RefineContext implements hook.RefineContext.
func (c *chaos) RefineContext(ctx context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
	return c.blocks(ctx, "RefineContext", t)
}

func (c *chaos) blocks(ctx context.Context, point string, t *hook.Turn) ([]hook.ContextBlock, error) {
	answer, err := c.rig.w.misbehave(ctx, point, t.ID(), 1)
	if answer < 0 {
		return nil, err
	}
	return []hook.ContextBlock{{Domain: "chaos", ID: point, Text: "a block \xff"}}, err
}

// TurnTools implements hook.TurnTools.
func (c *chaos) TurnTools(ctx context.Context, t *hook.Turn) ([]hook.ToolChange, error) {
	answer, err := c.rig.w.misbehave(ctx, "TurnTools", t.ID(), 2)
	switch answer {
	case 0:
		return []hook.ToolChange{{Hide: message.ListOf("ok", "nobody")}}, err
	case 1:
		return []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "nobody", Input: `{"type":"object"}`}})}}, err
	}
	return nil, err
}

// PromptSections implements hook.PromptSections.
func (c *chaos) PromptSections(ctx context.Context, t *hook.Turn) ([]hook.PromptSection, error) {
	answer, err := c.rig.w.misbehave(ctx, "PromptSections", t.ID(), 1)
	if answer < 0 {
		return nil, err
	}
	return []hook.PromptSection{{Title: "Chaos", Text: "Be brief."}}, err
}

// BeforeStep implements hook.BeforeStep.
func (c *chaos) BeforeStep(ctx context.Context, s *hook.Step) (hook.StepDecision, error) {
	return c.step(ctx, "BeforeStep", s)
}

// AfterStep implements hook.AfterStep.
func (c *chaos) AfterStep(ctx context.Context, s *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
	return c.step(ctx, "AfterStep", s)
}

func (c *chaos) step(ctx context.Context, point string, s *hook.Step) (hook.StepDecision, error) {
	reasons := []hook.StopReason{hook.StopCostLimit, hook.StopDenied, hook.StopFinishReason, hook.StopStopRequested}
	answer, err := c.rig.w.misbehave(ctx, point, stepID(s), len(reasons))
	if answer < 0 {
		return hook.StepDecision{}, err
	}
	return hook.StopStep(reasons[answer], "enough"), err
}

// OnTurnError implements hook.OnTurnError.
func (c *chaos) OnTurnError(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) (hook.RecoverDecision, error) {
	switch answer, err := c.rig.w.often(ctx, "OnTurnError", t.ID(), 2); answer {
	case 0:
		return hook.RecoverTurn("sorry"), err
	case 1:
		return hook.RecoverTurn(""), err
	default:
		return hook.RecoverDecision{}, err
	}
}

// What has to come exactly once.

// OnSessionStart implements hook.OnSessionStart: nobody is asked behind it, so the
// session begins.
func (q *quiet) OnSessionStart(_ context.Context, s *hook.Session) (hook.SessionDecision, error) {
	q.rig.w.tallySession(s, begun)
	return hook.SessionDecision{}, nil
}

// OnSessionEnd implements hook.OnSessionEnd.
func (q *quiet) OnSessionEnd(_ context.Context, s *hook.Session) { q.rig.w.tallySession(s, 1) }

// AfterStep implements hook.AfterStep.
func (q *quiet) AfterStep(_ context.Context, s *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
	w := q.rig.w
	w.mu.Lock()
	w.steps[stepID(s)]++
	w.mu.Unlock()
	return hook.StepDecision{}, nil
}

// begun counts a beginning among the ends of a session.
const begun = 1000

func (w *world) tallySession(s *hook.Session, n int) {
	w.mu.Lock()
	w.sessions[s.ID()] += n
	w.mu.Unlock()
}

// checkSessions finds that every session has begun and ended once.
func (w *world) checkSessions() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range w.sessions {
		if n != begun+1 {
			w.t.Errorf("session %s has begun %d times and ended %d times", id, n/begun, n%begun)
		}
	}
}

// checkSteps finds an AfterStep for every start of a step.
func (w *world) checkSteps() {
	started := map[string]int{}
	for _, ev := range w.events {
		if ev.Kind == event.StepStart && !w.recovered(ev.Turn) {
			started[fmt.Sprintf("%s.%d", ev.Turn, ev.Step)]++
		}
	}
	for id, n := range started {
		if w.steps[id] != n {
			w.t.Errorf("step %s has begun %d times, and AfterStep was called %d times", id, n, w.steps[id])
		}
	}
}
