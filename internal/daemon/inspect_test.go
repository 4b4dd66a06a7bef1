package daemon_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// TestWhatPeopleAskOfTheProgram: the prompt, the models, the costs and the audit are those of the program that runs.
func TestWhatPeopleAskOfTheProgram(t *testing.T) {
	t.Parallel()
	paths := project(t)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(paths.Root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("model.yaml", "rules: [{when: always, say: Hi.}]")
	write("AGENTS.md", "Speak of boats.")
	write(".grapnel/agents/helper.md", "---\nmodel: script:model.yaml\naudit: {contents: true}\n---\nHelp.\n")
	err := daemon.Within(t.Context(), app.Options{Paths: paths, Note: note}, func(c *client.Client) error {
		ctx := t.Context()
		conv, err := c.Conversation(ctx, "helper", "ann")
		require.NoError(t, err)
		turn, err := c.Send(ctx, conv.ID, "Hello!")
		require.NoError(t, err)
		for _, err := range c.Follow(ctx, turn) {
			require.NoError(t, err)
		}

		p, err := c.Prompt(ctx, "helper")
		require.NoError(t, err)
		assert.Equal(t, wire.PromptPart{Contributor: "agent", Point: "instructions", Text: "Help.", Tokens: 2}, p.Parts[0])
		last := p.Parts[len(p.Parts)-1]
		assert.Equal(t, "Instructions", last.Contributor)
		assert.Equal(t, "PromptSections", last.Point)
		assert.Contains(t, last.Text, "Speak of boats.")
		assert.NotEmpty(t, p.Turn)
		assert.Equal(t, map[string]any{"audit": map[string]any{"contents": true}}, p.Sections)
		require.Len(t, p.Instructions, 1)
		assert.Equal(t, "AGENTS.md", p.Instructions[0].Path)
		for _, tool := range p.Tools {
			assert.NotEmpty(t, tool.Owner, tool.Name)
		}

		m, err := c.Models(ctx, true)
		require.NoError(t, err)
		assert.NotEmpty(t, m.Models)
		assert.NotEmpty(t, m.Vendors)

		s, err := c.Spending(ctx, "agent", "")
		require.NoError(t, err)
		require.Len(t, s.Spent, 1)
		assert.Equal(t, "helper", s.Spent[0].Name)
		assert.EqualValues(t, 1, s.Spent[0].Calls)

		checkAudit(t, c, paths)
		return nil
	})
	require.NoError(t, err)
}

// checkAudit reads the record of a turn one by one, and damages it.
func checkAudit(t *testing.T, c *client.Client, paths app.Paths) {
	t.Helper()
	ctx := t.Context()
	whole, err := c.Audit(ctx, 100, "")
	require.NoError(t, err)
	assert.True(t, whole.Verified)
	assert.False(t, whole.Off)
	assert.Empty(t, whole.Next)
	require.GreaterOrEqual(t, len(whole.Entries), 2)
	assert.Equal(t, "turn_end", whole.Entries[0].Kind, "the newest first")
	assert.NotEmpty(t, whole.Entries[len(whole.Entries)-1].SHA256["text"], "the digest, and not the text")

	var one []wire.AuditEntry
	for before := ""; ; {
		a, err := c.Audit(ctx, 1, before)
		require.NoError(t, err)
		one = append(one, a.Entries...)
		if before = a.Next; before == "" {
			break
		}
	}
	assert.Equal(t, whole.Entries, one)
	_, err = c.Audit(ctx, 1, "1.2")
	require.ErrorContains(t, err, `before is "1.2"; write the next of an answer`)

	files, err := filepath.Glob(filepath.Join(paths.State, "audit", "*.log"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[0], bytes.Replace(data, []byte("turn_end"), []byte("turn_and"), 1), 0o600))
	damaged, err := c.Audit(ctx, 100, "")
	require.NoError(t, err)
	assert.False(t, damaged.Verified)
	assert.True(t, strings.HasPrefix(damaged.Problem, "audit: the record was changed"), damaged.Problem)
	assert.Len(t, damaged.Entries, len(whole.Entries)-1, "what was written before that")
}
