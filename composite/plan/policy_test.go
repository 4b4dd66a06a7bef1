package plan_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
)

// What an option cannot do is refused with the reason, behind every point.
func TestOptionsThatDoNothing(t *testing.T) {
	tests := []struct{ tag, message, fix string }{
		{"timeout=2m", "timeout stands before the first point", "BeforeTool: timeout=2m"},
		{"optional,background; BeforeTool: failopen", "background stands before the first point", "BeforeTool: background"},
		{"BeforeTool: optional", "optional is an option of the field, not of BeforeTool", "before the first point"},
		{"BeforeTool: prefix=x", "prefix is an option of the field", ""},
		{"BeforeTool: background", "BeforeTool is waited for, because its answer decides", "drop it"},
		{"BeforeTool: record", "its answer decides", ""},
		{"RewriteArgs: record", "its value is used at once", ""},
		{"WrapTool: background", "it surrounds the operation", ""},
		{"TurnContext: background", "its contributions are used at once", ""},
		{"OnOpen: background", "the next call depends on its end", ""},
		{"OnEvent: record", "OnEvent is waited for", ""},
		{"BeforeTool: parallel", "one after the other, because the first that blocks ends it", "contributions"},
		{"RewriteArgs: parallel", "each gets the value of the one before", ""},
		{"WrapTool: parallel", "each surrounds those after it", ""},
		{"AfterTurn: parallel", "observers may rely on the order", ""},
		{"Schema: timeout=1s", "Schema gets no context that could end", ""},
		{"SystemPrompt: timeout=1s", "gets no context", ""},
		{"Dispatch: timeout=1s", "only binds a call and must not block", "//hook:tool timeout=30s"},
		{"Dispatch: visibility=audit", "are not recorded", ""},
		{"OnEvent: failopen", "nothing takes the place of an answer at OnEvent: a failure is reported", "drop it"},
		{"AfterTurn: failclosed", "the others are called all the same", ""},
		{"OnClose: failopen", "the errors are joined", ""},
		{"OnOpen: failopen", "a failure ends the start", ""},
		{"OnRegisterAgent: failopen", "a failure ends the start", ""},
		{"Schema: failopen", "a failure refuses the agent", ""},
	}
	for _, tt := range tests {
		t.Run(tt.tag, func(t *testing.T) {
			_, problems := plan.ParseTag(tt.tag, points)
			require.Len(t, problems, 1)
			assert.Equal(t, "HG043", problems[0].Code)
			assert.Contains(t, problems[0].Message, tt.message)
			assert.Contains(t, problems[0].Fix, tt.fix)
			assert.Contains(t, tt.tag, problems[0].Word, "the word is not in the tag")
		})
	}
	for _, tag := range []string{
		"BeforeTool: timeout=1s,failopen,visibility=user", "RewriteArgs: timeout=1s", "WrapTool: failopen,timeout=1s", "AfterTurn: record,timeout=1s",
		"Preprocess: failopen,timeout=1s", "OnRegisterAgent: timeout=1s", "OnEvent: timeout=1s", "OnClose: timeout=5s", "TurnContext: parallel,failclosed",
	} {
		_, problems := plan.ParseTag(tag, points)
		assert.Empty(t, problems, tag)
	}
}

func TestContradictions(t *testing.T) {
	tests := []struct{ tag, message string }{
		{"BeforeTool: failopen, failclosed", "BeforeTool has the fail policy failopen and also failclosed"},
		{"BeforeTool: failopen; AfterTurn: record; BeforeTool: failclosed", "has the fail policy failopen and also failclosed"},
		{"AfterTurn: record,background", "AfterTurn has the mode record and also background"},
		{"BeforeTool: timeout=1s,timeout=2s", "BeforeTool has timeout=1s and also timeout=2s"},
		{"BeforeTool: visibility=user,visibility=audit", "visibility=user and also visibility=audit"},
		{"prefix=a_,prefix=b_", "the field has prefix=a_ and also prefix=b_"},
		{"order=1,order=2", "order=1 and also order=2"},
		{"-,optional", "- leaves the field out"},
		{"only=BeforeTool,without=OnEvent", "only= and without= together"},
		{"only=AfterTurn; BeforeTool: failopen", "BeforeTool has policies, and only= or without= leaves it out"},
		{"without=BeforeTool; BeforeTool: failopen", "BeforeTool has policies"},
		{"before=A,after=A", "before=A and after=A together"},
	}
	for _, tt := range tests {
		t.Run(tt.tag, func(t *testing.T) {
			_, problems := plan.ParseTag(tt.tag, points)
			require.Len(t, problems, 1)
			assert.Equal(t, "HG046", problems[0].Code)
			assert.Contains(t, problems[0].Message, tt.message)
			assert.NotEmpty(t, problems[0].Fix)
		})
	}
}

func TestPatternsThatCannotMatch(t *testing.T) {
	tests := []struct{ tag, message, fix string }{
		{"match=mcp__*", "says nothing about what to look at", "match=tool:mcp__*"},
		{"match=tol:bash", `cannot look at "tol"`, "match=tool:bash"},
		{"match=xyzzy:bash", `cannot look at "xyzzy"`, "tool, path, command, agent, sender, session, skill"},
		{"match=tool:", "empty pattern", "match=tool:mcp__*"},
		{"match=tool:bash|", "empty pattern", ""},
		{"match=tool:mcp.*", `"tool:mcp.*" can never match a name: '.' is in none`, "letters, digits, _ and -"},
		{"match=tool:a b", `' ' is in none`, ""},
		{"match=agent:co/der", "can never match a name", ""},
		{"match=tool:" + strings.Repeat("x", 65), "names have at most 64 characters", "shorten it"},
		{"match=command:\xff", `"\xff" is not text`, "UTF-8"},
		{"match=tool:bash|path:/etc/*", "path:/etc/* behind | is no other tool", "match=path:/etc/*"},
	}
	for _, tt := range tests {
		t.Run(tt.tag, func(t *testing.T) {
			_, problems := plan.ParseTag(tt.tag, points)
			require.Len(t, problems, 1)
			assert.Equal(t, "HG045", problems[0].Code)
			assert.Contains(t, problems[0].Message, tt.message)
			assert.Contains(t, problems[0].Fix, tt.fix)
		})
	}
	_, problems := plan.ParseTag("match=tool:"+strings.Repeat("x", 64)+"*,match=command:git push; BeforeTool: failopen", points)
	assert.Empty(t, problems)
}

func TestGlobs(t *testing.T) {
	tests := []struct {
		kind, glob, value string
		want              bool
	}{
		{"tool", "mcp__*", "mcp__fs_read", true},
		{"tool", "mcp__*", "my_mcp__x", false},
		{"tool", "b?sh", "bash", true},
		{"tool", "bash", "bashful", false},
		{"command", "git *", "git push --force\n&& x", true},
		{"command", "rm*", "sudo rm", false},
		{"command", "*[a-z]*", "x", false},
		{"path", "*.go", "a/b/c.go", true},
		{"path", "*.go", "c.go", true},
		{"path", "src/*.go", "src/a.go", true},
		{"path", "src/*.go", "src/a/b.go", false},
		{"path", "src/**", "src/a/b.go", true},
		{"path", "src/**/b.go", "src/b.go", true},
		{"path", "src/**/b.go", "src/a/c/b.go", true},
		{"path", "/etc/?", "/etc//", false},
	}
	for _, tt := range tests {
		t.Run(tt.kind+":"+tt.glob+" "+tt.value, func(t *testing.T) {
			re, err := plan.Compile(tt.kind, []string{"nothing", tt.glob})
			require.NoError(t, err)
			assert.Equal(t, tt.want, re.MatchString(tt.value), re)
		})
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("tool:mcp__*|bash,match=path:/etc/**")
	f.Fuzz(func(t *testing.T, value string) {
		o, problems := plan.ParseTag("match="+value, points)
		if len(problems) > 0 {
			t.Skip()
		}
		for _, p := range o.Match {
			_, err := plan.Compile(p.Kind, []string{p.Glob})
			require.NoError(t, err, "what the planner takes compiles")
		}
	})
}

func FuzzGlob(f *testing.F) {
	f.Add("path", "a/**/b?*", "a/x/bcd")
	f.Fuzz(func(t *testing.T, kind, glob, value string) {
		re, err := plan.Compile(kind, []string{glob})
		if err != nil {
			t.Skip(err) // not UTF-8
		}
		if !strings.ContainsAny(glob, "*?") && kind != "path" {
			require.Equal(t, glob == value, re.MatchString(value))
		}
	})
}

func TestPoliciesThatTheMemberCannotHave(t *testing.T) {
	const has = "Schema Dispatch SystemPrompt BeforeTool WrapTool OnOpen OnClose"
	tests := []struct{ tag, code, message, fix string }{
		{"OnModelError: failopen", "HG044", "the policy at OnModelError on A does nothing: *p.A has no OnModelError", "the points are Schema,"},
		{"only=BeforeTool|AfterTurn", "HG044", "only=AfterTurn on A does nothing", ""},
		{"without=OnEvent", "HG044", "without=OnEvent on A does nothing", ""},
		{"match=sender:bob,only=OnOpen|OnClose", "HG045", "match=sender: on A narrows nothing", "drop it"},
		{"only=Schema|SystemPrompt", "HG046", "Schema of A is called and Dispatch is not", "only=Schema|SystemPrompt|Dispatch"},
		{"without=OnClose", "HG046", "OnOpen of A is called and OnClose is not", "without=OnClose|OnOpen"},
	}
	for _, tt := range tests {
		t.Run(tt.tag, func(t *testing.T) {
			_, problems := plan.Build("p.T", []plan.Spec{part(t, "A", tt.tag, has)})
			require.Len(t, problems, 1)
			assert.Equal(t, tt.code, problems[0].Code)
			assert.Contains(t, problems[0].Message, tt.message)
			assert.Contains(t, problems[0].Fix, tt.fix)

			unknown := part(t, "A", tt.tag, "")
			unknown.Open = true
			_, problems = plan.Build("p.T", []plan.Spec{unknown})
			if tt.code == "HG044" {
				assert.Empty(t, problems, "what an interface holds is not known")
			}
		})
	}
	_, problems := plan.Build("p.T", []plan.Spec{part(t, "A", "match=tool:x,only=BeforeTool; BeforeTool: timeout=1s", has)})
	assert.Empty(t, problems)
}

// Maybe are points that nobody can tell of: policies for them are allowed, and
// nothing is planned for them.
func TestPointsThatNobodyCanTellOf(t *testing.T) {
	s := part(t, "A", "only=OnEvent|BeforeTool", "BeforeTool")
	s.Maybe = pick("OnEvent Schema Dispatch")
	p, problems := plan.Build("p.T", []plan.Spec{s})
	require.Empty(t, problems)
	assert.Equal(t, []plan.PointUse{{Name: "BeforeTool", Kind: "decide"}}, p.Members[0].Points)
}

func TestOnlyLeavesToolsOut(t *testing.T) {
	a, b := part(t, "A", "without=Schema|Dispatch", "Schema Dispatch BeforeTool"), part(t, "B", "", "Schema Dispatch")
	a.Tools, b.Tools = []string{"read"}, []string{"read"}
	p, problems := plan.Build("p.T", []plan.Spec{a, b})
	require.Empty(t, problems)
	assert.Empty(t, p.Members[0].Tools)
	assert.Equal(t, "B", p.Owner("read"))
}

func TestRewritersWithoutAnOrder(t *testing.T) {
	tests := []struct {
		name  string
		specs []plan.Spec
		want  []string // pairs that are warned of
	}{
		{"two", []plan.Spec{part(t, "A", "", "RewriteArgs RewriteReply"), part(t, "B", "", "RewriteReply RewriteArgs")}, []string{"B A"}},
		{"three are two pairs", []plan.Spec{part(t, "A", "", "RewriteArgs"), part(t, "B", "", "RewriteArgs"), part(t, "C", "", "RewriteArgs")}, []string{"B A", "C B"}},
		{"different values", []plan.Spec{part(t, "A", "", "RewriteArgs"), part(t, "B", "", "RewriteReply")}, nil},
		{"the facade's rewriter", []plan.Spec{part(t, "A", "", "Preprocess"), part(t, "B", "", "Preprocess")}, []string{"B A"}},
		{"deciders", []plan.Spec{part(t, "A", "", "BeforeTool"), part(t, "B", "", "BeforeTool")}, nil},
		{"before", []plan.Spec{part(t, "A", "", "RewriteArgs"), part(t, "B", "before=A", "RewriteArgs")}, nil},
		{"after, through another", []plan.Spec{part(t, "A", "", "RewriteArgs"), part(t, "M", "after=A", ""), part(t, "B", "after=M", "RewriteArgs")}, nil},
		{"order", []plan.Spec{part(t, "A", "order=1", "RewriteArgs"), part(t, "B", "", "RewriteArgs")}, nil},
		{"the same number says nothing", []plan.Spec{part(t, "A", "order=1", "RewriteArgs"), part(t, "B", "order=1", "RewriteArgs")}, []string{"B A"}},
		{"one is left out", []plan.Spec{part(t, "A", "without=RewriteArgs", "RewriteArgs"), part(t, "B", "", "RewriteArgs")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := plan.Build("p.T", tt.specs)
			assert.Empty(t, plan.Errors(problems))
			var got []string
			for _, p := range problems {
				assert.Equal(t, "HG047", p.Code)
				assert.Regexp(t, regexp.QuoteMeta(fmt.Sprintf("%s *p.%s `hook:\"after=%s\"`", p.Fields[0], p.Fields[0], p.Fields[1])), p.Fix)
				got = append(got, strings.Join(p.Fields, " "))
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestToolsInConflict(t *testing.T) {
	db := func(name, tag string, tools ...string) plan.Spec {
		s := spec(t, name, tag, tools...)
		s.Type = "*p.DB"
		return s
	}
	late := spec(t, "Late", "dynamic")
	late.Late = []string{"read", "free"}
	tests := []struct {
		name    string
		specs   []plan.Spec
		code    string
		fields  []string
		message string
		fix     string
	}{
		{"one type twice", []plan.Spec{db("Users", "", "get", "put"), db("Audit", "", "get", "put")},
			"HG029", []string{"Users", "Audit"}, "two fields of type *p.DB need different prefixes", "Audit *p.DB `hook:\"prefix=audit_\"`"},
		{"within one field", []plan.Spec{spec(t, "OS", "", "read", "read")}, "HG020", []string{"OS"}, `OS has the tool "read" twice`, "another name"},
		{"shadowed", []plan.Spec{late, spec(t, "OS", "", "read")}, "HG021", []string{"Late", "OS"}, `tool "read" of Late is never called: OS has it too`, "prefix=late_"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := plan.Build("p.T", tt.specs)
			require.Len(t, problems, 1)
			assert.Equal(t, tt.code, problems[0].Code)
			assert.Equal(t, tt.fields, problems[0].Fields)
			assert.Contains(t, problems[0].Message, tt.message)
			assert.Contains(t, problems[0].Fix, tt.fix)
		})
	}
}

func TestReserved(t *testing.T) {
	p, problems := plan.Build("p.T", []plan.Spec{spec(t, "A", "", "final_answer"), spec(t, "B", "prefix=b_", "final_answer"), spec(t, "C", "prefix=final_", "answer2")})
	require.Empty(t, problems)
	reserved := plan.Reserved(p, []string{"final_answer"})
	require.Len(t, reserved, 1)
	assert.Equal(t, "HG023", reserved[0].Code)
	assert.Equal(t, []string{"A"}, reserved[0].Fields)
	assert.Contains(t, reserved[0].Message, `"final_answer" of A is reserved`)
}

func TestPlanShowsPolicies(t *testing.T) {
	inner, problems := plan.Build("p.Core", []plan.Spec{part(t, "Deep", "", "BeforeTool")})
	require.Empty(t, problems)
	core := part(t, "Core", "", "BeforeTool")
	core.Composite = inner
	p, problems := plan.Build("p.T", []plan.Spec{
		part(t, "Guard", "match=tool:mcp__*|bash; BeforeTool: timeout=90m,failopen; WrapTool: timeout=1h,visibility=audit; AfterTurn: background", "BeforeTool OnModelError WrapTool AfterTurn"),
		core,
	})
	require.Empty(t, problems)
	text := p.Text()
	assert.Equal(t, `#    field   acts at
1    Guard   BeforeTool:failopen,timeout=1h30m OnModelError~:failopen
             WrapTool:timeout=1h,visibility=audit AfterTurn:background match=tool:mcp__*
             match=tool:bash
2    Core    composite p.Core
2.1    Deep  BeforeTool~

~ is waited for without a bound
`, text)

	data, err := json.Marshal(p)
	require.NoError(t, err)
	var back plan.Plan
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, *p, back)
	assert.Contains(t, string(data), `"timeout":"1h30m"`)
}

// A plan shows the timeout that counts at points with a default, marks contributors without one, and those with a fallback. A
// composite has no default: its members have theirs.
func TestPlanShowsDefaultTimeouts(t *testing.T) {
	spare := part(t, "Spare", "TurnContext: timeout=2s", "BeforeTool TurnContext")
	spare.Fallback = true
	inner, problems := plan.Build("p.Core", []plan.Spec{spare})
	require.Empty(t, problems)
	core := part(t, "Core", "", "TurnContext")
	core.Composite = inner
	late := part(t, "Late", "TurnContext: timeout=none", "TurnContext")
	late.Fallback = true
	p, problems := plan.Build("p.T", []plan.Spec{part(t, "A", "TurnContext: failclosed", "TurnContext"), late, core})
	require.Empty(t, problems)
	assert.Equal(t, `#    field    acts at
1    A        TurnContext:failclosed,timeout=5s
2    Late     TurnContext~^:timeout=none
3    Core     composite p.Core
3.1    Spare  BeforeTool~ TurnContext^:timeout=2s

~ is waited for without a bound, ^ has a fallback
`, p.Text())

	data, err := json.Marshal(p)
	require.NoError(t, err)
	var back plan.Plan
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, *p, back)
	assert.Contains(t, string(data), `"timeout":"none"`)

	for setting, want := range map[string]string{
		"TurnContext: timeout=none": "TurnContext~:failclosed,timeout=none", "TurnContext: timeout=9s": "TurnContext:failclosed,timeout=9s", "TurnContext: failopen": "TurnContext:failopen,timeout=5s",
	} {
		s, problems := plan.ParseSetting("A", setting, points)
		require.Empty(t, problems)
		layered, problems := p.Layered([]plan.Setting{s})
		require.Empty(t, problems)
		assert.Equal(t, want, layered.Member("A").Acts())
	}
}

// A gate that fails open after some time lets more through than one that waits for its answer.
func TestAGateWithoutATimeoutIsStricter(t *testing.T) {
	build := func(tag string) *plan.Plan {
		p, problems := plan.Build("p.T", []plan.Spec{part(t, "A", tag, "BeforeTool")})
		require.Empty(t, problems)
		return p
	}
	waits, gives := build("BeforeTool: failopen,timeout=none"), build("BeforeTool: failopen,timeout=2s")
	assert.Equal(t, "A at BeforeTool", waits.Beyond(gives))
	assert.Empty(t, gives.Beyond(waits))
}

func TestDuration(t *testing.T) {
	for _, want := range []string{"2m", "800ms", "1h", "1h30m", "1h0m5s", "10s", "100m", "20h"} {
		d, err := time.ParseDuration(want)
		require.NoError(t, err)
		if want == "100m" {
			want = "1h40m"
		}
		assert.Equal(t, want, plan.Duration(d).String())
	}
}

// Every word of the reference is one that the parser knows, and the other way
// round: both come from one table.
func TestWordsAreWhatIsParsed(t *testing.T) {
	values := map[string]string{"prefix": "a_", "order": "1", "only": "BeforeTool", "without": "BeforeTool", "match": "tool:x", "timeout": "1s", "visibility": "audit"}
	seen := map[string]bool{}
	for _, w := range plan.Words() {
		assert.False(t, seen[w.Word], "%s is there twice", w.Word)
		seen[w.Word] = true
		assert.NotEmpty(t, w.Doc)
		text := w.Word
		if name, valued := strings.CutSuffix(w.Word, "="); valued {
			text += values[name]
			if values[name] == "" {
				text += "Memory"
			}
		}
		point := map[string]string{"record": "AfterTurn", "background": "AfterTurn", "parallel": "TurnContext"}[text]
		if point == "" {
			point = "BeforeTool"
		}
		if w.Point {
			text = point + ": " + text
		}
		_, problems := plan.ParseTag(text, points)
		assert.Empty(t, problems, text)
	}
}
