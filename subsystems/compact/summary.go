package compact

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// check is the state of one request for a summary, in the turn that the runtime makes for it.
type check struct {
	// step is the step that the check is about: each part of a long history has its own.
	step int
	// facts have to be in the summary.
	facts []string
	// again: the model has to write the summary once more, because it lacks missing.
	again   bool
	missing []string
	asked   int
}

// Limits of what a summary is checked for.
const (
	maxNames = 40
	maxLines = 20
	maxLine  = 200
)

var (
	fileName = regexp.MustCompile(`(?:[\w.-]+/)+[\w-]+(?:\.[\w]+)?|\b[\w-]+\.(?:go|py|tsx?|jsx?|md|json|ya?ml|toml|sql|sh|[ch]|cc|cpp|rs|java|kt|rb|php|swift|txt|css|html|proto|mod|tf)\b`)
	openTask = regexp.MustCompile(`(?i)^\s*(?:[-*]\s+)?(?:\[ \]|TODO\b:?)\s*(.+)$`)
	decision = regexp.MustCompile(`(?i)^\W*((?:decision|we decided|decided|we agreed|agreed)\b.+)$`)
	word     = regexp.MustCompile(`[\pL\pN]{4,}`)
)

// remember keeps what the summary of the request has to name: the names, tasks and decisions of
// what people and the agent have said. Results of tools name too much.
func (c *Compact) remember(s *hook.Step, req message.ModelRequest) {
	if req.Messages.Len() == 0 || c.check.Get(s.Turn()).step == s.Number() {
		return
	}
	facts := factsOf(req.Messages.At(0).Text())
	c.check.Update(s.Turn(), func(check) check { return check{step: s.Number(), facts: facts} })
}

// factsOf returns the facts in the record of a conversation, of each kind the newest.
func factsOf(record string) []string {
	var names, lines []string
	result := false
	for line := range strings.Lines(record) {
		if strings.HasPrefix(line, "[") {
			result = strings.HasPrefix(line, "[result of ")
			continue
		}
		if result {
			continue
		}
		names = append(names, fileName.FindAllString(line, maxNames)...)
		for _, form := range []*regexp.Regexp{openTask, decision} {
			if m := form.FindStringSubmatch(strings.TrimSpace(line)); m != nil && len(m[1]) <= maxLine {
				lines = append(lines, strings.TrimSpace(m[1]))
			}
		}
	}
	return append(newest(names, maxNames), newest(lines, maxLines)...)
}

// newest returns the last n different strings, in order.
func newest(all []string, n int) (out []string) {
	seen := map[string]bool{}
	for _, s := range slices.Backward(all) {
		if !seen[s] && len(out) < n {
			seen[s] = true
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// lacks returns the facts that the summary does not name. A name counts also without its
// directory, a sentence if most of its words are there.
func lacks(summary string, facts []string) (out []string) {
	lower := strings.ToLower(summary)
	for _, f := range facts {
		if strings.Contains(summary, f) || !strings.ContainsAny(f, " ") && strings.Contains(summary, path.Base(f)) {
			continue
		}
		words, found := word.FindAllString(strings.ToLower(f), -1), 0
		for _, w := range words {
			if strings.Contains(lower, w) {
				found++
			}
		}
		if !strings.ContainsAny(f, " ") || len(words) == 0 || found*10 < len(words)*6 {
			out = append(out, f)
		}
	}
	return out
}

// WantsStream says which calls WrapModel surrounds, see package composite. RewriteReply would hold
// back the text of every turn.
func (c *Compact) WantsStream(s *hook.Step, _ message.ModelRequest) bool {
	return s.Turn().IsCompaction()
}

// WrapModel completes a summary with what it lacks after a second try, and with what people have
// pinned.
func (c *Compact) WrapModel(ctx context.Context, s *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	stream := next.Stream(ctx)
	if !s.Turn().IsCompaction() {
		return stream
	}
	return func(yield func(message.Chunk, error) bool) {
		var text strings.Builder
		for chunk, err := range stream {
			if err == nil && chunk.Kind == message.ChunkText && text.Len() <= most {
				text.WriteString(chunk.Text)
				continue
			}
			if err == nil && chunk.Kind == message.ChunkFinish {
				whole := text.String()
				if chunk.Finish == message.FinishStop {
					whole = c.checked(s, whole)
				}
				if whole != "" && !yield(message.Chunk{Kind: message.ChunkText, Text: whole}, nil) {
					return
				}
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// most is the length of a summary that is not even looked at, in bytes.
const most = 1 << 20

// checked returns the summary as it is if the model has to write it again, and else complete.
func (c *Compact) checked(s *hook.Step, text string) string {
	text, _, _ = strings.Cut(text, pinnedHead)
	now := c.check.Update(s.Turn(), func(was check) check {
		was.missing = lacks(text, was.facts)
		was.again = len(was.missing) > 0 && was.asked == 0
		return was
	})
	if now.again {
		return text
	}
	return c.complete(s.Turn().Conversation(), text, now.missing)
}

// AfterModel asks once more for a summary that lacks something. Of other replies it notes the
// usage.
func (c *Compact) AfterModel(_ context.Context, s *hook.Step, reply message.ModelReply) (hook.ReplyDecision, error) {
	if !s.Turn().IsCompaction() {
		c.note(s, reply)
		return hook.ReplyDecision{}, nil
	}
	now := c.check.Get(s.Turn())
	if !now.again {
		return hook.ReplyDecision{}, nil
	}
	c.check.Update(s.Turn(), func(was check) check { was.asked++; return was })
	return hook.RetryReply("Your summary leaves out:\n- " + strings.Join(now.missing, "\n- ") + "\nWrite the whole summary again, and name these."), nil
}

// Heads of what is added to a summary.
const (
	namedHead  = "\n\nAlso named earlier:\n"
	pinnedHead = "\n\nPinned by the user:\n"
)

// complete returns the summary with what it lacks and what people have pinned, within the limit.
// If it is too long its own text is cut.
func (c *Compact) complete(conv *hook.Conversation, text string, missing []string) string {
	tail := ""
	if len(missing) > 0 {
		tail = namedHead + "- " + strings.Join(missing, "\n- ")
	}
	limit := c.runs(conv.ID()).max
	if len(tail) > limit/4 {
		tail = cut(tail, limit/4)
	}
	if pins := c.pins.Get(conv); len(pins) > 0 {
		tail += pinnedHead + "- " + strings.Join(pins, "\n- ")
	}
	return cut(strings.TrimSpace(text), limit-len(tail)) + tail
}

// cutMark ends a text that was cut.
const cutMark = " […]"

// cut returns at most n bytes of the text, whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n = max(0, n-len(cutMark))
	return strings.ToValidUTF8(text[:n], "") + cutMark
}

// BeforeCompaction supplies the summary where no model can write it.
func (c *Compact) BeforeCompaction(_ context.Context, conv *hook.Conversation, what hook.Compaction) (hook.CompactionDecision, error) {
	r := c.runs(conv.ID())
	if !r.mechanical {
		return hook.CompactionDecision{}, nil
	}
	return hook.SupplyCompaction(c.complete(conv, digest(what.Messages, r.max/2), nil)), nil
}

// digest returns what people have said, each message shortened, the newest first chosen; and of
// an earlier summary the beginning.
func digest(all message.Messages, limit int) string {
	const each = 300
	var lines []string
	left, head := limit, "No model could sum up the earlier turns. What people said in them, shortened:"
	for i := all.Len() - 1; i >= 0 && left > each; i-- {
		m := all.At(i)
		if m.Role != message.RoleUser {
			continue
		}
		line := "- " + cut(strings.Join(strings.Fields(m.Text()), " "), each)
		if m.Label == message.LabelSummary {
			line = fmt.Sprintf("The summary before: %s", cut(m.Text(), left))
		}
		left -= len(line)
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return head + "\n" + strings.Join(lines, "\n")
}
