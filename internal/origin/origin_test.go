package origin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/origin"
)

var points = []string{"OnEvent", "BeforeTool", "AfterTool"}

func source(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/notes.txt")
	require.NoError(t, err)
	return string(text)
}

func fingerprint(files map[string]string) string {
	p := origin.Package{Name: "notes", Files: map[string][]byte{}}
	for name, text := range files {
		p.Files[name] = []byte(text)
	}
	return p.Fingerprint(points)
}

type edit struct{ name, from, to string }

// Whatever is generated differently has another fingerprint.
func TestRelatedEdits(t *testing.T) {
	t.Parallel()
	text := source(t)
	before := fingerprint(map[string]string{"notes.go": text})
	require.NotEmpty(t, before)
	seen := map[string]string{before: "no edit"}
	for _, e := range []edit{
		{"a tool is added", "// BeforeTool decides", "// More adds.\n//\n//hook:tool\nfunc (n *Notes) More(context.Context) error { return nil }\n\n// BeforeTool decides"},
		{"a tool is removed", "//hook:tool name=drop\n", ""},
		{"a method becomes a tool", "// BeforeTool decides.", "// BeforeTool decides.\n//\n//hook:tool"},
		{"a tool is renamed by its method", ") Add(", ") Put("},
		{"a tool is renamed by its option", "name=drop", "name=forget"},
		{"an option", "//hook:tool readonly", "//hook:tool readonly idempotent"},
		{"an option less", "//hook:tool readonly", "//hook:tool"},
		{"the comment", "replaces none.", "replaces all."},
		{"the type of the arguments", "in AddInput)", "in *AddInput)"},
		{"the type of the result", "(Reply, error)", "(*Reply, error)"},
		{"no result", "(Reply, error) { return Reply{Count: other}, nil }", "error { return nil }"},
		{"the name of a parameter", "in AddInput)", "args AddInput)"},
		{"an argument is renamed", "Title string `json:\"title\" hook", "Name string `json:\"title\" hook"},
		{"an argument is renamed in JSON", "`json:\"title\" hook", "`json:\"name\" hook"},
		{"a limit", "maxlen=80", "maxlen=90"},
		{"the type of an argument", "Kind  Kind ", "Kind  string "},
		{"the type of a field of a list", "Text string", "Text int"},
		{"the comment of an argument", "Title names the note.", "Title tells the note."},
		{"the comment behind an argument", "Kind says what it is.", "Kind says what it was."},
		{"the comment of a field of a list", "Text of the part.", "Text of a part."},
		{"the comment of an argument of a struct without a name", "Title names it.", "Title names one."},
		{"an argument of a struct without a name", "Title string `json:\"title\"`\n})", "Title []string `json:\"title\"`\n})"},
		{"a directive of an argument", "// Parts of it.", "// Parts of it.\n\t//\n\t//hook:enum open"},
		{"an argument is added", "\t// Parts of it.", "\tMore int `json:\"more\"`\n\t// Parts of it."},
		{"arguments change places", "\tTitle string `json:\"title\" hook:\"maxlen=80\"`\n\tKind  Kind   `json:\"kind,omitzero\"` // Kind says what it is.\n",
			"\tKind  Kind   `json:\"kind,omitzero\"` // Kind says what it is.\n\tTitle string `json:\"title\" hook:\"maxlen=80\"`\n"},
		{"a field of the result", "Count int", "Count int64"},
		{"a constant is added", "Short Kind = longest", "Short Kind = longest\n\tLong Kind = \"long\""},
		{"a constant has another value", "\"plain\"", "\"simple\""},
		{"a constant of a constant", "const longest = \"short\"", "const longest = \"longest\""},
		{"a constant of the type of another", "// Notes is", "const Fancy = Plain + \"-fancy\"\n\n// Notes is"},
		{"a constant of a type of its own", "// Notes is", "const Fancy Kind = \"fancy\"\n\n// Notes is"},
		{"constants, each of the type of one before", "// Notes is", "const Last = Fancy + \"-last\"\nconst Fancy = Short + \"-fancy\"\n\n// Notes is"},
		{"a constant of an alias", "// Notes is", "type sort = kinds\ntype kinds = Kind\nconst Fancy sort = \"sorted\"\n\n// Notes is"},
		{"an enum is opened", "// Kind of a note.", "// Kind of a note.\n//\n//hook:enum open"},
		{"a type encodes itself", "// Remove takes", "// MarshalJSON writes it.\nfunc (r *Reply) MarshalJSON() ([]byte, error) { return nil, nil }\n\n// Remove takes"},
		{"a type decodes itself no more", "UnmarshalText(", "Unmarshal("},
		{"an option of the subsystem", "prefix=note", "prefix=notes"},
		{"a point is added", "// helper helps.", "// AfterTool looks.\nfunc (n *Notes) AfterTool(context.Context) error { return nil }\n\n// helper helps."},
		{"a point is removed", ") BeforeTool(", ") BeforeTools("},
		{"a point of an embedded type is removed", ") OnEvent(", ") OnEvents("},
		{"an embedded type is dropped", "\tbase\n", ""},
		{"a tag of a composite", "hook:\"optional\"", "hook:\"optional,prefix=a_\""},
		{"a field of a composite is dropped", "\tNotes  *Notes\n", ""},
		{"fields of a composite change places", "\tNotes  *Notes\n\tSkills *skills.Skills `hook:\"optional\"`\n", "\tSkills *skills.Skills `hook:\"optional\"`\n\tNotes  *Notes\n"},
		{"a composite more", "// helper helps.", "// Few are some.\n//\n//hook:composite\ntype Few struct{ Notes *Notes }\n\n// helper helps."},
	} {
		require.Contains(t, text, e.from, e.name)
		after := fingerprint(map[string]string{"notes.go": strings.Replace(text, e.from, e.to, 1)})
		require.NotEmpty(t, after, e.name)
		assert.Empty(t, seen[after], "%s is not told from this", e.name)
		seen[after] = e.name
	}
}

// What does not change what is generated does not change the fingerprint.
func TestUnrelatedEdits(t *testing.T) {
	t.Parallel()
	text := source(t)
	before := fingerprint(map[string]string{"notes.go": text})
	for _, e := range []edit{
		{"a body", "return Reply{Count: other}, nil", "n.texts[in.Title] = \"\"\n\treturn Reply{Count: 2}, nil"},
		{"a comment is wrapped otherwise", "// Add adds a note. It\n// replaces none.", "// Add adds a note.\n// It replaces none."},
		{"a field of the subsystem", "texts map[string]string // by title", "texts map[string]string // by name\n\tmore int"},
		{"the comment of a type", "// AddInput are the arguments of note_add.", "// AddInput is what note_add takes."},
		{"the comment of a point", "// BeforeTool decides.", "// BeforeTool decides about calls."},
		{"the comment of a constant", "// The kinds.", "// All kinds."},
		{"a function", "// helper helps.", "func another(int) {}\n\n// helper helps."},
		{"another type", "type other1 struct{ A int }", "type other1 struct{ B string }"},
		{"another constant", "unrelated = 7", "unrelated = 8"},
		{"a constant of another package with such a name", "// Notes is", "const Fancy = skills.Plain\n\n// Notes is"},
		{"an alias of another type", "// Notes is", "type sort = Notes\n\n// Notes is"},
		{"a variable", "other = 1", "other = 2"},
		{"a method that is no point", "// helper helps.", "// Close closes.\nfunc (n *Notes) Close() error { return nil }\n\n// helper helps."},
		{"blank lines and comments between", "// Remove takes one away.", "// There is more.\n\n\n// Remove takes one away."},
		{"a warning is silenced", "//hook:tool name=drop", "//hook:ignore HG031\n//hook:tool name=drop"},
		{"an import", "\"time\"\n", "\"time\"\n\t_ \"embed\"\n"},
		{"formatting", "\tCount int `", "\tCount    int  `"},
	} {
		require.Contains(t, text, e.from, e.name)
		assert.Equal(t, before, fingerprint(map[string]string{"notes.go": strings.Replace(text, e.from, e.to, 1)}), e.name)
	}
	with := func(name, more string) string { return fingerprint(map[string]string{"notes.go": text, name: more}) }
	const composite = "\n\n//hook:composite\ntype X struct{}\n"
	assert.Equal(t, before, with("other.go", "package other"+composite), "another package")
	assert.Equal(t, before, with("z.go", "package notes\n\nfunc ("), "what cannot be parsed")
	assert.NotEqual(t, before, with("a_plan9.go", "package notes"+composite), "a file of another system counts on every one")
	assert.Empty(t, fingerprint(map[string]string{"notes.go": "package notes\n\ntype X struct{}\n"}), "nothing is generated")
	head, _, _ := strings.Cut(text, "// Notes is")
	at := strings.Index(text, "// Remove takes")
	assert.Equal(t, before, fingerprint(map[string]string{"a.go": text[:at], "b.go": head + text[at:]}), "a file is split")
}

func TestStale(t *testing.T) {
	t.Parallel()
	text := source(t)
	right := "// Code generated by hookgen. DO NOT EDIT.\n" + origin.Line(fingerprint(map[string]string{"notes.go": text})) + "\n\npackage notes\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"current", map[string]string{"notes.go": text, origin.File: right}, ""},
		{"tests do not count", map[string]string{"notes.go": text, origin.File: right, "a_test.go": "package notes\n\n//hook:composite\ntype X struct{}\n"}, ""},
		{"line ends of another system", map[string]string{"notes.go": strings.ReplaceAll(text, "\n", "\r\n"), origin.File: strings.ReplaceAll(right, "\n", "\r\n")}, ""},
		{"a file of another package first", map[string]string{"a.go": "//go:build ignore\n\npackage main\n", "notes.go": text, origin.File: right}, ""},
		{"nothing to generate", map[string]string{"a.go": "package a\n"}, ""},
		{"a subsystem without typed tools", map[string]string{"a.go": "package a\n\n//hook:subsystem dynamic\ntype X struct{}\n"}, ""},
		{"no source", nil, ""},
		{"missing", map[string]string{"notes.go": text}, "hook_gen.go is missing"},
		{"missing, beside a file of another package", map[string]string{"a.go": "//go:build ignore\n\npackage main\n", "notes.go": text}, "hook_gen.go is missing"},
		{"changed", map[string]string{"notes.go": strings.Replace(text, "readonly", "", 1), origin.File: right}, "was generated from other sources"},
		{"orphaned", map[string]string{"notes.go": "package notes\n", origin.File: right}, "was generated from other sources"},
		{"of an older hookgen", map[string]string{"notes.go": text, origin.File: "// Code generated by hookgen. DO NOT EDIT.\n\npackage notes\n"}, "does not say"},
		{"said too late", map[string]string{"notes.go": text, origin.File: "package notes\n" + right}, "does not say"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range tt.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			got, err := origin.Stale(dir, points)
			require.NoError(t, err)
			if tt.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, tt.want)
		})
	}
}
