package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// unmarked returns a body without its marks, and where they were.
func unmarked(body string) (text string, at []int) {
	parts := strings.Split(body, mark)
	for _, p := range parts[:len(parts)-1] {
		text += p
		at = append(at, len(text))
	}
	return text + parts[len(parts)-1], at
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestRequestsBeginAsTheOnesBefore asks in twenty turns with tools, thinking and a context of
// the turn that is not kept, with other settings each time. What a request has marked as worth
// caching, the next one begins with, byte for byte.
func TestRequestsBeginAsTheOnesBefore(t *testing.T) {
	t.Parallel()
	for _, model := range []string{adaptive, always} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			var r records
			p := asks(r.serve(t), nil)
			req := message.ModelRequest{System: "Help.", Tools: message.NewToolSet([]message.Tool{lookup(), {Name: "list", Input: `{"type":"object"}`}})}
			n := 0
			ask := func(kept, passing message.Messages) {
				n++
				req.Model = message.Model{Name: model, MaxTokens: 1000 + n, Stop: message.ListOf(fmt.Sprint("stop", n))}
				if n%3 == 0 {
					req.Model.Reasoning.Effort = message.EffortHigh
				}
				req.Messages, req.Stable = kept.Join(passing), kept.Len()
				_, err := provider.Collect(p.Stream(t.Context(), req))
				require.NoError(t, err)
			}
			var kept message.Messages
			for turn := range 20 {
				kept = kept.Append(message.UserText(fmt.Sprintf("question %d <&>", turn)))
				now := message.MessagesOf(message.UserText(fmt.Sprintf("It is %d o'clock.", turn)))
				ask(kept, now)
				one, two := fmt.Sprintf("toolu_%d_1", turn), "call_0" // the second as a server counts that always begins anew
				step := []message.Message{
					assistant(thought("hm", model, fmt.Sprint("sig", turn)), message.TextBlock("I look."), call(one, "read", `{"path":"a"}`), call(two, "list", `{}`)),
					result(one, message.TextBlock("text")), failed(two, message.TextBlock("no")),
				}
				ask(kept, now.Append(step...))
				kept = kept.Append(step...).Append(assistant(thought("so", model, "s"), message.TextBlock("answer")))
			}
			require.Len(t, r.bodies, 40)
			for i, body := range r.bodies {
				text, at := unmarked(body)
				require.Len(t, at, 4, "request %d", i)
				if i == len(r.bodies)-1 {
					break
				}
				next, _ := unmarked(r.bodies[i+1])
				same, reused := common(text, next), at
				if i%2 == 1 { // the context of the turn is gone in the next one
					reused = at[:3]
				}
				for _, place := range reused {
					assert.LessOrEqual(t, place, same, "request %d: a mark is behind what the next request begins with", i)
				}
			}
		})
	}
}

// Without passing contexts a mark is left, for the end of the request before.
func TestTheEndOfTheRequestBeforeIsMarked(t *testing.T) {
	t.Parallel()
	ms := message.MessagesOf(message.UserText("a"))
	req := hello()
	req.System, req.Tools = "s", message.NewToolSet([]message.Tool{lookup()})
	req.Messages, req.Stable = ms, ms.Len()
	_, first := unmarked(body(t, req))
	ms = ms.Append(assistant(call("x", "read", "{}")), result("x"))
	req.Messages, req.Stable = ms, ms.Len()
	_, second := unmarked(body(t, req))
	require.Len(t, first, 3)
	require.Len(t, second, 4)
	assert.Equal(t, first, second[:3])
}
