package provider_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// collects reads the stream with these limits.
func collects(l provider.Limits, chunks ...message.Chunk) (message.ModelReply, error) {
	c := provider.Collector{Limits: l}
	for i := range chunks {
		if err := c.Add(&chunks[i]); err != nil {
			return c.Partial(), err
		}
	}
	return c.Reply()
}

func TestLimitsCutAReply(t *testing.T) {
	t.Parallel()
	small := provider.Limits{Text: 10, Arguments: 10, Blocks: 3}
	meta := message.Chunk{Kind: message.ChunkMeta, Meta: `{"a":"b"}`}
	for _, tc := range []struct {
		name   string
		chunks []message.Chunk
		part   provider.Part
		says   string
	}{
		{"text", []message.Chunk{text("12345"), text("67890"), text("1")}, provider.PartText, "--max-text"},
		{"text in one piece", []message.Chunk{text("12345678901")}, provider.PartText, "--max-text"},
		{"reasoning and text", []message.Chunk{reasoning("123456"), text("78901")}, provider.PartText, "--max-text"},
		{"metadata", []message.Chunk{text("12"), meta}, provider.PartText, "--max-text"},
		{"metadata again and again", []message.Chunk{text("1"), meta, meta}, provider.PartText, "--max-text"},
		{"arguments", []message.Chunk{callStart(0, "a", "x"), args(0, "12345678901")}, provider.PartArguments, "--max-arguments"},
		{"arguments of several", []message.Chunk{callStart(0, "a", "x"), args(0, "123456"), callStart(1, "b", "x"), args(1, "78901")}, provider.PartArguments, "--max-arguments"},
		{"calls", []message.Chunk{callStart(0, "a", "x"), callStart(1, "b", "x"), callStart(1<<40, "c", "x"), callStart(-1, "d", "x")}, provider.PartBlocks, "Limits.Blocks"},
		{"texts between reasonings", []message.Chunk{text("a"), reasoning("b"), text("c"), reasoning("d")}, provider.PartBlocks, "Limits.Blocks"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			reply, err := collects(small, tc.chunks...)
			var large *provider.TooLargeError
			require.ErrorAs(t, err, &large)
			assert.Equal(t, tc.part, large.Part)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, fmt.Sprint(large.Limit))
			class, _ := provider.Classify(fmt.Errorf("x: %w", err))
			assert.Equal(t, message.FailureTooLarge, class)
			assert.False(t, class.Passing(), "the same request would bring the same")
			assert.Empty(t, reply.Finish)
			for _, b := range reply.Content.All() {
				assert.Equal(t, message.BlockText, b.Kind, "no call, and no reasoning, of a reply that was cut")
			}
		})
	}
}

func TestAReplyMayHaveAllThatTheLimitsAllow(t *testing.T) {
	t.Parallel()
	reply, err := collects(provider.Limits{Text: 10, Arguments: 10, Blocks: 3},
		text("12345"), reasoning("67890"), callStart(0, "a", "x"), args(0, "1234567890"), callEnd(0), finish(message.FinishTools))
	require.NoError(t, err)
	assert.Equal(t, 3, reply.Content.Len())
}

func TestNamesAndIDsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 1025)
	for _, start := range []message.Chunk{callStart(0, long, "x"), callStart(0, "a", long)} {
		_, err := collects(provider.Limits{}, start)
		require.ErrorIs(t, err, provider.ErrProtocol)
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	mib := text(strings.Repeat("x", 1<<20))
	for _, limits := range []provider.Limits{{}, {Text: -1, Arguments: -1, Blocks: -1}} {
		c := provider.Collector{Limits: limits}
		for range provider.DefaultMaxText >> 20 {
			require.NoError(t, c.Add(&mib))
		}
		one := text("x")
		var large *provider.TooLargeError
		require.True(t, errors.As(c.Add(&one), &large))
		assert.Equal(t, provider.TooLargeError{Part: provider.PartText, Limit: provider.DefaultMaxText}, *large)
	}
}

// TestLongTextsAreWhole: text and arguments are kept in segments; nothing is lost
// between them, whatever the sizes of the pieces.
func TestLongTextsAreWhole(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 7, 63 << 10, 1, 64 << 10, 3, 1 << 20, 200 << 10, 5, 2 << 20, 9}
	var want strings.Builder
	c := provider.Collector{}
	start := callStart(0, "a", "x")
	for i, n := range sizes {
		piece := text(strings.Repeat(string(rune('a'+i)), n))
		want.WriteString(piece.Text)
		require.NoError(t, c.Add(&piece))
	}
	require.NoError(t, c.Add(&start))
	for i, n := range sizes {
		piece := args(0, strings.Repeat(string(rune('a'+i)), n))
		require.NoError(t, c.Add(&piece))
	}
	last := []message.Chunk{callEnd(0), text("short"), text(" again"), finish(message.FinishTools)}
	for i := range last {
		require.NoError(t, c.Add(&last[i]))
	}
	reply, err := c.Reply()
	require.NoError(t, err)
	assert.True(t, want.String() == reply.Content.At(0).Text, "the text is whole")
	assert.True(t, want.String() == string(reply.Content.At(1).JSON), "the arguments are whole")
	assert.Equal(t, "short again", reply.Content.At(2).Text)
}
