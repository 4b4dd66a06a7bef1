package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
)

func TestWords(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprint("w", i))
	}
	for query, want := range map[string][]search.Word{
		"":                  nil,
		" ?!* ":             nil,
		"Sail sail SAIL*":   {{Text: "sail"}, {Text: "sail", Prefix: true}},
		"sail *boat":        {{Text: "sail"}, {Text: "boat"}},
		"read_file(x)":      {{Text: "read"}, {Text: "file"}, {Text: "x"}},
		"Größe, 東京 12":      {{Text: "größe"}, {Text: "東京"}, {Text: "12"}},
		"a\xffb":            {{Text: "a"}, {Text: "b"}},
		"\"quoted\" OR not": {{Text: "quoted"}, {Text: "or"}, {Text: "not"}},
	} {
		assert.Equal(t, want, search.Words(query), "%q", query)
	}
	assert.Len(t, search.Words(strings.Join(many, " ")), 32)
	assert.Equal(t, []string{"größe", "x", "2"}, slices.Collect(search.Each("Größe-X 2")))
}

func TestLinesAreShortAndWhole(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"x", "é", "€", "😀", "x\xff", "\n", "e\u0301"} {
		for n := 1000; n < 1040; n++ {
			text := strings.Repeat("a", n%5) + strings.Repeat(filler, n) + " needle " + strings.Repeat(filler, n)
			m := message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text), message.Block{Kind: message.BlockToolCall, Tool: "bash"})}
			for _, shown := range []string{search.Line(m), search.Snippet(m, search.Words("needle"))} {
				assert.LessOrEqual(t, len(shown), search.MaxText)
				assert.Greater(t, len(shown), search.MaxText-8, "no more is cut than has to be")
				assert.True(t, utf8.ValidString(shown))
				assert.NotContains(t, shown, "\n")
			}
			assert.True(t, strings.HasSuffix(search.Line(m), "… [bash]"))
			assert.Contains(t, search.Snippet(m, search.Words("needle")), " needle ")
		}
	}
}

func TestManyCallsAreCut(t *testing.T) {
	t.Parallel()
	blocks := []message.Block{message.TextBlock(strings.Repeat("text ", 1000))}
	for range 500 {
		blocks = append(blocks, message.Block{Kind: message.BlockToolCall, Tool: "a_tool_of_some_length"})
	}
	line := search.Line(message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)})
	assert.LessOrEqual(t, len(line), search.MaxText)
	assert.Contains(t, line, "text text")
	assert.Contains(t, line, "[a_tool_of_some_length, a_tool")
}

func TestTheTitleEndsWithAWord(t *testing.T) {
	t.Parallel()
	eighty := strings.Repeat("é", 80)
	for text, title := range map[string]string{
		"":                         "",
		"short":                    "short",
		eighty:                     eighty,
		eighty + "x y":             eighty + "x",
		eighty + " y":              eighty,
		eighty[:158] + " yes no":   eighty[:158] + " ",
		eighty[:156] + " yes no":   eighty[:156] + " yes",
		strings.Repeat("!", 100):   strings.Repeat("!", 100),
		strings.Repeat("a ", 41):   strings.Repeat("a ", 40),
		strings.Repeat("\xff", 90): strings.Repeat("\ufffd", 1),
	} {
		got := search.OfFirst(message.UserText(text))
		assert.Equal(t, title, got.Title, "%q", text)
		assert.Equal(t, search.Of(message.UserText(text)).User, got.Title+got.User, "%q", text)
	}
	labelled := message.UserText("secret")
	labelled.Label = "skill"
	assert.True(t, search.OfFirst(labelled).IsZero())
	first := search.OfFirst(message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("hello"))})
	assert.Equal(t, search.Texts{Assistant: "hello"}, first, "a model gives no title")
}

func TestWhatIsNoMessageShowsNothing(t *testing.T) {
	t.Parallel()
	m := message.Message{Role: "system", Content: message.ListOf(message.TextBlock("secret"))}
	assert.Empty(t, search.Line(m))
	assert.True(t, search.Of(m).IsZero())
	assert.Equal(t, "[result of ?]", search.Line(message.Message{Role: message.RoleTool, Tool: "rm -rf"}))
	assert.Equal(t, "[?]", search.Line(message.Message{Role: message.RoleUser, Label: "a secret", Content: message.ListOf(message.TextBlock("x"))}))
}
