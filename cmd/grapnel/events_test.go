package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/stdout"
)

// TestEventsOfOtherAgents: what happens below a turn is marked, and questions are
// shown with their answers.
func TestEventsOfOtherAgents(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, out.Close()) }()
	c := &command{out: out, written: stdout.New(out)}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	q := hook.Inquiry{ID: "i", Questions: hook.ListOf(hook.Question{Text: "Which way?", Options: hook.ListOf(hook.Choice{Label: "left"})})}
	given := hook.Response{Given: hook.ListOf(hook.Given{Chosen: hook.ListOf("left")})}
	for _, ev := range []hook.Event{
		{Kind: hook.EventTurnStart, Text: "Go."},
		hook.Event{Kind: hook.EventSubagentStart, Text: "Find it.", Depth: 1, Agent: "helper"}.WithDetail(hook.EventDetail{Tool: "delegate"}),
		hook.Event{Kind: hook.EventQuestionAsked, Depth: 1, Agent: "helper"}.WithDetail(hook.EventDetail{Inquiry: q}),
		hook.Event{Kind: hook.EventQuestionGiven, Depth: 1, Agent: "helper"}.WithDetail(hook.EventDetail{Inquiry: q, Response: given, By: "api"}),
		{Kind: hook.EventTextDelta, Text: "It ", Depth: 1, Agent: "helper"},
		hook.Event{Kind: hook.EventSubagentEnd, Text: "It is left.", Depth: 1, Agent: "helper"}.WithUsage(hook.Usage{}, 0, hook.StopCompleted),
		{Kind: hook.EventSteered, Text: "Hurry."},
	} {
		ev.Time, ev.Conversation = at, "c"
		if ev.Agent == "" {
			ev.Agent = "chief"
		}
		c.showEvent(ev)
	}
	data, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	assert.Equal(t, `03:04:05.000 c chief turn_start Go.
03:04:05.000 c helper ▸ subagent_start delegate Find it.
03:04:05.000 c helper ▸ question_asked Which way?
03:04:05.000 c helper ▸ question_given Which way? left
03:04:05.000 c helper ▸ subagent_end completed It is left.
03:04:05.000 c chief steered Hurry.
`, string(data))
}
