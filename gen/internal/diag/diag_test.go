package diag_test

import (
	"bytes"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

func at(file string, line, column int) token.Position {
	return token.Position{Filename: file, Line: line, Column: column}
}

// problem is one with these texts: of the planner, which makes its own.
func problem(code string, pos token.Position, message, fix string) diag.Problem {
	p := diag.New(diag.Planner, pos, "", message, fix)
	p.Code = code
	return p
}

func TestSort(t *testing.T) {
	problems := []diag.Problem{
		problem("HG013", at("b.go", 1, 1), "x", ""),
		problem("HG012", at("a.go", 10, 2), "x", ""),
		problem("HG020", at("a.go", 9, 2), "x", ""),
		problem("HG012", at("a.go", 10, 2), "x", ""),
		problem("HG010", at("a.go", 10, 2), "x", ""),
	}
	var got []string
	for _, p := range diag.Sort(problems) {
		got = append(got, p.Pos.String()+" "+p.Code)
	}
	assert.Equal(t, []string{"a.go:9:2 HG020", "a.go:10:2 HG010", "a.go:10:2 HG012", "b.go:1:1 HG013"}, got)
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	owners := problem("HG020", at("d/d.go", 21, 2), "two owners", "a prefix")
	owners.Notes = []diag.Note{{Pos: at("o/o.go", 64, 14), Message: "here"}, {Message: "nowhere"}}
	undescribed := problem("HG031", token.Position{}, "no doc", "")
	undescribed.Severity = diag.Warning
	diag.Print(&out, []diag.Problem{owners, undescribed})
	assert.Equal(t, "d/d.go:21:2: error HG020: two owners\n\to/o.go:64:14: here\n\tnowhere\n\tfix: a prefix\nwarning HG031: no doc\n", out.String())
	assert.True(t, diag.HasErrors([]diag.Problem{{Severity: diag.Warning}, {}}))
	assert.False(t, diag.HasErrors([]diag.Problem{{Severity: diag.Warning}}))
}

// file is a Source of one file.
func file(text string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if name != "p.go" {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
}

func printed(t *testing.T, format diag.Format, text string, problems ...diag.Problem) string {
	t.Helper()
	var out bytes.Buffer
	printer := diag.Printer{Format: format, Source: file(text)}
	require.NoError(t, printer.Print(&out, diag.Locate(problems, file(text))))
	return out.String()
}

// The caret stands under what is wrong, whatever stands before it.
func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 60) + " = " + strings.Repeat("y", 80) + " + here + " + strings.Repeat("z", 80)
	tests := []struct {
		name, line, word, want string
	}{
		{"plain", "var word int", "word", "\t1 | var word int\n\t  |     ^~~~\n"},
		{"first", "word", "word", "\t1 | word\n\t  | ^~~~\n"},
		{"tabs", "\t\tword\t// x", "word", "\t1 |         word    // x\n\t  |         ^~~~\n"},
		{"a tab inside", "a\tword", "word", "\t1 | a   word\n\t  |     ^~~~\n"},
		{"wide characters", "/* 日本 */ word", "word", "\t1 | /* 日本 */ word\n\t  |            ^~~~\n"},
		{"marks", "/* e\u0301 */ word", "word", "\t1 | /* e\u0301 */ word\n\t  |         ^~~~\n"},
		{"a carriage return", "word\r", "word", "\t1 | word\n\t  | ^~~~\n"},
		{"a comment", "\t//hook:tol x  ", "//hook", "\t1 |     //hook:tol x\n\t  |     ^~~~~~~~~~~~\n"},
		{"a string", `x "word" y`, `"word`, "\t1 | x \"word\" y\n\t  |   ^~~~~~\n"},
		{"one character", "x + *y", "*y", "\t1 | x + *y\n\t  |     ^\n"},
		{"bidi", "/*\u202e*/ word", "word", "\t1 | /*\\u202e*/ word\n\t  |            ^~~~\n"},
		{"an escape sequence", "/*\x1b[2J*/ word", "word", "\t1 | /*\\x1b[2J*/ word\n\t  |             ^~~~\n"},
		{"no utf-8", "/*\xff*/ word", "word", "\t1 | /*\\xff*/ word\n\t  |          ^~~~\n"},
		{"long", long, "here", "\t1 | …" + strings.Repeat("y", 27) + " + here + " + strings.Repeat("z", 73) + "…\n\t  | " +
			strings.Repeat(" ", 31) + "^~~~\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := problem("HG010", at("p.go", 1, strings.Index(tt.line, tt.word)+1), "m", "")
			got := printed(t, diag.Text, tt.line+"\nnext\n", p)
			head := p.Error() + "\n"
			assert.Equal(t, head+tt.want+"more: hookgen explain HG010\n", got)
		})
	}
}

// Where a place cannot be read, there is no excerpt and no end.
func TestExcerptOfNothing(t *testing.T) {
	for _, pos := range []token.Position{{}, at("q.go", 1, 1), at("p.go", 3, 1), at("p.go", 1, 11), {Filename: "p.go", Line: 1}} {
		p := problem("HG010", pos, "m", "")
		assert.Equal(t, p.Error()+"\nmore: hookgen explain HG010\n", printed(t, diag.Text, "package p", p))
		assert.Zero(t, diag.Locate([]diag.Problem{p}, file("package p"))[0].End)
	}
}

// An end that is known counts, also on another line.
func TestEnd(t *testing.T) {
	p := problem("HG010", at("p.go", 1, 1), "m", "")
	p.End = at("p.go", 1, 6)
	assert.Contains(t, printed(t, diag.Text, "a + b + c", p), "\t  | ^~~~~\n")
	p.Pos = at("p.go", 1, 10)
	p.End = token.Position{}
	assert.Contains(t, printed(t, diag.Text, "a + b + c\nd", p), "\t1 | a + b + c\n\t  |          ^\n")
	p.Pos, p.End = at("p.go", 1, 1), at("p.go", 3, 1)
	assert.Contains(t, printed(t, diag.Text, "a + b + c", p), "\t  | ^~~~~~~~~\n")
}

// What a source says in a name stays on its line and cannot steer a terminal or give commands to a workflow.
func TestHostileText(t *testing.T) {
	p := problem("HG010", at("p\n::error.go", 1, 1), "x\n::error::fake\x1b[2J\u202e%0A", "one\ntwo\r")
	p.Notes = []diag.Note{{Message: "n\nerror"}}
	want := "p\\x0a::error.go:1:1: error HG010: x\\x0a::error::fake\\x1b[2J\\u202e%0A\n\tn\\x0aerror\n\tfix: one\n\t\ttwo\\x0d\n"
	assert.Equal(t, want+"more: hookgen explain HG010\n", printed(t, diag.Text, "", p))
	assert.Equal(t, "::error file=p%0A%3A%3Aerror.go,line=1,col=1,title=HG010::x\\x0a::error::fake\\x1b[2J\\u202e%250A%0An\\x0aerror%0Afix: one%0A\t\ttwo\\x0d\n",
		printed(t, diag.GitHub, "", p))
	assert.Equal(t, 1, strings.Count(printed(t, diag.JSON, "", p), "\n"))
}

func TestJSON(t *testing.T) {
	p := problem("HG009", at("p.go", 1, 5), "<m>", "f")
	p.Severity = diag.Warning
	p.Notes = []diag.Note{{Pos: at("q.go", 2, 3), Message: "n"}, {Message: "o"}}
	p.Edits = []diag.Edit{{Pos: at("p.go", 1, 5), End: at("p.go", 1, 6), Text: "b"}}
	empty := problem("HG001", token.Position{}, "", "")
	empty.Severity = diag.Info
	assert.Equal(t, `{"code":"HG009","severity":"warning","pos":{"file":"p.go","line":1,"column":5},"end":{"file":"p.go","line":1,"column":6},`+
		`"message":"<m>","notes":[{"pos":{"file":"q.go","line":2,"column":3},"message":"n"},{"message":"o"}],`+
		`"fix":{"message":"f","edits":[{"pos":{"file":"p.go","line":1,"column":5},"end":{"file":"p.go","line":1,"column":6},"text":"b"}]}}`+"\n"+
		`{"code":"HG001","severity":"info","message":""}`+"\n", printed(t, diag.JSON, "var a", p, empty))
}

func TestGitHub(t *testing.T) {
	info := problem("HG050", token.Position{}, "a, b: 100%", "")
	info.Severity = diag.Info
	warning := problem("HG013", token.Position{Filename: "a,b%.go"}, "m", "")
	warning.Severity = diag.Warning
	assert.Equal(t, "::notice title=HG050::a, b: 100%25\n::warning file=a%2Cb%25.go,line=1,title=HG013::m\n", printed(t, diag.GitHub, "", info, warning))
}

func TestStrict(t *testing.T) {
	got := diag.Strict([]diag.Problem{{Severity: diag.Warning}, {Severity: diag.Info}, {}})
	assert.Equal(t, []diag.Problem{{}, {Severity: diag.Info}, {}}, got)
	assert.False(t, diag.HasErrors([]diag.Problem{{Severity: diag.Info}}))
}

// Every code that the source uses has a page, and every page a code that the source uses.
func TestEveryCodeIsExplained(t *testing.T) {
	literal := regexp.MustCompile(`"(HG\d\d\d)[":]`)
	used := map[string]bool{}
	for _, dir := range []string{"..", "../../../composite/plan"} {
		require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || d.Name() == "pages.go" {
				return err
			}
			text, err := os.ReadFile(name)
			for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
			return err
		}))
	}
	codes := diag.Codes()
	assert.True(t, slices.IsSorted(codes))
	assert.Equal(t, codes, slices.Compact(slices.Clone(codes)), "a code has two pages")
	for code := range used {
		text, ok := diag.Explain(code)
		assert.True(t, ok, "%s has no page", code)
		assert.True(t, strings.HasPrefix(text, code+": "), text)
	}
	for _, code := range codes {
		assert.True(t, used[code], "%s is explained, but nothing says it", code)
	}
	_, ok := diag.Explain("HG000")
	assert.False(t, ok)
}

// A problem is data: its text follows from its cause, and every cause has one.
func TestEveryCauseHasAText(t *testing.T) {
	for cause := diag.Planner; cause <= diag.UnlistedNames; cause++ {
		p := diag.New(cause, token.Position{}, "Subject", "1", "2", "3", "4", "5").Of("Method")
		assert.NotEmpty(t, p.Message(), "cause %d", cause)
		for _, text := range []string{p.Message(), p.Fix()} {
			assert.NotContains(t, text, "%!", "cause %d", cause)
		}
		other := cause == diag.Unparsable || cause == diag.ComposeCalled || cause >= diag.InvalidField && cause <= diag.InvalidResult
		assert.Equal(t, other, p.Fix() == "", "cause %d: only another error or nobody says how to fix it", cause)
		_, explained := diag.PageOf(p.Code)
		assert.Equal(t, explained, cause > diag.PlannerOptions, "cause %d has the code %q", cause, p.Code)
	}
}

// Two problems are the same if their data are.
func TestSame(t *testing.T) {
	p := diag.New(diag.HiddenPoint, at("p.go", 1, 1), "T").Of("OnEvent")
	assert.True(t, p.Same(diag.New(diag.HiddenPoint, at("p.go", 1, 1), "T").Of("OnEvent")))
	assert.False(t, p.Same(p.Of("OnClose")))
	assert.False(t, p.Same(diag.New(diag.HiddenPoint, at("p.go", 2, 1), "T").Of("OnEvent")))
	assert.Equal(t, "field OnEvent of T hides the point of the same name", p.Message())
	p.Remedy = "another"
	assert.Equal(t, "another", p.Fix())
}
