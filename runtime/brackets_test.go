package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// closers says which kind closes which.
var closers = map[hook.EventKind]hook.EventKind{
	event.TurnEnd: event.TurnStart, event.StepEnd: event.StepStart,
	event.TextEnd: event.TextStart, event.ReasoningEnd: event.ReasoningStart,
	event.CallsComplete: event.CallsBegin, event.ApprovalGiven: event.ApprovalAsked,
	event.QuestionGiven: event.QuestionAsked,
}

// unbalanced returns the first mistake in the brackets of a stream; "" is none. In a stream
// of several processes the start of a turn closes everything that was open: the turn is
// resumed, or another one has begun.
func unbalanced(events []hook.Event) string {
	var open []hook.EventKind
	epoch := int64(0)
	for _, ev := range events {
		if ev.Kind == event.TurnStart && ev.Depth == 0 && ev.Epoch != epoch {
			open, epoch = nil, ev.Epoch
		}
		begins := false
		for _, kind := range closers {
			begins = begins || kind == ev.Kind
		}
		switch kind, ends := closers[ev.Kind]; {
		case begins:
			open = append(open, ev.Kind)
		case ends && (len(open) == 0 || open[len(open)-1] != kind):
			return fmt.Sprintf("%s at %d closes nothing: open are %v", ev.Kind, ev.Seq, open)
		case ends:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Sprint("left open: ", open)
	}
	return ""
}

// keptEvents are those that the store has.
func keptEvents(t *testing.T, st store.Store, id string) (events []hook.Event) {
	t.Helper()
	kept, err := st.(store.Log).Events(context.Background(), id, 0, 1_000_000)
	require.NoError(t, err)
	for _, k := range kept {
		var ev hook.Event
		require.NoError(t, json.Unmarshal([]byte(k.Data), &ev))
		events = append(events, ev)
	}
	return events
}

// TestBracketsClose: however a turn ends, what has begun ends: for the observer, the
// hook and whoever reads the log.
func TestBracketsClose(t *testing.T) {
	t.Parallel()
	broken := func(chunks ...message.Chunk) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
			yield(message.Chunk{}, errors.New("the line is cut"))
		}
	}
	panics := func(yield func(message.Chunk, error) bool) {
		yield(text("half a "), nil)
		panic("boom")
	}
	type ending struct {
		model *model
		// cancel ends the turn at the first event of the kind.
		cancel hook.EventKind
		hooks  []hook.Hook
	}
	cases := map[string]ending{
		"an answer":               {model: plays(says("a", "b"))},
		"reasoning and an answer": {model: plays(chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, text("a"), finish(message.FinishStop)))},
		"calls":                   {model: plays(calls(want{"1", "x", "{}"}, want{"2", "x", "{}"}), says("done"))},
		"calls without text":      {model: plays(chunks(text("I will"), message.Chunk{Kind: message.ChunkCallStart, CallID: "1", Tool: "x"}, message.Chunk{Kind: message.ChunkCallArgs, Text: "{}"}, message.Chunk{Kind: message.ChunkCallEnd}, finish(message.FinishTools)), says("done"))},
		"arguments that are none": {model: plays(calls(want{"1", "x", `{"s":`}))},
		"a cut stream":            {model: plays(broken(text("half a ")))},
		"a stream without an end": {model: plays(chunks(text("half a ")))},
		"a provider that panics":  {model: plays(panics)},
		"a tool that panics":      {model: plays(calls(want{"1", "panic", "{}"}), says("done"))},
		"cancelled in text":       {model: plays(says("a", "b", "c")), cancel: event.TextDelta},
		"cancelled in a call":     {model: plays(calls(want{"1", "wait", "{}"}), says("done")), cancel: event.CallStart},
		"cancelled at the start":  {model: plays(says("a")), cancel: event.TurnStart},
		"cancelled when asked":    {model: plays(calls(want{"1", "x", "{}"}), says("done")), cancel: event.ApprovalAsked, hooks: []hook.Hook{asksAlways{}}},
		"refused":                 {model: plays(calls(want{"1", "x", "{}"}), says("done")), hooks: []hook.Hook{asksAlways{}}},
		"a hook that panics":      {model: plays(says("a")), hooks: []hook.Hook{panicky{at: "AfterModel"}}},
		"an observer that panics": {model: plays(says("a")), hooks: []hook.Hook{panicky{at: "OnEvent"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []hook.Event
			hooks := append([]hook.Hook{observer{f: func(_ context.Context, ev hook.Event) {
				if ev.Conversation != "" {
					seen = append(seen, ev)
				}
			}}, box(named("x"), does("panic", func(context.Context) message.ToolResult { panic("boom") }),
				does("wait", func(ctx context.Context) message.ToolResult { <-ctx.Done(); return message.TextResult("ended") }))}, c.hooks...)
			w := startWith(t, c.model, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mem.New(&mem.Options{Journal: true})}, hooks...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var told []hook.Event
			_, _ = dialog.Send(ctx, w.conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
				told = append(told, ev)
				if ev.Kind == c.cancel {
					cancel()
				}
			}})
			assert.Empty(t, unbalanced(told), "the observer")
			assert.Empty(t, unbalanced(seen), "the hook")
			kept := keptEvents(t, w.store, w.conv.ID())
			assert.Empty(t, unbalanced(kept), "the log")
			assert.Equal(t, event.TurnEnd, kept[len(kept)-1].Kind)
		})
	}
	assert.NotEmpty(t, unbalanced([]hook.Event{{Kind: event.TurnStart}}))
	assert.NotEmpty(t, unbalanced([]hook.Event{{Kind: event.TurnEnd}}))
}

// asksAlways wants every call approved.
type asksAlways struct{ hook.Nop }

func (asksAlways) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.AskTool("really?"), nil
}

// mortalStore belongs to a process that dies before its n-th write.
type mortalStore struct {
	*mem.Store
	mu   sync.Mutex
	left int
}

func (s *mortalStore) dies() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left < 0 {
		return errors.New("the process is dead")
	}
	return nil
}

func (s *mortalStore) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if err := s.dies(); err != nil {
		return 0, err
	}
	return s.Store.Append(ctx, id, a)
}

func (s *mortalStore) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if err := s.dies(); err != nil {
		return 0, err
	}
	return s.Store.Note(ctx, id, n)
}

// TestBracketsCloseAfterADeath: a process dies before each of its writes. Whether
// the turn is resumed or only ended, everything that began in the log also
// ends, and a reader that was there from the beginning has that log.
func TestBracketsCloseAfterADeath(t *testing.T) {
	t.Parallel()
	script := func() *model {
		return plays(calls(want{"1", "x", "{}"}, want{"2", "x", "{}"}), says("done"), says("done"))
	}
	deaths := 0
	for n := 0; ; n++ {
		for _, resume := range []bool{true, false} {
			st := mem.New(&mem.Options{Journal: true})
			mortal := &mortalStore{Store: st, left: n}
			first := startWith(t, script(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mortal}, box(named("x")))
			sub := first.rt.Subscribe(&runtime.SubscribeOptions{Conversation: first.conv.ID()})
			_, err := first.try(t.Context(), "go")
			if err == nil && mortal.left >= 0 {
				assert.Greater(t, deaths, 5)
				assert.Empty(t, unbalanced(keptEvents(t, st, first.conv.ID())))
				sub.Close()
				return
			}
			deaths++
			c := &follower{t: t}
			c.follow(sub)
			after := sub.Position()
			sub.Close()
			second := startWith(t, script(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st, Gone: func(string) bool { return true }}, box(named("x")))
			sub = second.rt.Subscribe(&runtime.SubscribeOptions{Conversation: second.conv.ID(), After: &after})
			if resume {
				_, err = dialog.Resume(t.Context(), second.conv, nil)
			}
			if !resume || errors.Is(err, runtime.ErrNotInterrupted) {
				second.send("again")
			}
			kept := keptEvents(t, st, second.conv.ID())
			assert.Empty(t, unbalanced(kept), "before write %d, resumed: %v", n, resume)
			c.follow(sub)
			sub.Close()
			assert.Equal(t, textsOf(kept), textsOf(c.have), "before write %d, resumed: %v", n, resume)
		}
	}
}

// follower reads and follows instructions.
type follower struct {
	t    *testing.T
	have []hook.Event
}

func (f *follower) follow(r *runtime.Reader) {
	for {
		p, err := r.Read(context.Background())
		require.NoError(f.t, err)
		for _, item := range p.Items {
			switch {
			case item.Restarted:
				for len(f.have) > 0 && f.have[len(f.have)-1].Seq > item.At.Seq {
					f.have = f.have[:len(f.have)-1]
				}
			case item.Missed > 0:
				assert.True(f.t, item.Kept)
			case item.Event().Kind != event.TextDelta:
				f.have = append(f.have, item.Event())
			}
		}
		if p.More != nil {
			return
		}
	}
}

func textsOf(events []hook.Event) []string {
	out := make([]string, len(events))
	for i, ev := range events {
		out[i] = fmt.Sprint(ev.Epoch, "-", ev.Seq, " ", ev.Kind, " ", ev.Turn, " ", ev.Text)
	}
	return out
}
