package app_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// TestTasksInTheBackground: the agent goes on while they run, is told before it ends without their results, and gets these; what they
// cost is the turn's.
func TestTasksInTheBackground(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/chief.md": "---\nmodel: script:chief.yaml\n---\nHi.\n",
		".grapnel/agents/mate.md":  "---\nmodel: script:mate.yaml\n---\nHi.\n",
		"chief.yaml": `rules:
  - when: {step: 1}
    calls: [{tool: delegate, args: {background: true, tasks: [{agent: mate, message: a}, {agent: mate, message: b}]}}]
  - {when: {step: 2}, say: I am early.}
  - {when: {step: 3, context: "1 (mate)"}, calls: [{tool: delegate_tasks, args: {action: wait}}]}
  - {when: {step: 4, result: {tool: delegate_tasks, contains: did b}}, say: All is back.}
`,
		"mate.yaml": "rules:\n  - {when: always, say: \"did ${user}\", pace: {wait: 50ms}}\n",
	})
	_, turn := playChief(t, app.Options{Paths: p})
	out, events := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	assert.Equal(t, "All is back.", out.Text())
	var began, ended []delegate.TaskResult
	require.NoError(t, json.Unmarshal([]byte(resultOf(t, events, "delegate").Text()), &began))
	require.NoError(t, json.Unmarshal([]byte(resultOf(t, events, "delegate_tasks").Text()), &ended))
	assert.Equal(t, []delegate.TaskResult{{Task: 1, Agent: "mate", State: "running"}, {Task: 2, Agent: "mate", State: "running"}}, began)
	assert.Equal(t, []delegate.TaskResult{
		{Task: 1, Agent: "mate", State: "ended", Result: "did a", Stop: hook.StopCompleted},
		{Task: 2, Agent: "mate", State: "ended", Result: "did b", Stop: hook.StopCompleted},
	}, ended)
	var children message.Usage
	for _, ev := range events {
		if ev.Kind == event.SubagentEnd && ev.Depth == 1 {
			children = children.Add(ev.Detail().Usage)
		}
	}
	assert.Positive(t, children.Total())
	assert.Greater(t, out.Usage.Total(), children.Total())
}

// TestTasksInTheBackgroundEndWithTheTurn: also one that is cancelled, and one that does not care for them.
func TestTasksInTheBackgroundEndWithTheTurn(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/chief.md": "---\nmodel: script:chief.yaml\n---\nHi.\n",
		".grapnel/agents/mate.md":  "---\nmodel: script:mate.yaml\n---\nHi.\n",
		"chief.yaml": `rules:
  - when: {step: 1}
    calls: [{tool: delegate, args: {background: true, tasks: [{agent: mate, message: a}]}}]
  - {when: {user: Wait}, say: Never., pace: {wait: 1h}}
  - {when: always, say: I do not care., pace: {wait: 200ms}}
`,
		"mate.yaml": "rules:\n  - {when: always, say: Never., pace: {wait: 1h}}\n",
	})
	opened, turn := playChief(t, app.Options{Paths: p})
	out, events := turn(t.Context(), "Go.")
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, "I do not care.", out.Text())
	assert.Equal(t, 5, out.Steps, "it was told three times")
	assert.Equal(t, hook.StopCancelled, endOf(t, events))

	stop := time.AfterFunc(500*time.Millisecond, func() {
		for _, running := range opened.Runtime.Running() {
			running.Stop(context.Canceled)
		}
	})
	defer stop.Stop()
	out, events = turn(t.Context(), "Wait.")
	assert.Equal(t, hook.StopCancelled, out.Stop)
	assert.Equal(t, hook.StopCancelled, endOf(t, events))
}

// endOf is how the turn's only child ended.
func endOf(t *testing.T, events []hook.Event) hook.StopReason {
	t.Helper()
	var ends []hook.StopReason
	for _, ev := range events {
		if ev.Kind == event.SubagentEnd {
			ends = append(ends, ev.Detail().Stop)
		}
	}
	require.Len(t, ends, 1)
	return ends[0]
}
