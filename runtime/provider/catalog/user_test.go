package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

const own = `{
  "models": [
    {"vendor": "openai", "id": "GPT-5.5", "prices": [{"input": 4, "output": 24}], "source": "our contract"},
    {"vendor": "openai", "id": "gpt-5.4", "prices": []},
    {"vendor": "azure", "id": "prod", "like": "gpt-5.1", "window": 400000, "aliases": ["main"]},
    {"vendor": "ollama", "id": "qwen3:8b", "window": 32768, "accepts": ["images"]},
    {"vendor": "ollama", "id": "qwen3:4b"}
  ],
  "families": [
    {"vendor": "ollama", "match": ["qwen3*"], "wire": "chat", "reasoning": "none", "sampling": "never"}
  ]
}`

func TestAFileOfTheUser(t *testing.T) {
	t.Parallel()
	base := catalog.Default()
	c, err := base.With("own.json", []byte(own))
	require.NoError(t, err)
	m, ok := c.Model("openai", "gpt-5.5")
	require.True(t, ok)
	assert.Equal(t, "gpt-5.5", m.ID, "the vendor's spelling stays")
	assert.Equal(t, "our contract", m.Source)
	assert.Empty(t, m.Date)
	assert.Equal(t, 1_050_000, m.Window, "what the file leaves out stays")
	p, _ := m.PriceAt(time.Now(), 300_000)
	assert.Equal(t, catalog.Price{Input: 4, Output: 24}, p)
	m, _ = c.Model("openai", "gpt-5.4")
	_, priced := m.PriceAt(time.Now(), 1)
	assert.False(t, priced, "an empty list makes the price unknown")
	assert.Equal(t, "own.json", m.Source)

	m, ok = c.Model("azure", "main")
	require.True(t, ok)
	assert.Equal(t, "prod", m.ID)
	for _, name := range []string{"prod", "main", "Prod"} {
		assert.Equal(t, "gpt-5.1", c.Family("azure", name).Name, name)
	}
	assert.Equal(t, "azure:prod", c.Find("main")[0].Vendor+":"+c.Find("main")[0].ID)

	m, _ = c.Model("ollama", "qwen3:8b")
	assert.Equal(t, 32768, m.Window)
	assert.True(t, m.Has(catalog.Images))
	m, _ = c.Model("ollama", "qwen3:4b")
	assert.Zero(t, m.Window, "what follows the colon counts")
	require.ErrorContains(t, c.Check("ollama", message.Model{Name: "qwen3:8b", TopP: message.Some(0.5)}), "takes no top_p")

	m, _ = base.Model("openai", "gpt-5.5")
	assert.NotEqual(t, "our contract", m.Source, "the built-in catalog stays as it is")
	assert.Equal(t, base.Date(), c.Date())

	again, err := c.With("second.json", []byte(`{"models": [{"vendor": "azure", "id": "prod", "output": 1000}]}`))
	require.NoError(t, err)
	assert.Equal(t, "gpt-5.1", again.Family("azure", "prod").Name, "files add up")
	m, _ = again.Model("azure", "prod")
	assert.Equal(t, 400_000, m.Window)
}

func TestMistakesInAFileOfTheUser(t *testing.T) {
	t.Parallel()
	models := func(entry string) string {
		return "{\n  \"models\": [\n    {\"vendor\": \"a\", \"id\": \"b\"},\n    " + entry + "\n  ]\n}"
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no object", `[]`, "own.json:1: must be an object"},
		{"cut off", "{\n\"models\": [", "own.json:2: unexpected end of the text"},
		{"no JSON", "{\n\n  models: []\n}", "own.json:3: invalid character 'm'"},
		{"unknown key", models(`{"vendor": "a", "id": "c", "price": []}`), "own.json:4: models[1].price: unknown key; known are "},
		{"unknown list", `{"model": []}`, "own.json:1: model: unknown key; known are families, models"},
		{"key of a price", models(`{"vendor": "a", "id": "c", "prices": [{"in": 1}]}`), "own.json:4: models[1].prices[0].in: unknown key"},
		{"type", models(`{"vendor": "a", "id": "c", "window": "big"}`), "own.json:4: models[1].window: must be a whole number, not a string"},
		{"repeated key", models(`{"vendor": "a", "id": "c", "id": "d"}`), "own.json:4: models[1].id: given twice"},
		{"no id", models(`{"vendor": "a"}`), "own.json:4: models[1]: id is missing"},
		{"no vendor", models(`{"id": "c"}`), "own.json:4: models[1]: vendor is missing"},
		{"twice", models(`{"vendor": "a", "id": "B"}`), "own.json:4: models[1]: B of a is given twice"},
		{"hidden character", models(`{"vendor": "a", "id": "c\u001b[2J"}`), "own.json:4: models[1]: id has the character U+001B"},
		{"blank", models(`{"vendor": "a", "id": "c d"}`), "own.json:4: models[1]: id has the character U+0020"},
		{"long name", models(`{"vendor": "a", "id": "` + strings.Repeat("x", 201) + `"}`), "own.json:4: models[1]: id has more than 200 bytes"},
		{"alias that is taken", models(`{"vendor": "openai", "id": "c", "aliases": ["gpt-5.5"]}`), "own.json:4: models[1]: gpt-5.5 is a name of both gpt-5.5 and c of openai; leave it out of one of them"},
		{"negative price", models(`{"vendor": "a", "id": "c", "prices": [{"input": -1, "output": 1}]}`), "own.json:4: models[1]: prices[0]: input: -1 is no price; write dollars per million tokens, from 0 to 1000000 with at most three places"},
		{"fine price", models(`{"vendor": "a", "id": "c", "prices": [{"input": 1, "output": 0.0001}]}`), "output: 0.0001 is no price"},
		{"price of the cache", models(`{"vendor": "a", "id": "c", "prices": [{"input": 1, "output": 1, "cache_read": 2e6}]}`), "cache_read: 2e+06 is no price"},
		{"day", models(`{"vendor": "a", "id": "c", "prices": [{"from": "tomorrow", "input": 1, "output": 1}]}`), `from: "tomorrow" is no day; write one like 2026-12-01`},
		{"negative tokens", models(`{"vendor": "a", "id": "c", "output": -1}`), "own.json:4: models[1]: window and output are numbers of tokens"},
		{"ability", models(`{"vendor": "a", "id": "c", "accepts": ["video"]}`), `own.json:4: models[1]: accepts: there is no ability "video"; they are [tools images`},
		{"family without patterns", "{\"families\": [\n{\"vendor\": \"a\", \"reasoning\": \"none\"}]}", `own.json:2: families[0]: match is missing; write patterns of model ids, as in "match": ["my-model*"]`},
		{"style", `{"families": [{"vendor": "a", "match": ["b"], "reasoning": "deep"}]}`, `reasoning: there is no style "deep"; they are [none budget`},
		{"wire", `{"families": [{"vendor": "a", "match": ["b"], "reasoning": "none", "wire": "grpc"}]}`, `wire: there is no wire "grpc"; write chat or responses`},
		{"condition", `{"families": [{"vendor": "a", "match": ["b"], "reasoning": "none", "seed": "often"}]}`, `seed: there is no condition "often"`},
		{"version", `{"families": [{"vendor": "a", "match": ["b"], "reasoning": "none", "from": "new"}]}`, `from: "new" is no version; write one like "4.7"`},
		{"range", `{"families": [{"vendor": "a", "match": ["b"], "reasoning": "budget", "budget": {"min": 9, "max": 3}}]}`, "min is not above max"},
		{"bound", `{"families": [{"vendor": "a", "match": ["b"], "reasoning": "none", "bound": "me"}]}`, `bound: "me" is nothing`},
		{"too many", `{"models": [` + strings.Repeat(`{"vendor": "a", "id": "b"},`, 1000) + `{"vendor": "a", "id": "b"}]}`, "more than 1000 models or families"},
		{"too large", strings.Repeat(" ", 1<<20) + "{}", "own.json: the file has more than 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := catalog.Default().With("own.json", []byte(tt.text))
			require.ErrorContains(t, err, tt.want)
			assert.Nil(t, c)
		})
	}
}

// FuzzWith: no file breaks the catalog, and what it accepts can be asked for.
func FuzzWith(f *testing.F) {
	f.Add([]byte(own), "gpt-5.5")
	f.Add([]byte(`{"families": [{"vendor": "*", "match": ["*a*b*"], "reasoning": "none", "from": "1", "before": "2.3"}]}`), "xa1-2b")
	f.Add([]byte(`{"models": [{"vendor": "x", "id": "x:1.2", "like": "gpt-5"}]}`), "X:1-2")
	f.Add([]byte(`{`), "")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		base := catalog.Default()
		c, err := base.With("f.json", data)
		if err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "f.json:"), err)
			return
		}
		for _, m := range c.All() {
			got, ok := c.Model(m.Vendor, m.ID)
			assert.True(t, ok)
			assert.Equal(t, m.ID, got.ID)
			assert.NotEmpty(t, c.Family(m.Vendor, m.ID).Source)
			assert.NotEmpty(t, got.Source)
		}
		for _, m := range c.Find(name) {
			_ = c.Check(m.Vendor, message.Model{Name: m.ID, Temperature: message.Some(1.0), Reasoning: message.Reasoning{Budget: 5000}})
		}
		assert.GreaterOrEqual(t, len(c.All()), len(base.All()))
	})
}
