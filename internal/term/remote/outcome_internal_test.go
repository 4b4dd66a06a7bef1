package remote

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// TestOutcomeIsThatOfTheTurnItself: what the agents did that it ran is not in it.
func TestOutcomeIsThatOfTheTurnItself(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	child := func(ev hook.Event) hook.Event { ev.Depth, ev.Turn = 1, "child"; return ev }
	usage := message.Usage{Input: 30, Output: 4}
	var o outcome
	for _, ev := range []hook.Event{
		{Kind: event.TurnStart, Time: at},
		{Kind: event.StepStart, Step: 1},
		hook.Event{Kind: event.CallsBegin}.WithTools(message.ListOf("delegate")),
		child(hook.Event{Kind: event.TurnStart, Time: at.Add(time.Second)}),
		child(hook.Event{Kind: event.StepStart, Step: 7}),
		child(hook.Event{Kind: event.CallsBegin}.WithTools(message.ListOf("read", "read"))),
		child(hook.Event{Kind: event.Error, Text: "the child's"}),
		child(hook.Event{Kind: event.TurnEnd, Text: "half"}.WithUsage(message.Usage{}, 0, hook.StopError)),
		{Kind: event.StepStart, Step: 2},
		hook.Event{Kind: event.TurnEnd, Text: "Done.", Time: at.Add(3 * time.Second)}.WithUsage(usage, 0, hook.StopCompleted),
	} {
		o.add(ev)
	}
	assert.Equal(t, hook.TurnOutcome{
		Stop: hook.StopCompleted, Usage: usage, Steps: 2, Calls: 1, Duration: 3 * time.Second,
		Message: message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("Done."))},
	}, o.out)
}

// TestOutcomeHasTheErrorThatTheTurnHad: for the reasons for which hook.TurnOutcome.Err promises one.
func TestOutcomeHasTheErrorThatTheTurnHad(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[hook.StopReason]struct{ failed, want string }{
		hook.StopError:         {"the model is away", "the model is away"},
		hook.StopDenied:        {"rejected by guard", "rejected by guard"},
		hook.StopCancelled:     {"", errCancelled.Error()},
		hook.StopUserRequested: {"", errCancelled.Error()},
	} {
		var o outcome
		if tc.failed != "" {
			o.add(hook.Event{Kind: event.Error, Text: tc.failed})
		}
		o.add(hook.Event{Kind: event.TurnEnd}.WithUsage(message.Usage{}, 0, reason))
		assert.EqualError(t, o.out.Err, tc.want, reason)
	}
	var o outcome
	o.add(hook.Event{Kind: event.TurnEnd}.WithUsage(message.Usage{}, 0, hook.StopDenied))
	assert.NoError(t, o.out.Err, "a turn that a hook denied without a failure")
}
