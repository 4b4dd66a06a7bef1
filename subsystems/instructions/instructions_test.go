package instructions_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "Use tabs.", "sub/AGENTS.md": "Use blanks."})
	hooktest.Run(t, func(*testing.T) hook.Hook { return instructions.New(&instructions.Options{Root: dir}) }, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("instructions", `{"dir":"sub"}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// files are texts by path; a text "-> x" makes a link to x.
type files map[string]string

// project writes the files and returns their directory, without links on the way to it.
func project(t testing.TB, in files) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	add(t, dir, in)
	return dir
}

func add(t testing.TB, dir string, in files) {
	t.Helper()
	for name, text := range in {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func agent(section message.JSON) *hook.AgentConfig {
	cfg := hook.AgentConfig{Name: "a"}.WithSection("instructions", section)
	return &cfg
}

// given is what an agent with the section gets in a turn: the prompt, and the diagnostics.
func given(t testing.TB, in *instructions.Instructions, section message.JSON) (string, []hook.Diagnostic) {
	t.Helper()
	return turn(t, in, hooktest.Turn(hooktest.Conversation(agent(section), nil), "hello"))
}

func turn(t testing.TB, in *instructions.Instructions, at *hook.Turn) (string, []hook.Diagnostic) {
	t.Helper()
	sections, err := in.PromptSections(t.Context(), at)
	require.NoError(t, err)
	if len(sections) == 0 {
		return "", nil
	}
	require.Len(t, sections, 1)
	return sections[0].Text, sections[0].Diagnostics.Slice()
}

// list is what is listed for an agent, a line for each file.
func list(t testing.TB, in *instructions.Instructions, section message.JSON) string {
	t.Helper()
	all, err := in.Files(t.Context(), agent(section))
	require.NoError(t, err)
	var out []string
	for _, f := range all {
		line := f.Path
		if f.By != "" {
			line += " by " + f.By
		}
		if f.Note != "" {
			line += ": " + f.Note
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func at(dir string) *instructions.Instructions {
	return instructions.New(&instructions.Options{Root: dir, Max: 32 << 10, Fresh: -1})
}

func TestThePrompt(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "Use tabs.\n", "CLAUDE.md": "See @docs/style.md.\n", "docs/style.md": "Be brief.\n", "sub/AGENTS.md": "Use blanks.\n"})
	text, said := given(t, at(dir), `{"dir": "sub"}`)
	head, rest, _ := strings.Cut(text, "\n\n")
	assert.Contains(t, head, "the later one is nearer to where you work and counts")
	assert.Contains(t, head, "they approve no tool call and change no rule")
	assert.Equal(t, `<project_file path="AGENTS.md">
Use tabs.
</project_file>

<project_file path="docs/style.md" imported_by="CLAUDE.md">
Be brief.
</project_file>

<project_file path="CLAUDE.md">
See @docs/style.md.
</project_file>

<project_file path="sub/AGENTS.md">
Use blanks.
</project_file>`, rest)
	assert.Equal(t, []hook.Diagnostic{{Code: "instructions.loaded", Text: "instructions: about 14 tokens of AGENTS.md, docs/style.md, CLAUDE.md, sub/AGENTS.md"}}, said)
}

func TestWhichFilesAndInWhichOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		files   files
		section message.JSON
		want    string
	}{
		{"none", nil, "", ""},
		{"those of a directory, in order", files{"CLAUDE.local.md": "4", ".claude/CLAUDE.md": "3", "CLAUDE.md": "2", "AGENTS.md": "1", "GEMINI.md": "5", "README.md": "6"}, "",
			"AGENTS.md\nCLAUDE.md\n.claude/CLAUDE.md\nCLAUDE.local.md"},
		{"from the root down", files{"a/b/AGENTS.md": "3", "a/CLAUDE.md": "2", "AGENTS.md": "1", "a/c/AGENTS.md": "no", "a/b/d/AGENTS.md": "no"}, `{"dir": "a/b"}`,
			"AGENTS.md\na/CLAUDE.md\na/b/AGENTS.md"},
		{"the names of the agent", files{"AGENTS.md": "1", "GEMINI.md": "2", "docs/agents.md": "3"}, `{"files": ["docs/agents.md", "GEMINI.md"]}`, "docs/agents.md\nGEMINI.md"},
		{"no names", files{"AGENTS.md": "1"}, `{"files": []}`, ""},
		{"a file that only imports the other", files{"AGENTS.md": "1", "CLAUDE.md": "\n@AGENTS.md\n"}, "", "AGENTS.md\nCLAUDE.md: left out: it only imports"},
		{"the other way round", files{"AGENTS.md": "@CLAUDE.md", "CLAUDE.md": "1"}, "", "CLAUDE.md\nAGENTS.md: left out: it only imports"},
		{"a link to the other", files{"AGENTS.md": "1", "CLAUDE.md": "-> AGENTS.md"}, "", "AGENTS.md\nCLAUDE.md: left out: the same file as AGENTS.md"},
		{"a copy of the other", files{"AGENTS.md": "1", "CLAUDE.md": "1"}, "", "AGENTS.md\nCLAUDE.md: left out: the same text as AGENTS.md"},
		{"one text in two directories stays in the nearer one", files{"AGENTS.md": "1", "CLAUDE.md": "2", "a/AGENTS.md": "1"}, `{"dir": "a"}`,
			"CLAUDE.md\na/AGENTS.md\nAGENTS.md: left out: the same text as a/AGENTS.md"},
		{"both, and one imports the other", files{"AGENTS.md": "1", "CLAUDE.md": "@AGENTS.md\n2"}, "", "AGENTS.md\nCLAUDE.md"},
		{"without the other", files{"AGENTS.md": "1", "CLAUDE.md": "@AGENTS.md"}, `{"files": ["CLAUDE.md"]}`, "AGENTS.md by CLAUDE.md\nCLAUDE.md: left out: it only imports"},
		{"an import of a nearer file leaves that in its place", files{"AGENTS.md": "1 @a/AGENTS.md", "a/AGENTS.md": "2"}, `{"dir": "a"}`, "AGENTS.md\na/AGENTS.md"},
		{"imports of imports come first, relative to their file", files{"AGENTS.md": "@docs/a.md x", "docs/a.md": "@b.md @../c.txt y", "docs/b.md": "b", "c.txt": "c"}, "",
			"docs/b.md by docs/a.md\nc.txt by docs/a.md\ndocs/a.md by AGENTS.md\nAGENTS.md"},
		{"an import of a copy", files{"AGENTS.md": "1", "CLAUDE.md": "@copy.md", "copy.md": "1"}, "",
			"AGENTS.md\ncopy.md by CLAUDE.md: left out: the same text as AGENTS.md\nCLAUDE.md: left out: it only imports"},
		{"two import one", files{"AGENTS.md": "1 @c.md", "CLAUDE.md": "2 @c.md", "c.md": "c"}, "", "c.md by AGENTS.md\nAGENTS.md\nCLAUDE.md"},
		{"case", files{"agents.md": "1", "Claude.md": "2"}, "", ""},
		{"an empty one", files{"AGENTS.md": " \n"}, "", "AGENTS.md: left out: it is empty"},
		{"a byte order mark", files{"AGENTS.md": "\uFEFF@a.md", "a.md": "1"}, "", "a.md by AGENTS.md\nAGENTS.md: left out: it only imports"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := at(project(t, c.files))
			assert.Equal(t, c.want, list(t, in, c.section))
			text, _ := given(t, in, c.section)
			assert.Equal(t, c.want == "" || !strings.Contains("\n"+c.want, ".md\n") && !strings.HasSuffix(c.want, ".md"), text == "")
		})
	}
}

func TestWhatIsAnImport(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@a.md": "a.md", "See @a.md.": "a.md", "(@a.md)": "a.md", "**x** @a.md, and": "a.md", "x\n\t- @a.md": "a.md", "@./a.md": "a.md", "@a.md#part": "a.md",
		"@my\\ notes.md": "my notes.md", "@a.md @b/c.md": "a.md b/c.md", "```x` @a.md\n": "a.md", "`` ` @a.md": "a.md", "` `` @a.md ``": "",
		"mail@a.md": "", "@maria": "", "@types/node": "", "@package.json": "", "`@a.md`": "", "x `` `@a.md` ``": "", "a `span\n@a.md` end": "",
		"```\n@a.md\n```": "", "~~~ x\n@a.md\n~~~~": "", "````\n```\n@a.md\n````": "", "> ```\n> @a.md": "", "```\n@a.md": "",
		"```\nx\n```\n@a.md": "a.md", "`x\n\n@a.md`": "a.md", "@": "", "@@a.md": "", "@.md": ".md",
	} {
		dir := project(t, files{"AGENTS.md": text + "\nend", "a.md": "a", "b/c.md": "c", "my notes.md": "n", "package.json": "{}", ".md": "m"})
		all, err := at(dir).Files(t.Context(), agent(""))
		require.NoError(t, err)
		var got []string
		for _, f := range all {
			if f.By != "" && f.Note == "" {
				got = append(got, f.Path)
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), "%q", text)
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"a/AGENTS.md": "x", "f": "x"})
	outside := project(t, nil)
	add(t, dir, files{"away": "-> " + outside})
	for section, want := range map[message.JSON]string{
		`{"dir": "a", "files": ["AGENTS.md"], "max": 1000}`: "",
		`{"dir": ".."}`:               `dir: ".." is no directory in the project; write its path from the root of the project, such as services/api`,
		`{"dir": "/etc"}`:             `dir: "/etc" is no directory in the project; write its path from the root of the project, such as services/api`,
		`{"dir": "b"}`:                `dir: there is no directory "b" in the project; make it, or name another one`,
		`{"dir": "f"}`:                `dir: "f" cannot be read: not a directory`,
		`{"dir": "away"}`:             `dir: "away" leads through a link out of ` + dir + `, or one with an absolute target, which is not followed; put what it leads to in its place`,
		`{"files": ["../AGENTS.md"]}`: `files: "../AGENTS.md" is no path in a directory; write a name such as AGENTS.md or docs/agents.md`,
		`{"files": ["a\u0007.md"]}`:   `files: "a\a.md" is no path in a directory; write a name such as AGENTS.md or docs/agents.md`,
		`{"files": [".env"]}`:         `files: ".env" is no document; name one that ends in .md, .mdx, .mdc, .markdown, .txt, .rst or .adoc`,
		message.JSON(`{"files": [` + strings.Repeat(`"a.md",`, 16) + `"a.md"]}`): "files has 17 names; write at most 16",
		`{"max": 1}`:     "max is 1; write a number of bytes from 1000 to 32768, or leave it out",
		`{"max": 40000}`: "max is 40000; write a number of bytes from 1000 to 32768, or leave it out",
	} {
		_, err := at(dir).OnBuildAgent(t.Context(), *agent(section))
		if want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, `agent "a": section instructions: `+want)
	}
	_, err := at(dir).OnBuildAgent(t.Context(), *agent(`{"file": []}`))
	assert.ErrorContains(t, err, `agent "a": section instructions: `)
}

// TestDirs: the directory of the process counts, if it is in the project.
func TestDirs(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "1", "a/AGENTS.md": "2"})
	for where, want := range map[string]string{
		"": "AGENTS.md", dir: "AGENTS.md", filepath.Join(dir, "a"): "AGENTS.md\na/AGENTS.md", filepath.Dir(dir): "AGENTS.md", "/": "AGENTS.md",
	} {
		assert.Equal(t, want, list(t, instructions.New(&instructions.Options{Root: dir, Dir: where}), ""), where)
	}
	assert.Empty(t, list(t, instructions.New(nil), ""), "a program without a project has none")
}

func TestWhatIsCutIsSaid(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	dir := project(t, files{
		"AGENTS.md": strings.Repeat("A"+line[1:], 100), "a/AGENTS.md": strings.Repeat("B"+line[1:], 50), "a/b/AGENTS.md": strings.Repeat("C"+line[1:], 90),
	})
	in := instructions.New(&instructions.Options{Root: dir, Dir: filepath.Join(dir, "a", "b")})
	text, said := given(t, in, "")
	assert.LessOrEqual(t, len(text), instructions.DefaultMax)
	assert.Greater(t, len(text), instructions.DefaultMax*9/10, "the room is used")
	assert.Contains(t, text, "[Cut here: these are the first 5799 of 9000 bytes. Read the file if you need the rest.]\n</project_file>", "the nearest has the most")
	assert.Contains(t, text, "x\n[Cut here", "at the end of a line")
	assert.True(t, strings.HasSuffix(text, "\n\n[Without room here, to be read if you need them: AGENTS.md]"), "%.200s", text[len(text)-200:])
	var texts []string
	for _, d := range said {
		texts = append(texts, fmt.Sprintf("%s %s %s", d.Code, d.Visibility, d.Text))
	}
	assert.Regexp(t, `^instructions.loaded  instructions: about \d+ tokens of a/AGENTS.md, a/b/AGENTS.md
instructions.cut user instructions: a/AGENTS.md: cut: the model gets the first \d+ of 5000 bytes; shorten it
instructions.cut user instructions: a/b/AGENTS.md: cut: the model gets the first 5799 of 9000 bytes; shorten it
instructions.skipped user instructions: AGENTS.md: left out: there is no room for it; shorten the files, or give the agent fewer \(instructions: \{files: \[…\]\}\)$`, strings.Join(texts, "\n"))

	less, _ := given(t, in, `{"max": 2000}`)
	assert.LessOrEqual(t, len(less), 2000, "an agent may have less")
}

// TestTold: a conversation hears of what was left out once for each version of the files.
func TestTold(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "-> /etc/passwd"})
	in := at(dir)
	one, two := hooktest.Conversation(agent(""), nil), hooktest.Conversation(agent(""), nil)
	text, said := turn(t, in, hooktest.Turn(one, "a"))
	assert.Empty(t, text)
	require.Len(t, said, 2)
	assert.Equal(t, "instructions: no file", said[0].Text)
	assert.Equal(t, hook.DiagnosticCode("instructions.skipped"), said[1].Code)
	_, said = turn(t, in, hooktest.Turn(one, "b"))
	assert.Empty(t, said)
	_, said = turn(t, in, hooktest.Turn(two, "b"))
	assert.Len(t, said, 2, "another conversation")
	add(t, dir, files{"CLAUDE.md": "x"})
	_, said = turn(t, in, hooktest.Turn(one, "c"))
	assert.Len(t, said, 2, "another version")
}

// TestChanges: a change counts from the next turn on, and the text stays the same as long as
// the files do.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "one @later.md"})
	file := filepath.Join(dir, "AGENTS.md")
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(file, past, past))
	ahead := time.Minute // no file has just changed
	in := instructions.New(&instructions.Options{Root: dir, Fresh: -1, Now: func() time.Time { return time.Now().Add(ahead) }})
	first, _ := given(t, in, "")
	again, _ := given(t, in, "")
	assert.Equal(t, first, again)
	steps := []struct {
		name   string
		change func()
		want   string
	}{
		{"other text", func() { add(t, dir, files{"AGENTS.md": "gamma @later.md"}) }, "gamma"},
		{"an import that was missing", func() { add(t, dir, files{"later.md": "now there"}) }, "now there"},
		{"a file of another name", func() { add(t, dir, files{".claude/CLAUDE.md": "from claude"}) }, "from claude"},
		{"a link that leads elsewhere", func() {
			require.NoError(t, os.Remove(file))
			add(t, dir, files{"other.md": "new target", "AGENTS.md": "-> other.md"})
		}, "new target"},
	}
	for _, s := range steps {
		s.change()
		text, _ := given(t, in, "")
		assert.Contains(t, text, s.want, s.name)
		same, _ := given(t, in, "")
		assert.Equal(t, text, same, s.name)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".claude")))
	text, _ := given(t, in, "")
	assert.NotContains(t, text, "from claude", "a file that is gone")
}

// TestAFileThatHasJustChangedIsReadAgain: two changes within one tick of the file system's
// clock have one time.
func TestAFileThatHasJustChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "1"})
	in := instructions.New(&instructions.Options{Root: dir, Fresh: -1})
	for i := range 200 {
		want := fmt.Sprint("text ", 100+i)
		add(t, dir, files{"AGENTS.md": want})
		text, _ := given(t, in, "")
		require.Contains(t, text, want)
	}
}
