package openai_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// thinker is a model that thinks, says something and calls two tools at once, then thinks
// again and answers, and so on.
func thinker() provider.Provider {
	var mu sync.Mutex
	n := 0
	return provider.Func(func(context.Context, message.ModelRequest) message.ModelStream {
		mu.Lock()
		n++
		turn := n
		mu.Unlock()
		all := []message.Chunk{{Kind: message.ChunkReasoning, Text: fmt.Sprintf("thought %d", turn)}, {Kind: message.ChunkText, Text: fmt.Sprintf("said %d", turn)}}
		finish := message.FinishStop
		if turn%2 == 1 {
			finish = message.FinishTools
			for i := range 2 {
				all = append(all, message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("c%d_%d", turn, i), Tool: "read"},
					message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `{"path":`}, message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `"a"}`},
					message.Chunk{Kind: message.ChunkCallEnd, Index: i})
			}
		}
		all = append(all, message.Chunk{Kind: message.ChunkFinish, Finish: finish, Usage: message.Usage{Input: 10, Output: 5, Reasoning: 2}})
		return func(yield func(message.Chunk, error) bool) {
			for _, c := range all {
				if !yield(c, nil) {
					return
				}
			}
		}
	})
}

// A conversation of twenty requests, with an image and a failed result, that changes its
// model in the middle: the strict server of each wire refuses nothing, and each request
// continues the one before.
func TestConversationsWithStrictServers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		wire   strictwire.Wire
		models [2]string
	}{
		{"chat", strictwire.Chat(), [2]string{"gpt-4o", "gpt-4.1"}},
		{"responses", strictwire.Responses(), [2]string{"gpt-5.6", "gpt-5.5"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := strictwire.New(tc.wire, thinker(), nil)
			p := openai.New(&openai.Options{APIKey: canary, Network: provider.Network{Client: h.Client()}})
			image := message.Message{Role: message.RoleUser, Content: message.ListOf(message.TextBlock("see"), message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBORw0KGgo="})}
			messages := []message.Message{image}
			tools := message.NewToolSet([]message.Tool{lookup()})
			for n := range 20 {
				req := message.ModelRequest{Model: message.Model{Name: tc.models[n/10]}, System: "Be brief.", Tools: tools, Messages: message.MessagesOf(messages...)}
				reply, err := provider.Collect(p.Stream(t.Context(), req))
				require.NoError(t, err, "request %d", n)
				messages = append(messages, message.Message{Role: message.RoleAssistant, Content: reply.Content})
				for i, c := range reply.Calls() {
					result := message.TextResult("line")
					if i == 1 {
						result = message.FailedResult(message.FailOperation, "no such file")
					}
					messages = append(messages, message.Message{Role: message.RoleTool, CallID: c.CallID, Tool: c.Tool, Result: result})
				}
				if reply.Finish == message.FinishStop {
					messages = append(messages, message.UserText("and then?"))
				}
			}
			assert.Empty(t, h.Rejections())
			assert.Equal(t, tc.name == "responses", strings.Contains(h.Requests()[5].Body, `"encrypted_content":"`), "reasoning goes back")
			for n, r := range h.Requests() {
				if n > 0 && n != 10 { // there the model changes, and with it what goes back
					assert.True(t, r.Prefix.Stable(), "request %d: %+v", n, r.Prefix)
				}
			}
		})
	}
}
