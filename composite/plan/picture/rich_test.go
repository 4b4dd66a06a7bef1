package picture_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/hook/point"
)

// points are those of the contract.
func points() []picture.Point {
	var out []picture.Point
	for _, p := range point.All() {
		out = append(out, picture.Point(p))
	}
	return out
}

func use(names ...string) []plan.PointUse {
	var out []plan.PointUse
	for _, n := range names {
		name, policy, _ := strings.Cut(n, ":")
		policy, timeout, _ := strings.Cut(policy, ",")
		use := plan.PointUse{Name: name, Policy: policy}
		if d, err := time.ParseDuration(timeout); err == nil {
			use.Timeout = plan.Duration(d)
		}
		for _, p := range point.All() {
			if p.Name == name {
				use.Kind = p.Kind
			}
		}
		out = append(out, use)
	}
	return out
}

// rich is a composite with one of everything.
func rich() picture.Source {
	deep := &plan.Plan{Type: "store.Pair", Members: []plan.Member{
		{Field: "Cache", Type: "*store.Cache", Points: use("BeforeTool", "AfterTool", "OnClose")},
		{Field: "Disk", Type: "*store.Disk", Optional: true, Points: use("OnOpen", "OnClose"), Requires: []string{"Cache"}},
	}}
	core := &plan.Plan{Type: "app.Core", Members: []plan.Member{
		{Field: "Notes", Type: "*notes.Notes", Points: use("Schema", "SystemPrompt", "Dispatch", "AfterTurn"), Tools: []string{"add", "list"}},
		{Field: "Store", Type: "store.Pair", Points: use("OnOpen", "OnClose", "BeforeTool", "AfterTool", "WrapModel"), Composite: deep},
	}}
	return picture.Source{
		Package: "example.com/app", Pos: "app/app.go:12:6",
		Fields: map[string]string{"Guard": "app/app.go:14:2", "Core": "app/app.go:15:2", "Core.Notes": "app/core.go:9:2"},
		Own:    []string{"OnBuildAgent"},
		Points: points(),
		Plan: &plan.Plan{Type: "app.App", Members: []plan.Member{
			{Field: "Guard", Type: "*guard.Guard", Points: use("RewriteArgs", "BeforeTool:failopen,800ms", "AfterModel:,10m", "AfterTurn"), Match: []string{"tool:mcp__*"}},
			{Field: "Core", Type: "*app.Core", Prefix: "core_", Composite: core, Tools: []string{"core_add", "core_list"},
				Points: use("Schema", "SystemPrompt", "Dispatch", "BeforeTool", "AfterTool", "WrapModel", "OnOpen", "OnClose")},
			{Field: "Users", Type: "*sqltools.DB", Prefix: "users_", Points: use("Schema", "Dispatch"), Tools: []string{"users_query", "users_exec"}},
			{Field: "MCP", Type: "*mcp.MCP", Dynamic: true, Points: use("Schema", "Dispatch", "OnOpen", "OnClose"), Tools: []string{"search"}},
			{Field: "Plugin", Type: "hook.Hook", Dynamic: true, Optional: true, Without: []string{"OnEvent"}},
			{Field: "Extra", Type: "[]hook.Hook", Group: true, Dynamic: true},
		}},
	}
}

// daemon has the plan of the program's own composite, as far as it matters here.
func daemon() picture.Source {
	own := use("Schema", "SystemPrompt", "OnBuildAgent", "ScopedTools", "Dispatch", "OnClose")
	return picture.Source{
		Package: "github.com/grapnel-go/grapnel/internal/daemon", Points: points(),
		Plan: &plan.Plan{Type: "daemon.Daemon", Members: []plan.Member{
			{Field: "Ask", Type: "*terminal.Asker", Points: use("BeforeTool")},
			{Field: "Person", Type: "*terminal.Approver", Optional: true, Points: use("Approve")},
			{Field: "Skills", Type: "*skills.Skills", Points: use("Schema", "Preprocess", "Dispatch"), Tools: []string{"skill"}},
			{Field: "Memory", Type: "*memory.Memory", Optional: true, Points: own, Tools: []string{"remember", "recall", "forget"}},
			{Field: "MCP", Type: "*mcp.MCP", Dynamic: true, Points: own},
			{Field: "OS", Type: "*ostools.OS", Points: own, Tools: []string{"bash", "edit", "glob", "grep", "read", "write"}},
			{Field: "Extra", Type: "[]hook.Hook", Group: true, Dynamic: true},
		}},
	}
}

// crowd has 64 members with names of 64 characters and 200 tools of 64.
func crowd() picture.Source {
	p := &plan.Plan{Type: "app." + strings.Repeat("Crowd", 40)}
	for i := range 64 {
		m := plan.Member{
			Field: fmt.Sprintf("F%s%03d", strings.Repeat("W", 60), i), Type: "*" + strings.Repeat("m", 64) + "." + strings.Repeat("M", 64),
			Points: use("Schema", "Dispatch", "BeforeTool:failopen", "OnClose"), Optional: true, Prefix: strings.Repeat("p", 60),
		}
		for j := range 200 / 64 {
			m.Tools = append(m.Tools, fmt.Sprintf("%s%03d", strings.Repeat("w", 61), i*4+j))
		}
		p.Members = append(p.Members, m)
	}
	for i := range 200 {
		p.Members[0].Tools = append(p.Members[0].Tools, fmt.Sprintf("t%d", i))
	}
	return picture.Source{Plan: p, Points: points()}
}

// hostile has names that mean something to one of the formats.
func hostile() picture.Source {
	p := &plan.Plan{Type: `a<b>&"'` + "`|\\*/"}
	for i, name := range []string{
		"<script>", "&amp;", `"quoted"`, "'single'", "*/ x /*", "`back`", "\u202eright-to-left", "a|b", `back\slash\`, "line\nbreak", "nul\x00", "bad\xff",
		"]]>", "<!--", "日本語", "שלום", "e\u0301\u0301\u0301", "😀", "\ufdfd\ufdfd", "_under_*star*", "[link](x)", "{}", "\\N\\G", "\\", "𒐫", "", " ",
	} {
		p.Members = append(p.Members, plan.Member{
			Field: name, Type: name, Prefix: name, Tools: []string{name}, Points: use("BeforeTool:"+name, name), Requires: []string{name}, Match: []string{name}, Only: []string{name, "OnOpen", "OnClose"},
			Optional: i%2 == 0, Group: i%5 == 0, Dynamic: i%3 == 0,
		})
	}
	p.Members = append(p.Members, plan.Member{Field: "In", Type: "</text>", Composite: &plan.Plan{Type: "]]>"}})
	return picture.Source{Plan: p, Points: append(points(), picture.Point{Name: `New<"Point`, Kind: `ki"nd`, Combine: "</style>"}), Pos: "a&b.go:1:1"}
}

func render(t *testing.T, f picture.Format, s picture.Source) string {
	t.Helper()
	out, err := picture.Render(f, picture.New(s))
	require.NoError(t, err)
	return string(out)
}
