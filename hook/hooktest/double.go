package hooktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Approver is a hook that approves calls in place of a person, with answers from a
// table. The zero Approver has none: it gives no answer to any call. Safe for
// concurrent use; set the table before the first use.
type Approver struct {
	hook.Nop
	// Answers are the answers by the name of the tool. A call of another tool gets no
	// answer, so the next hook is asked.
	Answers map[string]hook.ApprovalDecision

	mu    sync.Mutex
	shown []Shown
}

var _ hook.Approve = (*Approver)(nil)

// Shown holds the arguments of one call of an [Approver].
type Shown struct {
	Call *hook.ToolCall
	// Asked is the decision of BeforeTool that asked for approval.
	Asked hook.ToolDecision
}

// Approve answers from the table.
func (a *Approver) Approve(_ context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	//hook:ignore HG084
	a.shown = append(a.shown, Shown{call, asked}) // grows only as long as a test runs
	return a.Answers[call.Name()], nil
}

// Shown returns a copy of the calls so far, in order.
func (a *Approver) Shown() []Shown {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.shown)
}

// Clock is a clock that only a test moves. The zero Clock shows the time at which
// the turns of the kit begin. Its method Now fits a func() time.Time, such as
// hook.TurnData.Now. Safe for concurrent use.
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
