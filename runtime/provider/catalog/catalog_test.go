package catalog_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

func TestEveryLineHasASourceAndADay(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	day := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	assert.Regexp(t, day, c.Date())
	source := regexp.MustCompile(`^(https://|charm\.land/catwalk@v\d)`)
	for _, m := range c.All() {
		for part := range strings.SplitSeq(m.Source, "; ") {
			assert.Regexp(t, source, part, m.ID)
		}
		assert.Regexp(t, day, m.Date, m.ID)
		assert.LessOrEqual(t, m.Date, c.Date(), m.ID)
	}
	families := load[struct {
		Families []catalog.Family `json:"families"`
	}](t, "families.json")
	names := map[string]bool{}
	for _, f := range families.Families {
		assert.NotEmpty(t, f.Source, f.Name)
		assert.False(t, names[f.Name], "two families are named %s", f.Name)
		names[f.Name] = true
	}
}

// TestFiguresArePlausible: a figure outside these bounds is a mistake in reading the sources, for
// example a price per thousand tokens, or a cache that costs more than its input.
func TestFiguresArePlausible(t *testing.T) {
	t.Parallel()
	all := catalog.Default().All()
	require.Greater(t, len(all), 50)
	ids := map[string]bool{}
	for _, m := range all {
		key := m.Vendor + ":" + m.ID
		assert.False(t, ids[key], "%s is there twice", key)
		ids[key] = true
		assert.True(t, m.Window >= 100_000 && m.Window <= 2_000_000, "%s: window %d", key, m.Window)
		assert.True(t, m.Output >= 4_000 && m.Output <= 128_000 && m.Output < m.Window, "%s: output %d", key, m.Output)
		assert.NotEmpty(t, m.Prices, key)
		for _, p := range m.Prices {
			assert.True(t, p.Input >= 0.01 && p.Input <= 100, "%s: input %v", key, p.Input)
			assert.True(t, p.Output >= 3*p.Input && p.Output <= 10*p.Input, "%s: output %v for input %v", key, p.Output, p.Input)
			if p.CacheRead != nil {
				assert.True(t, *p.CacheRead >= p.Input/50 && *p.CacheRead <= p.Input/2, "%s: reads of the cache at %v for input %v", key, *p.CacheRead, p.Input)
			}
			if p.CacheWrite != nil {
				assert.InEpsilon(t, 1.25, *p.CacheWrite/p.Input, 1e-9, "%s: writes to the cache at %v for input %v", key, *p.CacheWrite, p.Input)
			}
		}
	}
}

// TestTheFactsOfCatwalk reads the recorded files a second time, without the code that makes the
// table, and holds the catalog to what they say, where no later source corrects it.
func TestTheFactsOfCatwalk(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	count := 0
	for _, vendor := range []string{"anthropic", "openai", "gemini"} {
		data, err := os.ReadFile("testdata/catwalk/" + vendor + ".json")
		require.NoError(t, err)
		var file map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &file))
		var models []map[string]any
		require.NoError(t, json.Unmarshal(file["models"], &models))
		for _, raw := range models {
			id := raw["id"].(string)
			m, ok := c.Model(vendor, id)
			require.True(t, ok, id)
			assert.Equal(t, id, m.ID)
			assert.InDelta(t, raw["context_window"], m.Window, 0, id)
			assert.Equal(t, raw["can_reason"], m.Has(catalog.Reasoning), id)
			assert.Equal(t, raw["supports_attachments"], m.Has(catalog.Images), id)
			p, ok := m.PriceAt(time.Date(2026, 10, 28, 0, 0, 0, 0, time.UTC), 1)
			require.True(t, ok, id)
			assert.InDelta(t, raw["cost_per_1m_in"], p.Input, 1e-9, id)
			assert.InDelta(t, raw["cost_per_1m_out"], p.Output, 1e-9, id)
			count++
		}
	}
	assert.Greater(t, count, 50)
}

func TestTheFamilyOfAModel(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	for _, tt := range []struct{ vendor, id, family string }{
		{"anthropic", "claude-opus-5-5", "claude opus 5.5"},
		{"anthropic", "claude-opus-5.5", "claude opus 5.5"},
		{"anthropic", "claude-opus-5-5-20260922", "claude opus 5.5"},
		{"anthropic", "claude-sonnet-5-5", "claude sonnet 5.5"},
		{"anthropic", "claude-haiku-5-5", "claude haiku 5.5"},
		{"anthropic", "claude-fable-5-2", "claude fable and mythos 5.1"},
		{"anthropic", "claude-mythos-5-1", "claude fable and mythos 5.1"},
		{"anthropic", "claude-fable-5", "claude fable and mythos 5"},
		{"anthropic", "claude-opus-5", "claude 5"},
		{"anthropic", "claude-sonnet-5", "claude 5"},
		{"anthropic", "claude-opus-4-8", "claude 4.8"},
		{"anthropic", "claude-opus-4-7", "claude 4.7"},
		{"anthropic", "claude-sonnet-4-6", "claude 4.6"},
		{"anthropic", "claude-haiku-4-5", "claude 3.7 to 4.5"},
		{"anthropic", "claude-haiku-4-5-20251001", "claude 3.7 to 4.5"},
		{"anthropic", "claude-opus-4-20250514", "claude 3.7 to 4.5"},
		{"anthropic", "claude-3-7-sonnet-latest", "claude 3.7 to 4.5"},
		{"anthropic", "claude-3-5-haiku-20241022", "claude 3 and 3.5"},
		{"anthropic", "claude-3-opus-20240229", "claude 3 and 3.5"},
		{"anthropic", "claude-opus-6", "claude, unknown"},
		{"anthropic", "claude-saga", "claude, unknown"},
		{"openai", "gpt-6.2-sol", "gpt-6.1 and later"},
		{"openai", "gpt-6.1-terra", "gpt-6.1 and later"},
		{"openai", "gpt-6-astra", "gpt-6 astra"},
		{"openai", "gpt-6-sol", "gpt-5.6 and 6"},
		{"openai", "gpt-5.6", "gpt-5.6 and 6"},
		{"openai", "gpt-5.5", "gpt-5.5"},
		{"openai", "gpt-5.5-pro-2026-04-23", "gpt-5.5 pro"},
		{"openai", "gpt-5.4-mini", "gpt-5.4"},
		{"openai", "gpt-5.4-pro", "gpt-5.2 and 5.4 pro"},
		{"openai", "gpt-5.3-codex", "gpt codex 5.2 and later"},
		{"openai", "gpt-5.2", "gpt-5.2 and 5.3"},
		{"openai", "gpt-5.1-codex-max", "gpt-5.1-codex-max"},
		{"openai", "gpt-5.1-codex-mini", "gpt codex"},
		{"openai", "gpt-5.1", "gpt-5.1"},
		{"openai", "gpt-5-2025-08-07", "gpt-5"},
		{"openai", "gpt-5-pro", "gpt-5 pro"},
		{"openai", "gpt-5-chat-latest", "gpt chat"},
		{"openai", "o3", "o-series"},
		{"openai", "o4-mini-2025-04-16", "o-series"},
		{"openai", "o3-pro", "o-series on Responses"},
		{"openai", "gpt-4.1-mini", "gpt-4o and 4.1"},
		{"openai", "gpt-4o-2024-08-06", "gpt-4o and 4.1"},
		{"openai", "gpt-4o-audio-preview", "gpt audio"},
		{"openai", "ft:gpt-4o-mini-2024-07-18:org::abc", "gpt-4o and 4.1"},
		{"openai", "gpt-4-0613", "gpt-4 and before"},
		{"openai", "gpt-3.5-turbo", "gpt-4 and before"},
		{"openai", "gpt-7", "openai, unknown"},
		{"azure", "gpt-5.1", "gpt-5.1"},
		{"azure", "my-deployment", "openai, unknown"},
		{"gemini", "gemini-4-argon", "gemini 4"},
		{"gemini", "gemini-3.8-flash", "gemini 3.7 and 3.8"},
		{"gemini", "gemini-3.1-pro-preview-customtools", "gemini 3.1 pro"},
		{"gemini", "gemini-3-pro-preview", "gemini 3 pro"},
		{"gemini", "gemini-3.6-flash", "gemini 3 flash"},
		{"gemini", "models/gemini-2.5-pro", "gemini 2.5 pro"},
		{"gemini", "gemini-2.5-flash-lite-preview-09-2025", "gemini 2.5 flash-lite"},
		{"gemini", "gemini-2.5-flash", "gemini 2.5 flash"},
		{"gemini", "gemini-2.0-flash-001", "gemini 2.0 and before"},
		{"gemini", "gemini-flash-latest", "gemini, unknown"},
		{"ollama", "qwen3:8b", "any other server"},
		{"openrouter", "anthropic/claude-opus-4.8", "any other server"},
	} {
		assert.Equal(t, tt.family, c.Family(tt.vendor, tt.id).Name, "%s:%s", tt.vendor, tt.id)
	}
}

// TestRulesThatAdaptersRelyOn holds the table to the facts of the wires that cost a request if
// they are wrong.
func TestRulesThatAdaptersRelyOn(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	for id, wire := range map[string]string{
		"gpt-6.1-sol": "responses", "gpt-5.6": "responses", "gpt-5.4": "responses", "gpt-5.2-codex": "responses", "gpt-9": "responses",
		"gpt-5.2": "chat", "gpt-5": "chat", "o3": "chat", "gpt-4.1": "chat", "gpt-4o": "chat",
	} {
		assert.Equal(t, wire, c.Family("openai", id).Wire, id)
	}
	for id, off := range map[string]string{
		"claude-sonnet-5-5": "between_tools", "claude-haiku-5-5": "disabled", "claude-opus-5": "disabled", "claude-opus-5-5": "",
		"claude-opus-4-8": "omit", "claude-opus-4-5": "omit",
	} {
		assert.Equal(t, off, c.Family("anthropic", id).Off, id)
	}
	for _, m := range c.Models("anthropic") {
		f := c.Family("anthropic", m.ID)
		assert.Positive(t, f.MaxOutput, "%s needs max_tokens", m.ID)
		assert.LessOrEqual(t, f.MaxOutput, m.Output, m.ID)
		assert.Equal(t, catalog.Never, f.Sampling, m.ID)
	}
	for id, want := range map[string]bool{"gemini-3-pro-preview": true, "gemini-3.8-flash": true, "gemini-4-argon": true, "gemini-5": true, "gemini-2.5-pro": false} {
		assert.Equal(t, want, c.Family("gemini", id).Signatures, id)
	}
	for _, m := range c.All() {
		assert.Equal(t, m.Has(catalog.Reasoning), c.Family(m.Vendor, m.ID).Has(catalog.Reasoning), "%s: the tables differ about reasoning", m.ID)
		assert.True(t, m.Has(catalog.Tools), m.ID)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	for name, want := range map[string]string{
		"claude-opus-4.8":            "anthropic:claude-opus-4-8",
		"Claude-Opus-4-8":            "anthropic:claude-opus-4-8",
		"claude-sonnet-4.5":          "anthropic:claude-sonnet-4-5-20250929",
		"gpt-5.6":                    "openai:gpt-5.6-sol",
		"gemini-2.5-pro":             "gemini:gemini-2.5-pro",
		"openai:gpt-5.5":             "openai:gpt-5.5",
		"anthropic:claude-haiku-4-5": "anthropic:claude-haiku-4-5-20251001",
		"openai:novel":               "openai:novel",
		"azure:my-deployment":        "azure:my-deployment",
		"gpt-9-nova":                 "openai:gpt-9-nova",
		"claude-saga-7":              "anthropic:claude-saga-7",
		"gpt-":                       "",
		"qwen3:8b":                   "",
		"":                           "",
	} {
		var got []string
		for _, m := range c.Find(name) {
			got = append(got, m.Vendor+":"+m.ID)
		}
		assert.Equal(t, want, strings.Join(got, " "), name)
	}
	unknown := c.Find("gpt-9-nova")[0]
	assert.Empty(t, unknown.Source)
	_, priced := unknown.PriceAt(time.Now(), 1)
	assert.False(t, priced)
}

func TestModelsOfAVendor(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	assert.True(t, slices.IsSortedFunc(c.All(), func(a, b catalog.Model) int { return strings.Compare(a.Vendor, b.Vendor) }))
	assert.Empty(t, c.Models("ollama"))
	azure := c.Models("azure")
	assert.Len(t, azure, len(c.Models("openai")))
	for _, m := range azure {
		assert.Equal(t, "azure", m.Vendor)
		assert.Empty(t, m.Prices, "a contract sets Azure's prices")
		assert.Positive(t, m.Window)
	}
	m, ok := c.Model("azure", "gpt-5.6")
	assert.True(t, ok)
	assert.Equal(t, "gpt-5.6-sol", m.ID)
	assert.Empty(t, m.Prices)
	all := c.All()
	all[0] = catalog.Model{}
	assert.NotEmpty(t, c.All()[0].ID, "the list is the caller's own")
}

func TestPriceAt(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	argon, _ := c.Model("gemini", "gemini-4-argon")
	haiku, _ := c.Model("anthropic", "claude-haiku-5-5")
	at := func(day string) time.Time {
		when, err := time.Parse(time.RFC3339, day)
		require.NoError(t, err)
		return when
	}
	for _, tt := range []struct {
		model catalog.Model
		at    string
		input int64
		want  float64
	}{
		{argon, "2026-11-30T23:59:59Z", 1, 2},
		{argon, "2026-12-01T00:00:00Z", 1, 4},
		{argon, "2026-12-01T01:00:00+02:00", 1, 2},
		{haiku, "2026-11-25T00:00:00Z", 100_000, 0.1},
		{haiku, "2026-11-25T00:00:00Z", 100_001, 0.5},
	} {
		p, ok := tt.model.PriceAt(at(tt.at), tt.input)
		assert.True(t, ok)
		assert.InDelta(t, tt.want, p.Input, 0, "%s at %s with %d tokens", tt.model.ID, tt.at, tt.input)
	}
	_, ok := catalog.Model{}.PriceAt(time.Now(), 1)
	assert.False(t, ok)
	later := catalog.Model{Prices: []catalog.Price{{From: "2030-01-01", Input: 1}}}
	_, ok = later.PriceAt(at("2026-11-25T00:00:00Z"), 1)
	assert.False(t, ok, "a price of the future")
	mixed := catalog.Model{Prices: []catalog.Price{{Above: 10, Input: 2}, {Input: 1}, {From: "2026-12-01", Input: 3}}}
	p, _ := mixed.PriceAt(at("2026-12-02T00:00:00Z"), 100)
	assert.InDelta(t, 3, p.Input, 0, "a later price is for requests of every length")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := catalog.Default()
	low, half := message.Reasoning{Effort: message.EffortLow}, message.Some(0.5)
	off, medium := message.Reasoning{Effort: message.EffortOff}, message.Reasoning{Effort: message.EffortMedium}
	budget := func(n int) message.Reasoning { return message.Reasoning{Budget: n} }
	required := message.ToolChoice{Mode: message.ToolChoiceRequired}
	for _, tt := range []struct {
		name, vendor, id string
		m                message.Model
		want             string
	}{
		{"nothing set", "anthropic", "claude-opus-5-5", message.Model{}, ""},
		{"effort", "anthropic", "claude-opus-5-5", message.Model{Reasoning: low}, ""},
		{"temperature", "anthropic", "claude-opus-5-5", message.Model{Temperature: half}, "model claude-opus-5-5: it takes no temperature; leave temperature out"},
		{"both", "gemini", "gemini-4-argon", message.Model{Temperature: half, TopP: half}, "model gemini-4-argon: it takes no temperature and no top_p; leave temperature and top_p out"},
		{"temperature where it may be", "gemini", "gemini-2.5-pro", message.Model{Temperature: half}, ""},
		{"temperature with reasoning", "openai", "gpt-5.6", message.Model{Temperature: half}, "model gpt-5.6: it takes temperature only without reasoning; set reasoning to off, or leave temperature out"},
		{"temperature without", "openai", "gpt-5.6", message.Model{Temperature: half, Reasoning: off}, ""},
		{"temperature where none is the default", "openai", "gpt-5.4", message.Model{Temperature: half}, ""},
		{"temperature with effort", "openai", "gpt-5.4", message.Model{Temperature: half, Reasoning: low}, "only without reasoning"},
		{"off", "anthropic", "claude-opus-5-5", message.Model{Reasoning: off}, "model claude-opus-5-5: its reasoning cannot be turned off; set reasoning to low, medium or high"},
		{"off where it goes", "anthropic", "claude-sonnet-5-5", message.Model{Reasoning: off}, ""},
		{"off of nothing", "openai", "gpt-4o", message.Model{Reasoning: off}, ""},
		{"effort of nothing", "openai", "gpt-4o", message.Model{Reasoning: low}, "model gpt-4o: it does not reason; leave reasoning out"},
		{"budget of nothing", "openai", "gpt-4o", message.Model{Reasoning: budget(2000)}, "it does not reason"},
		{"budget where only efforts are", "anthropic", "claude-opus-4-7", message.Model{Reasoning: budget(2000)}, "model claude-opus-4-7: it has no budget for reasoning; set reasoning to off, low, medium or high"},
		{"budget", "anthropic", "claude-opus-4-6", message.Model{Reasoning: budget(2000)}, ""},
		{"small budget", "anthropic", "claude-haiku-4-5", message.Model{Reasoning: budget(1000)}, "model claude-haiku-4-5: a budget for reasoning is 1024 to 63000 tokens, and it is 1000"},
		{"large budget", "gemini", "gemini-2.5-pro", message.Model{Reasoning: budget(40_000)}, "128 to 32768 tokens"},
		{"budget that fills the answer", "anthropic", "claude-haiku-4-5", message.Model{Reasoning: budget(4096), MaxTokens: 4096}, "raise max_tokens or lower the budget"},
		{"effort that fills the answer", "anthropic", "claude-haiku-4-5", message.Model{Reasoning: medium, MaxTokens: 4096}, "reasoning medium needs 8192 tokens"},
		{"effort by a budget", "anthropic", "claude-haiku-4-5", message.Model{Reasoning: medium}, ""},
		{"missing effort", "gemini", "gemini-3-pro-preview", message.Model{Reasoning: medium}, `model gemini-3-pro-preview: it has no reasoning effort "medium"; set reasoning to low or high`},
		{"one effort", "openai", "gpt-5-pro", message.Model{Reasoning: low}, "set reasoning to high"},
		{"seed", "anthropic", "claude-opus-5", message.Model{Seed: message.Some[int64](1)}, "it takes no seed; leave seed out"},
		{"seed on chat", "openai", "gpt-4o", message.Model{Seed: message.Some[int64](1)}, ""},
		{"stop", "openai", "gpt-5.5", message.Model{Stop: message.Freeze([]string{"END"})}, "it takes no stop texts"},
		{"stop where it goes", "anthropic", "claude-opus-5-5", message.Model{Stop: message.Freeze([]string{"END"})}, ""},
		{"forced", "anthropic", "claude-opus-5-5", message.Model{Choice: required}, "it cannot be made to call a tool; set tool_choice to auto or none"},
		{"forced with reasoning", "anthropic", "claude-haiku-4-5", message.Model{Choice: required, Reasoning: low}, "only without reasoning"},
		{"forced without", "anthropic", "claude-haiku-4-5", message.Model{Choice: required}, ""},
		{"schema", "openai", "gpt-3.5-turbo", message.Model{Format: message.ResponseFormat{JSON: true, Schema: "{}"}}, "it has no answers that fit a schema"},
		{"long answer", "openai", "gpt-4o", message.Model{MaxTokens: 20_000}, "model gpt-4o: an answer has at most 16384 tokens, and max_tokens is 20000"},
		{"another server", "ollama", "qwen3:8b", message.Model{Temperature: half, Seed: message.Some[int64](1), Reasoning: off, Choice: required}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.m.Name = tt.id
			err := c.Check(tt.vendor, tt.m)
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
		})
	}
	err := c.Check("anthropic", message.Model{Name: "claude-opus-5-5", Temperature: half, Seed: message.Some[int64](1), Reasoning: off, Choice: required})
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), 4, "every mistake is told")
}

func BenchmarkDefault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		catalog.Default()
	}
}

func BenchmarkFamily(b *testing.B) {
	c := catalog.Default()
	b.ReportAllocs()
	for b.Loop() {
		c.Family("openai", "gpt-4.1")
	}
}

func Example() {
	c := catalog.Default()
	f := c.Family("anthropic", "claude-opus-4.8")
	os.Stdout.WriteString(string(f.Reasoning) + "\n")
	err := c.Check("anthropic", message.Model{Name: "claude-opus-4.8", Temperature: message.Some(0.2)})
	os.Stdout.WriteString(err.Error() + "\n")
	// Output:
	// adaptive
	// model claude-opus-4.8: it takes no temperature; leave temperature out
}
