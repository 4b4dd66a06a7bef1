package visits_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// size is how large everything around a turn with one call is.
type size struct{ messages, tools, hooks, conversations int }

// subject has the tools. walk makes it the known-bad one, which walks every request.
type subject struct {
	hook.Nop
	tools []message.Tool
	walk  bool
}

func (s *subject) Schema() []message.Tool { return s.tools }

func (s *subject) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), answer{}), call.Name() == s.tools[0].Name
}

// BeforeModel implements hook.BeforeModel.
func (s *subject) BeforeModel(_ context.Context, _ *hook.Step, req message.ModelRequest) (hook.ModelDecision, error) {
	trust := message.TrustTrusted
	for i := 0; s.walk && i < req.Messages.Len(); i++ {
		trust = message.Weakest(trust, req.Messages.At(i).Origin())
	}
	return hook.ModelDecision{}, nil
}

// silent has no point.
type silent struct{ hook.Nop }

type answer struct{}

func (answer) Run(context.Context, *hook.Env) message.ToolResult { return message.TextResult("ok") }

// model calls the first tool and then answers.
type model struct{ calls int }

func (m *model) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	chunks := []message.Chunk{{Kind: message.ChunkText, Text: "done"}, {Kind: message.ChunkFinish, Finish: message.FinishStop}}
	if req.Messages.At(req.Messages.Len()-1).Role != message.RoleTool {
		m.calls++
		chunks = []message.Chunk{
			{Kind: message.ChunkCallStart, CallID: "call" + strconv.Itoa(m.calls), Tool: "tool0"}, {Kind: message.ChunkCallArgs, Text: `{}`},
			{Kind: message.ChunkCallEnd}, {Kind: message.ChunkFinish, Finish: message.FinishTools},
		}
	}
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// start returns a function that does a turn.
func (s size) start(t *testing.T, walk bool) func() {
	sub := &subject{walk: walk}
	for i := range s.tools {
		sub.tools = append(sub.tools, message.Tool{Name: fmt.Sprint("tool", i), Input: `{"type":"object"}`})
	}
	fields := []composite.Field{{Name: "Subject", Hook: sub}}
	for i := range s.hooks {
		fields = append(fields, composite.Field{Name: fmt.Sprint("Hook", i), Hook: silent{}})
	}
	hooks, err := composite.Of("All", fields...)
	require.NoError(t, err)
	st := mem.New(nil)
	rec, err := st.Conversation(t.Context(), store.Key{Agent: "a", Sender: "0"})
	require.NoError(t, err)
	old := make([]message.Message, s.messages)
	for i := range old {
		old[i] = message.UserText("an old message")
	}
	_, err = st.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(old...)})
	require.NoError(t, err)
	rt := runtime.New(hooks, &model{}, &runtime.Options{Store: st})
	require.NoError(t, rt.Open(t.Context()))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	for i := range s.conversations {
		_, err := dialog.Conversation(t.Context(), rt, "a", strconv.Itoa(i))
		require.NoError(t, err)
	}
	conv, err := dialog.Conversation(t.Context(), rt, "a", "0")
	require.NoError(t, err)
	return func() {
		out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
		require.NoError(t, err)
		require.Equal(t, 1, out.Calls)
	}
}

// TestTurns does the turns that the environment asks for. Only TestNothingWalks asks.
func TestTurns(t *testing.T) {
	var s size
	var turns int
	var walk bool
	if n, _ := fmt.Sscan(os.Getenv("VISITS"), &turns, &walk, &s.messages, &s.tools, &s.hooks, &s.conversations); n != 6 {
		return
	}
	turn := s.start(t, walk)
	for range turns {
		turn()
	}
}
