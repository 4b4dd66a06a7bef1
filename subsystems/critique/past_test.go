package critique_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/critique"
)

type chunked struct {
	n       int
	replies []func(yield func(message.Chunk, error) bool)
}

func (c *chunked) Stream(context.Context, message.ModelRequest) message.ModelStream {
	r := c.replies[min(c.n, len(c.replies)-1)]
	c.n++
	return r
}

func textAndCall(text string, finish message.FinishReason) func(yield func(message.Chunk, error) bool) {
	return func(yield func(message.Chunk, error) bool) {
		yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil)
		yield(message.Chunk{Kind: message.ChunkCallStart, Index: 0, CallID: "c1", Tool: "look"}, nil)
		yield(message.Chunk{Kind: message.ChunkCallArgs, Index: 0, Text: "{}"}, nil)
		yield(message.Chunk{Kind: message.ChunkCallEnd, Index: 0}, nil)
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: finish}, nil)
	}
}

// A filtered reply with a call: the call is dropped after AfterModel, and the text is the answer.
func TestFilterWithCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{`+judge+`}`, answers(wanting))
	w.writer = &chunked{replies: []func(func(message.Chunk, error) bool){textAndCall("Unjudged.", message.FinishFilter)}}
	out := w.send("x")
	assert.Empty(t, out.Text())
}

// A paused reply: the judge sees what was written before it, too.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{`+judge+`}`, answers(approved))
	w.writer = &chunked{replies: []func(func(message.Chunk, error) bool){
		stream("FIRST HALF: rm -rf is fine.", message.FinishPause, nil), stream("Second half.", message.FinishStop, nil)}}
	out := w.send("x")
	require.NoError(t, out.Err)
	require.Len(t, w.judges, 1)
	assert.Contains(t, w.judges[0].Messages.At(0).Text(), "FIRST HALF")
}

// on: stop, and the model was cut off at its token limit.
func TestStopLength(t *testing.T) {
	t.Parallel()
	for _, f := range []message.FinishReason{message.FinishLength, message.FinishFilter} {
		w := newWorld(t, `{`+judge+`,"on":"stop","on_failure":"show_unreviewed"}`, answers(wanting))
		w.writer = &chunked{replies: []func(func(message.Chunk, error) bool){stream("A long answer", f, nil)}}
		_ = w.send("x")
		assert.NotEmpty(t, w.codes(), "nobody says that it was not reviewed")
	}
}

// A summary of a compaction is no final answer.
func TestSummariesAreNotJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{`+judge+`}`, answers(approved, approved, approved, wanting), script.Rule{When: &script.When{}, Say: "text"})
	for range 3 {
		require.NoError(t, w.send("x").Err)
	}
	require.Len(t, w.judges, 3)
	_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
	assert.NoError(t, err)
	assert.Len(t, w.judges, 3, "only final answers are judged")
}

type shrinks struct {
	hook.Nop
	on  bool
	err error
}

func (s *shrinks) RewriteRequest(ctx context.Context, step *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	if s.on {
		s.on = false
		_, s.err = step.Host().Compact(ctx, "it is long", hook.CompactOptions{Keep: 1})
	}
	return req, nil
}

func TestSummariesWithinATurn(t *testing.T) {
	t.Parallel()
	for _, section := range []string{`{` + judge + `}`, `{` + judge + `,"on_failure":"show_unreviewed"}`} {
		w := newWorld(t, message.JSON(section), answers(approved, approved, approved, wanting, wanting, wanting, approved), script.Rule{When: &script.When{}, Say: "text"})
		s := &shrinks{}
		hooks, err := composite.Of("World", composite.Field{Name: "Tools", Hook: tool.Set(look)}, composite.Field{Name: "Critique", Hook: critique.New()}, composite.Field{Name: "S", Hook: s})
		require.NoError(t, err)
		rt := runtime.New(hooks, w.models, &runtime.Options{Store: w.store})
		require.NoError(t, rt.Open(t.Context()))
		agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("critique", w.section))
		require.NoError(t, err)
		w.conv, err = agent.Conversation(t.Context(), "ann")
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, w.send("x").Err)
		}
		s.on = true
		_ = w.send("x")
		assert.NoError(t, s.err)
		assert.LessOrEqual(t, len(w.judges), 7, "only final answers are judged")
		assert.NoError(t, rt.Close(context.WithoutCancel(t.Context())))
	}
}
