package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
)

func described(t *testing.T, o app.Options, name string) string {
	t.Helper()
	d, err := app.Describe(t.Context(), o, name)
	require.NoError(t, err)
	var out []string
	for _, f := range d.Files {
		out = append(out, strings.TrimSuffix(f.Path+": "+f.Note, ": "))
	}
	if d.OffBy != "" {
		out = append(out, "off by "+d.OffBy)
	}
	return strings.Join(out, "; ")
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		"AGENTS.md": "Top.", "CLAUDE.md": "@AGENTS.md", "api/AGENTS.md": "API.",
		".grapnel/agents/api.md":  "---\ninstructions: {dir: api}\n---\nHi.\n",
		".grapnel/agents/none.md": "---\ninstructions: {files: []}\n---\nHi.\n",
		".grapnel/agents/off.md":  "---\nhooks: {Instructions: off}\n---\nHi.\n",
		".grapnel/agents/bad.md":  "---\ninstructions: {dir: ipa}\n---\nHi.\n",
	})
	o := app.Options{Paths: p}
	assert.Equal(t, "AGENTS.md; CLAUDE.md: left out: it only imports", described(t, o, app.DefaultAgent))
	assert.Equal(t, "AGENTS.md; api/AGENTS.md; CLAUDE.md: left out: it only imports", described(t, o, "api"))
	assert.Empty(t, described(t, o, "none"))
	assert.Equal(t, `off by agent "off"`, described(t, o, "off"))
	assert.Equal(t, "off by --set", described(t, app.Options{Paths: p, Set: says(t, map[string]string{"Instructions": "off"})}, "api"))
	_, err := app.Describe(t.Context(), o, "bad")
	assert.EqualError(t, err, `.grapnel/agents/bad.md: agent "bad": section instructions: dir: there is no directory "ipa" in the project; make it, or name another one`)
	_, err = app.Describe(t.Context(), o, "nobody")
	assert.ErrorContains(t, err, `there is no agent "nobody"; known are api, bad, `)
}

// TestLongInstructionsReachTheModel: the runtime leaves the room that the subsystem uses.
func TestLongInstructionsReachTheModel(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		"AGENTS.md": strings.Repeat("A line of instructions.\n", 1000), "CLAUDE.md": strings.Repeat("Another line.\n", 2000) + "And a last word.",
		"api/AGENTS.md": "The nearest file counts most.", ".grapnel/agents/api.md": "---\ninstructions: {dir: api}\nmodel: script:s.yaml\n---\nHi.\n",
		"s.yaml": "rules:\n  - when: {system: {matches: 'The nearest file counts most\\.\\n</project_file>$'}}\n    say: I have read it all.\n",
	})
	opened, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	a, err := opened.Register(t.Context(), "api", hook.AgentConfig{})
	require.NoError(t, err)
	conv, err := a.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(t.Context(), message.TextInput("hello"), nil)
	require.NoError(t, err)
	require.NoError(t, out.Err)
	assert.Equal(t, "I have read it all.", out.Text())
}
