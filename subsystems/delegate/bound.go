package delegate

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/quote"
)

// bound cuts the texts of the results so that all of them, written as JSON, have at
// most total bytes: each text has at most each, and what short ones leave is shared
// among the long ones. Bytes are counted as they are written, with their escapes.
func bound(results []TaskResult, each, total int) {
	var texts []*string
	bare := slices.Clone(results)
	for i := range results {
		texts = append(texts, &results[i].Result, &results[i].Error)
		bare[i].Result, bare[i].Error = "", ""
		if results[i].Error != "" {
			bare[i].Error = "x" // the key counts
		}
	}
	empty, err := json.Marshal(bare)
	if err != nil {
		return // there is nothing in it that could fail
	}
	slices.SortStableFunc(texts, func(a, b *string) int { return min(written(*a), each) - min(written(*b), each) })
	left := max(total-len(empty), 0)
	for i, text := range texts {
		share := min(each, left/(len(texts)-i))
		*text = cut(*text, share)
		left = max(left-written(*text), 0)
	}
}

// written is how many bytes a text has inside the quotes of a JSON string.
func written(text string) int { return len(quote.AppendInside(nil, text)) }

// cut shortens a text to so many written bytes, at the border of a character, and says
// how much is missing. What it says counts too, but for a bound too small for it.
func cut(text string, most int) string {
	if len(text) <= most && written(text) <= most {
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
