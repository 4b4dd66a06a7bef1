package agentfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/test/needs"
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
		got[a.Config.Name] = agent{a.Config.Description, a.Config.Model.Name, a.Config.Tools}
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
	assert.EqualError(t, err, `a.md:7:1: the frontmatter is ambiguous: "toolz" stands within the value of "description" and is almost the key "tools"; mend the key, or write the value in quotes`)
	_, warnings, err := agentfile.Parse("a.md", []byte("---\n"+lenient+"tools: [read]\n---\ntext"), agentfile.Grapnel)
	require.NoError(t, err, "files of our own are read alike")
	assert.Contains(t, strings.Join(texts(warnings), "\n"), "write the quotes")
}

// What looks like a restriction is one, or the file is ambiguous: it is never a part of the description.
func TestRestrictionsAreNeverSwallowed(t *testing.T) {
	t.Parallel()
	const colon, lines = "description: Use it: always\n", "description: Use it:\n<x>\n"
	for name, tt := range map[string]struct{ front, want string }{
		"a blank in front":        {colon + " disallowedTools: Bash", `"disallowedTools" stands within the value of "description"`},
		"a tab in front":          {colon + "\tdisallowedTools: Bash", `"disallowedTools" stands within the value of "description"`},
		"a blank behind":          {colon + "foo bar\ndisallowedTools : Bash", `"disallowedTools" stands within the value of "description"`},
		"quotes":                  {lines + `"disallowedTools": Bash`, "disallowedTools"},
		"an explicit key":         {lines + "? disallowedTools\n: Bash", "disallowedTools"},
		"braces":                  {lines + "{disallowedTools: Bash}", "disallowedTools"},
		"a capital":               {lines + "Tools: Read", `is almost the key "tools"`},
		"one letter less":         {lines + "tool: Read", `is almost the key "tools"`},
		"hyphens":                 {lines + "disallowed-tools: Bash", `is almost the key "disallowedTools"`},
		"underscores":             {lines + "permission_mode: plan", `is almost the key "permissionMode"`},
		"the name in skills":      {lines + "allowed-tools: Read", `is almost the key "allowedTools"`},
		"servers":                 {lines + " mcpServers: {}", `"mcpServers" stands within`},
		"a tag":                   {lines + "!!str disallowedTools: Bash", `is almost the key "disallowedTools"`},
		"letters of two scripts":  {lines + "t\u043e\u043els: Read", `is almost the key "tools"`},
		"YAML with two scripts":   {"t\u043e\u043els: Read", `is almost "tools", which restricts the agent`},
		"a value that is none":    {"tools: !!null Read", "a value is tagged as none"},
		"a comment with a colon":  {colon + "permissionMode: plan # strict: yes", "permissionMode restricts the agent"},
		"a comment below":         {lines + "permissionMode: plan\n# a comment", "permissionMode restricts the agent"},
		"an unknown mode":         {"permissionMode: Plan", "permissionMode restricts the agent"},
		"a mode that denies":      {"permissionMode: dontAsk", "permissionMode restricts the agent"},
		"a mode that is a list":   {"permissionMode: [default]", "permissionMode restricts the agent"},
		"YAML with a capital":     {"Tools: Read", `key "Tools" is almost "tools", which restricts the agent`},
		"YAML with hyphens":       {"disallowed-tools: Bash", `key "disallowed-tools" is almost "disallowedTools", which restricts the agent`},
		"YAML with another name":  {"allowed-tools: Read", `key "allowed-tools" is almost "allowedTools", which restricts the agent`},
		"a merged mapping":        {"<<: {disallowedTools: Bash}", "a key is no plain text"},
		"a key within quotes":     {"color: \"red\ntools: Read\nx\"", `is ambiguous: "tools" stands within another value`},
		"a value that is no YAML": {colon + "tools: Read: x", "is no YAML"},
		"U+2028":                  {"description: Only reads. \u2028tools: Bash", `has the character \u{2028}, at which some programs begin a line`},
		"U+0085":                  {"description: Only reads. \u0085tools: Bash", `has the character \u{85}, at which some programs begin a line`},
		"a lone CR":               {"description: Only reads. \rtools: Bash", `has the character \x0d, at which some programs begin a line`},
		"a control":               {"description: Only reads.\x1b[8m\ntools: Bash", `has the character \x1b, which cannot be seen`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, warnings, err := agentfile.Parse("a.md", []byte("---\n"+tt.front+"\n---\ntext"), agentfile.Claude)
			require.NoError(t, err)
			assert.Zero(t, cfg, "the agent is there")
			text := strings.Join(texts(warnings), "\n")
			assert.Contains(t, text, tt.want)
			assert.Contains(t, text, "the agent is left out")
			_, _, err = agentfile.Parse("a.md", []byte("---\n"+tt.front+"\n---\ntext"), agentfile.Grapnel)
			assert.Error(t, err, "it is an error in a file of our own")
		})
	}
}

// A file of our own whose second key only YAML sees is an error with its place.
func TestKeysThatNobodySeesAreErrors(t *testing.T) {
	t.Parallel()
	for char, shown := range map[string]string{"\u2028": `\u{2028}`, "\u2029": `\u{2029}`, "\u0085": `\u{85}`, "\r": `\x0d`, "\v": `\x0b`, "\f": `\x0c`} {
		_, _, err := agentfile.Parse("g1.md", []byte("---\nname: g1\ndescription: Only reads. "+char+"tools: [bash]\n---\ntext"), agentfile.Grapnel)
		assert.EqualError(t, err, "g1.md:3:26: the frontmatter has the character "+shown+", at which some programs begin a line; delete it")
	}
}

// A comment is no grant, whether a description lacks quotes or not.
func TestCommentsGrantNothing(t *testing.T) {
	t.Parallel()
	for _, front := range []string{
		"description: Use it: always\ntools: Read # , Bash, never: x",
		"description: Use it:\n<x>\ntools: Read\n# , Bash, Write",
	} {
		cfg, _, err := agentfile.Parse("a.md", []byte("---\n"+front+"\n---\ntext"), agentfile.Claude)
		require.NoError(t, err)
		assert.Equal(t, []string{"read"}, cfg.Tools, front)
	}
}

// Text of people stays readable: other scripts, joiners of emoji, headings and examples that only mention such a key.
func TestTextOfPeopleIsRead(t *testing.T) {
	t.Parallel()
	const text = "Für alle: 👩\u200d👩\u200d👧 می\u200cخواهم\n\n## Tools: none\nContext: it has tools: many\nCode: x\nuser: \"hi\""
	cfg, warnings, err := agentfile.Parse("a.md", []byte("---\ndescription: "+text+"\ntools: Read\n---\ntext"), agentfile.Claude)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, text, cfg.Description)
	assert.Equal(t, []string{"read"}, cfg.Tools)
}

// However a line that denies a tool is written, and whatever is above it: it is never part of an agent that is there.
func TestADenyingLineNeverGoesUnseen(t *testing.T) {
	t.Parallel()
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		above := rapid.SliceOfN(rapid.SampledFrom([]string{
			"name: a", "description: plain", "description: Use it: always", "description: Use it:", "<x>", "user: \"hi\"", "", "- one: two", "# a comment",
			"color: red", "version: 1: 2", "tools: Read", "tools: Read # a: b", "foo bar", "  more",
		}), 0, 6).Draw(t, "above")
		quote := pick("quote", "", `"`, "'")
		line := pick("front", "", " ", "\t", "  ", "? ", "!!str ", "\u00a0") + quote +
			pick("key", "disallowedTools", "disallowed-tools", "DisallowedTools", "disallowed_tools", "disallowedTool", "dis\u0430llowedTools") +
			quote + pick("behind", "", " ", "\t") + ": Bash" + pick("comment", "", " # strict: yes")
		text := "---\n" + strings.Join(append(above, line), "\n") + "\n---\ntext"
		cfg, warnings, err := agentfile.Parse("a.md", []byte(text), agentfile.Claude)
		require.NoError(t, err)
		assert.Zero(t, cfg, text)
		assert.NotEmpty(t, warnings, text)
	})
}
