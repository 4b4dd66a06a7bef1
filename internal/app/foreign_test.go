package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
)

func TestSettingsOfAnotherProgramAreNotIgnoredSilently(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"permissions": {"deny": ["Bash(rm *)"]}, "hooks": {"PreToolUse": []}}`: {".claude/settings.json: permissions and hooks have no effect here; rules for tool calls are written in .grapnel/policy.json"},
		`{"hooks": {"PreToolUse": []}, "model": "x"}`:                            {".claude/settings.json: hooks have no effect here; rules for tool calls are written in .grapnel/policy.json"},
		`{"model": "x", "permissions": {}}`:                                      nil,
		`{`:                                                                      {".claude/settings.json has no effect here, and is not what Claude Code reads either: unexpected end of JSON input"},
	} {
		var notes []string
		opened, err := app.Open(t.Context(), app.Options{
			Paths: project(t, map[string]string{".claude/settings.json": text}), Note: func(n string) { notes = append(notes, n) },
		})
		require.NoError(t, err)
		require.NoError(t, opened.Close(t.Context()))
		assert.Equal(t, want, notes, text)
	}
}
