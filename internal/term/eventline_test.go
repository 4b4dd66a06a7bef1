package term_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

// TestEventsOfOtherAgents: what happens below a turn is marked, and questions are
// shown with their answers.
func TestEventsOfOtherAgents(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	q := hook.Inquiry{ID: "i", Questions: message.ListOf(hook.Question{Text: "Which way?", Options: message.ListOf(hook.Choice{Label: "left"})})}
	given := hook.Response{Given: message.ListOf(hook.Given{Chosen: message.ListOf("left")})}
	for _, ev := range []hook.Event{
		{Kind: event.TurnStart, Text: "Go."},
		hook.Event{Kind: event.SubagentStart, Text: "Find it.", Depth: 1, Agent: "helper"}.WithDetail(hook.EventDetail{Tool: "delegate"}),
		hook.Event{Kind: event.QuestionAsked, Depth: 1, Agent: "helper"}.WithDetail(hook.EventDetail{Inquiry: q}),
		hook.Event{Kind: event.QuestionGiven, Depth: 1, Agent: "helper"}.WithDetail(hook.EventDetail{Inquiry: q, Response: given, By: "api"}),
		{Kind: event.TextDelta, Text: "It ", Depth: 1, Agent: "helper"},
		hook.Event{Kind: event.SubagentEnd, Text: "It is left.", Depth: 1, Agent: "helper"}.WithUsage(message.Usage{}, 0, hook.StopCompleted),
		{Kind: event.Steered, Text: "Hurry."},
	} {
		ev.Time, ev.Conversation = at, "c"
		if ev.Agent == "" {
			ev.Agent = "chief"
		}
		out.WriteString(term.EventLine(ev).String())
	}
	assert.Equal(t, `03:04:05.000 c chief turn_start Go.
03:04:05.000 c helper ▸ subagent_start delegate Find it.
03:04:05.000 c helper ▸ question_asked Which way?
03:04:05.000 c helper ▸ question_given Which way? left
03:04:05.000 c helper ▸ subagent_end completed It is left.
03:04:05.000 c chief steered Hurry.
`, out.String())
}
