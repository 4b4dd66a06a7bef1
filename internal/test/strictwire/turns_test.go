package strictwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// wildModel says anything that a model or its server might.
type wildModel struct{ r *rand.Rand }

func (m wildModel) pick(of ...string) string { return of[m.r.IntN(len(of))] }

func (m wildModel) Stream(context.Context, message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		chunks := []message.Chunk{}
		for i := range m.r.IntN(6) {
			switch m.r.IntN(5) {
			case 0:
				chunks = append(chunks, message.Chunk{Kind: message.ChunkText, Text: m.pick("well ", " \n", "\xff", "")})
			case 1:
				chunks = append(chunks, message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, message.Chunk{Kind: message.ChunkMeta, Meta: `{"anthropic":{"signature":"s"}}`})
			default:
				args := m.pick("{}", "", "null", `{"s":`, `["s"]`, `{"s":"\ud83d"}`, `{"s":"\ud83d\ude00"}`, "{\"s\":\"\xf0\x9f\"}", ` {"s" : 1} `)
				chunks = append(chunks,
					message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: m.pick("", "1", "2", "functions.x:0", strings.Repeat("x", 50)), Tool: m.pick("ok", "ok", "fails", "panics", "hangs", "huge", "no_such", "a b", "", strings.Repeat("y", 70))},
					message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: args}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
			}
		}
		for _, c := range chunks {
			if m.r.IntN(40) == 0 {
				yield(message.Chunk{}, errors.New("the connection was reset"))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishReason(m.pick("stop", "length", "tool_calls"))}, nil)
	}
}

// wildTools are tools that end in every way.
type wildTools struct{ hook.Nop }

func (wildTools) Schema() (tools []message.Tool) {
	for _, name := range []string{"ok", "fails", "panics", "hangs", "huge"} {
		tools = append(tools, message.Tool{Name: name, Input: `{"type":"object"}`, MaxResult: 1000})
	}
	return tools
}

func (w wildTools) Dispatch(_ context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	if !json.Valid([]byte(c.Args())) {
		return hook.BadArgs(c.Args(), &hook.ArgError{Tool: c.Name(), Reason: "is no JSON"}), true
	}
	return hook.Bound(`{}`, runs(c.Name())), true
}

type runs string

func (name runs) Run(ctx context.Context, _ *hook.Env) message.ToolResult {
	switch name {
	case "fails":
		return message.ToolResult{Failure: message.FailOperation}
	case "panics":
		panic("wild")
	case "hangs":
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Minute):
		}
	case "huge":
		return message.TextResult(strings.Repeat("👨‍👩‍👧‍👦\xff", 1000))
	}
	return message.ToolResult{}
}

// What the runtime sends is taken, whatever came before: no turn of a
// conversation is refused because of one before it.
func TestNoTurnIsRefused(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(provider.Provider) *strictwire.Server{"openai": strictwire.OpenAI, "anthropic": strictwire.Anthropic} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			for seed := range uint64(60) {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 1))
					s := open(wildModel{r})
					rt := runtime.New(wildTools{}, s, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}})
					require.NoError(t, rt.Open(t.Context()))
					_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
					require.NoError(t, err)
					conv, err := dialog.Conversation(t.Context(), rt, "a", "s")
					require.NoError(t, err)
					for range 10 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(300))*time.Second)
						_, _ = dialog.Send(ctx, conv, message.TextInput("go on"), nil) // how it ends is not the matter here
						cancel()
					}
					require.NoError(t, rt.Close(t.Context()))
					for _, no := range s.Rejections() {
						assert.Fail(t, no.Message, "seed %d: %s: %s", seed, no.Rule, no.Request)
					}
					requests += s.Requests()
				})
			}
			assert.Greater(t, requests, 1000, "too few requests to prove anything")
		})
	}
}
