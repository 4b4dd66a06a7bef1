package contribution

import (
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/character"
)

// Context is the model's context in addition to the history, heaviest first.
type Context struct {
	Blocks []hook.ContextBlock
	// BlocksLeft and CharsLeft are the rest of the budget.
	BlocksLeft, CharsLeft int
	Diagnostics           []hook.Diagnostic
}

// MergeContext merges the blocks of TurnContext and of RefineContext. A refined block
// replaces those with the same domain and id. Heavier blocks come first. The block that
// exceeds the budget is cut, and the blocks behind it are left out. Blocks without text
// do not count.
func MergeContext(blocks, refined []hook.ContextBlock, b Budget) Context {
	b = b.Filled()
	out := Context{BlocksLeft: b.Blocks, CharsLeft: b.BlocksChars}
	replaced := map[named]bool{}
	for _, r := range refined {
		if r.ID != "" && !blank(r.Text) {
			replaced[named{r.Domain, r.ID}] = true
		}
	}
	var all []hook.ContextBlock
	for _, c := range blocks {
		if c.ID == "" || !replaced[named{c.Domain, c.ID}] {
			all = append(all, c)
		}
	}
	all = append(all, refined...)
	seen := map[named]bool{}
	for _, c := range heaviest(all, func(c hook.ContextBlock) int { return c.Weight }) {
		if blank(c.Text) {
			continue
		}
		id := named{c.Domain, c.ID}
		if c.ID != "" && seen[id] {
			out.remark(event.CodeContextDuplicate, c, "block%s is there already and is left out")
			continue
		}
		seen[id] = true
		out.add(c)
	}
	return out
}

// add appends the block, cut to the rest of the budget.
func (out *Context) add(c hook.ContextBlock) {
	if out.BlocksLeft == 0 || out.CharsLeft == 0 {
		out.remark(event.CodeContextOmitted, c, "block%s is left out: the budget of the turn's context is used up")
		return
	}
	limit := out.CharsLeft
	if c.Chars > 0 {
		limit = min(limit, c.Chars)
	}
	var cut bool
	if c.Text, cut = character.Cut(tidy(c.Text), limit); cut {
		out.remark(event.CodeContextTruncated, c, "block%s is cut: it is longer than its limit, or than the rest of the budget")
	}
	c.Attached = hook.Attached{}
	out.Blocks = append(out.Blocks, c)
	out.BlocksLeft--
	out.CharsLeft -= utf8.RuneCountInString(c.Text)
}

func (out *Context) remark(code hook.DiagnosticCode, c hook.ContextBlock, format string) {
	out.Diagnostics = append(out.Diagnostics, remark(code, c.By, format, name(c.Domain, c.ID)))
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// tidy returns the text as valid UTF-8, without line breaks around it.
func tidy(s string) string { return strings.Trim(plain(s), "\r\n") }
