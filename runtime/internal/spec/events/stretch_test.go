package events_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// counted is a stream of n deltas whose texts are "0 ", "1 " and so on.
func counted(n int) (message.ModelStream, string) {
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i) + " "
	}
	return rig.Says(words...), strings.Join(words, "")
}

// ordered checks that the observer never gets two events at once, that numbers have no gap,
// that time does not go back, and collects the text.
type ordered struct {
	hook.Nop
	t    *testing.T
	then func(ctx context.Context, ev hook.Event)

	within atomic.Bool
	seq    uint64
	at     time.Time
	kinds  map[hook.EventKind]int
	text   strings.Builder
}

func (o *ordered) OnEvent(ctx context.Context, ev hook.Event) {
	assert.False(o.t, o.within.Swap(true), "never two events at once")
	defer o.within.Store(false)
	if ev.Conversation == "" {
		return
	}
	if ev.Seq != 0 {
		o.seq++
		assert.Equal(o.t, o.seq, ev.Seq, "%s: no gap, none twice", ev.Kind)
	}
	assert.False(o.t, ev.Time.Before(o.at), "%s %d: time does not go back", ev.Kind, ev.Seq)
	o.at = ev.Time
	if o.kinds == nil {
		o.kinds = map[hook.EventKind]int{}
	}
	o.kinds[ev.Kind]++
	if ev.Kind == event.TextDelta {
		o.text.WriteString(ev.Text)
	}
	if o.then != nil {
		o.then(ctx, ev)
	}
}

// Others may emit whenever they like while a reply is shown, with a number and
// without, wait for the delivery or be waited for.
func TestOthersEmitBetweenDeltas(t *testing.T) {
	t.Parallel()
	const deltas, others, each = 3000, 4, 500
	var emitting sync.WaitGroup
	h := &ordered{t: t}
	h.then = func(ctx context.Context, ev hook.Event) {
		if ev.Kind != event.TextStart {
			return
		}
		for i := range others {
			emitting.Go(func() {
				for range each {
					visibility := event.VisibleUser
					if i%2 == 0 {
						visibility = event.VisibleInternal
					}
					ev.Host().Emit(ctx, hook.Diagnostic{Text: "by the way", Visibility: visibility}.Event())
					goruntime.Gosched()
				}
			})
		}
	}
	stream, text := counted(deltas)
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(0, now.Add(1)) }
	w := rig.StartWith(t, rig.Plays(stream), hook.AgentConfig{Name: "a"}, &runtime.Options{Now: clock}, h)
	assert.Equal(t, text, w.Send("go").Text())
	emitting.Wait()
	require.NoError(t, w.Runtime.Close(t.Context()))
	assert.Equal(t, text, h.text.String())
	assert.Equal(t, deltas, h.kinds[event.TextDelta])
	assert.Equal(t, others*each, h.kinds[event.Diagnostic])
	var shown strings.Builder
	for _, ev := range w.EventsOf(event.TextDelta) {
		shown.WriteString(ev.Text)
	}
	assert.Equal(t, text, shown.String())
}

func TestWhatADeltaMakesAConsumerEmitComesBeforeTheNextDelta(t *testing.T) {
	t.Parallel()
	h := &ordered{t: t}
	h.then = func(ctx context.Context, ev hook.Event) {
		if ev.Kind == event.TextDelta {
			ev.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: ev.Text})
		}
	}
	stream, _ := counted(50)
	w := rig.Start(t, rig.Plays(stream), h)
	w.Send("go")
	var got []string
	for _, ev := range w.Events {
		if ev.Kind == event.TextDelta || ev.Kind == event.Diagnostic {
			got = append(got, ev.Text)
		}
	}
	require.Len(t, got, 100)
	for i, text := range got {
		assert.Equal(t, fmt.Sprint(i/2, " "), text)
	}
}

func TestAConsumerMayPanicAtAnyDelta(t *testing.T) {
	t.Parallel()
	stream, text := counted(40)
	h := &ordered{t: t}
	h.then = func(_ context.Context, ev hook.Event) {
		if ev.Kind == event.TextDelta && ev.Text != "" && ev.Text[0] == '2' {
			panic("boom")
		}
	}
	w := rig.Start(t, rig.Plays(stream), h)
	assert.Equal(t, text, w.Send("go").Text())
	assert.Equal(t, text, h.text.String(), "it is told of those that follow")
	assert.Equal(t, 11, h.kinds[event.HookFailed], "2 and 20 to 29")
	for i, ev := range w.Events {
		if ev.Kind == event.HookFailed {
			assert.Equal(t, byte('2'), w.Events[i-1].Text[0], "directly behind the delta")
			assert.Equal(t, point.OnEvent, ev.Detail().Point)
		}
	}
}

func TestAnObserverMayPanicAtAnyDelta(t *testing.T) {
	t.Parallel()
	stream, text := counted(40)
	h := &ordered{t: t}
	w := rig.Start(t, rig.Plays(stream), h)
	told := ""
	out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind != event.TextDelta {
			return
		}
		if told += ev.Text; ev.Text == "9 " {
			panic("boom")
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, text, out.Text())
	assert.Equal(t, "0 1 2 3 4 5 6 7 8 9 ", told, "it is not called again")
	assert.Equal(t, text, h.text.String())
	assert.Equal(t, 1, h.kinds[event.Diagnostic])
}

func TestAnObserverMayEndItsGoroutineAtADelta(t *testing.T) {
	t.Parallel()
	first, _ := counted(20)
	h := &ordered{t: t}
	w := rig.Start(t, rig.Plays(first, rig.Says("two")), h)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = dialog.Send(context.Background(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
			if ev.Text == "9 " {
				goruntime.Goexit()
			}
		}})
	}()
	<-ended
	assert.Equal(t, "two", w.Send("again").Text())
	assert.Equal(t, "0 1 2 3 4 5 6 7 8 9 two", h.text.String())
}

// A child's deltas are in the stream of its parent's conversation, and so are those
// of two children that speak at once.
func TestChildrenSpeakAtOnce(t *testing.T) {
	t.Parallel()
	const deltas = 500
	model := provider.Func(func(_ context.Context, req message.ModelRequest) message.ModelStream {
		switch last := req.Messages.At(req.Messages.Len() - 1); {
		case last.Role == message.RoleTool:
			return rig.Says("done")
		case last.Text() == "go":
			return rig.Calls(rig.Call("1", "ask", "{}"), rig.Call("2", "ask", "{}"))
		}
		stream, _ := counted(deltas)
		return stream
	})
	ask := rig.Tool{Tool: message.Tool{Name: "ask", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("count"), Call: env.Call})
		assert.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	h := &ordered{t: t}
	last := map[string]int{}
	h.then = func(_ context.Context, ev hook.Event) {
		if ev.Kind == event.TextDelta && ev.Agent == "b" {
			assert.Equal(t, fmt.Sprint(last[ev.Turn], " "), ev.Text)
			assert.Equal(t, 1, ev.Depth)
			last[ev.Turn]++
		}
	}
	rt := runtime.New(rig.Compose(t, []hook.Hook{h, rig.Box(ask)}), model, nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { require.NoError(t, rt.Close(context.Background())) }()
	for _, name := range []string{"a", "b"} {
		_, err := rt.Register(t.Context(), hook.AgentConfig{Name: name})
		require.NoError(t, err)
	}
	conv, err := dialog.Conversation(t.Context(), rt, "a", "ann")
	require.NoError(t, err)
	out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
	require.NoError(t, err)
	assert.Equal(t, "done", out.Text())
	assert.Len(t, last, 2)
	for turn, n := range last {
		assert.Equal(t, deltas, n, turn)
	}
}
