package app_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// TestNoAgentRidsItselfOfItsRules: what an agent's file denies stays denied where the
// agent that is always there, one of another file or one that was registered while
// the program runs does the work, also through two of them.
func TestNoAgentRidsItselfOfItsRules(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/chief.md": "---\nmodel: script:chief.yaml\npolicy: {deny: ['Write(/secret/**)'], default: allow}\ntools: [write, delegate]\n---\nHi.\n",
		".grapnel/agents/mate.md":  "---\nmodel: script:mate.yaml\n---\nHi.\n",
		"chief.yaml": `rules:
  - when: {step: 1}
    calls: [{tool: delegate, args: {tasks: [{agent: grapnel, message: a}, {agent: mate, message: b}, {agent: made, message: c}]}}]
  - {when: always, say: Done.}
`,
		"mate.yaml": `rules:
  - when: {step: 1}
    calls: [{tool: delegate, args: {tasks: [{agent: made, message: d}]}}]
  - {when: {result: {tool: delegate, contains: "denied by the rule Write(/secret/**)"}}, say: "denied by the rule Write(/secret/**)"}
  - {when: always, say: Written.}
`,
		"work.yaml": `rules:
  - {when: {step: 1}, calls: [{tool: write, args: {file_path: secret/key, content: x}}, {tool: bash, args: {command: "mkdir secret; touch secret/key"}}]}
  - {when: {result: {tool: write, contains: "denied by the rule Write(/secret/**)"}}, say: "denied by the rule Write(/secret/**)"}
  - {when: always, say: Written.}
`,
	})
	opened, turn := playChief(t, app.Options{Paths: p, Model: "script:work.yaml"})
	made := hook.AgentConfig{Name: "made", Model: message.Model{Name: "script:work.yaml"}}.WithSection("policy", `{"allow":["*"],"default":"allow"}`)
	_, err := opened.Runtime.Register(t.Context(), made)
	require.NoError(t, err)
	out, events := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	var got []delegate.TaskResult
	require.NoError(t, json.Unmarshal([]byte(resultOf(t, events, "delegate").Text()), &got))
	require.Len(t, got, 3)
	for _, r := range got {
		assert.Equal(t, "denied by the rule Write(/secret/**)", r.Result, "%s: %s", r.Agent, r.Error)
	}
	assert.NoDirExists(t, filepath.Join(p.Root, "secret"), "nor has any of them a tool that the chief has not")
}
