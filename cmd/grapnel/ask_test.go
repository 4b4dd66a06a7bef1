package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
)

// TestOutcomeIsThatOfTheTurnItself: what the agents did that it ran is not in it.
func TestOutcomeIsThatOfTheTurnItself(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	child := func(ev hook.Event) hook.Event { ev.Depth, ev.Turn = 1, "child"; return ev }
	usage := hook.Usage{Input: 30, Output: 4}
	var o outcome
	for _, ev := range []hook.Event{
		{Kind: hook.EventTurnStart, Time: at},
		{Kind: hook.EventStepStart, Step: 1},
		hook.Event{Kind: hook.EventCallsBegin}.WithTools(hook.ListOf("delegate")),
		child(hook.Event{Kind: hook.EventTurnStart, Time: at.Add(time.Second)}),
		child(hook.Event{Kind: hook.EventStepStart, Step: 7}),
		child(hook.Event{Kind: hook.EventCallsBegin}.WithTools(hook.ListOf("read", "read"))),
		child(hook.Event{Kind: hook.EventError, Text: "the child's"}),
		child(hook.Event{Kind: hook.EventTurnEnd, Text: "half"}.WithUsage(hook.Usage{}, 0, hook.StopError)),
		{Kind: hook.EventStepStart, Step: 2},
		hook.Event{Kind: hook.EventTurnEnd, Text: "Done.", Time: at.Add(3 * time.Second)}.WithUsage(usage, 0, hook.StopCompleted),
	} {
		o.add(ev)
	}
	assert.Equal(t, hook.TurnOutcome{
		Stop: hook.StopCompleted, Usage: usage, Steps: 2, Calls: 1, Duration: 3 * time.Second,
		Message: hook.Message{Role: hook.RoleAssistant, Content: hook.ListOf(hook.TextBlock("Done."))},
	}, o.out)
}
