package composites_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/composites"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/cost"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/secure"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/structured"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is a provider that calls the free tool n times and then answers, for
// ever, with fresh ids and without allocations of its own that count.
type caller struct {
	calls, answer message.ModelStream
	ids           string
	batch         int
}

func newCaller(n int) *caller {
	c := &caller{}
	c.calls = func(yield func(message.Chunk, error) bool) {
		for i := range n {
			ok := yield(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: c.id(), Tool: composites.ToolFree}, nil) &&
				yield(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `{"s":"x"}`}, nil) &&
				yield(message.Chunk{Kind: message.ChunkCallEnd, Index: i}, nil)
			if !ok {
				return
			}
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools, Usage: message.Usage{Input: 10, Output: 5}}, nil)
	}
	c.answer = stream(message.Chunk{Kind: message.ChunkText, Text: "done"})
	return c
}

// id cuts the next id off a text of a thousand.
func (c *caller) id() string {
	const size = 12
	if c.ids == "" {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, "%0*d", size, c.batch*1000+i)
		}
		c.ids, c.batch = b.String(), c.batch+1
	}
	id := c.ids[:size]
	c.ids = c.ids[size:]
	return id
}

func (c *caller) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	if req.Messages.At(req.Messages.Len()-1).Role == message.RoleTool {
		return c.answer
	}
	return c.calls
}

// stream yields the chunks and a finish.
func stream(chunks ...message.Chunk) message.ModelStream {
	finish := message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: message.Usage{Input: 10, Output: 5}}
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		yield(finish, nil)
	}
}

type always struct{ stream message.ModelStream }

func (a always) Stream(context.Context, message.ModelRequest) message.ModelStream { return a.stream }

// conversation opens a runtime over the hook.
func conversation(tb testing.TB, h hook.Hook, p provider.Provider) *runtime.Conversation {
	tb.Helper()
	return conversationIn(tb, h, p, nil)
}

func conversationIn(tb testing.TB, h hook.Hook, p provider.Provider, o *runtime.Options) *runtime.Conversation {
	tb.Helper()
	rt := runtime.New(h, p, o)
	require.NoError(tb, rt.Open(tb.Context()))
	tb.Cleanup(func() { assert.NoError(tb, rt.Close(context.Background())) })
	_, err := rt.Register(tb.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(tb, err)
	conv, err := dialog.Conversation(tb.Context(), rt, "a", "s")
	require.NoError(tb, err)
	return conv
}

// newWhole makes the whole of the daemon's subsystems; models without a price list
// cost nothing, as in the daemon.
func newWhole(tb testing.TB, list cost.Table) *composites.Whole {
	tb.Helper()
	servers, err := mcp.New(mcp.Config{}, nil)
	require.NoError(tb, err)
	memories, err := memory.Open(tb.Context(), filepath.Join(tb.TempDir(), "memory.db"), nil)
	require.NoError(tb, err)
	files, err := ostools.New(tb.TempDir(), nil)
	require.NoError(tb, err)
	rules, err := policy.New(nil, &policy.Options{Default: policy.DefaultAnnotations})
	require.NoError(tb, err)
	prices, err := cost.New(&cost.Options{Prices: list, Quiet: true})
	require.NoError(tb, err)
	return &composites.Whole{
		Daemon: &app.Hooks{
			Secure: secure.New(nil), Policy: rules, Guard: guard.New(&guard.Options{Turn: guard.Limits{Steps: guard.Off, Tokens: guard.Off, Time: guard.Off}}), Cost: prices,
			Approval: approval.New(nil), Skills: skills.New(&skills.Options{Dirs: []string{tb.TempDir()}}),
			AskUser: askuser.New(nil), Delegate: delegate.New(nil), Compact: compact.New(nil), Fallback: fallback.New(nil), Structured: structured.New(nil), Toolbox: toolbox.New(), Memory: memories, MCP: servers, OS: files,
		},
		Around: &composites.Around{},
		Free:   &composites.Free{Answer: message.TextResult("ok")},
	}
}

// forABadDay are the members that have nothing to do in a turn that goes well.
var forABadDay = []string{"Daemon.Instructions", "Daemon.Compact", "Daemon.Fallback", "Daemon.Structured"}

// BenchmarkIdle compares turns with [forABadDay] with turns without it. Both play in turns. The
// budget of x-without is 1.2 with the daemon's store; without it the model and the disk take no
// time, and nothing but what hooks cost is left.
func BenchmarkIdle(b *testing.B) {
	compare := func(b *testing.B, with, without func()) {
		var took, took0 time.Duration
		for b.Loop() {
			began := time.Now()
			without()
			between := time.Now()
			with()
			took0, took = took0+between.Sub(began), took+time.Since(between)
		}
		b.ReportMetric(float64(took)/float64(took0), "x-without")
	}
	for _, calls := range []int{1, 8} {
		b.Run(fmt.Sprintf("store=sqlite/calls=%d", calls), func(b *testing.B) {
			compare(b, idleTurn(b, calls, stored(b)), idleTurn(b, calls, stored(b), forABadDay...))
		})
		b.Run(fmt.Sprintf("store=none/calls=%d", calls), func(b *testing.B) {
			compare(b, idleTurn(b, calls, nil), idleTurn(b, calls, nil, forABadDay...))
		})
	}
}

func stored(tb testing.TB) store.Store {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "conversations.db"), nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, s.Close()) })
	return s
}

// The most of it is one contributor that the runtime asks within a time.
func TestATurnWithIdleSubsystemsAllocatesLittle(t *testing.T) {
	with := allocs.PerRun(200, idleTurn(t, 1, nil))
	without := allocs.PerRun(200, idleTurn(t, 1, nil, forABadDay...))
	t.Logf("allocations of a turn with one call: %v, without them %v", with, without)
	assert.LessOrEqual(t, with-without, 22.0)
}

// idleTurn returns a turn of the daemon in a project without instructions, with the members off.
// Now and then it begins another conversation, so that its length does not count.
func idleTurn(tb testing.TB, calls int, s store.Store, off ...string) func() {
	tb.Helper()
	h := newWhole(tb, nil)
	layer := plan.Layer{Source: "process"}
	for _, member := range off {
		layer.Settings = append(layer.Settings, plan.Setting{Member: member, Switch: plan.Off})
	}
	h.Daemon.Instructions = instructions.New(&instructions.Options{Root: tb.TempDir()})
	conv := conversationIn(tb, h, newCaller(calls), &runtime.Options{Store: s, Layers: []plan.Layer{layer}})
	turn, n := turnIn(tb, calls, conv), 0
	return func() {
		if n++; n%100 == 0 {
			next, err := conv.Agent().Conversation(tb.Context(), strconv.Itoa(n))
			require.NoError(tb, err)
			turn = turnIn(tb, calls, next)
		}
		turn()
	}
}

func wholeTurn(tb testing.TB, calls int) func() { tb.Helper(); return pricedTurn(tb, calls, nil) }

func pricedTurn(tb testing.TB, calls int, list cost.Table) func() {
	tb.Helper()
	return turnIn(tb, calls, conversation(tb, newWhole(tb, list), newCaller(calls)))
}

// turnIn returns a turn of the conversation.
func turnIn(tb testing.TB, calls int, conv *runtime.Conversation) func() {
	ctx, in, n := tb.Context(), message.TextInput("go"), 0
	return func() {
		out, err := dialog.Send(ctx, conv, in, &runtime.TurnOptions{Observe: func(hook.Event) { n++ }})
		if err != nil || out.Calls != calls || out.Text() != "done" {
			panic(fmt.Sprint(out, err))
		}
	}
}

func BenchmarkWhole(b *testing.B) {
	for _, calls := range []int{1, 8} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			turn := wholeTurn(b, calls)
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
	b.Run("priced", func(b *testing.B) {
		turn := pricedTurn(b, 1, cost.Table{"*": {Input: 1, Output: 2}})
		b.ReportAllocs()
		for b.Loop() {
			turn()
		}
	})
}

// The bounds are what holds today. In a conversation of more than a few lines Compact keeps the
// size of each request, which is three of them. Four are what the turn tells hooks that contribute. Most are of the guard, which looks at
// each call of a tool that nobody vouches for.
func TestATurnOfTheWholeAllocatesLittle(t *testing.T) {
	one := allocs.PerRun(200, wholeTurn(t, 1))
	eight := allocs.PerRun(200, wholeTurn(t, 8))
	t.Logf("allocations: one call %v, eight calls %v", one, eight)
	assert.LessOrEqual(t, one, 160.0, "one call")
	assert.LessOrEqual(t, eight, 560.0, "eight calls")
	priced := allocs.PerRun(200, pricedTurn(t, 1, cost.Table{"*": {Input: 1, Output: 2}}))
	t.Logf("allocations of one call with a price list: %v", priced)
	assert.LessOrEqual(t, priced, 170.0, "one call, whose cost is kept with the conversation")
}

// A composite that was forgotten is an error when the runtime is opened, also where a
// layer turns it off or another one.
func TestAForgottenCompositeIsAnError(t *testing.T) {
	t.Parallel()
	for name, layers := range map[string][]plan.Layer{
		"no layers": nil,
		"a layer":   {{Source: "process", Settings: []plan.Setting{{Member: "Around", Switch: plan.Off}}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &composites.Whole{Around: &composites.Around{}, Free: &composites.Free{}}
			rt := runtime.New(h, newCaller(1), &runtime.Options{Layers: layers})
			err := rt.Open(t.Context())
			require.ErrorContains(t, err, "Daemon")
			require.ErrorContains(t, err, "composites.Whole")
		})
	}
}

func newEight() *composites.Eight {
	return &composites.Eight{
		A: new(composites.Silent), B: new(composites.Silent), C: new(composites.Silent), D: new(composites.Silent),
		E: new(composites.Silent), F: new(composites.Silent), G: new(composites.Silent), H: new(composites.Silent),
	}
}

// inTurn asks the eight as the interfaces that they are, checks the same answers, and isolates nobody.
func inTurn(ctx context.Context, eight []hook.BeforeTool, call *hook.ToolCall) (hook.ToolDecision, error) {
	for _, h := range eight {
		if d, err := h.BeforeTool(ctx, call); err != nil || d != (hook.ToolDecision{}) {
			return d, err
		}
	}
	return hook.ToolDecision{}, nil
}

func BenchmarkEightDeciders(b *testing.B) {
	x, call := newEight(), hook.NewToolCall(hook.ToolCallData{ID: "1"})
	c := x.Compose()
	b.Run("limit", func(b *testing.B) {
		ctx, eight := b.Context(), []hook.BeforeTool{x.A, x.B, x.C, x.D, x.E, x.F, x.G, x.H}
		b.ReportAllocs()
		for b.Loop() {
			_, _ = inTurn(ctx, eight, call)
		}
	})
	b.Run("generated", func(b *testing.B) {
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.BeforeTool(ctx, call)
		}
	})
}

// end is what the wraps of a call surround.
type end struct{ result message.ToolResult }

func (e *end) Run(context.Context) message.ToolResult { return e.result }

func BenchmarkThreeWraps(b *testing.B) {
	around := new(composites.Around)
	three := (&composites.Three{A: around, B: around, C: around}).Compose()
	call, next := hook.NewToolCall(hook.ToolCallData{ID: "1"}), &end{message.TextResult("ok")}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_ = three.WrapTool(ctx, call, next)
	}
}

// What no member has at a point, the composite does not have: who calls the points
// looks once, when it is opened, and never calls.
func TestAPointThatNobodyHasIsNotThere(t *testing.T) {
	t.Parallel()
	assert.Equal(t, point.Set(point.BeforeTool), newEight().Compose().Points())
	assert.Equal(t, point.Set(point.WrapTool), (&composites.Three{A: new(composites.Around)}).Compose().Points())
	four, facade := reflect.TypeFor[*composites.Four](), reflect.TypeFor[hook.Hook]()
	for p := range point.All() {
		_, has := four.MethodByName(p.String())
		_, always := facade.MethodByName(p.String())
		assert.Equal(t, always, has, p)
	}
}

func TestDecidersAndWrapsAllocateLittle(t *testing.T) {
	x, call, ctx := newEight(), hook.NewToolCall(hook.ToolCallData{ID: "1"}), t.Context()
	c := x.Compose()
	assert.Zero(t, allocs.PerRun(100, func() { _, _ = c.BeforeTool(ctx, call) }))
	assert.Equal(t, 101, x.H.Asked)

	around, next := new(composites.Around), &end{message.TextResult("ok")}
	three := (&composites.Three{A: around, B: around, C: around}).Compose()
	assert.LessOrEqual(t, allocs.PerRun(100, func() { _ = three.WrapTool(ctx, call, next) }), 2.0, "three wraps of one composite: the chain and its levels")
}

// A result as JSON costs its text, its value as an interface, and what encodes it.
func TestReplyAllocatesLittle(t *testing.T) {
	type answer struct {
		Title string `json:"title"`
		Found int    `json:"found"`
	}
	_ = composite.Reply(struct{ F func() }{}, nil)
	long := answer{Title: strings.Repeat("x", 100<<10)}
	assert.Len(t, composite.Reply(long, nil).Text(), len(long.Title)+len(`{"title":"","found":0}`))
	want := message.JSONResult(`{"title":"Shopping list","found":25}`)
	assert.LessOrEqual(t, allocs.PerRun(100, func() {
		if got := composite.Reply(answer{"Shopping list", 25}, nil); got.Text() != want.Text() {
			t.Fatal(got)
		}
	}), 6.0)
}

func words(n int) message.ModelStream {
	chunks := make([]message.Chunk, n)
	for i := range chunks {
		chunks[i] = message.Chunk{Kind: message.ChunkText, Text: "word "}
	}
	return stream(chunks...)
}

func BenchmarkDeltasToFour(b *testing.B) {
	b.Run("limit", func(b *testing.B) {
		s, ctx, now, seq := words(1000), b.Context(), time.Now(), uint64(0)
		consumers := []hook.Hook{new(composites.Consumer), new(composites.Consumer), new(composites.Consumer), new(composites.Consumer)}
		b.ReportAllocs()
		for b.Loop() {
			var text []byte
			for chunk := range s {
				text = append(text, chunk.Text...)
				seq++
				for _, c := range consumers {
					c.OnEvent(ctx, hook.Event{
						Kind: event.TextDelta, Seq: seq, Time: now, Agent: "a", Conversation: "c1", Turn: "t1", Step: 1, Text: chunk.Text,
					})
				}
			}
		}
	})
	b.Run("generated", func(b *testing.B) {
		four := &composites.Four{A: new(composites.Consumer), B: new(composites.Consumer), C: new(composites.Consumer), D: new(composites.Consumer)}
		conv := conversation(b, four, always{words(1000)})
		ctx, in := b.Context(), message.TextInput("go")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := dialog.Send(ctx, conv, in, nil); err != nil {
				b.Fatal(err)
			}
		}
		require.Equal(b, four.A.Events, four.D.Events)
	})
}
