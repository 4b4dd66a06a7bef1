package runtime

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/character"
)

// conclude does everything that happens to a call after it has ended, however it
// ended: the result is cut to size, rewritten and judged. It is called exactly once
// for each call, on the loop's goroutine; then tell.
func (t *turn) conclude(c *call) {
	ctx, done := t.after()
	defer done()
	if c.ran && c.end.Outcome == hook.OutcomeCancelled { // not started again
		c.interrupted()
	}
	r := capped(c.end.Result, t.maxResult(c))
	c.end.Result = r
	t.away(point.RewriteResult)
	r, err := t.hooks.RewriteResult(ctx, c.at, r)
	t.returned()
	if err != nil {
		f := failureOf(point.RewriteResult, err)
		t.hookFailed(ctx, f)
		r = withheld(f.Public())
	}
	c.end.Result = r
	t.judgeOutcome(ctx, c)
	c.end.Result = readable(c.end.Result)
	c.end.Call = c.at
	c.concluded = true
}

// tell tells the clients of all calls that have ended by now and of which they do not
// know.
func (t *turn) tell(calls []call) {
	for i := range calls {
		if c := &calls[i]; c.concluded && !c.told {
			t.tellOf(c)
		}
	}
}

func (t *turn) tellOf(c *call) {
	c.told = true
	t.emit(hook.Event{Kind: event.CallResult}.WithEnd(&c.end))
}

// judgeOutcome asks AfterTool.
func (t *turn) judgeOutcome(ctx context.Context, c *call) {
	if !t.hooks.Has(point.AfterTool) {
		return
	}
	c.judged = true
	o := c.outcome()
	t.away(point.AfterTool)
	d, _ := t.hooks.AfterTool(ctx, c.at, o)
	d = answered(ctx, t, d)
	c.context = d.Context()
	switch v := d.Verdict(); v.Kind {
	case hook.AnswerStop:
		t.stopped(v)
	case hook.AnswerWithhold:
		c.end.Result = withheld(v.Reason)
	}
}

func (c *call) outcome() hook.ToolOutcome {
	return hook.ToolOutcome{Result: c.end.Result, Outcome: c.end.Outcome, Duration: c.end.Duration, Grant: c.grant}
}

// withheld is what the model is told in the place of a result.
func withheld(reason string) message.ToolResult {
	return message.FailedResult(message.FailDenied, "the result was withheld: "+reason)
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
func capped(r message.ToolResult, limit int) message.ToolResult {
	size, valid := 0, true
	for _, b := range r.Content.All() {
		size += len(b.Text) + len(b.JSON)
		valid = valid && utf8.ValidString(b.Text) && utf8.ValidString(string(b.JSON)) && utf8.ValidString(b.URI)
	}
	if size <= limit && valid {
		return r
	}
	var blocks []message.Block
	parts, left := 0, 0
	for _, b := range r.Content.All() {
		b.Text = strings.ToValidUTF8(b.Text, "\uFFFD")
		b.JSON = message.JSON(strings.ToValidUTF8(string(b.JSON), "\uFFFD"))
		b.URI = strings.ToValidUTF8(b.URI, "\uFFFD")
		size := len(b.Text) + len(b.JSON)
		if size > 0 && limit == 0 {
			parts, left = parts+1, left+size
			if b.Text, b.JSON = "", ""; b.URI == "" && b.Data == "" {
				continue
			}
		}
		if len(b.JSON) > limit {
			b = message.TextBlock(b.Text + string(b.JSON)) // half a JSON text is none
		}
		b.Text = headAndTail(b.Text, limit)
		limit = max(0, limit-size)
		blocks = append(blocks, b)
	}
	if parts > 0 {
		blocks = append(blocks, message.TextBlock(fmt.Sprintf("[… %d bytes in %d more parts left out …]", left, parts)))
	}
	r.Content = message.Freeze(blocks)
	return r
}

// readable replaces the bytes that are no UTF-8, which hooks can put in too.
func readable(r message.ToolResult) message.ToolResult {
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
	s, _ = withoutMiddle(s, limit)
	return s
}

// withoutMiddle is headAndTail that returns how many bytes it has cut out.
func withoutMiddle(s string, limit int) (string, int) {
	if len(s) <= limit {
		return s, 0
	}
	head := character.Border(s, limit/2, -1)
	tail := character.Border(s, len(s)-(limit-limit/2), +1)
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], tail-head, s[tail:]), tail - head
}
