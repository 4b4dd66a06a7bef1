package message

import "fmt"

// Loop names the loop of an agent's turns: which model calls they make, in which order. Hooks are called alike in all loops. "" is
// LoopToolCalling.
type Loop string

// The loops.
const (
	// LoopToolCalling asks the model, runs the tools that it calls, and ends with a reply that calls none.
	LoopToolCalling Loop = "tool-calling"
	// LoopPlanAndExecute asks for a plan first, carries out each step by tool calling, asks after each whether the plan still
	// holds, and then for the answer.
	LoopPlanAndExecute Loop = "plan-and-execute"
)

// Check returns an error with the known names unless the loop is known.
func (l Loop) Check() error {
	switch l {
	case "", LoopToolCalling, LoopPlanAndExecute:
		return nil
	}
	return fmt.Errorf("there is no loop %.60q; write %s or %s", string(l), LoopToolCalling, LoopPlanAndExecute)
}

// Steps is the limit of steps of a turn whose hook.Limits have none: 20, or 100 with a plan, whose steps take several model calls each.
func (l Loop) Steps() int {
	if l == LoopPlanAndExecute {
		return 100
	}
	return 20
}
