package bench_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/eight"
	"github.com/grapnel-go/grapnel/bench/subject"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// told is one step with one tool call, as the hooks are told it.
func told() *eight.Work {
	conversation := hook.NewConversation(hook.ConversationData{ID: "c", Sender: "s", Agent: &hook.AgentConfig{Name: "a"}})
	turn, _ := hook.NewTurn(hook.TurnData{ID: "t", Conversation: conversation})
	step := hook.NewStep(turn, 1, "m")
	return &eight.Work{
		Step:    step,
		Request: message.ModelRequest{Model: message.Model{Name: "m"}, System: "Be brief.", Messages: message.MessagesOf(message.UserText("hello"))},
		Reply:   message.ModelReply{Content: message.ListOf(message.TextBlock("hello")), Finish: message.FinishStop},
		Call:    hook.NewToolCall(hook.ToolCallData{ID: "1", Step: step, Tool: message.Tool{Name: "find"}}),
		Outcome: hook.ToolOutcome{Outcome: message.OutcomeExecuted, Result: message.TextResult("ok")},
	}
}

// asking makes a subject of a way to ask. It fails if the eight were not asked four
// times each, taken together.
func asking(name string, way func(*eight.Hooks) eight.Way) subject.Subject {
	return subject.Subject{Name: name, New: func(tb testing.TB) func() error {
		hooks, w, ctx, want := new(eight.Hooks), told(), tb.Context(), 0
		ask := way(hooks)
		return func() error {
			want += eight.Points * len(hooks)
			if !ask(ctx, w) || hooks.Asked() != want {
				return errNotAsked
			}
			return nil
		}
	}}
}

var errNotAsked = errors.New("a hook was not asked, or it was not silent")

// way is a subject of HooksAlone.
type way struct {
	name string
	make func(*eight.Hooks) eight.Way
}

func ways() []way {
	return []way{
		{"direct", eight.Direct},
		{"interface", eight.Interface},
		{"closures", eight.Closures},
		{"closures-per-call", eight.ClosuresPerCall},
		{"context-chain", eight.ContextChain},
		{"grapnel", eight.Composite},
	}
}

func hooksAlone() (subjects []subject.Subject) {
	for _, w := range ways() {
		subjects = append(subjects, asking(w.name, w.make))
	}
	return subjects
}

// BenchmarkHooksAlone measures eight hooks without an opinion around one model call
// and one tool call: 32 questions.
func BenchmarkHooksAlone(b *testing.B) {
	b.Run("hooks=8", func(b *testing.B) { subject.Bench(b, hooksAlone()) })
}

func TestHooksAlone(t *testing.T) {
	subject.Check(t, hooksAlone())
	for _, w := range ways() {
		hooks := new(eight.Hooks)
		require.True(t, w.make(hooks)(t.Context(), told()))
		for i, h := range hooks {
			assert.Equal(t, eight.Points, h.Asked, "%s: hook %d", w.name, i)
		}
	}
}

func TestHooksThatAreNotAskedAreFound(t *testing.T) {
	subject.Catch(t, []subject.Subject{
		asking("none", func(*eight.Hooks) eight.Way { return func(context.Context, *eight.Work) bool { return true } }),
		asking("seven", func(h *eight.Hooks) eight.Way {
			all := eight.Direct(h)
			return func(ctx context.Context, w *eight.Work) bool {
				before := h[3]
				defer func() { h[3] = before }() // as if it had not been asked
				return all(ctx, w)
			}
		}),
		asking("only around the model", func(h *eight.Hooks) eight.Way {
			x := h.Composite().Compose()
			return func(ctx context.Context, w *eight.Work) bool {
				_, err := x.BeforeModel(ctx, w.Step, w.Request)
				return err == nil
			}
		}),
	})
}
