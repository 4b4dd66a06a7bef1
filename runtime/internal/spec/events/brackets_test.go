package events_test

import (
	"context"
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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

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
		yield(rig.Text("half a "), nil)
		panic("boom")
	}
	type ending struct {
		model *rig.Model
		// cancel ends the turn at the first event of the kind.
		cancel hook.EventKind
		hooks  []hook.Hook
	}
	cases := map[string]ending{
		"an answer":               {model: rig.Plays(rig.Says("a", "b"))},
		"reasoning and an answer": {model: rig.Plays(rig.Chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, rig.Text("a"), rig.Finish(message.FinishStop)))},
		"calls":                   {model: rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}")), rig.Says("done"))},
		"calls without text":      {model: rig.Plays(rig.Chunks(rig.Text("I will"), message.Chunk{Kind: message.ChunkCallStart, CallID: "1", Tool: "x"}, message.Chunk{Kind: message.ChunkCallArgs, Text: "{}"}, message.Chunk{Kind: message.ChunkCallEnd}, rig.Finish(message.FinishTools)), rig.Says("done"))},
		"arguments that are none": {model: rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":`)))},
		"a cut stream":            {model: rig.Plays(broken(rig.Text("half a ")))},
		"a stream without an end": {model: rig.Plays(rig.Chunks(rig.Text("half a ")))},
		"a provider that panics":  {model: rig.Plays(panics)},
		"a tool that panics":      {model: rig.Plays(rig.Calls(rig.Call("1", "panic", "{}")), rig.Says("done"))},
		"cancelled in text":       {model: rig.Plays(rig.Says("a", "b", "c")), cancel: event.TextDelta},
		"cancelled in a call":     {model: rig.Plays(rig.Calls(rig.Call("1", "wait", "{}")), rig.Says("done")), cancel: event.CallStart},
		"cancelled at the start":  {model: rig.Plays(rig.Says("a")), cancel: event.TurnStart},
		"cancelled when asked":    {model: rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), cancel: event.ApprovalAsked, hooks: []hook.Hook{asksAlways{}}},
		"refused":                 {model: rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), hooks: []hook.Hook{asksAlways{}}},
		"a hook that panics":      {model: rig.Plays(rig.Says("a")), hooks: []hook.Hook{rig.Panicky{At: "AfterModel"}}},
		"an observer that panics": {model: rig.Plays(rig.Says("a")), hooks: []hook.Hook{rig.Panicky{At: "OnEvent"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []hook.Event
			hooks := append([]hook.Hook{rig.Observer{Do: func(_ context.Context, ev hook.Event) {
				if ev.Conversation != "" {
					seen = append(seen, ev)
				}
			}}, rig.Box(rig.Named("x"), rig.Does("panic", func(context.Context) message.ToolResult { panic("boom") }),
				rig.Does("wait", func(ctx context.Context) message.ToolResult { <-ctx.Done(); return message.TextResult("ended") }))}, c.hooks...)
			w := rig.StartWith(t, c.model, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mem.New(&mem.Options{Journal: true})}, hooks...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var told []hook.Event
			_, _ = dialog.Send(ctx, w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
				told = append(told, ev)
				if ev.Kind == c.cancel {
					cancel()
				}
			}})
			assert.Empty(t, rig.Unbalanced(told), "the observer")
			assert.Empty(t, rig.Unbalanced(seen), "the hook")
			kept := rig.KeptEvents(t, w.Store, w.Conv.ID())
			assert.Empty(t, rig.Unbalanced(kept), "the log")
			assert.Equal(t, event.TurnEnd, kept[len(kept)-1].Kind)
		})
	}
	assert.NotEmpty(t, rig.Unbalanced([]hook.Event{{Kind: event.TurnStart}}))
	assert.NotEmpty(t, rig.Unbalanced([]hook.Event{{Kind: event.TurnEnd}}))
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
	script := func() *rig.Model {
		return rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}")), rig.Says("done"), rig.Says("done"))
	}
	deaths := 0
	for n := 0; ; n++ {
		for _, resume := range []bool{true, false} {
			st := mem.New(&mem.Options{Journal: true})
			mortal := &mortalStore{Store: st, left: n}
			first := rig.StartWith(t, script(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: mortal}, rig.Box(rig.Named("x")))
			sub := first.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: first.Conv.ID()})
			_, err := first.Try(t.Context(), "go")
			if err == nil && mortal.left >= 0 {
				assert.Greater(t, deaths, 5)
				assert.Empty(t, rig.Unbalanced(rig.KeptEvents(t, st, first.Conv.ID())))
				sub.Close()
				return
			}
			deaths++
			c := &follower{t: t}
			c.follow(sub)
			after := sub.Position()
			sub.Close()
			second := rig.StartWith(t, script(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st, Gone: func(string) bool { return true }}, rig.Box(rig.Named("x")))
			sub = second.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: second.Conv.ID(), After: &after})
			if resume {
				_, err = dialog.Resume(t.Context(), second.Conv, nil)
			}
			if !resume || errors.Is(err, runtime.ErrNotInterrupted) {
				second.Send("again")
			}
			kept := rig.KeptEvents(t, st, second.Conv.ID())
			assert.Empty(t, rig.Unbalanced(kept), "before write %d, resumed: %v", n, resume)
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
