// Package bound cuts texts, tool results and arguments to a size and notes in them how much
// it left out.
package bound

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// replacement replaces bytes that are not UTF-8.
const replacement = "\uFFFD"

// Result returns the result with at most limit bytes of text and structured values over
// all blocks. It marks what it cut: once in the block that exceeds the limit, and once for
// all blocks after it. It replaces bytes that are not UTF-8.
func Result(r message.ToolResult, limit int) message.ToolResult {
	size := 0
	for _, b := range r.Content.All() {
		size += len(b.Text) + len(b.JSON)
	}
	if size <= limit && valid(r) {
		return r
	}
	var blocks []message.Block
	parts, left := 0, 0
	for _, b := range r.Content.All() {
		b.Text = strings.ToValidUTF8(b.Text, replacement)
		b.JSON = message.JSON(strings.ToValidUTF8(string(b.JSON), replacement))
		b.URI = strings.ToValidUTF8(b.URI, replacement)
		size := len(b.Text) + len(b.JSON)
		if size > 0 && limit == 0 {
			parts, left = parts+1, left+size
			if b.Text, b.JSON = "", ""; b.URI == "" && b.Data == "" {
				continue
			}
		}
		if len(b.JSON) > limit {
			b = message.TextBlock(b.Text + string(b.JSON)) // cut JSON is not JSON any more
		}
		b.Text = Text(b.Text, limit)
		limit = max(0, limit-size)
		blocks = append(blocks, b)
	}
	if parts > 0 {
		blocks = append(blocks, message.TextBlock(fmt.Sprintf("[… %d bytes in %d more parts left out …]", left, parts)))
	}
	r.Content = message.Freeze(blocks)
	return r
}

// EventText cuts the text of the event to limit bytes, because readers and the store keep
// events in addition to the messages.
func EventText(ev *hook.Event, limit int) {
	if len(ev.Text) > limit {
		text, omitted := Cut(ev.Text, limit)
		ev.Text, ev.Omitted = text, ev.Omitted+omitted
	}
}

// Valid returns the result with bytes replaced that are not UTF-8.
func Valid(r message.ToolResult) message.ToolResult { return Result(r, math.MaxInt) }

func valid(r message.ToolResult) bool {
	for _, b := range r.Content.All() {
		if !utf8.ValidString(b.Text) || !utf8.ValidString(string(b.JSON)) || !utf8.ValidString(b.URI) {
			return false
		}
	}
	return true
}

// Text is [Cut] without the number.
func Text(s string, limit int) string {
	s, _ = Cut(s, limit)
	return s
}

// Cut cuts the middle out of a text of valid UTF-8 that is longer than limit bytes. It notes
// in the text how many bytes it omitted, and returns that number. It never cuts within one
// visible character, so fewer bytes than limit may stay, down to none.
func Cut(s string, limit int) (short string, omitted int) {
	if len(s) <= limit {
		return s, 0
	}
	head := character.Border(s, limit/2, -1)
	tail := character.Border(s, len(s)-(limit-limit/2), +1)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], tail-head, s[tail:]), tail - head
}
