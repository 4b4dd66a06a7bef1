package runtime_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// fast is a subsystem as the generator writes one: it binds without reflection,
// so that what is measured is the runtime. It has no Nop of its own at OnEvent.
type fast struct {
	hook.Nop
	tools []message.Tool
	seen  int
}

func newFast(n int) *fast {
	f := &fast{}
	for i := range n {
		f.tools = append(f.tools, message.Tool{Name: fmt.Sprintf("tool_%d", i), Input: rig.BoxSchema})
	}
	return f
}

func (f *fast) Schema() []message.Tool              { return f.tools }
func (f *fast) OnEvent(context.Context, hook.Event) { f.seen++ }
func (f *fast) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), fastRun{}), true // all models of these benchmarks send {}
}

type fastRun struct{}

var fastResult = message.TextResult("ok")

func (fastRun) Run(context.Context, *hook.Env) message.ToolResult { return fastResult }

// loop is a provider that calls n tools and then answers, for ever, with fresh
// ids and without allocations of its own that count.
type loop struct {
	call, answer message.ModelStream
	ids          string
	batch        int
}

func newLoop(n int) *loop {
	l := &loop{answer: rig.Says("done")}
	l.call = func(yield func(message.Chunk, error) bool) {
		for i := range n {
			ok := yield(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: l.id(), Tool: "tool_0"}, nil) &&
				yield(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `{"s":"x"}`}, nil) &&
				yield(message.Chunk{Kind: message.ChunkCallEnd, Index: i}, nil)
			if !ok {
				return
			}
		}
		yield(rig.Finish(message.FinishTools), nil)
	}
	return l
}

// id cuts the next id off a text of a thousand.
func (l *loop) id() string {
	const size = 12
	if l.ids == "" {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, "%0*d", size, l.batch*1000+i)
		}
		l.ids, l.batch = b.String(), l.batch+1
	}
	id := l.ids[:size]
	l.ids = l.ids[size:]
	return id
}

func (l *loop) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	if req.Messages.At(req.Messages.Len()-1).Role == message.RoleTool {
		return l.answer
	}
	return l.call
}

func turns(tb testing.TB, f *fast, calls, history int) func() {
	tb.Helper()
	st := mem.New(nil)
	rec, err := st.Conversation(tb.Context(), store.Key{Agent: "a", Sender: "s"})
	require.NoError(tb, err)
	ms := make([]message.Message, history)
	for i := range ms {
		ms[i] = message.UserText("an old message")
	}
	_, err = st.Append(tb.Context(), rec.ID, store.Append{Messages: message.MessagesOf(ms...)})
	require.NoError(tb, err)
	rt := runtime.New(f, newLoop(calls), &runtime.Options{Store: st})
	require.NoError(tb, rt.Open(tb.Context()))
	tb.Cleanup(func() { _ = rt.Close(context.Background()) })
	_, err = rt.Register(tb.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(tb, err)
	conv, err := dialog.Conversation(tb.Context(), rt, "a", "s")
	require.NoError(tb, err)
	in, n, ctx := message.TextInput("go"), 0, tb.Context()
	observe := func(hook.Event) { n++ }
	return func() {
		out, err := dialog.Send(ctx, conv, in, &runtime.TurnOptions{Observe: observe})
		if err != nil || out.Calls != calls || out.Text() != "done" {
			panic(fmt.Sprint(out, err))
		}
	}
}

// limit is the same turn as a hand would write it for this one case: the same
// messages, goroutines and events, and none of the rest.
func limit(f *fast, calls int) func() {
	p, st := newLoop(calls), mem.New(nil)
	ctx, n := context.Background(), 0
	rec, _ := st.Conversation(ctx, store.Key{Agent: "a"})
	var history message.Messages
	observe := func(hook.Event) { n++ }
	var version int64
	return func() {
		from := history.Len()
		history = history.Append(message.UserText("go"))
		for {
			var content []message.Block
			for c := range p.Stream(ctx, message.ModelRequest{Messages: history}) {
				switch c.Kind {
				case message.ChunkText:
					content = append(content, message.TextBlock(c.Text))
					observe(hook.Event{Kind: event.TextDelta, Text: c.Text})
				case message.ChunkCallStart:
					content = append(content, message.Block{Kind: message.BlockToolCall, CallID: c.CallID, Tool: c.Tool})
				case message.ChunkCallArgs:
					content[len(content)-1].JSON = message.JSON(c.Text)
				}
			}
			history = history.Append(message.Message{Role: message.RoleAssistant, Content: message.Freeze(content)})
			if content[0].Kind == message.BlockText {
				break
			}
			bound := make([]composite.Call, len(content))
			for i, b := range content {
				call := hook.NewToolCall(hook.ToolCallData{ID: b.CallID, Tool: f.tools[0], Args: b.JSON, Index: i})
				inv, _ := f.Dispatch(ctx, call)
				bound[i] = composite.Call{Env: &hook.Env{Call: call}, Runner: inv.Runner()}
			}
			results := composite.DispatchAll(ctx, bound, nil, func(i int, c composite.Completion) {
				observe(hook.Event{Kind: event.CallResult}.WithDetail(hook.EventDetail{Result: c.Result}))
			})
			for i, r := range results {
				history = history.Append(message.Message{Role: message.RoleTool, CallID: content[i].CallID, Result: r.Result})
			}
		}
		v, err := st.Append(ctx, rec.ID, store.Append{Version: version, Messages: history.From(from)})
		if err != nil {
			panic(err)
		}
		version = v
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, tc := range []struct{ tools, calls, history int }{
		{1, 1, 1}, {64, 1, 1}, {512, 1, 1}, {1, 8, 1}, {1, 1000, 1}, {1, 1, 100}, {1, 1, 10_000},
	} {
		b.Run(fmt.Sprintf("tools=%d/calls=%d/history=%d", tc.tools, tc.calls, tc.history), func(b *testing.B) {
			turn := turns(b, newFast(tc.tools), tc.calls, tc.history)
			turn()
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
	for _, n := range []int{1, 8, 1000} {
		b.Run(fmt.Sprintf("limit/calls=%d", n), func(b *testing.B) {
			turn := limit(newFast(1), n)
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}

func thousandWords() message.ModelStream {
	words := make([]string, 1000)
	for i := range words {
		words[i] = "word "
	}
	return rig.Says(words...)
}

func BenchmarkDeltas(b *testing.B) {
	b.Run("limit", func(b *testing.B) {
		turn := streamingLimit(thousandWords())
		b.ReportAllocs()
		for b.Loop() {
			turn()
		}
	})
	b.Run("consumers=1", func(b *testing.B) {
		turn := streaming(b, newFast(1), thousandWords())
		b.ReportAllocs()
		for b.Loop() {
			turn()
		}
	})
}

// streaming is a turn whose events go to the hook and nobody else.
func streaming(tb testing.TB, h hook.Hook, s message.ModelStream) func() {
	tb.Helper()
	rt := runtime.New(h, rig.Same{Reply: s}, nil)
	require.NoError(tb, rt.Open(tb.Context()))
	tb.Cleanup(func() { _ = rt.Close(context.Background()) })
	_, err := rt.Register(tb.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(tb, err)
	conv, err := dialog.Conversation(tb.Context(), rt, "a", "s")
	require.NoError(tb, err)
	ctx, in := tb.Context(), message.TextInput("go")
	return func() {
		if _, err := dialog.Send(ctx, conv, in, nil); err != nil {
			panic(err)
		}
	}
}

// streamingLimit is a plain loop over the same chunks that collects the text and
// hands the same events to the same consumer.
func streamingLimit(s message.ModelStream) func() {
	var h hook.Hook = newFast(1)
	ctx, seq, now := context.Background(), uint64(0), time.Now()
	return func() {
		var text []byte
		for chunk, err := range s {
			if err != nil {
				panic(err)
			}
			if chunk.Kind != message.ChunkText {
				continue
			}
			text = append(text, chunk.Text...)
			seq++
			h.OnEvent(ctx, hook.Event{
				Kind: event.TextDelta, Seq: seq, Time: now, Agent: "a", Conversation: "c1", Turn: "t1", Step: 1, Text: chunk.Text,
			})
		}
	}
}

// The bounds are what holds today; the ceiling for one call is 40.
func TestATurnAllocatesLittleAndDoesNotGrow(t *testing.T) {
	measure := func(tools, calls, history int) float64 {
		turn := turns(t, newFast(tools), calls, history)
		turn()
		return allocs.PerRun(200, turn)
	}
	one, eight := measure(1, 1, 1), measure(1, 8, 1)
	assert.LessOrEqual(t, one, 36.0, "a turn with one call")
	assert.LessOrEqual(t, eight, 82.0, "a turn with eight calls")
	assert.Equal(t, one, measure(64, 1, 1), "tools")
	assert.Equal(t, one, measure(512, 1, 1), "tools")
	assert.Equal(t, measure(1, 1, 100), measure(1, 1, 10_000), "history")
	t.Logf("allocations: one call %v (limit %v), eight calls %v (limit %v)",
		one, allocs.PerRun(200, limit(newFast(1), 1)), eight, allocs.PerRun(200, limit(newFast(1), 8)))
}

func TestDeltasCostNoAllocation(t *testing.T) {
	count := func(n int) float64 {
		words := make([]string, n)
		for i := range words {
			words[i] = "word "
		}
		turn := streaming(t, newFast(1), rig.Says(words...))
		turn()
		return allocs.PerRun(20, turn)
	}
	few, many := count(10), count(2010)
	assert.LessOrEqual(t, many-few, 20.0, "2000 more deltas grow one buffer and nothing else")
}

// TestAnAgentTakesLittleMemory: the heap of 2,000 agents, divided by them. The bound is
// what holds today, and a twentieth for the sizes of maps and slices that grow.
func TestAnAgentTakesLittleMemory(t *testing.T) {
	const agents, bound = 2000, 3100
	rt := runtime.New(newFast(64), rig.Same{Reply: rig.Says("ok")}, nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { require.NoError(t, rt.Close(context.Background())) }()
	in := message.TextInput("go")
	before := reachable()
	for i := range agents {
		require.NoError(t, oneTurn(t.Context(), rt, "agent_"+strconv.Itoa(i), in))
	}
	each := int64(reachable()-before) / agents
	goruntime.KeepAlive(rt)
	t.Logf("%d bytes an agent", each)
	if allocs.Counted {
		assert.LessOrEqual(t, each, int64(bound))
	}
}

// reachable is how many bytes of the heap are in use.
func reachable() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// oneTurn registers an agent and has it answer once.
func oneTurn(ctx context.Context, rt *runtime.Runtime, name string, in message.Input) error {
	if _, err := rt.Register(ctx, hook.AgentConfig{Name: name}); err != nil {
		return err
	}
	conv, err := dialog.Conversation(ctx, rt, name, "s")
	if err != nil {
		return err
	}
	_, err = dialog.Send(ctx, conv, in, nil)
	return err
}

// BenchmarkAgents registers agents that share 64 tools, each with a conversation
// of one turn, and says what one of them takes.
func BenchmarkAgents(b *testing.B) {
	rt := runtime.New(newFast(64), rig.Same{Reply: rig.Says("ok")}, nil)
	require.NoError(b, rt.Open(b.Context()))
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	before := reachable()
	n, in := 0, message.TextInput("go")
	for b.Loop() {
		if err := oneTurn(b.Context(), rt, fmt.Sprintf("agent_%d", n), in); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(reachable()-before)/float64(n), "heap-B/agent")
	goruntime.KeepAlive(rt)
}

func BenchmarkRegister(b *testing.B) {
	rt := runtime.New(newFast(64), rig.Same{Reply: rig.Says("ok")}, nil)
	require.NoError(b, rt.Open(b.Context()))
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if _, err := rt.Register(b.Context(), hook.AgentConfig{Name: "agent_" + strconv.Itoa(n)}); err != nil {
			b.Fatal(err)
		}
	}
}
