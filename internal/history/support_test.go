package history_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
)

func user(text string) message.Message { return message.UserText(text) }

func says(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)}
}

func text(s string) message.Block { return message.TextBlock(s) }

func reasoning(s string) message.Block { return message.Block{Kind: message.BlockReasoning, Text: s} }

func call(id, tool, args string) message.Block {
	return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: tool, JSON: message.JSON(args)}
}

func result(id, tool, text string) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: tool, Result: message.TextResult(text)}
}

func cancelled(id, tool string) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: tool, Result: message.FailedResult(message.FailCancelled, "cancelled")}
}

// lines shows a history, one message a line.
func lines(messages []message.Message) []string {
	var out []string
	for _, m := range messages {
		line := string(m.Role)
		if m.Role == message.RoleTool {
			line += fmt.Sprintf(" %q %s", m.CallID, m.Tool)
			if m.Result.IsError() {
				line += " " + string(m.Result.Failure)
			}
			line += ": " + m.Result.Text()
		}
		for _, b := range m.Content.All() {
			switch b.Kind {
			case message.BlockToolCall:
				line += fmt.Sprintf(" [%q %s %s]", b.CallID, b.Tool, b.JSON)
			default:
				line += " " + b.Text
			}
		}
		out = append(out, line)
	}
	return out
}

func codes(problems []history.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%d %s", p.Message, p.Code))
	}
	return out
}

// breach is an oracle: it looks for what the rules forbid in the plainest way, with
// loops inside of loops, and shares nothing with the package. "" is no breach.
func breach(ms []message.Message) string {
	callsOf := func(m message.Message) (out []message.Block) {
		for _, b := range m.Content.All() {
			if b.Kind == message.BlockToolCall {
				out = append(out, b)
			}
		}
		return out
	}
	var ids []string
	for i, m := range ms {
		if i == 0 && m.Role != "user" {
			return "does not begin with a user"
		}
		calls := callsOf(m)
		switch m.Role {
		case "user":
			if len(calls) > 0 {
				return fmt.Sprintf("%d: a user calls", i)
			}
		case "assistant":
		case "tool":
			continue // looked at from its call, and counted below
		default:
			return fmt.Sprintf("%d: role %q", i, m.Role)
		}
		said := len(calls) > 0
		for _, b := range m.Content.All() {
			said = said || b.Kind != message.BlockReasoning && strings.TrimSpace(b.Text+b.Data+b.URI+string(b.JSON)) != ""
		}
		if !said {
			return fmt.Sprintf("%d: says nothing", i)
		}
		for n, c := range calls {
			for _, id := range ids {
				if id == c.CallID {
					return fmt.Sprintf("%d: id %q twice", i, id)
				}
			}
			ids = append(ids, c.CallID)
			if len(c.CallID) == 0 || len(c.CallID) > 40 || strings.Trim(c.CallID, wordBytes) != "" {
				return fmt.Sprintf("%d: id %q", i, c.CallID)
			}
			if !message.ValidToolName(c.Tool) {
				return fmt.Sprintf("%d: name %q", i, c.Tool)
			}
			var object map[string]json.RawMessage
			if json.Unmarshal([]byte(c.JSON), &object) != nil || object == nil || hasLoneSurrogate(string(c.JSON)) {
				return fmt.Sprintf("%d: arguments %q", i, c.JSON)
			}
			at := i + 1 + n
			if at >= len(ms) || ms[at].Role != "tool" || ms[at].CallID != c.CallID || ms[at].Tool != c.Tool || ms[at].Content.Len() > 0 {
				return fmt.Sprintf("%d: call %d has no result behind it", i, n)
			}
		}
	}
	results := 0
	for _, m := range ms {
		if m.Role == "tool" {
			results++
		}
	}
	if results != len(ids) {
		return fmt.Sprintf("%d results of %d calls", results, len(ids))
	}
	return ""
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// hasLoneSurrogate decodes the text: encoding/json makes U+FFFD of half a pair, and
// of bytes that are no UTF-8.
func hasLoneSurrogate(s string) bool {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return false
	}
	again, _ := json.Marshal(v)
	return strings.Contains(string(again), "\uFFFD") && !strings.Contains(s, "\uFFFD") && !strings.Contains(strings.ToLower(s), `\ufffd`)
}

// repairs repairs a history, holds what comes out to everything that Repair
// promises, and returns it.
func repairs(t require.TestingT, in []message.Message) ([]message.Message, []history.Problem) {
	before := deepCopy(in)
	out, problems := history.Repair(in)
	if wrong := breach(out); wrong != "" {
		require.Fail(t, wrong, "%v became %v", lines(in), lines(out))
	}
	if wrong := breach(in); (wrong == "") != (len(problems) == 0) {
		require.Fail(t, wrong, "the problems of %v are %v", lines(in), problems)
	}
	if len(problems) == 0 {
		requireSame(t, in, out)
	}
	requireEqual(t, before, in, "the history given has been changed")
	requireEqual(t, problems, history.Check(in), "Check does not say what Repair mended")

	again, more := history.Repair(out)
	require.Empty(t, more, "Repair has to mend what it made")
	requireSame(t, out, again)
	twice, same := history.Repair(deepCopy(in))
	requireEqual(t, problems, same, "not deterministic")
	requireEqual(t, lines(out), lines(twice), "not deterministic")
	for i, p := range problems {
		if p.Message < 0 || p.Message >= len(in) || i > 0 && problems[i-1].Message > p.Message ||
			strings.Contains(p.String(), "breaks the rule") {
			require.Fail(t, "a problem has no place or no sentence", "%v", problems)
		}
	}
	return out, problems
}

// requireEqual is require.Equal without its work where there is nothing to show.
func requireEqual(t require.TestingT, want, got any, why string) {
	if !reflect.DeepEqual(want, got) {
		require.Equal(t, want, got, why)
	}
}

func deepCopy(in []message.Message) []message.Message {
	out := slices.Clone(in)
	for i := range out {
		out[i].Content = copied(out[i].Content)
		out[i].Result.Content = copied(out[i].Result.Content)
	}
	return out
}

func copied(l message.List[message.Block]) message.List[message.Block] {
	return message.Freeze(l.Slice())
}

// requireSame demands the very same slice.
func requireSame(t require.TestingT, want, got []message.Message) {
	require.Len(t, got, len(want))
	if len(want) > 0 {
		require.Same(t, &want[0], &got[0], "a valid history is returned as it is")
	}
}

func repairsHere(t *testing.T, in []message.Message) ([]message.Message, []history.Problem) {
	t.Helper()
	return repairs(t, in)
}
