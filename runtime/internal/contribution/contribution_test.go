package contribution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
)

func TestPoliciesAreSortedByWeightAndThenInPlanOrder(t *testing.T) {
	got := contribution.MergePolicies([]hook.Policy{
		{Domain: "a", Key: "k", Value: "1", Weight: 1, By: "A"}, {Domain: "b", Key: "k", Value: "2", Weight: 5, By: "B"},
		{Domain: "c", Key: "k", Value: "3", Weight: 1, By: "C"}, {Domain: "a", Key: "k", Value: "9", Weight: 0, By: "D"},
	})
	assert.Equal(t, []hook.Policy{
		{Domain: "b", Key: "k", Value: "2", Weight: 5, By: "B"}, {Domain: "a", Key: "k", Value: "1", Weight: 1, By: "A"},
		{Domain: "c", Key: "k", Value: "3", Weight: 1, By: "C"},
	}, got.Holding)
	assert.Empty(t, got.Diagnostics, "a heavier policy is no conflict")
}

func TestEqualPriorityConflictingValuesKeepFirstAndEmitDiagnostic(t *testing.T) {
	got := contribution.MergePolicies([]hook.Policy{
		{Domain: "memory", Key: "recall", Value: "on", By: "Memory"}, {Domain: "memory", Key: "recall", Value: "off", By: "Guard"},
	})
	assert.Equal(t, []hook.Policy{{Domain: "memory", Key: "recall", Value: "on", By: "Memory"}}, got.Holding)
	assert.Equal(t, []hook.Diagnostic{{Code: "policy.merge.conflict", Visibility: event.VisibleInternal,
		Text: "Guard: policy memory/recall differs from that of Memory, which has the same weight and applies because it comes first"}}, got.Diagnostics)
}

func TestEqualPriorityAndSameValueMerge(t *testing.T) {
	plan := hook.RecallPlan{Queries: message.ListOf("boats"), Limit: 3}
	got := contribution.MergePolicies([]hook.Policy{
		{Domain: "memory", Key: "recall", Value: "on", By: "A"}, {Domain: "memory", Key: "recall", Value: "on", By: "B", Recall: plan},
	})
	assert.Len(t, got.Holding, 1)
	assert.Equal(t, plan, got.Recall, "who agrees adds its plan")
	assert.False(t, got.Fallback)
	assert.Empty(t, got.Diagnostics)
}

func TestRecallPlan(t *testing.T) {
	plan := func(q string) hook.RecallPlan { return hook.RecallPlan{Queries: message.ListOf(q)} }
	cases := []struct {
		name     string
		in       []hook.Policy
		want     hook.RecallPlan
		fallback bool
	}{
		{"none", []hook.Policy{{Domain: "memory", Key: "recall", Value: "on"}}, hook.RecallPlan{}, false},
		{"the heaviest", []hook.Policy{{Domain: "a", Key: "k", Recall: plan("light")}, {Domain: "b", Key: "k", Weight: 1, Recall: plan("heavy")}}, plan("heavy"), false},
		{"the first among equals", []hook.Policy{{Domain: "a", Key: "k", Recall: plan("one")}, {Domain: "b", Key: "k", Recall: plan("two")}}, plan("one"), false},
		{"not that of who is overruled", []hook.Policy{{Domain: "a", Key: "k", Value: "on", Recall: plan("x")}, {Domain: "a", Key: "k", Value: "off", Weight: 1}}, hook.RecallPlan{}, false},
		{"a fallback where there is no other", []hook.Policy{{Domain: "a", Key: "k", Fallback: plan("f")}}, plan("f"), true},
		{"a plan before a heavier fallback", []hook.Policy{{Domain: "a", Key: "k", Weight: 9, Fallback: plan("f")}, {Domain: "b", Key: "k", Recall: plan("p")}}, plan("p"), false},
		{"of a policy that is a plan and no more", []hook.Policy{{Recall: plan("p")}}, plan("p"), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := contribution.MergePolicies(c.in)
			assert.Equal(t, c.want, got.Recall)
			assert.Equal(t, c.fallback, got.Fallback)
		})
	}
}

func TestPromptContextSetAppliesTotalBudgetPredictably(t *testing.T) {
	long := strings.Repeat("x", 8)
	got := contribution.MergeContext([]hook.ContextBlock{
		{ID: "light", Text: long, Weight: -1, By: "A"}, {ID: "one", Text: long, By: "A"}, {ID: "two", Text: long, By: "B"}, {ID: "heavy", Text: long, Weight: 1, By: "C"},
	}, nil, contribution.Budget{BlocksChars: 20})
	assert.Equal(t, []string{"heavy=xxxxxxxx", "one=xxxxxxxx", "two=xxx…"}, texts(got.Blocks))
	assert.Equal(t, []string{"prompt_context.truncated", "prompt_context.entry_omitted"}, codes(got.Diagnostics))
	assert.Zero(t, got.CharsLeft)
	assert.Equal(t, 13, got.BlocksLeft)
}

func TestContextBlocks(t *testing.T) {
	many := make([]hook.ContextBlock, 20)
	for i := range many {
		many[i] = hook.ContextBlock{ID: fmt.Sprint(i), Text: "x"}
	}
	cases := []struct {
		name            string
		blocks, refined []hook.ContextBlock
		budget          contribution.Budget
		want, codes     []string
	}{
		{"16 by default", many, nil, contribution.Budget{}, texts(many[:16]), []string{
			"prompt_context.entry_omitted", "prompt_context.entry_omitted", "prompt_context.entry_omitted", "prompt_context.entry_omitted"}},
		{"12,000 characters by default", []hook.ContextBlock{{ID: "a", Text: strings.Repeat("ä", 12_001)}}, nil, contribution.Budget{},
			[]string{"a=" + strings.Repeat("ä", 11_999) + "…"}, []string{"prompt_context.truncated"}},
		{"a bound of its own", []hook.ContextBlock{{ID: "a", Text: "abcdef", Chars: 4}, {ID: "b", Text: "ok"}}, nil, contribution.Budget{},
			[]string{"a=abc…", "b=ok"}, []string{"prompt_context.truncated"}},
		{"nothing at all", many[:1], nil, contribution.Budget{Blocks: -1}, nil, []string{"prompt_context.entry_omitted"}},
		{"an empty one takes no room", []hook.ContextBlock{{ID: "a", Text: " \n"}, {ID: "b", Text: "x"}}, nil, contribution.Budget{Blocks: 1}, []string{"b=x"}, nil},
		{"the heavier of two with one name", []hook.ContextBlock{{ID: "a", Text: "light"}, {ID: "a", Text: "heavy", Weight: 1}}, nil, contribution.Budget{},
			[]string{"a=heavy"}, []string{"prompt_context.duplicate_id"}},
		{"an id in another domain", []hook.ContextBlock{{ID: "a", Text: "1"}, {Domain: "d", ID: "a", Text: "2"}}, nil, contribution.Budget{}, []string{"a=1", "a=2"}, nil},
		{"without an id each is its own", []hook.ContextBlock{{Text: "1"}, {Text: "2"}}, nil, contribution.Budget{}, []string{"=1", "=2"}, nil},
		{"refined takes the place, also of a heavier one", []hook.ContextBlock{{ID: "a", Text: "old", Weight: 9}, {ID: "b", Text: "b"}},
			[]hook.ContextBlock{{ID: "a", Text: "new"}, {ID: "c", Text: "c"}}, contribution.Budget{}, []string{"b=b", "a=new", "c=c"}, nil},
		{"an empty refinement takes no place", []hook.ContextBlock{{ID: "a", Text: "old"}}, []hook.ContextBlock{{ID: "a"}}, contribution.Budget{}, []string{"a=old"}, nil},
		{"what was cut is whole again where a refinement makes room", []hook.ContextBlock{{ID: "a", Text: "aaaaaaaa", Weight: 1}, {ID: "b", Text: "bbbb"}},
			[]hook.ContextBlock{{ID: "a", Text: "a", Weight: 1}}, contribution.Budget{BlocksChars: 8}, []string{"a=a", "b=bbbb"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := contribution.MergeContext(c.blocks, c.refined, c.budget)
			assert.Equal(t, c.want, texts(got.Blocks))
			assert.Equal(t, c.codes, codes(got.Diagnostics))
		})
	}
}

func TestSourcesOfContextAreKept(t *testing.T) {
	block := hook.ContextBlock{Domain: "memory", ID: "a", Text: "abcdef", Chars: 3, Sources: message.ListOf("notes.md"), By: "Memory",
		Attached: hook.Attached{Jobs: message.ListOf(hook.Job{Kind: "k", Key: "1"})}}
	got := contribution.MergeContext([]hook.ContextBlock{block}, nil, contribution.Budget{})
	block.Text, block.Attached = "ab…", hook.Attached{}
	assert.Equal(t, []hook.ContextBlock{block}, got.Blocks)
}

func TestSections(t *testing.T) {
	got := contribution.MergeSections([]hook.PromptSection{
		{ID: "style", Title: "Style", Text: "\nBe brief.\n", By: "A"}, {ID: "style", Text: "Be long.", By: "B"},
		{Title: "two\nlines", Text: strings.Repeat("ü", 9_000), Weight: 1, By: "C"}, {Text: " ", By: "D"},
		{Text: strings.Repeat("y", 7_995), By: "E"}, {Title: "No room", Text: "z", By: "F"},
	}, contribution.Budget{})
	assert.Equal(t, []hook.PromptSection{
		{Title: "two lines", Text: strings.Repeat("ü", 7_990) + "…", Weight: 1, By: "C"},
		{ID: "style", Title: "Style", Text: "Be brief.", By: "A"},
		{Text: strings.Repeat("y", 7_985) + "…", By: "E"},
	}, got.Kept)
	assert.Equal(t, []string{"prompt_section.truncated", "prompt_section.duplicate_id", "prompt_section.truncated", "prompt_section.omitted"}, codes(got.Diagnostics))
	many := make([]hook.PromptSection, 17)
	for i := range many {
		many[i].Text = "x"
	}
	got = contribution.MergeSections(many, contribution.Budget{})
	assert.Len(t, got.Kept, 16)
	assert.Equal(t, []string{"prompt_section.omitted"}, codes(got.Diagnostics))
}

func TestDuplicateBundleIDsKeepFirstAfterOrdering(t *testing.T) {
	add := func(name string) message.List[hook.AddedTool] {
		return message.ListOf(hook.AddedTool{Tool: message.Tool{Name: name}})
	}
	got := contribution.MergeTools([]hook.ToolChange{
		{ID: "x", Add: add("light"), By: "A"}, {ID: "x", Add: add("heavy"), Weight: 1, By: "B"}, {Add: add("one"), By: "C"}, {Add: add("two"), By: "C"},
	}, standing, binds)
	assert.Equal(t, []hook.AddedTool{
		{Tool: message.Tool{Name: "heavy"}, Owner: "B"}, {Tool: message.Tool{Name: "one"}, Owner: "C"}, {Tool: message.Tool{Name: "two"}, Owner: "C"},
	}, got.Added)
	assert.Equal(t, []hook.Diagnostic{{Code: "tool_bundle.duplicate_bundle_id", Text: "A: bundle x is there already and is left out", Visibility: event.VisibleInternal}}, got.Diagnostics)
}

func TestTools(t *testing.T) {
	tool := func(name string, schema message.JSON) message.List[hook.AddedTool] {
		return message.ListOf(hook.AddedTool{Tool: message.Tool{Name: name, Input: schema}, Owner: "Owner"})
	}
	cases := []struct {
		name          string
		in            []hook.ToolChange
		hidden, added []string
		codes         []string
	}{
		{"hide", []hook.ToolChange{{Hide: message.ListOf("own", "bash")}, {Hide: message.ListOf("own")}}, []string{"bash", "own"}, nil, nil},
		{"hide what is not there", []hook.ToolChange{{Hide: message.ListOf("nowhere", "barred")}}, nil, nil, []string{"tool_bundle.unknown", "tool_bundle.unknown"}},
		{"add", []hook.ToolChange{{Add: tool("fresh", `{"type":"object"}`)}}, nil, []string{"fresh"}, nil},
		{"never in another's place", []hook.ToolChange{{Add: tool("own", "")}}, nil, nil, []string{"tool_bundle.conflict"}},
		{"not even of a hidden one", []hook.ToolChange{{Hide: message.ListOf("own"), Add: tool("own", "")}}, []string{"own"}, nil, []string{"tool_bundle.conflict"}},
		{"one of two", []hook.ToolChange{{Add: tool("fresh", "")}, {Add: tool("fresh", "{}")}}, nil, []string{"fresh"}, []string{"tool_bundle.conflict"}},
		{"beyond the scope", []hook.ToolChange{{Add: tool("barred", "")}}, nil, nil, []string{"tool_bundle.out_of_scope"}},
		{"of an owner that has no such tool", []hook.ToolChange{{Add: tool("orphan", "")}}, nil, nil, []string{"tool_bundle.owner"}},
		{"a name that is none", []hook.ToolChange{{Add: tool("no name", "")}}, nil, nil, []string{"tool_bundle.invalid"}},
		{"a schema that is none", []hook.ToolChange{{Add: tool("fresh", "[]")}}, nil, nil, []string{"tool_bundle.invalid"}},
		{"a reserved name", []hook.ToolChange{{Add: tool("final_answer", "")}}, nil, nil, []string{"tool_bundle.reserved_name"}},
		{"hidden by one and added by another", []hook.ToolChange{{Hide: message.ListOf("fresh")}, {Add: tool("fresh", ""), Weight: 9}}, nil, nil, []string{"tool_bundle.hidden"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := contribution.MergeTools(c.in, standing, binds)
			var added []string
			for _, a := range got.Added {
				added = append(added, a.Tool.Name)
				assert.Equal(t, "Owner", a.Owner)
			}
			assert.Equal(t, c.hidden, got.Hidden)
			assert.Equal(t, c.added, added)
			assert.Equal(t, c.codes, codes(got.Diagnostics))
		})
	}
}

// TestScope: each way to be out of the scope is told with what would have to be
// different.
func TestScope(t *testing.T) {
	for standing, want := range map[contribution.Standing]string{
		contribution.Barred:   "its owner keeps it from this agent, the agent's list of tools does not name it, or a rule keeps it from this sender",
		contribution.Unlisted: "the agent's configuration lists its tools and does not name this one, so only an agent without a list can be given it",
		contribution.Above:    "the agent whose turn runs this one may not use it; give it to that one as well",
		contribution.Visiting: "a guest of a conversation has no tools",
	} {
		in := []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: message.Tool{Name: "fresh"}}), By: "Plugin"}}
		got := contribution.MergeTools(in, func(string) contribution.Standing { return standing }, binds)
		assert.Empty(t, got.Added)
		require.Len(t, got.Diagnostics, 1)
		assert.Equal(t, "Plugin: tool fresh is not added: it is not in the agent's scope: "+want, got.Diagnostics[0].Text)
	}
}

func TestEverythingThatGoesAlongIsTakenAndBounded(t *testing.T) {
	along := func(n string) hook.Attached {
		return hook.Attached{
			Diagnostics: message.ListOf(hook.Diagnostic{Code: "x." + hook.DiagnosticCode(n), Text: strings.Repeat("t", 1_000)}),
			Jobs:        message.ListOf(hook.Job{Kind: "k", Key: n}),
		}
	}
	got := contribution.Collect([]hook.Policy{{Attached: along("a")}, {}, {Attached: along("b")}}, func(p hook.Policy) hook.Attached { return p.Attached })
	assert.Equal(t, []hook.Job{{Kind: "k", Key: "a"}, {Kind: "k", Key: "b"}}, got.Jobs)
	require.Len(t, got.Diagnostics, 2)
	assert.Equal(t, hook.Diagnostic{Code: "x.a", Text: strings.Repeat("t", 499) + "…", Visibility: event.VisibleInternal}, got.Diagnostics[0])

	many := contribution.Bounded(make([]hook.Diagnostic, 100))
	assert.Len(t, many, 64)
	assert.Equal(t, hook.Diagnostic{Code: "contribution.diagnostics_omitted", Text: "37 more diagnostics are left out", Visibility: event.VisibleInternal}, many[63])
}

func TestEntry(t *testing.T) {
	assert.Equal(t, "<context domain=\"memory\" id=\"notes\">\nAnn sails.\n</context>",
		contribution.Entry(hook.ContextBlock{Domain: "memory", ID: "notes", Text: "Ann sails."}))
	assert.Equal(t, "<context>\nx\n</context>", contribution.Entry(hook.ContextBlock{Text: "x"}))
	assert.Equal(t, "<context id=\"&#34;&gt; y\">\na<\\/context>b<\\/CONTEXT >\n</context>",
		contribution.Entry(hook.ContextBlock{ID: "\"> \n y", Text: "a</context>b</CONTEXT >"}), "nothing closes the tag from within")
}

func TestPrompt(t *testing.T) {
	sections := []hook.PromptSection{{Title: "Style", Text: "Be brief."}, {Text: "Say please."}}
	assert.Equal(t, "Help.\n\n## Style\n\nBe brief.\n\nSay please.", contribution.Prompt("Help.", sections))
	assert.Equal(t, "Say please.", contribution.Prompt("", sections[1:]))
	assert.Equal(t, "Help.", contribution.Prompt("Help.", nil))
}
