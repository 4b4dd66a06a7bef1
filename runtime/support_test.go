package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a provider that plays one script per request and remembers what it
// was asked.
type model struct {
	mu       sync.Mutex
	replies  []message.ModelStream
	requests []message.ModelRequest
	// ctx is that of the last request.
	ctx context.Context
}

// plays is a provider with these answers; it panics where one is nil.
func plays(replies ...message.ModelStream) *model { return &model{replies: replies} }

func (m *model) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ctx = ctx
	n := len(m.requests)
	m.requests = append(m.requests, req)
	if n >= len(m.replies) {
		return says("nothing left to say")
	}
	if m.replies[n] == nil {
		panic("boom")
	}
	return m.replies[n]
}

var _ provider.Provider = (*model)(nil)

// chunks streams the chunks and finishes unless they do.
func chunks(cs ...message.Chunk) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func text(s string) message.Chunk { return message.Chunk{Kind: message.ChunkText, Text: s} }

func finish(r message.FinishReason) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: r, Usage: message.Usage{Input: 10, Output: 5}}
}

func says(words ...string) message.ModelStream {
	var cs []message.Chunk
	for _, w := range words {
		cs = append(cs, text(w))
	}
	return chunks(append(cs, finish(message.FinishStop))...)
}

// want is a tool call that the model makes.
type want struct{ id, tool, args string }

func calls(ws ...want) message.ModelStream { return finishes(message.FinishTools, ws...) }

func finishes(r message.FinishReason, ws ...want) message.ModelStream {
	var cs []message.Chunk
	for i, w := range ws {
		cs = append(cs,
			message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: w.id, Tool: w.tool},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: w.args},
			message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return chunks(append(cs, finish(r))...)
}

// toolbox is a subsystem with tools made of functions. Their arguments are one
// optional string, decoded strictly enough for these tests.
type toolbox struct {
	hook.Nop
	tools []tool
	scope hook.Scope
	// dispatched counts the names that Dispatch was asked for.
	mu         sync.Mutex
	dispatched map[string]int
}

type tool struct {
	message.Tool
	run func(ctx context.Context, env *hook.Env, s string) message.ToolResult
}

// named is a tool that returns its argument after its own name.
func named(name string) tool {
	return tool{message.Tool{Name: name}, func(_ context.Context, _ *hook.Env, s string) message.ToolResult {
		return message.TextResult(name + ":" + s)
	}}
}

func does(name string, run func(ctx context.Context) message.ToolResult) tool {
	return tool{message.Tool{Name: name}, func(ctx context.Context, _ *hook.Env, _ string) message.ToolResult { return run(ctx) }}
}

func box(tools ...tool) *toolbox { return &toolbox{tools: tools, dispatched: map[string]int{}} }

const boxSchema = `{"type":"object","properties":{"s":{"type":"string"}}}`

func (b *toolbox) Schema() []message.Tool {
	out := make([]message.Tool, len(b.tools))
	for i, t := range b.tools {
		out[i] = t.Tool
		out[i].Input = boxSchema
	}
	return out
}

func (b *toolbox) ScopedTools(*hook.AgentConfig) hook.Scope { return b.scope }

func (b *toolbox) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	b.mu.Lock()
	b.dispatched[call.Name()]++
	b.mu.Unlock()
	i := slices.IndexFunc(b.tools, func(t tool) bool { return t.Name == call.Name() })
	if i < 0 {
		return hook.Invocation{}, false
	}
	var in map[string]string
	if err := json.Unmarshal([]byte(call.Args()), &in); err != nil {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Reason: "is not an object of strings", Schema: boxSchema}), true
	}
	for k := range in {
		if k != "s" {
			return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Path: k, Reason: "is unknown", Schema: boxSchema}), true
		}
	}
	args := message.JSON(`{}`)
	if s, ok := in["s"]; ok {
		args = message.JSON(fmt.Sprintf(`{"s":%q}`, s))
	}
	return hook.Bound(args, boxRun{b.tools[i], in["s"]}), true
}

type boxRun struct {
	tool tool
	s    string
}

func (r boxRun) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	return r.tool.run(ctx, env, r.s)
}

// world is a runtime with one agent and one conversation.
type world struct {
	t      *testing.T
	rt     *runtime.Runtime
	model  *model
	store  store.Store
	conv   *runtime.Conversation
	events []hook.Event
}

// start runs the hook with the model and registers the agent "a". Hooks are the
// members of a dynamic composite, in their order; one alone is used as it is.
func start(t *testing.T, m *model, hooks ...hook.Hook) *world {
	return startWith(t, m, hook.AgentConfig{Name: "a", Instructions: "Help."}, nil, hooks...)
}

func startWith(t *testing.T, m *model, cfg hook.AgentConfig, o *runtime.Options, hooks ...hook.Hook) *world {
	t.Helper()
	if o == nil {
		o = &runtime.Options{}
	}
	if o.Store == nil {
		o.Store = mem.New(nil)
	}
	w := &world{t: t, model: m, store: o.Store}
	w.rt = runtime.New(compose(t, hooks), m, o)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { _ = w.rt.Close(context.Background()) })
	_, err := w.rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.conv, err = dialog.Conversation(t.Context(), w.rt, cfg.Name, "ann")
	require.NoError(t, err)
	return w
}

func compose(t *testing.T, hooks []hook.Hook) hook.Hook {
	t.Helper()
	switch len(hooks) {
	case 0:
		return nil
	case 1:
		return hooks[0]
	}
	type none struct{}
	c, err := composite.New(&none{})
	require.NoError(t, err)
	for i, h := range hooks {
		c, err = c.With(fmt.Sprintf("H%d", i), h, plan.Options{})
		require.NoError(t, err)
	}
	return c
}

// send runs a turn that has to succeed.
func (w *world) send(line string) hook.TurnOutcome {
	w.t.Helper()
	out, err := w.try(w.t.Context(), line)
	require.NoError(w.t, err)
	return out
}

func (w *world) try(ctx context.Context, line string) (hook.TurnOutcome, error) {
	return dialog.Send(ctx, w.conv, message.TextInput(line), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.events = append(w.events, ev) }})
}

func (w *world) kinds() []hook.EventKind {
	out := make([]hook.EventKind, len(w.events))
	for i, ev := range w.events {
		out[i] = ev.Kind
	}
	return out
}

func (w *world) eventsOf(kind hook.EventKind) []hook.Event {
	var out []hook.Event
	for _, ev := range w.events {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

// results returns the text of each call result event, in the order of delivery.
func (w *world) results() []string {
	var out []string
	for _, ev := range w.eventsOf(event.CallResult) {
		out = append(out, ev.Detail().Result.Text())
	}
	return out
}

// history returns what the store has, one line per message.
func (w *world) history() []string {
	w.t.Helper()
	ms, err := w.store.Messages(context.Background(), w.conv.ID())
	require.NoError(w.t, err)
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = line(m)
	}
	return out
}

func line(m message.Message) string {
	s := string(m.Role)
	if m.Role == message.RoleTool {
		s += " " + m.CallID + " " + m.Tool
		if m.Result.IsError() {
			s += " " + string(m.Result.Failure)
		}
		return s + ": " + m.Result.Text()
	}
	for _, b := range m.Content.All() {
		switch b.Kind {
		case message.BlockToolCall:
			s += fmt.Sprintf(" [%s %s %s]", b.CallID, b.Tool, b.JSON)
		default:
			s += " " + b.Text
		}
	}
	return s
}

func sleeps(name string, d time.Duration) tool {
	return does(name, func(ctx context.Context) message.ToolResult {
		select {
		case <-time.After(d):
			return message.TextResult(name)
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, ctx.Err().Error())
		}
	})
}
