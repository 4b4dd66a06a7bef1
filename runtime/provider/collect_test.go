package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func stream(err error, chunks ...message.Chunk) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(message.Chunk{}, err)
		}
	}
}

func text(s string) message.Chunk      { return message.Chunk{Kind: message.ChunkText, Text: s} }
func reasoning(s string) message.Chunk { return message.Chunk{Kind: message.ChunkReasoning, Text: s} }
func callEnd(i int) message.Chunk      { return message.Chunk{Kind: message.ChunkCallEnd, Index: i} }
func args(i int, s string) message.Chunk {
	return message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: s}
}
func callStart(i int, id, tool string) message.Chunk {
	return message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: id, Tool: tool}
}
func finish(r message.FinishReason) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: r}
}

func TestCollectKeepsTheOrderOfBlocks(t *testing.T) {
	t.Parallel()
	usage := message.Usage{Input: 3, Output: 4}
	reply, err := provider.Collect(stream(nil,
		reasoning("let "), reasoning("me"), message.Chunk{Kind: message.ChunkMeta, Meta: `{"signature":"s"}`},
		text("I "), text("look"), text(""),
		callStart(4, "b", "read"), callStart(2, "a", "bash"),
		args(2, `{"command"`), args(4, `{}`), args(2, `:"ls"}`), callEnd(2), callEnd(4),
		text("."),
		message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools, Usage: usage},
	))
	require.NoError(t, err)
	assert.Equal(t, message.ModelReply{
		Content: message.ListOf(
			message.Block{Kind: message.BlockReasoning, Text: "let me", Meta: `{"signature":"s"}`},
			message.TextBlock("I look"),
			message.Block{Kind: message.BlockToolCall, CallID: "b", Tool: "read", JSON: `{}`},
			message.Block{Kind: message.BlockToolCall, CallID: "a", Tool: "bash", JSON: `{"command":"ls"}`},
			message.TextBlock("."),
		),
		Usage: usage, Finish: message.FinishTools,
	}, reply)
}

// Calls may begin in any order of their indices; the first may be negative.
func TestCollectTakesCallsInAnyOrder(t *testing.T) {
	reply, err := provider.Collect(stream(nil,
		callStart(-4, "a", "x"), callStart(-5, "b", "x"), callStart(9, "c", "x"), callStart(2, "d", "x"),
		args(2, "4"), args(-5, "2"), args(9, "3"), args(-4, "1"),
		callEnd(9), callEnd(-4), callEnd(2), callEnd(-5), finish(message.FinishTools)))
	require.NoError(t, err)
	var got []string
	for _, b := range reply.Content.All() {
		got = append(got, b.CallID+string(b.JSON))
	}
	assert.Equal(t, []string{"a1", "b2", "c3", "d4"}, got)
}

func TestCollectRefusesBrokenStreams(t *testing.T) {
	t.Parallel()
	cut := errors.New("connection reset")
	for _, tc := range []struct {
		name   string
		stream message.ModelStream
		want   error
	}{
		{"nothing at all", stream(nil), provider.ErrNoFinish},
		{"text without a finish", stream(nil, text("whole answer.")), provider.ErrNoFinish},
		{"a call without a finish", stream(nil, callStart(0, "1", "x"), args(0, "{}"), callEnd(0)), provider.ErrNoFinish},
		{"an error", stream(cut, text("a")), cut},
		{"an error after the finish", stream(cut, text("a"), finish(message.FinishStop)), cut},
		{"a chunk after the finish", stream(nil, finish(message.FinishStop), text("a")), provider.ErrProtocol},
		{"two finishes", stream(nil, finish(message.FinishStop), finish(message.FinishStop)), provider.ErrProtocol},
		{"a finish without a reason", stream(nil, text("a"), finish("")), provider.ErrProtocol},
		{"a call left open", stream(nil, callStart(0, "1", "x"), args(0, "{"), finish(message.FinishTools)), provider.ErrProtocol},
		{"a call twice, and another between", stream(nil, callStart(7, "1", "x"), callStart(3, "2", "x"), callStart(7, "1", "x")), provider.ErrProtocol},
		{"a call twice, below another", stream(nil, callStart(7, "1", "x"), callStart(3, "2", "x"), callStart(3, "2", "x")), provider.ErrProtocol},
		{"a call twice", stream(nil, callStart(0, "1", "x"), callStart(0, "1", "x")), provider.ErrProtocol},
		{"arguments of no call", stream(nil, args(0, "{")), provider.ErrProtocol},
		{"arguments after the end", stream(nil, callStart(0, "1", "x"), callEnd(0), args(0, "{")), provider.ErrProtocol},
		{"an end of no call", stream(nil, callEnd(0)), provider.ErrProtocol},
		{"two ends", stream(nil, callStart(0, "1", "x"), callEnd(0), callEnd(0)), provider.ErrProtocol},
		{"metadata of nothing", stream(nil, message.Chunk{Kind: message.ChunkMeta}), provider.ErrProtocol},
		{"no kind", stream(nil, message.Chunk{}), provider.ErrProtocol},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.Collect(tc.stream)
			assert.ErrorIs(t, err, tc.want)
		})
	}
}

func TestCollectKeepsTheTextOfABrokenStream(t *testing.T) {
	t.Parallel()
	reply, err := provider.Collect(stream(nil,
		reasoning("hm"), text("half "), text("an"), callStart(0, "1", "x"), args(0, "{}"), callEnd(0), text("swer")))
	require.ErrorIs(t, err, provider.ErrNoFinish)
	assert.Equal(t, message.ListOf(message.TextBlock("half an"), message.TextBlock("swer")), reply.Content)
	assert.Empty(t, reply.Finish)
}

func TestACallCutByTheTokenLimitIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	reply, err := provider.Collect(stream(nil, callStart(0, "1", "x"), args(0, `{"a":"b`), finish(message.FinishLength)))
	require.NoError(t, err)
	assert.Equal(t, message.JSON(`{"a":"b`), reply.Content.At(0).JSON)
}

func TestLongStreamsCostNoAllocationPerChunk(t *testing.T) {
	const n = 1000
	chunks := make([]message.Chunk, 0, n+1)
	for range n {
		chunks = append(chunks, text("word "))
	}
	s := stream(nil, append(chunks, finish(message.FinishStop))...)
	allocs := allocs.PerRun(20, func() {
		reply, err := provider.Collect(s)
		if err != nil || reply.Content.Len() != 1 {
			panic("not collected")
		}
	})
	assert.LessOrEqual(t, allocs, 20.0, "allocations for %d chunks", n)
}

func TestFuncIsAProvider(t *testing.T) {
	t.Parallel()
	var p provider.Provider = provider.Func(func(_ context.Context, req message.ModelRequest) message.ModelStream {
		return stream(nil, text(strings.ToUpper(req.System)), finish(message.FinishStop))
	})
	reply, err := provider.Collect(p.Stream(t.Context(), message.ModelRequest{System: "echo"}))
	require.NoError(t, err)
	assert.Equal(t, "ECHO", reply.Text())
}
