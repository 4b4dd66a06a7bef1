package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime"
)

// TestSpecARefusalIsNoAnswer: a program can tell it from one, and none of its calls runs.
func TestSpecARefusalIsNoAnswer(t *testing.T) {
	t.Parallel()
	ran := 0
	tool := does("echo", func(context.Context) message.ToolResult {
		ran++
		return message.TextResult("done")
	})
	begin := message.Chunk{Kind: message.ChunkCallStart, CallID: "c1", Tool: "echo"}
	args := message.Chunk{Kind: message.ChunkCallArgs, Text: `{"s":"x"}`}
	for name, stream := range map[string]message.ModelStream{
		"text":           chunks(text("I cannot"), finish(message.FinishFilter)),
		"nothing":        chunks(finish(message.FinishFilter)),
		"a call":         chunks(text("I"), begin, args, message.Chunk{Kind: message.ChunkCallEnd}, finish(message.FinishFilter)),
		"a call, cut":    chunks(text("I"), begin, args, finish(message.FinishFilter)),
		"only a call":    chunks(begin, args, message.Chunk{Kind: message.ChunkCallEnd}, finish(message.FinishFilter)),
		"reasoning only": chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, finish(message.FinishFilter)),
	} {
		w := start(t, plays(stream), box(tool))
		out := w.send("do it")
		assert.Equal(t, hook.StopRefused, out.Stop, name)
		assert.NoError(t, out.Err, name)
		assert.Zero(t, ran, name)
		assert.Zero(t, out.Calls, name)
	}
}

// TestSpecAPausedAnswerGoesOn: the reply goes back as it is, and no message follows it.
func TestSpecAPausedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	m := plays(chunks(text("first half, "), finish(message.FinishPause)), says("second half"))
	w := start(t, m)
	out := w.send("go")
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, "second half", out.Text())
	require.Len(t, m.requests, 2)
	sent := m.requests[1].Messages
	require.Equal(t, 2, sent.Len())
	assert.Equal(t, message.RoleAssistant, sent.At(1).Role)
	assert.Equal(t, "first half, ", sent.At(1).Text())
}

// TestSpecAPauseWithoutTextGoesOn: what the provider did on its own side comes as a block with metadata alone.
func TestSpecAPauseWithoutTextGoesOn(t *testing.T) {
	t.Parallel()
	searched := message.Block{Kind: message.BlockReasoning, Meta: `{"w":{"searched":true}}`}
	m := plays(chunks(message.Chunk{Kind: message.ChunkBlock, Block: &searched}, finish(message.FinishPause)), says("found"))
	w := start(t, m)
	assert.Equal(t, "found", w.send("go").Text())
	require.Len(t, m.requests, 2)
	assert.Equal(t, []message.Block{searched}, m.requests[1].Messages.At(1).Content.Slice())
	assert.Equal(t, hook.StopNoAction, start(t, plays(chunks(finish(message.FinishPause)))).send("go").Stop)
}

// TestSpecAnAnswerThatPausesForEverEnds at the limit of steps.
func TestSpecAnAnswerThatPausesForEverEnds(t *testing.T) {
	t.Parallel()
	var pauses []message.ModelStream
	for range 5 {
		pauses = append(pauses, chunks(text("more"), finish(message.FinishPause)))
	}
	w := startWith(t, plays(pauses...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 3}}, nil)
	assert.Equal(t, hook.StopStepsLimit, w.send("go").Stop)
}

// TestSpecATurnOverridesTheModel: for this turn alone.
func TestSpecATurnOverridesTheModel(t *testing.T) {
	t.Parallel()
	m := plays(says("1"), says("2"))
	w := startWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main", MaxTokens: 9, ContextWindow: 50, Tier: "flex"}}, nil)
	over := message.Model{Name: "other", Temperature: message.Some(0.5)}
	_, err := w.conv.Send(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Model: over})
	require.NoError(t, err)
	_, err = w.conv.Send(t.Context(), message.TextInput("2"), nil)
	require.NoError(t, err)
	assert.Equal(t, message.Model{Name: "other", MaxTokens: 9, Temperature: message.Some(0.5)}, m.requests[0].Model)
	assert.Equal(t, message.Model{Name: "main", MaxTokens: 9, ContextWindow: 50, Tier: "flex"}, m.requests[1].Model)
}

// TestSpecStableMessages: a request says how many of its messages the next turn's requests begin with.
func TestSpecStableMessages(t *testing.T) {
	t.Parallel()
	context := point.TurnContextFunc(func(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
		return []hook.ContextBlock{{Domain: "time", ID: "now", Text: "It is late."}}, nil
	})
	m := plays(says("1"), calls(want{"c1", "echo", `{"s":"x"}`}), says("2"))
	w := start(t, m, context, box(named("echo")))
	w.send("a")
	w.send("b")
	require.Len(t, m.requests, 3)
	for i, want := range []int{1, 3, 3} {
		assert.Equal(t, want, m.requests[i].Stable, "request %d", i)
		assert.True(t, m.requests[i].Messages.At(want).Ephemeral)
	}
	plain := plays(says("1"), calls(want{"c1", "echo", `{"s":"x"}`}), says("2"))
	w = start(t, plain, box(named("echo")))
	w.send("a")
	w.send("b")
	for _, r := range plain.requests {
		assert.Equal(t, r.Messages.Len(), r.Stable)
	}
}
