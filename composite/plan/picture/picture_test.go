package picture_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

var update = flag.Bool("update", false, "write the golden files")

func sources() map[string]picture.Source {
	empty := picture.Source{Plan: &plan.Plan{Type: "app.Empty"}, Points: points()}
	return map[string]picture.Source{"rich": rich(), "crowd": crowd(), "hostile": hostile(), "empty": empty, "daemon": daemon()}
}

func TestGolden(t *testing.T) {
	for _, f := range picture.Formats() {
		t.Run(string(f), func(t *testing.T) {
			got, name := render(t, f, rich()), "testdata/rich."+string(f)
			if *update {
				require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
			}
			want, err := os.ReadFile(name)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

func TestDeterminism(t *testing.T) {
	for name, source := range sources() {
		for _, f := range picture.Formats() {
			first := render(t, f, source)
			for range 2 {
				require.Equal(t, first, render(t, f, sources()[name]), "%s %s", name, f)
			}
			assert.True(t, strings.HasSuffix(first, "\n"), "%s %s ends in a line break", name, f)
		}
	}
}

// TestLifecycle: every point of the contract has its place, once.
func TestLifecycle(t *testing.T) {
	seen := map[string]int{}
	var walk func(s *picture.Scope)
	walk = func(s *picture.Scope) {
		for _, p := range s.Before {
			seen[p]++
		}
		for _, p := range s.After {
			seen[p]++
		}
		if s.Inside != nil {
			walk(s.Inside)
		}
	}
	for _, s := range picture.Lifecycle(points()) {
		walk(s)
	}
	for p, n := range seen {
		assert.Equal(t, 1, n, p)
	}
	for _, p := range points() {
		assert.Contains(t, seen, p.Name, "%s is in no scope: what is its place?", p.Name)
	}
}

func order(v *picture.View, point string) []string {
	var out []string
	for _, p := range v.Points {
		if p.Name == point {
			for _, c := range p.Calls {
				out = append(out, fmt.Sprintf("%d %s", c.Order, c.Member))
			}
		}
	}
	return out
}

func TestOrder(t *testing.T) {
	v := picture.New(rich())
	tests := []struct {
		point string
		want  []string
	}{
		{"BeforeTool", []string{"1 Guard", "2 Core.Store.Cache", "3 Plugin", "4 Extra"}},
		{"AfterTool", []string{"1 Extra", "2 Plugin", "3 Core.Store.Cache"}},
		{"OnClose", []string{"1 Extra", "2 Plugin", "3 MCP", "4 Core.Store.Disk", "5 Core.Store.Cache"}},
		{"WrapModel", []string{"1 Core.Store", "2 Plugin", "3 Extra"}},
		{"AfterTurn", []string{"1 Extra", "2 Plugin", "3 Guard"}}, // Core is not called there, so Core.Notes is not
		{"OnEvent", []string{"1 Extra"}},
		{"Dispatch", []string{"1 Core.Notes", "1 Users", "2 MCP", "3 Plugin", "4 Extra"}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, order(v, tt.point), tt.point)
	}
	var names []string
	for _, p := range v.Points {
		names = append(names, p.Name)
	}
	want := strings.Fields("OnOpen OnBuildAgent Schema ScopedTools SystemPrompt OnRegisterAgent OnSessionStart Preprocess BeforeTurn TurnPolicy " +
		"TurnContext RefineContext TurnTools PromptSections BeforeStep RewriteRequest BeforeModel WrapModel OnModelError RewriteReply AfterModel " +
		"Dispatch OnInvalidTool RewriteArgs BeforeTool Approve WrapTool RewriteResult AfterTool AfterStep " +
		"OnStop OnTurnError AfterTurn BeforeCompaction AfterCompaction OnSessionEnd OnUnregisterAgent OnClose OnEvent")
	names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(want, name) }) // a new point needs no line here
	assert.Equal(t, want, names)
}

// TestRunTime: a dynamic composite calls every hook at the methods of the facade.
func TestRunTime(t *testing.T) {
	guard := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return hook.ToolDecision{}, nil })
	c, err := composite.Of("app.App", composite.Field{Name: "Guard", Hook: guard}, composite.Field{Name: "Quiet", Hook: hook.Nop{}})
	require.NoError(t, err)
	v := picture.New(picture.Source{Plan: c.Plan(), Points: points(), RunTime: true})
	assert.Equal(t, []string{"1 Guard", "2 Quiet"}, order(v, "SystemPrompt"))
	assert.Equal(t, []string{"1 Guard"}, order(v, "BeforeTool"))
	require.Len(t, v.Points, 10)
	for _, p := range v.Points {
		assert.Equal(t, p.Kind == "facade", p.Calls[0].Maybe, p.Name)
	}
}

func TestUnknownPointsComeLast(t *testing.T) {
	s := picture.Source{
		Points: []picture.Point{{Name: "OnNew", Kind: "observe"}, {Name: "OnOld", Kind: "observe"}, {Name: "OnOpen", Kind: "observe", Bracket: true}},
		Plan:   &plan.Plan{Type: "a.A", Members: []plan.Member{{Field: "X", Points: use("OnNew", "OnOpen")}}},
	}
	v := picture.New(s)
	require.Len(t, v.Points, 2)
	assert.Equal(t, "process", v.Points[0].Scope)
	assert.Equal(t, "OnNew", v.Points[1].Name)
	assert.Equal(t, "elsewhere", v.Points[1].Scope)
	assert.Equal(t, []string{"OnOld"}, v.Unused)
}

func TestJSONRoundTrip(t *testing.T) {
	for name, s := range sources() {
		if name == "hostile" {
			continue // JSON has no place for bytes that are no UTF-8
		}
		v := picture.New(s)
		text, err := v.JSON()
		require.NoError(t, err)
		var back picture.View
		dec := json.NewDecoder(strings.NewReader(string(text)))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&back))
		assert.Equal(t, v, &back, name)
		for _, f := range picture.Formats() {
			want, err := picture.Render(f, v)
			require.NoError(t, err)
			got, err := picture.Render(f, &back)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "%s as %s", name, f)
		}
	}
}

// TestForeignView: a view that somebody made by hand is shown as far as it makes
// sense.
func TestForeignView(t *testing.T) {
	v := &picture.View{Type: "x.X", Members: []picture.Member{{Path: "A"}, {Path: "A"}}, Points: []picture.At{
		{Calls: []picture.Call{{Member: "nobody"}, {Member: "A", Order: 9999}}}, {Point: picture.Point{Name: "BeforeTool"}},
	}}
	for _, f := range picture.Formats() {
		text, err := picture.Render(f, v)
		require.NoError(t, err)
		if f == picture.Markdown {
			charts(t, string(text))
		}
	}
}

func TestFormats(t *testing.T) {
	for name, want := range map[string]picture.Format{
		"plan.txt": picture.Text, "a/plan.MD": picture.Markdown, "plan.json": picture.JSON,
	} {
		got, err := picture.FormatOf(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, name := range []string{"plan", "plan.svg", ""} {
		_, err := picture.FormatOf(name)
		assert.ErrorContains(t, err, "is unknown; end the name in")
	}
	_, err := picture.ParseFormat("png")
	assert.ErrorContains(t, err, "the formats are text, md, json")
	_, err = picture.Render("png")
	assert.ErrorContains(t, err, `no format "png"`)
	text, err := picture.Render(picture.JSON)
	require.NoError(t, err)
	assert.Equal(t, "[]\n", string(text))
}

// TestNothingInvisible: no format lets a name steer the reader's eye.
func TestNothingInvisible(t *testing.T) {
	for _, f := range picture.Formats() {
		if f == picture.JSON {
			continue // strings of JSON are data for programs
		}
		for _, r := range render(t, f, hostile()) {
			ok := r == '\n' || r == '\t' || unicode.IsPrint(r) && !unicode.Is(unicode.M, r)
			require.True(t, ok, "%s has %U", f, r)
		}
	}
}

// chart is what a line of a flow chart may be: nothing in a name makes another one of it.
var chart = func() *regexp.Regexp {
	const label = `"(?:[\pL\pN .,:/()=?-]|#\d+;|<br/>)*"`
	const shape = `(?:\[` + label + `\]|\(\[` + label + `\]\)|\[/` + label + `/\]|\{\{` + label + `\}\}|\[\[` + label + `\]\]|\(` + label + `\))`
	const call = `p\d+c\d+\[` + label + `\](?::::maybe)?`
	return regexp.MustCompile(`^(?:flowchart LR|end|subgraph s\d+\[` + label + `\]|classDef maybe stroke-dasharray:3 2|p\d+` + shape + `(?:(?: --> | & )` + call + `)*)$`)
}()

// charts checks the pictures in a text and returns what is around them.
func charts(t *testing.T, text string) (rest string) {
	t.Helper()
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "```mermaid" && !inside, line == "```" && inside:
			inside = !inside
		case inside:
			require.Regexp(t, chart, line)
		default:
			rest += line + "\n"
		}
	}
	require.False(t, inside, "a fence is open")
	return rest
}

func TestPicturesAreWellFormed(t *testing.T) {
	for name, s := range sources() {
		assert.NotRegexp(t, "[<>`|*_\\[\\]]", charts(t, render(t, picture.Markdown, s)), name)
	}
	require.NotRegexp(t, chart, `p0["a"b"]`, "an open quote is found")
}

// TestCommitted looks at the picture that the README leads to.
func TestCommitted(t *testing.T) {
	text, err := os.ReadFile("../../../docs/daemon-plan.md")
	require.NoError(t, err)
	charts(t, string(text))
	assert.Less(t, len(text), 50_000, "more, and Mermaid draws nothing")
}

func ExampleRender() {
	p, _ := plan.Build("app.App", []plan.Spec{
		{Field: "Guard", Type: "*guard.Guard", Points: []plan.Point{{Name: "BeforeTool"}, {Name: "AfterTool"}}},
		{Field: "Notes", Type: "*notes.Notes", Points: []plan.Point{{Name: "Dispatch"}, {Name: "AfterTool"}}, Tools: []string{"add", "list"}},
	})
	v := picture.New(picture.Source{Plan: p, Points: []picture.Point{
		{Name: "Dispatch", Kind: "facade", Combine: "first", Place: "ToolCall"},
		{Name: "BeforeTool", Kind: "decide", Combine: "gate", Closed: true, Place: "ToolCall"},
		{Name: "AfterTool", Kind: "decide", Combine: "judge", Reverse: true, Closed: true, Place: "ToolCall"},
	}})
	text, _ := picture.Render(picture.Text, v)
	fmt.Print(string(text))
	// Output:
	// app.App
	//
	// #  FIELD  TYPE          TOOLS
	// 1  Guard  *guard.Guard
	// 2  Notes  *notes.Notes  add list
	//
	// SCOPE      POINT       RULE                   ON FAILURE  CALLED, IN ORDER
	// tool call  Dispatch    facade first                       Notes
	// tool call  BeforeTool  decide gate            closed      Guard
	// tool call  AfterTool   decide judge, reverse  closed      Notes, Guard
}

func ExampleNew() {
	p := &plan.Plan{Type: "app.App", Members: []plan.Member{
		{Field: "Guard", Points: []plan.PointUse{{Name: "OnClose"}}},
		{Field: "Notes", Points: []plan.PointUse{{Name: "OnClose"}}},
	}}
	v := picture.New(picture.Source{Plan: p, Points: []picture.Point{{Name: "OnClose", Kind: "observe", Combine: "each", Bracket: true, Reverse: true}}})
	for _, c := range v.Points[0].Calls {
		fmt.Println(c.Order, c.Member)
	}
	// Output:
	// 1 Notes
	// 2 Guard
}

func ExampleView_JSON() {
	v := picture.New(picture.Source{Plan: &plan.Plan{Type: "app.Empty"}})
	text, _ := v.JSON()
	fmt.Print(string(text))
	// Output:
	// {
	//   "type": "app.Empty",
	//   "members": [],
	//   "points": null
	// }
}

func ExampleFormatOf() {
	f, _ := picture.FormatOf("docs/plan.md")
	fmt.Println(f)
	// Output: md
}
