package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// spec returns a spec from a short form: name, tag, tools.
func spec(t *testing.T, name, tag string, tools ...string) plan.Spec {
	t.Helper()
	o, problems := plan.ParseTag(tag, points)
	require.Empty(t, problems)
	return plan.Spec{Field: name, Type: "*p." + name, Options: o, Tools: tools, Open: true}
}

// points are some of each kind.
var points = []plan.Point{
	{Name: "Schema", Kind: "facade", Combine: "union"},
	{Name: "SystemPrompt", Kind: "facade", Combine: "join", Place: "AgentConfig"},
	{Name: "OnRegisterAgent", Kind: "facade", Combine: "each", Bracket: true, Place: "AgentConfig"},
	{Name: "OnUnregisterAgent", Kind: "facade", Combine: "each", Bracket: true, Reverse: true, Place: "AgentConfig"},
	{Name: "Preprocess", Kind: "facade", Combine: "fold", Place: "Turn"},
	{Name: "Dispatch", Kind: "facade", Combine: "first", Place: "ToolCall"},
	{Name: "OnEvent", Kind: "facade", Combine: "each", Place: "Event"},
	{Name: "TurnContext", Kind: "contribute", Combine: "union", Timeout: 5 * time.Second, Place: "Turn"},
	{Name: "RewriteArgs", Kind: "rewrite", Combine: "fold", Closed: true, Place: "ToolCall"},
	{Name: "RewriteReply", Kind: "rewrite", Combine: "fold", Closed: true, Place: "Step"},
	{Name: "BeforeTool", Kind: "decide", Combine: "gate", Closed: true, Place: "ToolCall"},
	{Name: "OnModelError", Kind: "decide", Combine: "first", Place: "Step"},
	{Name: "WrapTool", Kind: "wrap", Combine: "nest", Closed: true, Place: "ToolCall"},
	{Name: "AfterTurn", Kind: "observe", Combine: "each", Place: "Turn"},
	{Name: "OnOpen", Kind: "observe", Combine: "each", Bracket: true, Closed: true},
	{Name: "OnClose", Kind: "observe", Combine: "each", Bracket: true, Reverse: true},
}

// pick returns the points with these names.
func pick(names string) []plan.Point {
	var out []plan.Point
	for _, name := range strings.Fields(names) {
		i := slices.IndexFunc(points, func(p plan.Point) bool { return p.Name == name })
		out = append(out, points[i])
	}
	return out
}

// part returns a spec of a member that has these points.
func part(t *testing.T, name, tag, has string) plan.Spec {
	t.Helper()
	s := spec(t, name, tag)
	s.Open, s.Points = false, pick(has)
	return s
}

func order(p *plan.Plan) string {
	var names []string
	for _, m := range p.Members {
		names = append(names, m.Field)
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	tests := []struct {
		name  string
		specs []plan.Spec
		want  string
	}{
		{"as declared", []plan.Spec{spec(t, "A", ""), spec(t, "B", ""), spec(t, "C", "")}, "A B C"},
		{"before", []plan.Spec{spec(t, "A", ""), spec(t, "B", "before=A")}, "B A"},
		{"after", []plan.Spec{spec(t, "A", "after=B"), spec(t, "B", "")}, "B A"},
		{"lower order first", []plan.Spec{spec(t, "A", ""), spec(t, "B", "order=5"), spec(t, "C", "order=500")}, "B A C"},
		{"constraint beats order", []plan.Spec{spec(t, "A", "order=1,after=C"), spec(t, "B", ""), spec(t, "C", "")}, "B C A"},
		{"who states it moves: before", []plan.Spec{spec(t, "A", ""), spec(t, "B", ""), spec(t, "C", "before=A")}, "C A B"},
		{"who states it moves: after", []plan.Spec{spec(t, "A", "after=C"), spec(t, "B", ""), spec(t, "C", "")}, "B C A"},
		{"before all", []plan.Spec{spec(t, "A", "order=1"), spec(t, "B", ""), spec(t, "C", "before=*"), spec(t, "D", "before=A")}, "C D A B"},
		{"a chain moves", []plan.Spec{spec(t, "A", ""), spec(t, "B", ""), spec(t, "C", "before=A"), spec(t, "D", "before=C")}, "D C A B"},
		{"the rest stays put", []plan.Spec{spec(t, "A", ""), spec(t, "B", "before=A"), spec(t, "C", ""), spec(t, "D", "")}, "B A C D"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := plan.Build("p.T", tt.specs)
			require.Empty(t, problems)
			assert.Equal(t, tt.want, order(p))
		})
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name   string
		specs  []plan.Spec
		code   string
		fields []string
		text   string
	}{
		{"duplicate tool", []plan.Spec{spec(t, "OS", "", "read"), spec(t, "Files", "", "read")},
			"HG020", []string{"OS", "Files"}, `tool "read" is provided by both OS and Files`},
		{"prefix makes a duplicate", []plan.Spec{spec(t, "A", "", "u_q"), spec(t, "B", "prefix=u_", "q")},
			"HG020", []string{"A", "B"}, `tool "u_q"`},
		{"a field that must be first", []plan.Spec{spec(t, "A", "before=B"), spec(t, "B", "before=*")},
			"HG026", []string{"A", "B"}, "B before=*"},
		{"cycle names every party", []plan.Spec{spec(t, "A", "before=B"), spec(t, "B", "before=C"), spec(t, "C", "before=A"), spec(t, "D", "")},
			"HG026", []string{"A", "B", "C"}, "A before=B"},
		{"before nobody", []plan.Spec{spec(t, "Skills", "before=Memry"), spec(t, "Memory", "")},
			"HG027", []string{"Skills"}, "did you mean Memory?"},
		{"before itself", []plan.Spec{spec(t, "A", "before=A")}, "HG027", []string{"A"}, "on the field itself"},
		{"requires nobody", []plan.Spec{spec(t, "A", "requires=B")}, "HG028", []string{"A"}, "which the composite does not have"},
		{"requires an optional one", []plan.Spec{spec(t, "A", "requires=B"), spec(t, "B", "optional")},
			"HG028", []string{"A", "B"}, "which is optional"},
		{"name too long with its prefix", []plan.Spec{spec(t, "A", "prefix=users_", strings.Repeat("x", 60))},
			"HG022", []string{"A"}, "not one that providers accept"},
		{"prefix on a group", []plan.Spec{{Field: "Extra", Group: true, Options: plan.Options{Prefix: "x_"}}},
			"HG024", []string{"Extra"}, "prefix on a group"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := plan.Build("p.T", tt.specs)
			require.Len(t, problems, 1)
			assert.Equal(t, tt.code, problems[0].Code)
			assert.ElementsMatch(t, tt.fields, problems[0].Fields)
			assert.Contains(t, problems[0].Error(), tt.text)
			assert.NotEmpty(t, problems[0].Fix)
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, problems := plan.Build("p.T", []plan.Spec{
		spec(t, "A", "before=Nobody", "read"), spec(t, "B", "requires=Nothing", "read"),
	})
	var codes []string
	for _, p := range problems {
		codes = append(codes, p.Code)
	}
	assert.Equal(t, []string{"HG027", "HG028", "HG020"}, codes)
}

func TestNoProblem(t *testing.T) {
	tests := map[string][]plan.Spec{
		"optional requires optional": {spec(t, "A", "optional,requires=B"), spec(t, "B", "optional")},
		"same tool, own prefixes":    {spec(t, "A", "prefix=a_", "q"), spec(t, "B", "prefix=b_", "q")},
		"before and after agree":     {spec(t, "A", "before=B"), spec(t, "B", "after=A")},
	}
	for name, specs := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := plan.Build("p.T", specs)
			assert.Empty(t, problems)
		})
	}
}

// Whatever the constraints: either the order satisfies all of them, or the cycle
// that is reported is one.
func TestOrderOrRealCycle(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "n")
		name := func(i int) string { return fmt.Sprintf("F%d", i) }
		specs := make([]plan.Spec, n)
		before := map[[2]int]bool{}
		for i := range specs {
			specs[i] = plan.Spec{Field: name(i), Type: "T"}
			for _, j := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 2).Draw(rt, "before") {
				if j == i {
					continue
				}
				if rapid.Bool().Draw(rt, "as after") {
					specs[i].Options.After = append(specs[i].Options.After, name(j))
					before[[2]int{j, i}] = true
					continue
				}
				specs[i].Options.Before = append(specs[i].Options.Before, name(j))
				before[[2]int{i, j}] = true
			}
		}
		p, problems := plan.Build("p.T", specs)
		if len(problems) > 0 {
			cycle := problems[0].Fields
			for k := range cycle {
				from, to := indexOf(specs, cycle[k]), indexOf(specs, cycle[(k+1)%len(cycle)])
				require.True(rt, before[[2]int{from, to}], "%v: %s is not before %s", problems[0], cycle[k], cycle[(k+1)%len(cycle)])
			}
			return
		}
		pos := func(i int) int {
			return slices.IndexFunc(p.Members, func(m plan.Member) bool { return m.Field == name(i) })
		}
		for e := range before {
			require.Less(rt, pos(e[0]), pos(e[1]))
		}
	})
}

func indexOf(specs []plan.Spec, field string) int {
	return slices.IndexFunc(specs, func(s plan.Spec) bool { return s.Field == field })
}

func TestParseTag(t *testing.T) {
	five := 5
	tests := []struct {
		tag  string
		want plan.Options
	}{
		{"", plan.Options{}},
		{"-", plan.Options{Ignore: true}},
		{"optional, before=Memory ,before=OS", plan.Options{Optional: true, Before: []string{"Memory", "OS"}}},
		{"prefix=u_,order=5,requires=A,after=B,dynamic", plan.Options{Prefix: "u_", Order: &five, Requires: []string{"A"}, After: []string{"B"}, Dynamic: true}},
		{"optional; BeforeTool: failopen; WrapTool: failclosed", plan.Options{Optional: true,
			Points: []plan.PointUse{{Name: "BeforeTool", Policy: "failopen"}, {Name: "WrapTool", Policy: "failclosed"}}}},
		{"BeforeTool: timeout=90s,visibility=audit; AfterTurn: background; BeforeTool: failopen; TurnContext: parallel,timeout=800ms", plan.Options{
			Points: []plan.PointUse{
				{Name: "BeforeTool", Timeout: plan.Duration(90 * time.Second), Visibility: "audit", Policy: "failopen"},
				{Name: "AfterTurn", Mode: "background"}, {Name: "TurnContext", Mode: "parallel", Timeout: plan.Duration(800 * time.Millisecond)},
			}}},
		{"only=BeforeTool|AfterTurn,only=OnEvent", plan.Options{Only: []string{"BeforeTool", "AfterTurn", "OnEvent"}}},
		{"without=OnEvent", plan.Options{Without: []string{"OnEvent"}}},
		{"match=tool:mcp__*|tool:bash,match=path:/etc/**,match=tool:sql?", plan.Options{Match: []plan.Pattern{
			{Kind: "tool", Glob: "mcp__*"}, {Kind: "tool", Glob: "bash"}, {Kind: "path", Glob: "/etc/**"}, {Kind: "tool", Glob: "sql?"},
		}}},
		{"BeforeTool: failopen", plan.Options{Points: []plan.PointUse{{Name: "BeforeTool", Policy: "failopen"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.tag, func(t *testing.T) {
			got, problems := plan.ParseTag(tt.tag, points)
			require.Empty(t, problems)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestParseTagProblems(t *testing.T) {
	tests := []struct{ tag, message, fix string }{
		{"befor=Memory", `unknown word "befor"`, `did you mean "before"?`},
		{"xyzzy", `unknown word "xyzzy"`, "the words are"},
		{"optional=yes", "optional takes no value", ""},
		{"before", "before wants a value", ""},
		{"order=soon", `order wants a number, got "soon"`, ""},
		{"prefix=a b", "only letters, digits", ""},
		{"BeforeTol: failopen", `unknown point "BeforeTol"`, `did you mean "BeforeTool"?`},
		{"BeforeTool: failopn", `unknown word "failopn"`, `did you mean "failopen"?`},
		{"optional; failopen", "stands after a point", ""},
		{"BeforeTool: timeout=30", `timeout wants a duration, got "30"`, "timeout=30s"},
		{"BeforeTool: timeout=-1s", `timeout wants a duration, got "-1s"`, "timeout=2m"},
		{"TurnContext: timeout=0", `timeout wants a duration, got "0"`, "timeout=none"},
		{"TurnContext: timeout=0s", `timeout wants a duration, got "0s"`, "timeout=none"},
		{"TurnContext: timeout=-1ns", `timeout wants a duration, got "-1ns"`, "timeout=2m"},
		{"BeforeTool: timeout", "timeout wants a value, as in timeout=2m", ""},
		{"BeforeTool: visibility=admin", `not "admin"`, "the words are internal, debug, audit, user"},
		{"BeforeTool: visibility=adit", `not "adit"`, `did you mean "audit"?`},
		{"only=BeforeTol", `unknown point "BeforeTol" in only=`, `did you mean "BeforeTool"?`},
		{"without=", "without wants a value", ""},
		{"BeforeTool:", `unknown word ""`, "the words are failopen"},
	}
	for _, tt := range tests {
		t.Run(tt.tag, func(t *testing.T) {
			_, problems := plan.ParseTag(tt.tag, points)
			require.Len(t, problems, 1)
			assert.Equal(t, "HG009", problems[0].Code)
			assert.Contains(t, problems[0].Message, tt.message)
			assert.Contains(t, problems[0].Fix, tt.fix)
		})
	}
}

func FuzzParseTag(f *testing.F) {
	for _, s := range []string{"-", "optional,before=A; BeforeTool: failopen", ";;:,=", "prefix=\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		o, problems := plan.ParseTag(tag, points)
		if len(problems) == 0 && o.Prefix != "" {
			require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, o.Prefix)
		}
	})
}

func TestOwner(t *testing.T) {
	inner, problems := plan.Build("p.Core", []plan.Spec{spec(t, "Notes", "prefix=n_", "add")})
	require.Empty(t, problems)
	s := spec(t, "Core", "prefix=c_", "n_add")
	s.Composite = inner
	p, problems := plan.Build("p.T", []plan.Spec{spec(t, "OS", "", "bash"), s})
	require.Empty(t, problems)
	assert.Equal(t, "OS", p.Owner("bash"))
	assert.Equal(t, "Core.Notes", p.Owner("c_n_add"))
	assert.Empty(t, p.Owner("add"))
}

func ExamplePlan_Text() {
	p, _ := plan.Build("daemon.Daemon", []plan.Spec{
		{Field: "Memory", Options: plan.Options{Optional: true}, Points: pick("SystemPrompt OnClose"), Tools: []string{"recall", "remember"}},
		{Field: "Guard", Options: plan.Options{Before: []string{"Memory"}, Points: []plan.PointUse{{Name: "BeforeTool", Policy: "failopen", Timeout: plan.Duration(2 * time.Minute)}}},
			Points: pick("BeforeTool RewriteArgs")},
		{Field: "MCP", Dynamic: true, Points: pick("SystemPrompt")},
		{Field: "Extra", Group: true},
	})
	fmt.Print(p.Text())
	// Output:
	// #  field    acts at
	// 1  Guard    BeforeTool:failopen,timeout=2m RewriteArgs~
	// 2  Memory?  SystemPrompt OnClose
	//             tools: recall remember
	// 3  MCP      SystemPrompt
	//             tools: known at run time
	// 4  Extra[]  all points
	//             tools: known at run time
	//
	// ? may be nil, [] a group given at run time, ~ is waited for without a bound
}
