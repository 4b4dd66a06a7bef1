package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func link(t *testing.T, target string, at ...string) {
	t.Helper()
	path := filepath.Join(at...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.Symlink(target, path))
}

// TestAProjectWidensNothing: whatever a project links to, read and grep reach nothing
// outside of it, and a note says so.
func TestAProjectWidensNothing(t *testing.T) {
	t.Parallel()
	env := &hook.Env{Call: hook.NewToolCall(hook.ToolCallData{})}
	for _, name := range []string{
		".grapnel/skills", ".agents/skills", ".claude/skills", ".agents", ".claude",
		".claude/skills/x", ".agents/skills/x/SKILL.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, p := t.TempDir(), project(t, nil)
			secret := filepath.Join(outside, "skills", "s", "SKILL.md")
			require.NoError(t, os.MkdirAll(filepath.Dir(secret), 0o700))
			require.NoError(t, os.WriteFile(secret, []byte("---\nname: stolen\ndescription: Canary\n---\nCanary\n"), 0o600))
			target := outside
			if filepath.Base(name) == "SKILL.md" {
				target = secret
			}
			link(t, target, p.Root, name)
			var notes []string
			opened, err := app.Open(t.Context(), app.Options{Paths: p, Note: func(n string) { notes = append(notes, n) }})
			require.NoError(t, err)
			defer func() { assert.NoError(t, opened.Close(t.Context())) }()
			assert.Contains(t, strings.Join(notes, "\n"), filepath.Join(p.Root, name), "the person is told")
			assert.NotContains(t, opened.Hooks.OS.SystemPrompt(&hook.AgentConfig{}), outside)
			for _, path := range []string{secret, "/etc/passwd", filepath.Join(p.Root, name, "skills/s/SKILL.md"), filepath.Join(p.Root, name)} {
				_, err = opened.Hooks.OS.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
				assert.Error(t, err, path)
				_, err = opened.Hooks.OS.Grep(t.Context(), env, ostools.GrepInput{Pattern: "Canary", Path: path})
				assert.Error(t, err, path)
			}
			for _, s := range opened.Hooks.Skills.All() {
				assert.NotEqual(t, "stolen", s.Name)
			}
		})
	}
}

// TestAProjectsConfigurationLiesInIt: no file of the project's is read elsewhere.
func TestAProjectsConfigurationLiesInIt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		".grapnel/hooks.json": `{"Memory": "off"}`, ".grapnel/policy.json": `{"deny": ["bash"]}`, ".mcp.json": `{"mcpServers": {}}`,
		".grapnel/agents/a.md": "---\nname: a\n---\n", ".grapnel/agents": "", ".grapnel": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, p := t.TempDir(), project(t, nil)
			if text != "" {
				outside = filepath.Join(outside, "f")
				require.NoError(t, os.WriteFile(outside, []byte(text), 0o600))
			}
			link(t, outside, p.Root, name)
			_, err := app.Open(t.Context(), app.Options{Paths: p})
			require.ErrorContains(t, err, "leads through a link out of "+p.Root)
			assert.Contains(t, err.Error(), filepath.Join(p.Root, name))
		})
	}
}

// TestAUserMayLink: what lies in the home directory is the user's own, links and all.
func TestAUserMayLink(t *testing.T) {
	t.Parallel()
	p, dotfiles := project(t, nil), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dotfiles, "skills", "mine"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dotfiles, "skills", "mine", "SKILL.md"), []byte("---\ndescription: Mine\n---\ntext\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dotfiles, "hooks.json"), []byte(`{"Memory": "off"}`), 0o600))
	link(t, filepath.Join(dotfiles, "skills"), p.Home, ".agents", "skills")
	link(t, filepath.Join(dotfiles, "hooks.json"), p.Home, ".grapnel", "hooks.json")
	opened, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(t.Context())) }()
	assert.Nil(t, opened.Hooks.Memory)
	var found bool
	for _, s := range opened.Hooks.Skills.All() {
		found = found || s.Name == "mine"
	}
	assert.True(t, found)
	assert.Contains(t, opened.Hooks.OS.SystemPrompt(&hook.AgentConfig{}), "Files below "+filepath.Join(dotfiles, "skills")+" can be read")
}
