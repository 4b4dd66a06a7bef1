package hook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestAgentConfigMerge(t *testing.T) {
	full := hook.AgentConfig{
		Name: "writer", Description: "Writes.", Instructions: "Be brief.",
		Model:  message.Model{Name: "m1", Format: message.ResponseFormat{JSON: true, Name: "note"}, Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}, MaxTokens: 10},
		Tools:  []string{"read"},
		Limits: hook.Limits{Steps: 5, Tokens: 100, Time: time.Minute},
	}.WithSection("memory", `{"a":1}`).WithSection("ostools", `{"b":2}`)

	cases := []struct {
		name   string
		over   hook.AgentConfig
		change func(*hook.AgentConfig)
	}{
		{"nothing", hook.AgentConfig{}, func(*hook.AgentConfig) {}},
		{"nil tools", hook.AgentConfig{Tools: nil}, func(*hook.AgentConfig) {}},
		{"no tools", hook.AgentConfig{Tools: []string{}}, func(c *hook.AgentConfig) { c.Tools = []string{} }},
		{"other tools", hook.AgentConfig{Tools: []string{"bash"}}, func(c *hook.AgentConfig) { c.Tools = []string{"bash"} }},
		{"model", hook.AgentConfig{Model: message.Model{Name: "m2"}}, func(c *hook.AgentConfig) { c.Model.Name = "m2" }},
		{"texts", hook.AgentConfig{Name: "n", Description: "d", Instructions: "i"}, func(c *hook.AgentConfig) {
			c.Name, c.Description, c.Instructions = "n", "d", "i"
		}},
		{"loop", hook.AgentConfig{Loop: message.LoopPlanAndExecute}, func(c *hook.AgentConfig) { c.Loop = message.LoopPlanAndExecute }},
		{"one limit", hook.AgentConfig{Limits: hook.Limits{Steps: 9}}, func(c *hook.AgentConfig) { c.Limits.Steps = 9 }},
		{"other limits", hook.AgentConfig{Limits: hook.Limits{Tokens: 1, Time: 2}, Model: message.Model{MaxTokens: 3}}, func(c *hook.AgentConfig) {
			c.Limits, c.Model.MaxTokens = hook.Limits{Steps: 5, Tokens: 1, Time: 2}, 3
		}},
		{"format and choice, each as a whole", hook.AgentConfig{Model: message.Model{
			Format: message.ResponseFormat{JSON: true}, Choice: message.ToolChoice{Mode: message.ToolChoiceNone},
		}}, func(c *hook.AgentConfig) {
			c.Model.Format, c.Model.Choice = message.ResponseFormat{JSON: true}, message.ToolChoice{Mode: message.ToolChoiceNone}
		}},
		{"sections by name", hook.AgentConfig{}.WithSection("skills", `{}`).WithSection("memory", `{"c":3}`), func(c *hook.AgentConfig) {
			*c = c.WithSection("memory", `{"c":3}`).WithSection("skills", `{}`)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := full
			c.change(&want)
			assert.Equal(t, want, full.Merge(c.over))
			over := hook.AgentConfig{}.Merge(c.over)
			assert.Equal(t, want, full.Merge(over), "an empty base keeps everything")
		})
	}
	assert.Equal(t, []string{"read"}, full.Tools, "Merge leaves its receiver")
}

func TestMergedToolsAreTheirOwn(t *testing.T) {
	over := hook.AgentConfig{Tools: []string{"read"}}
	merged := hook.AgentConfig{}.Merge(over)
	over.Tools[0] = "bash"
	assert.Equal(t, []string{"read"}, merged.Tools)
}

func TestSectionsAreCopiedOnWrite(t *testing.T) {
	base := hook.AgentConfig{}.WithSection("b", `{"x":1}`).WithSection("a", `{}`)
	assert.Equal(t, []string{"a", "b"}, base.Sections(), "sorted")
	other := base.WithSection("b", `{"x":2}`).WithSection("c", `{}`)
	without := base.WithSection("a", "").WithSection("nobody", "")
	assert.Equal(t, []string{"a", "b"}, base.Sections())
	assert.Equal(t, []string{"a", "b", "c"}, other.Sections())
	assert.Equal(t, []string{"b"}, without.Sections())
	got, set, err := hook.SectionOf[struct {
		X int `json:"x"`
	}](&base, "b")
	require.NoError(t, err)
	assert.True(t, set)
	assert.Equal(t, 1, got.X)
}

func TestPrefixAndHost(t *testing.T) {
	cfg := hook.AgentConfig{Name: "a"}
	assert.Equal(t, "query", cfg.ToolName("query"))
	inner := cfg.Prefixed("users_").Prefixed("db_")
	assert.Equal(t, "users_db_query", inner.ToolName("query"), "the outer prefix first")
	assert.Equal(t, "query", cfg.ToolName("query"))

	assert.NotNil(t, cfg.Host())
	cfg.Host().Emit(t.Context(), hook.Event{}) // must not panic
	assert.Equal(t, host{name: "h"}, (&[]hook.AgentConfig{cfg.WithHost(host{name: "h"})}[0]).Host())
	assert.Equal(t, host{name: "h"}, (&[]hook.AgentConfig{cfg.WithHost(host{name: "h"})}[0]).Prefixed("x_").Host())
}

type limits struct {
	Bytes int `json:"bytes"`
}

type common struct {
	Root string `json:"root"`
}

// duration decodes itself.
type duration int

func (d *duration) UnmarshalText(text []byte) error {
	*d = duration(len(text))
	return nil
}

type settings struct {
	common
	Tools   []string          `json:"tools"`
	Limits  *limits           `json:"limits"`
	Rules   []limits          `json:"rules"`
	ByName  map[string]limits `json:"by_name"`
	Free    any               `json:"free"`
	Loud    bool              `json:"loud"`
	Share   *float64          `json:"share"`
	Wait    duration          `json:"wait"`
	Plain   bool
	Secret  string `json:"-"`
	private string
}

func TestSectionOf(t *testing.T) {
	cases := []struct{ name, body, err string }{
		{"empty", `{}`, ""},
		{"null", `{"root":null,"tools":null,"limits":null,"loud":null,"share":null}`, ""},
		{"a type that decodes itself", `{"wait":"5s"}`, ""},
		{"all", `{"root":"/","tools":["a"],"limits":{"bytes":1},"rules":[{"bytes":2}],"by_name":{"x":{"bytes":3}},"free":{"X":{"y":[1]}},"Plain":true}`, ""},
		{"blanks", " {\n} ", ""},
		{"null in place of a pointer", `{"limits":null}`, ""},
		{"unknown key", `{"tool":[]}`, "tool: unknown key; known are Plain, by_name, free, limits, loud, root, rules, share, tools, wait"},
		{"case variant", `{"Tools":[]}`, "Tools: unknown key"},
		{"case variant of a field without a tag", `{"plain":true}`, "plain: unknown key"},
		{"case variant by folding", `{"tool\u017f":[]}`, "unknown key"},
		{"twice", `{"tools":[],"tools":["a"]}`, "tools: given twice"},
		{"twice by an escape", `{"tools":[],"tool\u0073":["a"]}`, "tools: given twice"},
		{"hidden field", `{"Secret":"x"}`, "Secret: unknown key"},
		{"unexported field", `{"private":"x"}`, "private: unknown key"},
		{"unknown below", `{"limits":{"byte":1}}`, "limits.byte: unknown key"},
		{"case variant below", `{"limits":{"BYTES":1}}`, "limits.BYTES: unknown key"},
		{"twice below", `{"limits":{"bytes":1,"bytes":2}}`, "limits.bytes: given twice"},
		{"in an array", `{"rules":[{"bytes":1},{"Bytes":2}]}`, "rules[1].Bytes: unknown key"},
		{"in a map", `{"by_name":{"x":{"byte":1}}}`, "by_name.x.byte: unknown key"},
		{"twice in a map", `{"by_name":{"x":{},"x":{}}}`, "by_name.x: given twice"},
		{"twice where any key goes", `{"free":{"a":1,"a":2}}`, "free.a: given twice"},
		{"trailing value", `{}{}`, "data after the value"},
		{"trailing text", `{} x`, "data after the value"},
		{"truncated", `{"tools":[`, "unexpected end"},
		{"truncated key", `{"too`, "unexpected end"},
		{"text for a list", `{"tools":"a"}`, "tools: must be a list, not a string"},
		{"object for a list", `{"tools":{}}`, "tools: must be a list, not an object"},
		{"list for an object", `{"limits":[]}`, "limits: must be an object, not a list"},
		{"text for a number", `{"limits":{"bytes":"1"}}`, "limits.bytes: must be a whole number, not a string"},
		{"no whole number", `{"rules":[{},{"bytes":1.5}]}`, "rules[1].bytes: must be a whole number, not 1.5"},
		{"number that is too large", `{"by_name":{"x":{"bytes":1e99}}}`, "by_name.x.bytes: must be a whole number, not 1e99"},
		{"boolean in a list", `{"tools":["a",true]}`, "tools[1]: must be a string, not true or false"},
		{"text for a boolean", `{"loud":"yes"}`, "loud: must be true or false, not a string"},
		{"text for a share", `{"share":"1"}`, "share: must be a number, not a string"},
		{"an array at the top", `[]`, "must be an object"},
		{"no JSON", `tools: []`, "invalid character"},
		{"null at the top", `null`, "must be an object"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := hook.AgentConfig{Name: "writer"}.WithSection("ostools", message.JSON(c.body))
			got, set, err := hook.SectionOf[settings](&cfg, "ostools")
			assert.True(t, set)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.ErrorContains(t, err, `agent "writer": section ostools: `)
			assert.ErrorContains(t, err, c.err)
			assert.Equal(t, settings{}, got, "nothing half decoded")
			assert.Empty(t, got.private)
		})
	}
}

func TestSectionOfAbsent(t *testing.T) {
	cfg := hook.AgentConfig{Name: "writer"}.WithSection("ostools", `{}`)
	got, set, err := hook.SectionOf[settings](&cfg, "memory")
	require.NoError(t, err)
	assert.False(t, set)
	assert.Equal(t, settings{}, got)
}

func TestSectionOfNilAndEmptyLists(t *testing.T) {
	for body, want := range map[string][]string{`{}`: nil, `{"tools":null}`: nil, `{"tools":[]}`: {}, `{"tools":["a"]}`: {"a"}} {
		cfg := hook.AgentConfig{}.WithSection("ostools", message.JSON(body))
		got, _, err := hook.SectionOf[settings](&cfg, "ostools")
		require.NoError(t, err)
		assert.Equal(t, want, got.Tools, body)
		assert.Equal(t, want == nil, got.Tools == nil, "nil means all, empty means none: %s", body)
	}
}

func TestSectionOfDeepNesting(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	cfg := hook.AgentConfig{}.WithSection("ostools", message.JSON(`{"free":`+deep+`}`))
	_, _, err := hook.SectionOf[settings](&cfg, "ostools")
	assert.Error(t, err, "refused, not a stack overflow")
}
