package app_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
)

// TestFingerprint: two projects with the same files have the same fingerprint, wherever they are, and each file that agents see changes it.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	const agent, skill = "---\nname: helper\ndescription: Helps.\n---\nHelp.\n", "---\nname: knots\ndescription: Ties knots.\n---\nTie.\n"
	same := map[string]string{
		".grapnel/agents/helper.md": agent, ".grapnel/skills/knots/SKILL.md": skill, "AGENTS.md": "Be brief.",
		".grapnel/policy.json": `{"deny":["Bash(rm *)"]}`, "main.go": "package main",
	}
	of := func(over map[string]string) string {
		t.Helper()
		p := project(t, nil)
		for _, files := range []map[string]string{same, over} {
			for name, text := range files {
				file := filepath.Join(p.Root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
		}
		a, err := app.Open(t.Context(), app.Options{Paths: p})
		require.NoError(t, err)
		defer func() { assert.NoError(t, a.Close(context.Background())) }()
		return a.Fingerprint()
	}
	first := of(nil)
	assert.Len(t, first, 64)
	assert.Equal(t, first, of(nil), "in another directory")
	assert.Equal(t, first, of(map[string]string{"main.go": "package other"}), "what agents work on is not what they are")
	for name, text := range map[string]string{
		".grapnel/agents/helper.md": agent + "More.", ".grapnel/agents/other.md": "---\nname: other\ndescription: Other.\n---\nBe.\n", ".grapnel/skills/knots/SKILL.md": skill + "Well.",
		"AGENTS.md": "Be long.", "CLAUDE.md": "Be kind.", ".grapnel/policy.json": `{"deny":["Bash(rm *)","Bash(mv *)"]}`,
	} {
		assert.NotEqual(t, first, of(map[string]string{name: text}), name)
	}
}
