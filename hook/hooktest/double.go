package hooktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Approver is a hook that stands for a person who approves calls, with answers from
// a table. The zero Approver has none, and so refuses nothing and approves nothing.
// Safe for concurrent use; the table is set before the first use.
type Approver struct {
	hook.Nop
	// Answers are the answers by the name of the tool. A tool that is not among them
	// gets no answer, which is what the next hook is asked for.
	Answers map[string]hook.ApprovalDecision

	mu    sync.Mutex
	shown []Shown
}

var _ hook.Approve = (*Approver)(nil)

// Shown is what an [Approver] was shown.
type Shown struct {
	Call *hook.ToolCall
	// Asked is the decision that asked.
	Asked hook.ToolDecision
}

// Approve answers from the table.
func (a *Approver) Approve(_ context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	//hook:ignore HG084
	a.shown = append(a.shown, Shown{call, asked}) // a test looks at the whole of it, and ends
	return a.Answers[call.Name()], nil
}

// Shown returns a copy of what was shown so far, in order.
func (a *Approver) Shown() []Shown {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.shown)
}

// Clock is a clock that only a test moves. The zero Clock shows the time at which
// the turns of the kit begin; its method Now goes where a func() time.Time is wanted,
// hook.TurnData.Now for instance. Safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return epoch().Add(c.passed)
}

// Advance moves the clock; a negative d moves it back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}
