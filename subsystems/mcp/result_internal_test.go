package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

// TestAResultReachesTheModelOnce: where the text says all that the structured value
// does, the model gets one of them and clients the value; else it gets both.
func TestAResultReachesTheModelOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 4_000)
	quoted, err := json.Marshal(long)
	require.NoError(t, err)
	for _, c := range []struct {
		name, text, value string
		want, meta        string
	}{
		{"the same value", `{"a": 1, "b": "x"}`, `{"b":"x","a":1}`, `json {"a":1,"b":"x"}`, ""},
		{"a file", "hello", `{"content":"hello"}`, "text hello", `{"content":"hello"}`},
		{"a long file", long, `{"content":` + string(quoted) + `}`, "text " + long, `{"content":` + string(quoted) + `}`},
		{"a list", "[FILE] a\n[DIR] b", `{"entries":[{"name":"a","type":"FILE"},{"name":"b","type":"DIR"}]}`, "text [FILE] a\n[DIR] b",
			`{"entries":[{"name":"a","type":"FILE"},{"name":"b","type":"DIR"}]}`},
		{"numbers and truth", "3 of 4: true", `{"n":3,"of":4,"ok":true,"none":null}`, "text 3 of 4: true", `{"n":3,"none":null,"of":4,"ok":true}`},
		{"escapes", `say "hi"`, `{"s":"say \"hi\""}`, `text say "hi"`, `{"s":"say \"hi\""}`},
		{"more than the text", "2 files", `{"files":["a","b"],"n":2}`, `text 2 files|json {"files":["a","b"],"n":2}`, ""},
		{"no text", "", `{"a":1}`, `json {"a":1}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var value any
			require.NoError(t, json.Unmarshal([]byte(c.value), &value))
			res := &sdk.CallToolResult{StructuredContent: value}
			if c.text != "" {
				res.Content = []sdk.Content{&sdk.TextContent{Text: c.text}}
			}
			got := result(res, 100_000)
			var parts []string
			for _, b := range got.Content.All() {
				if b.Kind == message.BlockJSON {
					parts = append(parts, "json "+string(b.JSON))
				} else {
					parts = append(parts, "text "+b.Text)
				}
			}
			assert.Equal(t, c.want, strings.Join(parts, "|"))
			assert.Equal(t, c.meta, string(got.Meta))
		})
	}
}

// TestWhatIsCutIsNotTold: a value that stands only behind the bound of the text is
// none that the model has been told, and a value of very many leaves is not looked for.
func TestWhatIsCutIsNotTold(t *testing.T) {
	t.Parallel()
	res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 100) + "secret"}}, StructuredContent: map[string]any{"s": "secret"}}
	assert.False(t, covered(res, 50))
	assert.True(t, covered(res, 200))
	res.StructuredContent = make([]any, maxLeaves+1)
	for i := range maxLeaves + 1 {
		res.StructuredContent.([]any)[i] = "x"
	}
	assert.False(t, covered(res, 200))
}
