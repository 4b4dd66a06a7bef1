package runtime

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
)

// conclude does everything that happens to a call after it has ended, however it
// ended: the result is cut to size, rewritten and judged. It is called exactly once
// for each call, on the loop's goroutine; then tell.
func (t *turn) conclude(c *call) {
	ctx, done := t.after()
	defer done()
	c.end.Result = capped(c.end.Result, t.maxResult(c))
	r, err := t.points.resultRewritten(ctx, c.at, c.end.Result)
	if err != nil {
		f := failureOf(hook.PointRewriteResult, err)
		t.hookFailed(ctx, f)
		r = withheld(f.Public())
	}
	c.end.Result = r
	t.judgeOutcome(ctx, c)
	c.end.Result = readable(c.end.Result)
	c.end.Call = c.at
	c.concluded = true
}

// tell tells the clients of all calls that have ended and of which they do not know.
func (t *turn) tell(calls []call) {
	for i := range calls {
		if c := &calls[i]; c.concluded && !c.told {
			t.tellOf(c)
		}
	}
}

func (t *turn) tellOf(c *call) {
	c.told = true
	t.emit(hook.Event{Kind: hook.EventCallResult}.WithEnd(&c.end))
}

// judgeOutcome asks AfterTool.
func (t *turn) judgeOutcome(ctx context.Context, c *call) {
	if t.points.afterTool == nil {
		return
	}
	o := hook.ToolOutcome{Result: c.end.Result, Outcome: c.end.Outcome, Duration: c.end.Duration, Grant: c.grant}
	d, err := t.points.judgeTool(ctx, c.at, o)
	d = answered(ctx, t, d, err)
	c.context = d.Context()
	switch v := d.Verdict(); v.Kind {
	case hook.AnswerStop:
		t.stopped(v)
	case hook.AnswerWithhold:
		c.end.Result = withheld(v.Reason)
	}
}

// withheld is what the model is told in the place of a result.
func withheld(reason string) hook.ToolResult {
	return hook.FailedResult(hook.FailDenied, "the result was withheld: "+reason)
}

// maxResult is the bound of a call's result in bytes.
func (t *turn) maxResult(c *call) int {
	n := c.at.Tool().MaxResult
	if n <= 0 {
		n = t.rt.o.MaxResult
	}
	if c.grant.MaxOutput > 0 {
		n = min(n, c.grant.MaxOutput)
	}
	return n
}

// capped bounds the text of a result: text and structured values, over all
// blocks. What is cut is said, once in the block that goes over the bound and
// once for all behind it. Bytes that are no UTF-8 are replaced.
func capped(r hook.ToolResult, limit int) hook.ToolResult {
	size, valid := 0, true
	for _, b := range r.Content.All() {
		size += len(b.Text) + len(b.JSON)
		valid = valid && utf8.ValidString(b.Text) && utf8.ValidString(string(b.JSON)) && utf8.ValidString(b.URI)
	}
	if size <= limit && valid {
		return r
	}
	var blocks []hook.Block
	parts, left := 0, 0
	for _, b := range r.Content.All() {
		b.Text = strings.ToValidUTF8(b.Text, "\uFFFD")
		b.JSON = hook.JSON(strings.ToValidUTF8(string(b.JSON), "\uFFFD"))
		b.URI = strings.ToValidUTF8(b.URI, "\uFFFD")
		size := len(b.Text) + len(b.JSON)
		if size > 0 && limit == 0 {
			parts, left = parts+1, left+size
			if b.Text, b.JSON = "", ""; b.URI == "" && b.Data == "" {
				continue
			}
		}
		if len(b.JSON) > limit {
			b = hook.TextBlock(b.Text + string(b.JSON)) // half a JSON text is none
		}
		b.Text = headAndTail(b.Text, limit)
		limit = max(0, limit-size)
		blocks = append(blocks, b)
	}
	if parts > 0 {
		blocks = append(blocks, hook.TextBlock(fmt.Sprintf("[… %d bytes in %d more parts left out …]", left, parts)))
	}
	r.Content = hook.Freeze(blocks)
	return r
}

// readable replaces the bytes that are no UTF-8, which hooks can put in too.
func readable(r hook.ToolResult) hook.ToolResult {
	for _, b := range r.Content.All() {
		if !utf8.ValidString(b.Text) || !utf8.ValidString(string(b.JSON)) || !utf8.ValidString(b.URI) {
			return capped(r, math.MaxInt)
		}
	}
	return r
}

// headAndTail cuts the middle out of a text of valid UTF-8 that is longer than
// the limit, and says how much. It does not cut what is seen as one character, so
// that less than the limit may stay, down to nothing.
func headAndTail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := cutAt(s, limit/2, -1)
	tail := cutAt(s, len(s)-(limit-limit/2), +1)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], tail-head, s[tail:])
}

// maxCharacter bounds, in bytes, what is kept together as one character: families
// of emoji have about forty, accents can be piled up without end.
const maxCharacter = 64

// cutAt returns the border of a character nearest to i in the direction of step,
// which is 1 or -1.
func cutAt(s string, i, step int) int {
	at := i
	for range maxCharacter {
		if !splits(s, at) {
			return at
		}
		at += step
	}
	for !utf8.RuneStart(s[i]) {
		i += step
	}
	return i
}

// splits reports whether a cut in front of s[i] would go through what is seen as
// one character: a rune, or several that are drawn as one. It knows the usual
// ones and no tables of scripts.
func splits(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if !utf8.RuneStart(s[i]) {
		return true
	}
	const joiner = '\u200d'
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case before == joiner || after == joiner, before == '\r' && after == '\n':
		return true
	case unicode.Is(unicode.M, after): // accents, vowel signs, variants of emoji
		return true
	case after >= '\U0001F3FB' && after <= '\U0001F3FF': // hues of skin
		return true
	case after >= '\U000E0020' && after <= '\U000E007F': // tags of flags
		return true
	case after >= '\u1160' && after <= '\u11FF': // vowels and ends of Hangul syllables
		return true
	}
	return indicator(after) && indicators(s[:i])%2 == 1
}

// indicator reports whether r is half a flag.
func indicator(r rune) bool { return r >= '\U0001F1E6' && r <= '\U0001F1FF' }

// indicators counts the halves of flags at the end of s; many in a row are not
// counted to the end.
func indicators(s string) (n int) {
	for n < 1000 {
		r, size := utf8.DecodeLastRuneInString(s)
		if !indicator(r) {
			return n
		}
		s = s[:len(s)-size]
		n++
	}
	return n
}
