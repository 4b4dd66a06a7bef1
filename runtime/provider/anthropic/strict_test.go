package anthropic_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// works is a model that thinks and calls two tools, and answers when it has their results.
func works(n *int) provider.Func {
	return func(_ context.Context, req message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			*n++
			all := []message.Chunk{{Kind: message.ChunkReasoning, Text: fmt.Sprint("I think ", *n)}}
			finish := message.FinishStop
			if req.Messages.At(req.Messages.Len()-1).Role == message.RoleTool {
				all = append(all, message.Chunk{Kind: message.ChunkText, Text: "Done."})
			} else {
				for i, tool := range []string{"read", "list"} {
					all = append(all, message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprint("toolu_", *n, "_", i), Tool: tool},
						message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `{"path":"a"}`}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
				}
				finish = message.FinishTools
			}
			for _, c := range append(all, message.Chunk{Kind: message.ChunkFinish, Finish: finish, Usage: message.Usage{Input: 100, Output: 10}}) {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// TestTheStrictServerTakesEverything holds conversations of twenty turns with a server that
// refuses what the vendor would, and signs and checks thinking.
func TestTheStrictServerTakesEverything(t *testing.T) {
	t.Parallel()
	for model, reasoning := range map[string]message.Reasoning{
		always: {}, "claude-sonnet-5-5": {Effort: message.EffortLow}, adaptive: {Effort: message.EffortHigh}, "claude-sonnet-4-6": {Budget: 2000}, budgeted: {Effort: message.EffortMedium},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			n := 0
			h := strictwire.New(strictwire.Messages(), works(&n), nil)
			p := over("http://strict.test", provider.Network{Client: h.Client()})
			req := message.ModelRequest{Model: message.Model{Name: model, Reasoning: reasoning}, System: "Help.",
				Tools: message.NewToolSet([]message.Tool{lookup(), {Name: "list", Input: `{"type":"object","anyOf":[{"required":["path"]}]}`}})}
			ask := func(ms message.Messages, stable int) message.Message {
				req.Messages, req.Stable = ms, stable
				got, err := provider.Collect(p.Stream(t.Context(), req))
				require.NoError(t, err)
				return message.Message{Role: message.RoleAssistant, Content: got.Content}
			}
			image := message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBORw0KGgo="}
			kept := message.MessagesOf(user(message.TextBlock("See: "), image), assistant( // as another vendor left it
				message.Block{Kind: message.BlockReasoning, Text: "secret", Meta: `{"gemini":{"signature":"c2ln"}}`}, call("fc|1", "read", "{")), failed("fc|1", message.TextBlock("no"), image),
				assistant(message.TextBlock("Seen.")))
			for turn := range 20 {
				kept = kept.Append(message.UserText(fmt.Sprint("question ", turn)))
				m := ask(kept, kept.Len())
				kept = kept.Append(m)
				for _, c := range m.Content.All() {
					if c.Kind == message.BlockToolCall {
						kept = kept.Append(result(c.CallID, message.TextBlock("text"), image))
					}
				}
				kept = kept.Append(ask(kept, kept.Len()))
			}
			assert.Empty(t, h.Rejections())
			before, at := "", 0
			for i, r := range h.Requests() {
				body, places := unmarked(r.Body)
				assert.GreaterOrEqual(t, common(before, body), at, "request %d does not begin as the one before", i)
				assert.NotContains(t, r.Body, "secret")
				before, at = body, places[len(places)-1]
			}
		})
	}
}
