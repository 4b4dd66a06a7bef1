package models_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// TestSpecARefusalIsNoAnswer: a program can tell it from one, and none of its calls runs.
func TestSpecARefusalIsNoAnswer(t *testing.T) {
	t.Parallel()
	ran := 0
	tool := rig.Does("echo", func(context.Context) message.ToolResult {
		ran++
		return message.TextResult("done")
	})
	begin := message.Chunk{Kind: message.ChunkCallStart, CallID: "c1", Tool: "echo"}
	args := message.Chunk{Kind: message.ChunkCallArgs, Text: `{"s":"x"}`}
	for name, stream := range map[string]message.ModelStream{
		"text":           rig.Chunks(rig.Text("I cannot"), rig.Finish(message.FinishFilter)),
		"nothing":        rig.Chunks(rig.Finish(message.FinishFilter)),
		"a call":         rig.Chunks(rig.Text("I"), begin, args, message.Chunk{Kind: message.ChunkCallEnd}, rig.Finish(message.FinishFilter)),
		"a call, cut":    rig.Chunks(rig.Text("I"), begin, args, rig.Finish(message.FinishFilter)),
		"only a call":    rig.Chunks(begin, args, message.Chunk{Kind: message.ChunkCallEnd}, rig.Finish(message.FinishFilter)),
		"reasoning only": rig.Chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, rig.Finish(message.FinishFilter)),
	} {
		w := rig.Start(t, rig.Plays(stream), rig.Box(tool))
		out := w.Send("do it")
		assert.Equal(t, hook.StopRefused, out.Stop, name)
		assert.NoError(t, out.Err, name)
		assert.Zero(t, ran, name)
		assert.Zero(t, out.Calls, name)
	}
}

// TestSpecAPausedAnswerGoesOn: the reply goes back as it is, and no message follows it.
func TestSpecAPausedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Chunks(rig.Text("first half, "), rig.Finish(message.FinishPause)), rig.Says("second half"))
	w := rig.Start(t, m)
	out := w.Send("go")
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, "second half", out.Text())
	require.Len(t, m.Requests, 2)
	sent := m.Requests[1].Messages
	require.Equal(t, 2, sent.Len())
	assert.Equal(t, message.RoleAssistant, sent.At(1).Role)
	assert.Equal(t, "first half, ", sent.At(1).Text())
}

// TestSpecAPauseWithoutTextGoesOn: what the provider did on its own side comes as a block with metadata alone.
func TestSpecAPauseWithoutTextGoesOn(t *testing.T) {
	t.Parallel()
	searched := message.Block{Kind: message.BlockReasoning, Meta: `{"w":{"searched":true}}`}
	m := rig.Plays(rig.Chunks(message.Chunk{Kind: message.ChunkBlock, Block: &searched}, rig.Finish(message.FinishPause)), rig.Says("found"))
	w := rig.Start(t, m)
	assert.Equal(t, "found", w.Send("go").Text())
	require.Len(t, m.Requests, 2)
	assert.Equal(t, []message.Block{searched}, m.Requests[1].Messages.At(1).Content.Slice())
	assert.Equal(t, hook.StopNoAction, rig.Start(t, rig.Plays(rig.Chunks(rig.Finish(message.FinishPause)))).Send("go").Stop)
}

// TestSpecAnAnswerThatPausesForEverEnds at the limit of steps.
func TestSpecAnAnswerThatPausesForEverEnds(t *testing.T) {
	t.Parallel()
	var pauses []message.ModelStream
	for range 5 {
		pauses = append(pauses, rig.Chunks(rig.Text("more"), rig.Finish(message.FinishPause)))
	}
	w := rig.StartWith(t, rig.Plays(pauses...), hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 3}}, nil)
	assert.Equal(t, hook.StopStepsLimit, w.Send("go").Stop)
}

// TestSpecATurnOverridesTheModel: for this turn alone.
func TestSpecATurnOverridesTheModel(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("1"), rig.Says("2"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main", MaxTokens: 9, ContextWindow: 50, Tier: "flex"}}, nil)
	over := message.Model{Name: "other", Temperature: message.Some(0.5)}
	_, err := w.Conv.Send(t.Context(), message.TextInput("1"), &runtime.TurnOptions{Model: over})
	require.NoError(t, err)
	_, err = w.Conv.Send(t.Context(), message.TextInput("2"), nil)
	require.NoError(t, err)
	assert.Equal(t, message.Model{Name: "other", MaxTokens: 9, Temperature: message.Some(0.5)}, m.Requests[0].Model)
	assert.Equal(t, message.Model{Name: "main", MaxTokens: 9, ContextWindow: 50, Tier: "flex"}, m.Requests[1].Model)
}

// TestSpecStableMessages: a request says how many of its messages the next turn's requests begin with.
func TestSpecStableMessages(t *testing.T) {
	t.Parallel()
	context := point.TurnContextFunc(func(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
		return []hook.ContextBlock{{Domain: "time", ID: "now", Text: "It is late."}}, nil
	})
	m := rig.Plays(rig.Says("1"), rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("2"))
	w := rig.Start(t, m, context, rig.Box(rig.Named("echo")))
	w.Send("a")
	w.Send("b")
	require.Len(t, m.Requests, 3)
	for i, want := range []int{1, 3, 3} {
		assert.Equal(t, want, m.Requests[i].Stable, "request %d", i)
		assert.True(t, m.Requests[i].Messages.At(want).Ephemeral)
	}
	plain := rig.Plays(rig.Says("1"), rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("2"))
	w = rig.Start(t, plain, rig.Box(rig.Named("echo")))
	w.Send("a")
	w.Send("b")
	for _, r := range plain.Requests {
		assert.Equal(t, r.Messages.Len(), r.Stable)
	}
}
