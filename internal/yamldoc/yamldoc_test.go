package yamldoc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"flow":        {strings.Repeat("[", 200) + strings.Repeat("]", 200), "nests deeper than 100 levels in line 1; make it flatter"},
		"steps":       {strings.Repeat("- ", 200) + "x", "nests deeper than 100 levels in line 1; make it flatter"},
		"beyond all":  {strings.Repeat("[", 1<<20), "is no YAML: exceeded max depth of 10000 in line 1; put a value that holds `: ` or begins with a special character in quotes"},
		"alias":       {"a: &x 1\nb: *x", "has an anchor or an alias, which is not read here in line 1; write the value out"},
		"merge":       {"a: &x {b: 1}\nc:\n  <<: *x", "has an anchor or an alias, which is not read here in line 1; write the value out"},
		"another one": {"a: 1\n---\nb: 2", "has a second document in line 2; take the --- out"},
		"parser":      {"a: 1\nb: [x", "is no YAML: did not find expected ',' or ']' in line 2; put a value that holds `: ` or begins with a special character in quotes"},
		"scanner":     {"a: 1\nb: @x", "is no YAML: found character that cannot start any token in line 2; put a value that holds `: ` or begins with a special character in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, err := yamldoc.Parse([]byte(c.text))
			assert.Nil(t, root)
			assert.EqualError(t, err, c.want)
			_, ok := errors.AsType[*yamldoc.Error](err)
			assert.True(t, ok)
		})
	}
	for _, text := range []string{"", "# nothing", "\n\n"} {
		root, err := yamldoc.Parse([]byte(text))
		require.NoError(t, err)
		assert.Nil(t, root, "%q", text)
	}
}

func TestFront(t *testing.T) {
	t.Parallel()
	keys := &yamldoc.Keys{Free: []string{"description"}, Guarded: []string{"tools"}, Other: []string{"name", "model"}}
	for name, c := range map[string]struct {
		text, want string // of the description
		quoted     bool
		line       int // of the last key
	}{
		"plain":         {"name: a\ndescription: text\ntools: x\n", "text", false, 4},
		"a colon":       {"name: a\ndescription: Use it: always\ntools: x\n", "Use it: always", true, 4},
		"with quotes":   {"name: a\ndescription: It's \"it\": \\n yes\ntools: x\n", `It's "it": \n yes`, true, 4},
		"many lines":    {"name: a\ndescription: Use it:\n<example>\nContext: a user\nuser: \"hi\"\n</example>\ntools: x\n", "Use it:\n<example>\nContext: a user\nuser: \"hi\"\n</example>", true, 8},
		"empty between": {"name: a\ndescription: Examples:\n\n- one: two\nthree\n\ntools: x\n", "Examples:\n\n- one: two\nthree", true, 8},
		"a block":       {"name: a\ndescription: |\n  one: two\n  three\ntools: x\n", "one: two\nthree\n", false, 6},
		"a star":        {"name: a\ndescription: *this* is it\ntools: x\n", "*this* is it", true, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, quoted, err := yamldoc.Front(c.text, keys)
			require.NoError(t, err)
			assert.Equal(t, c.quoted, quoted)
			require.Len(t, root.Content, 6)
			assert.Equal(t, c.want, root.Content[3].Value)
			assert.Equal(t, c.line, root.Content[4].Line)
		})
	}
	_, _, err := yamldoc.Front("name: [a\ndescription: b\n", keys)
	assert.ErrorContains(t, err, "is no YAML")
	_, _, err = yamldoc.Front(strings.Repeat("#", yamldoc.MaxFront+1), keys)
	assert.EqualError(t, err, "has more than 65536 bytes in line 1; make it shorter")
}

// A line that looks like a guarded key is that key, or the text is refused.
func TestFrontGuards(t *testing.T) {
	t.Parallel()
	keys := &yamldoc.Keys{Free: []string{"description"}, Guarded: []string{"tools", "disallowedTools"}, Other: []string{"color"}}
	for name, c := range map[string]struct{ text, want string }{
		"a blank in front":     {"description: a: b\n tools: x\n", `is ambiguous: "tools" stands within the value of "description" and is almost the key "tools" in line 3; mend the key, or write the value in quotes`},
		"another spelling":     {"description: a: b\nc\n\"Disallowed_Tools\" : x\n", `is ambiguous: "\"Disallowed_Tools\"" stands within the value of "description" and is almost the key "disallowedTools" in line 4; mend the key, or write the value in quotes`},
		"an explicit key":      {"description: a: b\nc\n? tools\n: x\n", `is ambiguous: "? tools" stands within the value of "description" and is almost the key "tools" in line 4; mend the key, or write the value in quotes`},
		"within quotes":        {"color: \"red\ntools: x\n\"\n", `is ambiguous: "tools" stands within another value in line 3; begin no line of a text with a key`},
		"within braces":        {"color: {a: 1,\ntools: x}\ndescription: a: b\n", `is ambiguous: "tools" stands within another value in line 3; begin no line of a text with a key`},
		"no free text":         {"description: a: b\ntools: c: d\n", "is no YAML: mapping values are not allowed in this context in line 3; put a value that holds `: ` or begins with a special character in quotes"},
		"merged":               {"<<: {tools: x}\n", "a key is no plain text in line 2; write `key: value`"},
		"a list as a key":      {"? [tools]\n: x\n", "a key is no plain text in line 2; write `key: value`"},
		"a separator of lines": {"color: red\ndescription: a\u2029tools: x\n", `has the character \u{2029}, at which some programs begin a line in line 3; delete it`},
		"a control":            {"description: a\x00b\n", `has the character \x00, which cannot be seen in line 2; delete it`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, _, err := yamldoc.Front(c.text, keys)
			assert.EqualError(t, err, c.want)
			assert.Nil(t, root)
		})
	}
	const ambiguous = "is almost the key \"tools\""
	for _, text := range []string{
		"description: a: b\nuser: x\ntools\uff1a Read\n", // fullwidth
		"description: a: b\nuser: x\ntools\u2236 Read\n", // a ratio
		"description: a: b\nuser: x\ntools\ua789 Read\n",
		"description: a: b\nuser: x\ntools \ufe55 Read\n",
		"description: a: b\nuser: x\ntools\u02d0 Read\n",  // a letter to Unicode
		"description: a: b\nuser: x\ntools\u0903 Read\n",  // a mark
		"description: a: b\nuser: x\ntools.\u0307 Read\n", // a dot on a dot
		"description: a: b\nuser: x\n\uff1atools\uff1a Read\n",
		"description: a: b\nuser: x\ntools\uff1a Read: x\n",
		"color: red\ntools\uff1a a: b\n",     // a key of its own
		"\"tools\uff1a a\": b\ncolor: red\n", // one in quotes
		"color: red\n  tools\uff1a Read\n",   // a text of several lines
		"color: red\n  tools:Read\n",
		"color:\n  tools\uff1a Read\n",
		"color:\n- red\n- tools\uff1a Read\n",
		"color:\n- red\n  tools\uff1a Read\n",
		"color: {a: b\n  tools\uff1a Read}\n",
	} {
		root, _, err := yamldoc.Front(text, keys)
		assert.ErrorContains(t, err, ambiguous, "%q", text)
		assert.Nil(t, root)
	}
	for text, want := range map[string]string{
		"color: 'red\n  tools: Bash\n  '\ntools: Read\n":                "Read", // what is in quotes is a text to everybody
		"color: \"red\n  tools\uff1a Bash\n  \"\ntools: Read\n":         "Read",
		"description: >\n  tools\uff1a Bash\ncolor: red\ntools: Read\n": "Read",
		"color: red\n  # tools\uff1a Bash\ntools: Read\n":               "Read",
		"color: {tools: Bash}\ntools: Read\n":                           "Read",
		"description: the tools\uff1a Bash\ntools: Read\n":              "Read",
		"description: a: b\nuse tools\uff1a Bash\ntools: Read\n":        "Read",
		"color: red\ntools: a\uff1ab\n":                                 "a\uff1ab",
		"description: a: b\ntools: Read # , Bash: x\n":                  "Read",
		"description: a:\n<x>\ntools: Read\n# , Bash\n":                 "Read",
		"description: a:\n# tools: Bash\nuser: x\ntools: Read\n":        "Read",
		"description: |\n  tools: Bash\ncolor: red\ntools: Read\n":      "Read",
		"description: a: b\ncolor: red\n\"tools\" : Read\n":             "Read",
		"description: a\tb \u200d\u200b: c\ncolor: red\ntools: Read":    "Read",
	} {
		root, _, err := yamldoc.Front(text, keys)
		require.NoError(t, err, text)
		last := len(root.Content) - 2
		assert.Equal(t, []string{"tools", want}, []string{root.Content[last].Value, root.Content[last+1].Value}, text)
	}
}

func TestAlmost(t *testing.T) {
	t.Parallel()
	keys := []string{"tools", "model", "mcp", "disallowedTools", "disable-model-invocation"}
	for word, want := range map[string]string{
		"tools": "tools", " \"Tools\" ": "tools", "tool": "tools", "toosl": "tools", "disallowed-tools": "disallowedTools",
		"disalowed_tool": "disallowedTools", "disableModelInvocation": "disable-model-invocation", "MCP": "mcp",
		"t\u043e\u043els": "tools", "m\u0441p": "mcp", "ausführen": "",
		"": "", "---": "", "次のように": "", "code": "", "todos": "", "map": "", "notes": "", "Context": "", "it has tools": "",
	} {
		assert.Equal(t, want, yamldoc.Almost(word, keys), word)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"---\na: b\n---\nbody\n", "\uFEFF---\r\na: b\r\n--- \r\nbody\r\n"} {
		front, body, err := yamldoc.Split(text)
		require.NoError(t, err)
		assert.Equal(t, []string{"a: b\n", "body\n"}, []string{front, body})
	}
	_, body, err := yamldoc.Split("text\n---\n")
	assert.ErrorIs(t, err, yamldoc.ErrMissing)
	assert.Equal(t, "text\n---\n", body)
	for _, text := range []string{"---", "---\n", "---\na: b\n --- \n"} {
		_, _, err = yamldoc.Split(text)
		assert.ErrorIs(t, err, yamldoc.ErrOpen, "%q", text)
	}
}
