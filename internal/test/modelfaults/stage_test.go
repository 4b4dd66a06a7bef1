package modelfaults_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

// reader is a tool that counts its runs: the paths, by conversation and call.
type reader struct {
	mu  sync.Mutex
	ran map[string]map[string][]string
}

func newReader() *reader { return &reader{ran: map[string]map[string][]string{}} }

func (*reader) Schema() []message.Tool {
	return []message.Tool{{Name: "read", Input: `{"type":"object","properties":{"path":{"type":"string"}}}`}}
}

func (r *reader) Dispatch(_ context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	var in struct{ Path string }
	if err := json.Unmarshal([]byte(c.Args()), &in); err != nil {
		return hook.BadArgs(c.Args(), &hook.ArgError{Tool: c.Name(), Reason: "is no JSON"}), true
	}
	return hook.Bound(c.Args(), reading{r, c.Step().Turn().Conversation().ID(), c.ID(), in.Path}), true
}

type reading struct {
	r                *reader
	conv, call, path string
}

func (r reading) Run(context.Context, *hook.Env) message.ToolResult {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	of := r.r.ran[r.conv]
	if of == nil {
		of = map[string][]string{}
		r.r.ran[r.conv] = of
	}
	of[r.call] = append(of[r.call], r.path)
	return message.TextResult("content of " + r.path)
}

// of returns what has run in a conversation.
func (r *reader) of(conv string) map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran[conv]
}

// crew is subsystem fallback with the tool.
type crew struct {
	*fallback.Fallback
	*reader
}

// bare is the tool alone, a known-bad variant of crew.
type bare struct {
	nop
	*reader
}

type nop struct{ hook.Nop }

// stage is a runtime with one agent. Each turn has a conversation of its own.
type stage struct {
	reader *reader
	store  *mem.Store
	rt     *runtime.Runtime
	agent  *runtime.Agent
}

func newStage(t *testing.T, h hook.Hook, r *reader, p provider.Provider, model string) *stage {
	t.Helper()
	s := &stage{reader: r, store: mem.New(nil)}
	s.rt = runtime.New(h, p, &runtime.Options{Store: s.store})
	require.NoError(t, s.rt.Open(t.Context()))
	var err error
	s.agent, err = s.rt.Register(t.Context(), hook.AgentConfig{Name: "a", Model: message.Model{Name: model}})
	require.NoError(t, err)
	return s
}

// ending is how a turn has ended, and what is kept of it.
type ending struct {
	text    string
	err     error
	history []message.Message
	ran     map[string][]string
}

// play plays one turn in a new conversation.
func (s *stage) play(ctx context.Context, name, input string, o *runtime.TurnOptions) (ending, error) {
	conv, err := s.agent.Conversation(ctx, name)
	if err != nil {
		return ending{}, err
	}
	out, err := conv.Send(ctx, message.TextInput(input), o)
	if err != nil {
		return ending{}, err
	}
	history, err := s.store.Messages(ctx, conv.ID())
	return ending{out.Text(), out.Err, history, s.reader.of(conv.ID())}, err
}

// script is what the model says in a turn of two calls, whole.
type script struct {
	first, path, last string
	// doubles: an event may have come twice, which most wires cannot tell from two
	// events. Then there may be more of a text, but never less; and a call may have
	// arguments that nothing runs with.
	doubles bool
	// twice: the call may have come twice, each whole.
	twice bool
}

// is reports whether a text is the whole of another.
func (s script) is(got, want string) bool {
	if !s.doubles {
		return got == want
	}
	for _, r := range want {
		i := strings.IndexRune(got, r)
		if i < 0 {
			return false
		}
		got = got[i+utf8.RuneLen(r):]
	}
	return true
}

// wrongs says what is wrong with a turn, whatever its faults were: what is kept or done is
// whole and done once, and the strict servers take it.
func (s script) wrongs(ctx context.Context, e ending) (out []string) {
	for id, paths := range e.ran {
		if len(paths) != 1 || !s.is(paths[0], s.path) {
			out = append(out, fmt.Sprintf("the call %s ran with %q", id, paths))
		}
	}
	if len(e.ran) > 1 && !s.twice {
		out = append(out, fmt.Sprintf("%d calls ran, of one", len(e.ran)))
	}
	switch {
	case e.err == nil:
		out = append(out, s.incomplete(e)...)
	case len(e.history) != 1+min(1, len(e.ran))+len(e.ran): // what the user said; the calls and their results
		out = append(out, fmt.Sprintf("%d messages are kept of a turn that failed after %d calls", len(e.history), len(e.ran)))
	}
	return append(out, refusals(ctx, e.history)...)
}

// incomplete says what a turn lacks that ended well.
func (s script) incomplete(e ending) (out []string) {
	if !s.is(e.text, s.last) {
		out = append(out, fmt.Sprintf("the answer is %q", e.text))
	}
	if len(e.ran) == 0 && !s.doubles {
		out = append(out, "no call ran, of one")
	}
	want := 3 + max(1, len(e.ran))
	if len(e.history) != want {
		return append(out, fmt.Sprintf("%d messages are kept, of %d", len(e.history), want))
	}
	for i, want := range map[int]string{1: s.first, want - 1: s.last} {
		if got := textOf(e.history[i]); !s.is(got, want) {
			out = append(out, fmt.Sprintf("%q is kept", got))
		}
	}
	return out
}

func textOf(m message.Message) (text string) {
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockText {
			text += b.Text
		}
	}
	return text
}

// refusals says why two strict servers would not take the next request of a conversation.
func refusals(ctx context.Context, history []message.Message) (out []string) {
	quiet := provider.Func(func(context.Context, message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
		}
	})
	req := message.ModelRequest{Model: message.Model{Name: "gpt-4.1"}, Messages: message.MessagesOf(history...).Append(message.UserText("go on")), Tools: message.NewToolSet((*reader)(nil).Schema())}
	for _, open := range []func(provider.Provider) *strictwire.Server{strictwire.OpenAI, strictwire.Anthropic} {
		if _, err := provider.Collect(open(quiet).Stream(ctx, req)); err != nil {
			out = append(out, "what is kept is refused: "+err.Error())
		}
	}
	return out
}

// diceOf returns dice that are thrown for nothing else.
func diceOf(what ...any) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, what...))))
}
