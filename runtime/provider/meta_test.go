package provider_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func TestMetaIsForItsOwnWire(t *testing.T) {
	t.Parallel()
	type signed struct {
		Signature string `json:"signature"`
	}
	meta := provider.Meta("anthropic", signed{"s"})
	assert.JSONEq(t, `{"anthropic":{"signature":"s"}}`, string(meta))
	var got signed
	require.True(t, provider.MetaFor("anthropic", meta, &got))
	assert.Equal(t, signed{"s"}, got)
	for _, other := range []message.JSON{"", "x", "[]", `{"openai":{"signature":"s"}}`, `{"anthropic":7}`} {
		var none signed
		assert.False(t, provider.MetaFor("anthropic", other, &none), other)
	}
	assert.Empty(t, provider.Meta("w", func() {}))
}

func TestCollectWholeBlocks(t *testing.T) {
	t.Parallel()
	image := message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "aGk="}
	hidden := message.Block{Kind: message.BlockReasoning, Meta: `{"w":1}`}
	end := message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}
	reply, err := collected(
		message.Chunk{Kind: message.ChunkReasoning, Text: "one"}, message.Chunk{Kind: message.ChunkMeta, Meta: `{"w":"a"}`},
		message.Chunk{Kind: message.ChunkReasoning, Text: "two"}, message.Chunk{Kind: message.ChunkMeta, Meta: `{"w":"b"}`},
		message.Chunk{Kind: message.ChunkBlock, Block: &hidden}, message.Chunk{Kind: message.ChunkText, Text: "see"},
		message.Chunk{Kind: message.ChunkBlock, Block: &image}, message.Chunk{Kind: message.ChunkText, Text: "it"}, end)
	require.NoError(t, err)
	assert.Equal(t, []message.Block{
		{Kind: message.BlockReasoning, Text: "one", Meta: `{"w":"a"}`}, {Kind: message.BlockReasoning, Text: "two", Meta: `{"w":"b"}`},
		hidden, message.TextBlock("see"), image, message.TextBlock("it"),
	}, reply.Content.Slice(), "metadata ends its block, so two signed blocks stay two")
	for _, wrong := range []*message.Block{nil, {}, {Kind: message.BlockToolCall, CallID: "1", Tool: "t", JSON: "{}"}} {
		_, err := collected(message.Chunk{Kind: message.ChunkBlock, Block: wrong}, end)
		require.ErrorIs(t, err, provider.ErrProtocol)
	}
	c := provider.Collector{Limits: provider.Limits{Text: 3}}
	var large *provider.TooLargeError
	require.ErrorAs(t, c.Add(&message.Chunk{Kind: message.ChunkBlock, Block: &image}), &large)
}

// TestAWithheldCallEnds: its arguments are cut, and the finish says so.
func TestAWithheldCallEnds(t *testing.T) {
	t.Parallel()
	reply, err := collected(message.Chunk{Kind: message.ChunkCallStart, CallID: "1", Tool: "t"}, message.Chunk{Kind: message.ChunkCallArgs, Text: `{"a`},
		message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishFilter})
	require.NoError(t, err)
	assert.Equal(t, message.FinishFilter, reply.Finish)
}

// collected collects a stream of the chunks.
func collected(chunks ...message.Chunk) (message.ModelReply, error) {
	return provider.Collect(func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	})
}
