package faults_test

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// OnModelError implements hook.OnModelError. It answers every second failure.
func (c *chaos) OnModelError(ctx context.Context, s *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	w := c.rig.w
	if f.Attempt < 1 || f.Attempt > 4 || f.Err == nil || f.Class == "" || f.Elapsed < 0 {
		w.t.Errorf("the view of a failure is %+v", f)
	}
	if w.calm.Load() {
		return hook.FailureDecision{}, nil
	}
	if _, err := w.misbehave(ctx, "OnModelError", stepID(s), 0); err != nil {
		return hook.FailureDecision{}, err
	}
	d := dice(w.seed, "failure", stepID(s), fmt.Sprint(f.Attempt))
	switch d.IntN(8) {
	case 0, 1:
		w.counts.add("OnModelError retry")
		return hook.RetryFailure(time.Duration(d.IntN(2000)) * time.Millisecond), nil
	case 2:
		w.counts.add("OnModelError fallback")
		return hook.FallbackFailure(s.Model()), nil // which has the answers of this agent
	case 3:
		w.counts.add("OnModelError respond")
		call := message.Block{Kind: message.BlockToolCall, CallID: "main_same", Tool: "ok", JSON: `{"s":"hook"}`}
		return hook.RespondFailure(message.ModelReply{Content: message.ListOf(message.TextBlock("instead"), call), Finish: message.FinishTools}), nil
	}
	return hook.FailureDecision{}, nil
}

// OnInvalidTool implements hook.OnInvalidTool. It answers most calls, not always
// well.
func (c *chaos) OnInvalidTool(ctx context.Context, s *hook.Step, invalid hook.InvalidCall) (hook.RepairDecision, error) {
	w := c.rig.w
	id := callKey(invalid.Call) + fmt.Sprint(s.Number())
	if invalid.Attempt < 1 || invalid.Attempt > 2 || invalid.Reason == "" || invalid.Failure == "" {
		w.t.Errorf("the view of an invalid call is %+v", invalid)
	}
	if _, err := w.misbehave(ctx, "OnInvalidTool", id, 0); err != nil {
		return hook.RepairDecision{}, err
	}
	if w.calm.Load() {
		return hook.RepairDecision{}, nil
	}
	d := dice(w.seed, "invalid", id, fmt.Sprint(invalid.Attempt))
	switch d.IntN(8) {
	case 0, 1:
		w.counts.add("OnInvalidTool repair")
		return hook.RepairArgs([]message.JSON{`{"s":"mended"}`, `{"no":"such"}`, `{"s":`}[d.IntN(3)]), nil
	case 2, 3:
		w.counts.add("OnInvalidTool rename")
		return hook.RenameTool([]string{"ok", "reader", "hidden", "nobody", ""}[d.IntN(5)]), nil
	case 4:
		w.counts.add("OnInvalidTool retry")
		return hook.RetryInvalid("again"), nil
	}
	return hook.RepairDecision{}, nil
}
