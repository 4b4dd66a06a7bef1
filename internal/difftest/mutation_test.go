package difftest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/mutants"
	"github.com/grapnel-go/grapnel/internal/needs"
)

// mutation is one mistake that an emitter could make in one method of Welded and what belongs to it. It replaces the first match
// of a pattern; empty, the pattern stands for nothing and the mutant must survive.
type mutation struct{ method, mistake, pattern, with string }

var mutations = []mutation{
	{"BeforeTool", "none: the copy behaves as the original", "", ""},

	{"Schema", "a member is left out", `tools = append\(tools, d\.Front\.Schema\(\)\.\.\.\)`, ``},
	{"Schema", "a prefix is lost", `composite\.Prefixed\("users_", d\.Users\.Schema\(\)\)`, `d.Users.Schema()`},
	{"Schema", "an optional member is not checked for nil", `if d\.First != nil \{`, `{`},
	{"Schema", "two members are swapped", `"core_", d\.Core\.Schema\(\)(?s:(.*?))"users_", d\.Users\.Schema\(\)`, `"users_", d.Users.Schema()$1"core_", d.Core.Schema()`},
	{"Schema", "a failure has the wrong path", `at = "Run"`, `at = "Any"`},
	{"SystemPrompt", "a prompt reaches agents without the tools", `if composite\.Offers\(cfg, d\.Front\.Schema\(\)\) \{`, `{`},
	{"SystemPrompt", "a member sees public tool names", `d\.Users\.SystemPrompt\(cfg\.Prefixed\("users_"\)\)`, `d.Users.SystemPrompt(cfg)`},
	{"SystemPrompt", "a group's nil is not skipped", `if m == nil \{\s+continue\s+\}`, ``},
	{"ScopedTools", "a member's scope is left out", `s\.Add\("", d\.Front\.Schema\(\), d\.Front\.ScopedTools\(cfg\)\)`, ``},
	{"ScopedTools", "a scope without the prefix", `s\.Add\("users_"`, `s.Add(""`},
	{"ScopedTools", "a member without a scope loses its tools", `s\.Add\("", d\.Quiet\.Schema\(\), hook\.Scope\{\}\)`, ``},

	{"OnBuildAgent", "a member is not called", `if f\.Set\(d\.Users\.OnBuildAgent\(ctx, f\.Value\)\) \{\s+return\s+\}`, ``},
	{"OnBuildAgent", "a failure is not returned", `return f\.Value, f\.Err\(\)`, `return f.Value, nil`},
	{"OnBuildAgent", "what was changed is dropped", `return f\.Value, f\.Err\(\)`, `return cfg, f.Err()`},
	{"OnRegisterAgent", "what was registered is not undone", `if b\.Err\(\) != nil \{[^}]*\}`, ``},
	{"OnRegisterAgent", "too much is undone", `b\.Undo\(\)`, `composite.Position{}`},
	{"OnRegisterAgent", "a failure does not stop", `if b\.Set\(d\.Core\.OnRegisterAgent\(ctx, cfg\)\) \{\s+return\s+\}`, `_ = d.Core.OnRegisterAgent(ctx, cfg)`},
	{"OnUnregisterAgent", "a group is not reversed", `NextReverse(?s:(.*?))NextReverse`, `Next${1}Next`},
	{"OnUnregisterAgent", "two members are swapped", `d\.Plain\.(?s:(.*?))d\.Users\.`, `d.Users.${1}d.Plain.`},
	{"Preprocess", "a rewriter gets what the first one got", `f\.Set\(d\.Core\.Preprocess\(ctx, t, f\.Value\)\)`, `f.Set(d.Core.Preprocess(ctx, t, hook.TextInput("read")))`},
	{"Preprocess", "a fail policy is lost", `, Policy: composite\.PolicyOpen`, ``},
	{"OnEvent", "a member that has it is not called", `d\.Front\.OnEvent\(ctx, ev\)`, ``},
	{"OnEvent", "a nil is called", `if d\.Quiet != nil \{\s+(d\.Quiet\.OnEvent\(ctx, ev\))\s+\}`, `$1`},

	{"Dispatch", "two owners are swapped", `return d\.Users\.DispatchTool\(tool, (?s:(.*?))return d\.Plain\.Dispatch\(ctx, `,
		`return d.Plain.Dispatch(ctx, ${1}return d.Users.DispatchTool(tool, `},
	{"Dispatch", "the owner gets the public name", `call\.As\(call\.Name\(\)\[5:\]\)`, `call`},
	{"Dispatch", "the prefix is cut in the wrong place", `call\.Name\(\)\[6:\]`, `call.Name()[5:]`},
	{"Dispatch", "a tool has no case", `case ToolWrite:\s+return 1, 1`, ``},
	{"Dispatch", "a tool has the number of another", `return 1, 1`, `return 1, 0`},
	{"Dispatch", "a missing member's tools never reach the others", `if d\.First != nil \{\s+(return d\.First\.DispatchTool\(tool, call\))\s+\}`, `if d.First == nil { return hook.Invocation{}, false }; $1`},
	{"Dispatch", "a run-time owner shadows a static one", `(switch owner, tool := weldedOwner)`, `if inv, ok := d.Run.Dispatch(ctx, call); ok { return inv, true }; $1`},
	{"Dispatch", "a run-time owner is not asked", `if inv, ok := d\.Run\.Dispatch\(ctx, call\); ok \{\s+return inv, true\s+\}`, ``},
	{"Dispatch", "a group's nil is called", `if m == nil \{\s+continue\s+\}`, ``},

	{"BeforeTool", "a decider is not asked", `if g\.Answer\(d\.Users\.BeforeTool\(ctx, call\)\) \{\s+return\s+\}`, ``},
	{"BeforeTool", "an answer is thrown away", `if g\.Answer\(d\.Core\.BeforeTool\(ctx, call\)\) \{\s+return\s+\}`, `_, _ = d.Core.BeforeTool(ctx, call)`},
	{"BeforeTool", "the fail policy is lost", `, Policy: composite\.PolicyOpen`, ``},
	{"BeforeTool", "a decider fails open without being told to", `\{Path: "Front"\}`, `{Path: "Front", Policy: composite.PolicyOpen}`},
	{"BeforeTool", "a failure has another's path", `\{Path: "Front"\}`, `{Path: "Run"}`},
	{"BeforeTool", "a failure is not reported", `if g\.Failed\(\) \{[^}]*\}`, ``},
	{"BeforeTool", "a panic is not recovered", `defer g\.Recover\(\)`, ``},
	{"BeforeTool", "behind a panic a member is left out", `g\.At = 4`, `g.At = 5`},
	{"BeforeTool", "a deny is no end", `for !g\.Done\(\) \{`, `for range 9 {`},
	{"BeforeTool", "two deciders are swapped", `d\.Core\.(?s:(.*?))d\.Users\.`, `d.Users.${1}d.Core.`},
	{"Approve", "another point's table", `weldedApprove\[:\]`, `weldedBeforeTool[:]`},
	{"RewriteArgs", "another point's name", `hook\.PointRewriteArgs`, `hook.PointRewriteResult`},
	{"RewriteArgs", "what was rewritten is dropped", `return f\.Value, f\.Err\(\)`, `return args, f.Err()`},
	{"RewriteResult", "a group is not reversed", `NextReverse(?s:(.*?))NextReverse`, `Next${1}Next`},
	{"AfterTool", "a judge is not asked", `if g\.Answer\(d\.Front\.AfterTool\(ctx, call, outcome\)\) \{\s+return\s+\}`, ``},
	{"AfterTool", "two judges are swapped", `d\.Run\.(?s:(.*?))d\.Plain\.`, `d.Plain.${1}d.Run.`},
	{"AfterTool", "an interface field is not asked", `if m, ok := d\.Any\.\(hook\.AfterTool\); ok && g\.Answer\(m\.AfterTool\(ctx, call, outcome\)\) \{\s+return\s+\}`, ``},
	{"RewriteRequest", "a failing rewriter's value goes on", `f\.Set\(d\.Front\.RewriteRequest\(ctx, step, f\.Value\)\)`, `func() bool { v, err := d.Front.RewriteRequest(ctx, step, f.Value); f.Value = v; return f.Set(v, err) }()`},
	{"BeforeModel", "an optional member is not checked for nil", `d\.First != nil && `, ``},
	{"RewriteReply", "a member is called twice", `(if f\.Set\(d\.Run\.RewriteReply\(ctx, step, f\.Value\)\) \{\s+return\s+\})`, `$1; $1`},
	{"AfterModel", "the group is forgotten", `if m, ok := d\.Extra\[i\]\.\(hook\.AfterModel\); ok && [^{]*\{\s+return\s+\}`, `_ = i`},
	{"AfterTurn", "an observer is not told", `d\.Plain\.AfterTurn\(ctx, turn, outcome\)`, ``},

	{"WrapTool", "a wrap is left out", `return w\.d\.Users\.WrapTool\(ctx, w\.Call, w\.Rest\(3\)\)`, `return w.Through(ctx, 3)`},
	{"WrapTool", "a wrap jumps over the next one", `w\.Rest\(2\)`, `w.Rest(3)`},
	{"WrapTool", "a fail policy is turned round", `"Users", false`, `"Users", true`},
	{"WrapTool", "a panic has another's path", `"Run", true`, `"Front", true`},
	{"WrapTool", "a panic is not recovered", `defer w\.Recover\(ctx, 0, "Front", true, &out\)`, ``},
	{"WrapTool", "the operation is left out", `return w\.End\(ctx\)`, `return hook.ToolResult{}`},
	{"WrapModel", "two wraps are swapped", `w\.d\.Users\.(?s:(.*?))w\.d\.Plain\.`, `w.d.Plain.${1}w.d.Users.`},
	{"WrapModel", "a stream's failure has another's path", `w\.Isolate\("Users"`, `w.Isolate("Front"`},
	{"OnOpen", "what was opened is not closed", `d\.onCloseFrom\(ctx, b\.Undo\(\)\)`, `error(nil)`},
	{"OnOpen", "a member is not opened", `if b\.Set\(d\.Front\.OnOpen\(ctx, h\)\) \{\s+return\s+\}`, ``},
	{"OnClose", "an error is lost", `b\.Set\(d\.Users\.OnClose\(ctx\)\)`, `_ = d.Users.OnClose(ctx)`},
	{"OnClose", "two members are swapped", `d\.Plain\.(?s:(.*?))d\.Users\.`, `d.Users.${1}d.Plain.`},
}

// Every mistake in the table is seen by the differential test: the mutants are built into the test binary beside Welded, and
// each of them fails the comparison that Welded passes.
func TestMutantsAreKilled(t *testing.T) {
	needs.Time(t)
	require.GreaterOrEqual(t, len(mutations), 31)
	for i, killed := range mutants.Killed(t, len(mutations), mutated(t), trial, "-rapid.checks=400") {
		m := mutations[i]
		assert.Equal(t, m.pattern != "", killed, "%d: %s: %s", i, m.method, m.mistake)
	}
}

// mutated returns a type per mutation that embeds Welded and has one of its methods, and what belongs to it, with the mistake.
func mutated(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("hook_gen.go")
	require.NoError(t, err)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "hook_gen.go", src, parser.ParseComments)
	require.NoError(t, err)
	text := func(n ast.Node) string {
		return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	var out, table bytes.Buffer
	for i, m := range mutations {
		var unit string
		for _, d := range file.Decls {
			if belongs(d, m.method) {
				unit += text(d) + "\n\n"
			}
		}
		require.NotEmpty(t, unit, "Welded has no %s", m.method)
		unit = mutants.Mistake(t, m.method+": "+m.mistake, unit, m.pattern, m.with)
		name := fmt.Sprintf("M%02d", i)
		for _, own := range regexp.MustCompile(`(?m)^(?:var|type|func) (welded\w+)`).FindAllStringSubmatch(unit, -1) {
			unit = regexp.MustCompile(`\b`+own[1]+`\b`).ReplaceAllString(unit, strings.ToLower(name)+own[1])
		}
		unit = regexp.MustCompile(`\*Welded\b`).ReplaceAllString(unit, "*"+name)
		fmt.Fprintf(&out, "type %s struct{ *Welded }\n\n%s\n", name, unit)
		fmt.Fprintf(&table, "\t{%q, func(w *Welded) any { return &%s{w} }},\n", m.method, name)
	}
	fmt.Fprintf(&out, "var Mutants = []struct {\n\tMethod string\n\tNew func(*Welded) any\n}{\n%s}\n", &table)
	imports := "package difftest\n\n"
	for _, s := range file.Imports {
		if name := strings.Trim(s.Path.Value[strings.LastIndexByte(s.Path.Value, '/')+1:], `"`); strings.Contains(out.String(), name+".") {
			imports += "import " + s.Path.Value + "\n"
		}
	}
	return imports + "\n" + out.String()
}

// belongs tells whether a declaration is the method of Welded, one of its helpers, its table or its chain.
func belongs(d ast.Decl, method string) bool {
	names := []string{method, strings.ToLower(method[:1]) + method[1:], "welded" + method}
	switch d := d.(type) {
	case *ast.GenDecl:
		switch s := d.Specs[0].(type) {
		case *ast.ValueSpec:
			return s.Names[0].Name == names[2]
		case *ast.TypeSpec:
			return s.Name.Name == names[2]
		}
	case *ast.FuncDecl:
		if d.Recv == nil {
			return method == "Dispatch" && d.Name.Name == "weldedOwner"
		}
		star, ok := d.Recv.List[0].Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		switch star.X.(*ast.Ident).Name {
		case "Welded":
			return d.Name.Name == names[0] || d.Name.Name == names[1] || d.Name.Name == names[1]+"From"
		case names[2]:
			return true
		}
	}
	return false
}

// trial is the test that the mutants stand.
const trial = `package difftest_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	. "github.com/grapnel-go/grapnel/internal/difftest"
)

func TestMutant(t *testing.T) {
	for i, mutant := range Mutants {
		t.Run(fmt.Sprintf("%02d", i), rapid.MakeCheck(func(rt *rapid.T) {
			compare(rt, mutant.Method, func(w *Welded) Facade { return mutant.New(w).(Facade) })
		}))
	}
}
`
