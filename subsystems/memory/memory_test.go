package memory_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *memory.Memory {
	t.Helper()
	m, err := memory.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.OnClose(context.Background())) })
	return m
}

func fresh(t *testing.T) *memory.Memory {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "memory.db"))
}

// caller calls the tools of a memory as one agent.
type caller struct {
	t   *testing.T
	m   *memory.Memory
	cfg *hook.AgentConfig
}

func as(t *testing.T, m *memory.Memory, name, section string) caller {
	cfg := hook.AgentConfig{Name: name}.WithSection("memory", message.JSON(section))
	return caller{t, m, hooktest.Agent(cfg)}
}

func (c caller) call(tool string, args map[string]any) message.ToolResult {
	c.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(c.t, err)
	step := hooktest.Step(hooktest.Turn(hooktest.Conversation(c.cfg, nil), "x"))
	return hooktest.Invoke(c.t.Context(), c.m, hooktest.Call(step, tool, message.JSON(raw)))
}

func (c caller) remember(name, content string, aliases ...string) message.ToolResult {
	c.t.Helper()
	args := map[string]any{"name": name, "content": content}
	if aliases != nil {
		args["aliases"] = aliases
	}
	r := c.call("remember", args)
	assert.Empty(c.t, r.Failure, r.Text())
	return r
}

func (c caller) recall(query string) string {
	c.t.Helper()
	r := c.call("recall", map[string]any{"query": query})
	require.Empty(c.t, r.Failure, r.Text())
	return r.Text()
}

// names returns the names of what recall finds.
func (c caller) names(query string) (out []string) {
	c.t.Helper()
	for part := range strings.SplitSeq(c.recall(query), "\n---\n") {
		if name, _, found := strings.Cut(part, "\n"); found {
			out = append(out, strings.TrimPrefix(name, "## "))
		}
	}
	return out
}

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		path := filepath.Join(t.TempDir(), "memory.db")
		newHook := func(t *testing.T) hook.Hook { return k.in(t, path, "") }
		hooktest.Run(t, newHook, &hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
		t.Run("narrowed", func(t *testing.T) {
			agent := hook.AgentConfig{}.WithSection("memory", `{"tools":["recall"],"space":"crew"}`)
			hooktest.Run(t, newHook, &hooktest.Options{Agent: agent})
		})
	})
}

func TestRememberRecallForget(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		c := as(t, k.fresh(t), "a", "")
		assert.Equal(t, message.ToolResult{Content: message.ListOf(message.TextBlock("no memories found")), Trust: message.TrustTrusted},
			c.call("recall", map[string]any{"query": "boat"}))
		assert.Equal(t, message.TextResult("remembered my boat"), c.remember(" my  boat ", "A sloop of 9 m.\nGreen.", "yacht", " yacht ", "vessel"))
		assert.Equal(t, message.TextResult("remembered harbour"), c.remember("harbour", "The boat lies at pier 7."))

		want := "## my boat\nA sloop of 9 m.\nGreen.\n---\n## harbour\nThe boat lies at pier 7."
		assert.Equal(t, want, c.recall("the boat"))
		assert.Equal(t, []string{"my boat"}, c.names("YACHT"))

		assert.Equal(t, message.TextResult("replaced what was remembered as My Boat"), c.remember("My Boat", "A ketch."))
		assert.Equal(t, "## My Boat\nA ketch.", c.recall("ketch sloop yacht"))
		assert.Equal(t, "no memories found", c.recall("sloop yacht vessel green"))

		assert.Equal(t, message.TextResult("forgot my boat"), c.call("forget", map[string]any{"name": "my boat"}))
		assert.Equal(t, "no memories found", c.recall("ketch"))
		assert.Equal(t, message.FailedResult(message.FailNotFound, "there is no memory of the name my boat"),
			c.call("forget", map[string]any{"name": "my boat"}))
		assert.Equal(t, []string{"harbour"}, c.names("boat"))
	})
}

func TestTheBestMatchComesFirst(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		c := as(t, k.fresh(t), "a", "")
		c.remember("coffee", "Black, no sugar.")
		c.remember("breakfast", "Eggs at seven, and tea with them.", "morning meal")
		c.remember("meeting", "Every morning at nine; there is coffee, and tea, and more coffee for those who come early to the meeting.")
		c.remember("tea", "Green.")
		for range 3 {
			c.remember(fmt.Sprintf("filler %d", time.Now().UnixNano()), "Tea and more tea.")
		}
		assert.Equal(t, []string{"coffee", "meeting"}, c.names("coffee"), "a name beats a content")
		assert.Equal(t, []string{"breakfast", "meeting"}, c.names("morning"), "an alias beats a content")
		assert.Equal(t, "coffee", c.names("coffee tea")[0], "a rare word beats a frequent one")
		assert.Equal(t, []string{"tea"}, c.names("tea")[:1])
		assert.Len(t, c.names("tea"), 5, "the limit by default")
		r := c.call("recall", map[string]any{"query": "tea", "limit": 2})
		assert.Equal(t, 1, strings.Count(r.Text(), "\n---\n"))
	})
}

func TestQueriesMayBeAnything(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		c := as(t, k.fresh(t), "a", "")
		c.remember("the ship", "It is what it is: an Überseedampfer of 1912, naïve but fast.")
		c.remember("anchor", "The chain has 12 shackles. s1 agent:a")
		for _, tc := range []struct {
			query string
			want  []string
		}{
			{"dampf*", nil},
			{"Übersee*", []string{"the ship"}},
			{"ubersee*", []string{"the ship"}},
			{"UBERSEEDAMPFER NAIVE", []string{"the ship"}},
			{"shack* *", []string{"anchor"}},
			{"shack", nil},
			{"1912", []string{"the ship"}},
			{"what is the ship", []string{"the ship"}},
			{"what is it", []string{"the ship"}},
			{`"chain`, []string{"anchor"}},
			{`chain AND NOT (ship OR`, []string{"the ship", "anchor"}},
			{`NEAR(chain, 3) NOT`, []string{"anchor"}},
			{`content:chain`, []string{"anchor"}},
			{`{name content} : chain ^x + -y`, []string{"anchor"}},
			{"chain'; DROP TABLE memory; --", []string{"anchor"}},
			{"chain\u0001\u2028😀\u202e", []string{"anchor"}},
			{"", []string{"anchor", "the ship"}},
			{" \t?!*\"", []string{"anchor", "the ship"}},
			{"s1", []string{"anchor"}},
			{"memory word rowid rank", nil},
			{strings.Repeat("nonsense ", 200) + "chain", []string{"anchor"}},
		} {
			t.Run(tc.query[:min(len(tc.query), 30)], func(t *testing.T) {
				assert.ElementsMatch(t, tc.want, caller{t, c.m, c.cfg}.names(tc.query))
			})
		}
	})
}

func TestMemoriesBelongToTheirSpace(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.fresh(t)
		a, b := as(t, m, "a", ""), as(t, m, "b", `{}`)
		crew1, crew2 := as(t, m, "c", `{"space":"crew"}`), as(t, m, "d", `{"space":"crew"}`)
		named := as(t, m, "crew", "")
		for _, c := range []caller{a, b, crew1, named} {
			c.remember("note", "of "+c.cfg.Name)
		}
		assert.Equal(t, "## note\nof a", a.recall("note"))
		assert.Equal(t, "## note\nof b", b.recall(""))
		assert.Equal(t, "## note\nof c", crew2.recall("note"))
		assert.Equal(t, "## note\nof crew", named.recall("note"))
		assert.Equal(t, "forgot note", crew2.call("forget", map[string]any{"name": "note"}).Text())
		assert.Equal(t, "no memories found", crew1.recall("note"))
		assert.Equal(t, "## note\nof crew", named.recall("note"))
		assert.Equal(t, message.FailNotFound, crew1.call("forget", map[string]any{"name": "note"}).Failure)
		assert.Equal(t, "no memories found", as(t, m, "nobody", "").recall(""))
	})
}

func TestArguments(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		c := as(t, k.fresh(t), "a", "")
		for _, tc := range []struct {
			tool string
			args map[string]any
		}{
			{"remember", map[string]any{"name": "x"}},
			{"remember", map[string]any{"name": "", "content": "x"}},
			{"remember", map[string]any{"name": " ", "content": "x"}},
			{"remember", map[string]any{"name": "x", "content": "\n"}},
			{"remember", map[string]any{"name": "x", "content": "x", "aliases": "y"}},
			{"recall", map[string]any{}},
			{"recall", map[string]any{"query": "x", "limit": 0}},
			{"recall", map[string]any{"query": "x", "limit": 51}},
			{"recall", map[string]any{"query": "x", "Query": "y"}},
			{"forget", map[string]any{}},
		} {
			r := c.call(tc.tool, tc.args)
			assert.Equal(t, message.FailArguments, r.Failure, "%s %v: %s", tc.tool, tc.args, r.Text())
		}
		assert.Equal(t, "no memories found", c.recall(""))
	})
}

func TestAReadOnlyGrantChangesNothing(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.fresh(t)
		for _, g := range []hook.Grant{{ReadOnly: true}, {Void: true}} {
			env := &hook.Env{Grant: g}
			var failure *hook.ToolError
			_, err := m.Remember(t.Context(), env, memory.RememberInput{Name: "x", Content: "x"})
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, message.FailDenied, failure.Kind)
			_, err = m.Forget(t.Context(), env, memory.ForgetInput{Name: "x"})
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, message.FailDenied, failure.Kind)
			r, err := m.Recall(t.Context(), env, memory.RecallInput{})
			require.NoError(t, err)
			assert.Equal(t, "no memories found", r.Text())
		}
	})
}

func TestMemoriesOutliveTheProcess(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		path := filepath.Join(t.TempDir(), "deep", "memory.db")
		first := k.in(t, path, "")
		content := "a\tb \u2028 'x' \"y\" 😀"
		as(t, first, "a", "").remember("note", content, "alias")
		second := k.in(t, path, "") // another process at the same time
		assert.Equal(t, "## note\n"+content, as(t, second, "a", "").recall("alias"))
		require.NoError(t, first.OnClose(t.Context()))
		require.NoError(t, second.OnClose(t.Context()))
		assert.Equal(t, "## note\n"+content, as(t, k.in(t, path, ""), "a", "").recall("b"))
	})
}

func TestAClosedFileIsNotUsed(t *testing.T) {
	t.Parallel()
	m := fresh(t)
	require.NoError(t, m.OnClose(t.Context()))
	assert.Equal(t, message.FailOperation, as(t, m, "a", "").call("recall", map[string]any{"query": "x"}).Failure)
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, []byte("a diary"), 0o600))
	_, err := memory.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, sqlitedb.ErrForeign)
	assert.ErrorContains(t, err, "memory file "+path)
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.fresh(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				c := as(t, m, fmt.Sprint("agent", i%2), "")
				for n := range 5 {
					c.remember(fmt.Sprintf("note %d of %d", n, i), "text")
					assert.Empty(t, c.call("recall", map[string]any{"query": "text"}).Failure)
				}
				assert.Equal(t, "forgot note 0 of "+fmt.Sprint(i), c.call("forget", map[string]any{"name": fmt.Sprintf("note 0 of %d", i)}).Text())
			})
		}
		wg.Wait()
		r := as(t, m, "agent1", "").call("recall", map[string]any{"query": "note", "limit": 50})
		assert.Equal(t, 16, strings.Count(r.Text(), "## note"))
	})
}

func TestSections(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.fresh(t)
		for _, tc := range []struct{ section, want string }{
			{``, ""}, {`{}`, ""}, {`{"tools":[]}`, ""}, {`{"tools":["recall"],"space":"a.b-c_1"}`, ""},
			{`{"tools":["recal"]}`, `agent "x": section memory: tools: there is no "recal"; known are remember, recall, get_memory, forget`},
			{`{"space":"a b"}`, `agent "x": section memory: space "a b": write up to 64 letters, digits, and any of _.-`},
			{`{"tool":[]}`, `agent "x": section memory: tool: unknown key; known are active, classifier, extraction, fallback, half_life, model, recall, scope, space, tools`},
			{`{"scope":"user"}`, ""}, {`{"scope":"project"}`, ""},
			{`{"scope":"all"}`, `agent "x": section memory: scope "all": write agent, project or user`},
		} {
			_, err := m.OnBuildAgent(t.Context(), hook.AgentConfig{Name: "x"}.WithSection("memory", message.JSON(tc.section)))
			if tc.want == "" {
				assert.NoError(t, err, tc.section)
				continue
			}
			assert.EqualError(t, err, tc.want)
		}
		scope := func(section string) hook.Scope { return m.ScopedTools(as(t, m, "x", section).cfg) }
		assert.Equal(t, hook.Scope{}, scope(``))
		assert.Equal(t, hook.Scope{}, scope(`{"space":"x"}`))
		assert.Equal(t, hook.Scope{Tools: []string{}}, scope(`{"tools":[]}`))
		assert.Equal(t, hook.Scope{Tools: []string{"recall"}, Line: "Of the tools for memories: recall."}, scope(`{"tools":["recall"]}`))
	})
}

func TestThePromptNamesOnlyWhatTheAgentHas(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.fresh(t)
		all := m.SystemPrompt(as(t, m, "x", "").cfg)
		for _, tool := range []string{"- recall:", "- remember:", "- forget:"} {
			assert.Contains(t, all, tool)
		}
		assert.Contains(t, all, "Nothing from memory is shown to you by itself")
		assert.NotContains(t, all, "automatic")

		cfg := *as(t, m, "x", `{"tools":["recall","forget"]}`).cfg
		cfg.Tools = []string{"mem_recall", "mem_remember", "bash"}
		some := m.SystemPrompt(cfg.Prefixed("mem_"))
		assert.Contains(t, some, "- mem_recall:")
		assert.NotContains(t, some, "remember:")
		assert.NotContains(t, some, "forget:")
		assert.Empty(t, m.SystemPrompt(as(t, m, "x", `{"tools":[]}`).cfg))
	})
}

func FuzzRecall(f *testing.F) {
	m, err := memory.Open(f.Context(), filepath.Join(f.TempDir(), "m.db"), nil)
	require.NoError(f, err)
	f.Cleanup(func() { assert.NoError(f, m.OnClose(context.Background())) })
	_, err = m.Remember(f.Context(), nil, memory.RememberInput{Name: "anchor", Content: "The chain has 12 shackles."})
	require.NoError(f, err)
	for _, seed := range []string{"", `"`, "a*", "NEAR(", "name:x", "chain OR", "\x00", "ÅΩ猫", "a\u0301*", "_", "²½"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		_, err := m.Recall(t.Context(), nil, memory.RecallInput{Query: query})
		require.NoError(t, err)
	})
}
