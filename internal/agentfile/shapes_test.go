package agentfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/internal/agentfile"
)

// Files of the shapes that public collections of agents have are read: colons, quotes, examples and lists in values without quotes.
func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/claude.txtar")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, f := range archive.Files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600))
	}
	agents, warnings, err := agentfile.Load(agentfile.Dir{Path: dir, Dialect: agentfile.Claude})
	require.NoError(t, err)
	type agent struct {
		description, model string
		tools              []string
	}
	got := map[string]agent{}
	for _, a := range agents {
		got[a.Config.Name] = agent{a.Config.Description, a.Config.Model, a.Config.Tools}
		assert.Equal(t, "You are an expert: be brief.", a.Config.Instructions, a.Config.Name)
	}
	assert.Equal(t, map[string]agent{
		"reviewer":    {"Use this agent when: code was written. Use PROACTIVELY.", "sonnet", []string{"read", "grep", "bash"}},
		"prototyper":  {`Use this agent for an MVP. Examples:\n\n<example>\nuser: "Create: a list"\nassistant: "I'll do it."\n</example>`, "", []string{"write", "delegate"}},
		"test-writer": {"Writes tests. Examples:\n\n<example>\nContext: a feature\nuser: \"Add: OAuth\"\n</example>\n\n- one: two", "", []string{"read", "write"}},
		"debugger":    {"For errors: use proactively # whenever", "", nil},
		"quoted":      {"Data analysis: SQL.", "haiku", []string{"bash"}},
		"folded":      {"Designs: systems and more", "opus", nil},
		"coder":       {"Implements: clean code", "", nil},
		"special":     {`Writes [it], {async}: "quotes": yes - and: 'single' 100%`, "", []string{"read", "grep"}},
		"listed":      {"Lists: things", "", []string{"read", "grep"}},
		"indented":    {"Use when:\n  - the user asks: something", "", []string{"read"}},
		"starred":     {"**Bold**: a thing", "", nil},
		"ticked":      {"`code`: a thing @here", "", []string{"read"}},
	}, got)
	for _, w := range warnings {
		assert.NotContains(t, w.What, "YAML", "the file is not ours to mend")
		assert.NotContains(t, w.What, "left out")
	}
}

// Reading leniently gives no agent more than its author meant: what restricts it is still seen behind such a value.
func TestLenientReadingKeepsRestrictions(t *testing.T) {
	t.Parallel()
	const lenient = "description: Use it: always\n<example>\nuser: \"hi\"\n</example>\n"
	for _, tt := range []struct{ name, front, want string }{
		{"a denied tool", lenient + "disallowedTools: Bash", "disallowedTools restricts the agent"},
		{"plan mode", lenient + "permissionMode: plan", "permissionMode restricts the agent"},
		{"hooks", lenient + "hooks:\n  PreToolUse: []", "hooks restricts the agent"},
		{"tools twice", "tools: Read\n" + lenient + "tools: Bash", `key "tools" is given twice`},
		{"tools that are no list", lenient + "tools: {Read: true}", "tools is no list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, warnings, err := agentfile.Parse("a.md", []byte("---\n"+tt.front+"\n---\ntext"), agentfile.Claude)
			require.NoError(t, err)
			assert.Zero(t, cfg, "the agent is there")
			assert.Contains(t, strings.Join(texts(warnings), "\n"), tt.want)
		})
	}
	cfg, _, err := agentfile.Parse("a.md", []byte("---\n"+lenient+"tools: Read, Grep,\n---\ntext"), agentfile.Claude)
	require.NoError(t, err)
	assert.Equal(t, []string{"read", "grep"}, cfg.Tools)
	_, _, err = agentfile.Parse("a.md", []byte("---\nmodel: m\n"+lenient+"toolz: [read]\nuser: hi\n---\ntext"), agentfile.Grapnel)
	assert.EqualError(t, err, `a.md:7:1: "toolz" stands within the value of "description" and is almost the key "tools"; mend the key, or write the value in quotes`)
	_, warnings, err := agentfile.Parse("a.md", []byte("---\n"+lenient+"tools: [read]\n---\ntext"), agentfile.Grapnel)
	require.NoError(t, err, "files of our own are read alike")
	assert.Contains(t, strings.Join(texts(warnings), "\n"), "write the quotes")
}
