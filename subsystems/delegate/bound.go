package delegate

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/quote"
)

// shorten cuts the texts of the results so that all results, as JSON, have at most total
// bytes, and each text at most each. Long texts share the room that short ones leave.
// Sizes are those of the JSON text, with its escapes.
func shorten(results []TaskResult, each, total int) {
	var texts []*string
	bare := slices.Clone(results)
	for i := range results {
		texts = append(texts, &results[i].Result, &results[i].Error)
		bare[i].Result, bare[i].Error = "", ""
		if results[i].Error != "" {
			bare[i].Error = "x" // so that JSON has the key
		}
	}
	empty, err := json.Marshal(bare)
	if err != nil {
		return // cannot happen: the type has only strings
	}
	slices.SortStableFunc(texts, func(a, b *string) int { return min(jsonSize(*a), each) - min(jsonSize(*b), each) })
	left := max(total-len(empty), 0)
	for i, text := range texts {
		share := min(each, left/(len(texts)-i))
		*text = cut(*text, share)
		left = max(left-jsonSize(*text), 0)
	}
}

// jsonSize returns the bytes of a text inside the quotes of a JSON string.
func jsonSize(text string) int { return len(quote.AppendInside(nil, text)) }

// cut shortens a text to a JSON size of most bytes, at the border of a character, and notes
// how much is missing. The note counts too, unless most is too small for it.
func cut(text string, most int) string {
	if len(text) <= most && jsonSize(text) <= most {
		return text
	}
	room := max(most-len(fmt.Sprintf("… [%d bytes more]", len(text))), 0)
	end := 0
	var char []byte
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		char = quote.AppendInside(char[:0], text[end:end+size])
		if room -= len(char); room < 0 {
			break
		}
		end += size
	}
	return fmt.Sprintf("%s… [%d bytes more]", text[:end], len(text)-end)
}
