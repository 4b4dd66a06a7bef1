package gemini_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

// wild is a model behind the strict server that answers in every way.
type wild struct{ r *rand.Rand }

func (w wild) Stream(context.Context, message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		calls := 0
		finish := message.FinishStop
		for range w.r.IntN(5) {
			var chunks []message.Chunk
			switch w.r.IntN(4) {
			case 0:
				chunks = []message.Chunk{{Kind: message.ChunkText, Text: " \n"}, {Kind: message.ChunkText, Text: "well"}}
			case 1:
				chunks = []message.Chunk{{Kind: message.ChunkReasoning, Text: "hm"}}
			case 2:
				chunks = []message.Chunk{{Kind: message.ChunkBlock, Block: &message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO"}}}
			default:
				chunks = []message.Chunk{
					{Kind: message.ChunkCallStart, Index: calls, Tool: "read"},
					{Kind: message.ChunkCallArgs, Index: calls, Text: fmt.Sprintf(`{"n":%d,"s":"<&>"}`, w.r.IntN(9))},
					{Kind: message.ChunkCallEnd, Index: calls},
				}
				calls++
				finish = message.FinishTools
			}
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: finish}, nil)
	}
}

// foreign is an answer of another vendor, which was asked before the conversation came here.
func foreign(r *rand.Rand) message.Message {
	blocks := []message.Block{
		{Kind: message.BlockReasoning, Text: "secret", Meta: `{"anthropic":{"signature":"FOREIGN"}}`},
		{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO"}, text("said"),
	}[:r.IntN(4)]
	for i := range r.IntN(3) {
		blocks = append(blocks, call(fmt.Sprintf("toolu_%d.:", i), "read", []string{`{"a":1}`, ``, `{"a":`, `[1]`}[r.IntN(4)], `{"anthropic":{}}`))
	}
	return assistant(blocks...)
}

// results answers every call of a message, in all ways.
func results(r *rand.Rand, m message.Message) (out []message.Message) {
	for _, b := range m.Content.All() {
		if b.Kind != message.BlockToolCall {
			continue
		}
		all := []message.ToolResult{
			message.TextResult("x"), {}, message.JSONResult(`{"n":12345678901234567890}`), message.FailedResult(message.FailOperation, "no"), {Failure: message.FailTimeout},
			{Content: message.ListOf(text("see"), message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "iVBO"})},
			{Content: message.ListOf(message.Block{Kind: message.BlockAudio, MIME: "audio/wav", Data: "UklG"})},
			{Content: message.ListOf(message.Block{Kind: message.BlockDocument, Data: "JVBE", Name: "a.pdf"}), Failure: message.FailOperation},
		}
		out = append(out, result(b.CallID, b.Tool, all[r.IntN(len(all))]))
	}
	return out
}

// A strict server refuses no request, whatever came before: other vendors' answers too.
func TestTheStrictServerRefusesNothing(t *testing.T) {
	t.Parallel()
	signed := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		strict := strictwire.New(strictwire.Gemini(), wild{r}, nil)
		p := gemini.New(&gemini.Options{APIKey: canary, Network: provider.Network{Client: strict.Client()}})
		var ms []message.Message
		for range 12 {
			ms = append(ms, []message.Message{
				message.UserText("go on"), user(text("")), user(text("see"), message.Block{Kind: message.BlockDocument, MIME: "application/pdf", Data: "JVBE"}),
			}[r.IntN(3)], message.UserText("really"))
			if r.IntN(3) == 0 {
				m := foreign(r)
				ms = append(append(ms, m), results(r, m)...)
				continue
			}
			for range 4 {
				name := []string{modern, modern, "gemini-3-pro-preview", older, plain}[r.IntN(5)]
				reply, err := provider.Collect(p.Stream(t.Context(), message.ModelRequest{
					Model: message.Model{Name: name}, System: "Be brief.", Messages: message.MessagesOf(ms...),
					Tools: message.NewToolSet([]message.Tool{{Name: "read", Input: `{"type":"object","properties":{"s":{"type":"string"}}}`}}),
				}))
				require.NoError(t, err, "seed %d", seed)
				m := assistant(reply.Content.Slice()...)
				answers := results(r, m)
				if ms = append(append(ms, m), answers...); answers == nil {
					break
				}
			}
		}
		for _, no := range strict.Rejections() {
			assert.Fail(t, no.Message, "seed %d: %s: %s", seed, no.Rule, no.Request)
		}
		for _, req := range strict.Requests() {
			assert.NotContains(t, req.Body, "FOREIGN")
			assert.NotContains(t, req.Body, "secret")
			signed += strings.Count(req.Body, `"thoughtSignature"`) - strings.Count(req.Body, "skip_thought_signature_validator")
		}
	}
	assert.Greater(t, signed, 300, "too few signatures to prove anything")
}
