package runtime_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// What a person says is stored before anybody hears that its turn begins, and gets to
// the model only past Preprocess and BeforeTurn, through whatever door it comes.

// doorkeeper refuses what says "secret", rewrites "draft" to "final", answers "/time"
// itself, and waits at the gate if it is to.
type doorkeeper struct {
	hook.Nop
	reached, open chan struct{}
	// fails is what Preprocess returns.
	fails error
	// judged is what BeforeTurn has seen: the input, and that of the place.
	judged []string
}

func (d *doorkeeper) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	if d.reached != nil {
		d.reached <- struct{}{}
		select {
		case <-d.open:
		case <-ctx.Done():
			return in, ctx.Err()
		}
	}
	if strings.Contains(in.Text(), "draft") {
		return message.TextInput(strings.ReplaceAll(in.Text(), "draft", "final")), nil
	}
	return in, d.fails
}

func (d *doorkeeper) BeforeTurn(_ context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	d.judged = append(d.judged, in.Text()+"|"+t.Input().Text())
	switch {
	case strings.Contains(in.Text(), "secret"):
		return hook.RejectTurn("no secrets"), nil
	case in.Text() == "/time":
		return hook.RespondTurn("it is noon"), nil
	}
	return hook.TurnDecision{}, nil
}

// mortal is a store that can die: from then on nothing reaches it.
type mortal struct {
	*mem.Store
	dead atomic.Bool
	// last says which append is the last one that reaches it; nil is none.
	last func(store.Append) bool
}

func (s *mortal) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	v, err := s.Store.Append(ctx, id, a)
	if s.last != nil && s.last(a) {
		s.dead.Store(true)
	}
	return v, err
}

func (s *mortal) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Store.Note(ctx, id, n)
}

// bootOver starts a process over what the one before it has left in the store.
func bootOver(t *testing.T, s *mortal, m *model, hooks ...hook.Hook) (*world, *mortal) {
	t.Helper()
	next := &mortal{Store: mem.New(&mem.Options{Journal: true})}
	if s != nil {
		next.Store = s.Store
	}
	o := &runtime.Options{Store: next, Gone: func(string) bool { return true }}
	return startWith(t, m, hook.AgentConfig{Name: "a"}, o, hooks...), next
}

// acknowledged starts a turn whose process dies while a hook has its input.
func acknowledged(t *testing.T, said string) *mortal {
	t.Helper()
	d := &doorkeeper{reached: make(chan struct{}, 1), open: make(chan struct{})}
	w, s := bootOver(t, nil, plays(), d)
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan hook.Event, 10), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = dialog.Send(ctx, w.conv, message.TextInput(said), &runtime.TurnOptions{Observe: func(ev hook.Event) { begun <- ev }})
	}()
	assert.Equal(t, event.TurnStart, (<-begun).Kind)
	<-d.reached
	s.dead.Store(true)
	cancel()
	<-ended
	return s
}

func TestSpecAnAcknowledgedInputOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for name, goesOn := range map[string]func(w *world) (hook.TurnOutcome, error){
		"resumed": func(w *world) (hook.TurnOutcome, error) { return dialog.Resume(t.Context(), w.conv, nil) },
		"settled": func(w *world) (hook.TurnOutcome, error) { return w.try(t.Context(), "and then?") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, m := &doorkeeper{}, plays(says("done"))
			w, s := bootOver(t, acknowledged(t, "a draft"), m, d)
			interrupted, err := w.conv.Interrupted(t.Context())
			require.NoError(t, err)
			require.True(t, interrupted, "who was told that the turn begins can rely on it")
			_, err = goesOn(w)
			require.NoError(t, err)
			assert.Equal(t, "user a final", w.history()[0], "as the gates have left it")
			assert.Equal(t, "a final|a final", d.judged[0], "which were asked")
			assert.Equal(t, "user a final", line(m.requests[0].Messages.At(0)))
			entries, err := s.Journal(t.Context(), w.conv.ID())
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
		t.Run(name+" and refused", func(t *testing.T) {
			t.Parallel()
			m := plays(says("done"))
			w, s := bootOver(t, acknowledged(t, "a secret"), m, &doorkeeper{})
			out, err := goesOn(w)
			if name == "resumed" {
				require.ErrorIs(t, err, runtime.ErrRejected)
				assert.Equal(t, hook.StopDenied, out.Stop)
				assert.Empty(t, m.requests, "the gates hold after a restart")
			}
			assert.NotContains(t, strings.Join(w.history(), "\n"), "secret")
			entries, err := s.Journal(t.Context(), w.conv.ID())
			require.NoError(t, err)
			assert.Empty(t, entries)
			rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
			require.NoError(t, err)
			assert.Equal(t, map[string]int{"resumed": 0, "settled": 1}[name], rec.Turns, "a refused turn does not count")
		})
	}
}

func TestSpecATurnWhoseInputCannotBeStoredHasNotBegun(t *testing.T) {
	t.Parallel()
	w, s := bootOver(t, nil, plays(says("done")))
	s.dead.Store(true)
	_, err := w.try(t.Context(), "hello")
	require.ErrorIs(t, err, errDead)
	assert.NotContains(t, w.kinds(), event.TurnStart, "nobody hears of it")
	s.dead.Store(false)
	require.ErrorIs(t, dialog.Steer(t.Context(), w.conv, message.TextInput("?")), runtime.ErrIdle)
	w.send("again")
	assert.Equal(t, []string{"user again", "assistant done"}, w.history())
}

func TestSpecAGateThatKillsItsProcessIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	s := acknowledged(t, "hello")
	for range 3 {
		d := &doorkeeper{reached: make(chan struct{}, 1), open: make(chan struct{})}
		w, next := bootOver(t, s, plays(), d)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = dialog.Resume(ctx, w.conv, nil)
		}()
		<-d.reached
		next.dead.Store(true)
		cancel()
		<-ended
		s = next
	}
	d := &doorkeeper{}
	w, _ := bootOver(t, s, plays(says("done")), d)
	out, err := dialog.Resume(t.Context(), w.conv, nil)
	require.ErrorContains(t, err, "was resumed as often")
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Empty(t, d.judged)
	w.send("next")
	assert.Equal(t, []string{"user next", "assistant done"}, w.history())
}

// A door is a way by which the text of a person gets to the model.
func TestSpecEveryDoorHasTheGates(t *testing.T) {
	t.Parallel()
	doors := map[string]func(t *testing.T, said string) (*world, *model, *doorkeeper){
		"Send": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			d, m := &doorkeeper{}, plays(says("done"))
			w, _ := bootOver(t, nil, m, d)
			_, _ = w.try(t.Context(), said)
			return w, m, d
		},
		"Send with Queue": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			tool := newGate("wait")
			d, m := &doorkeeper{}, plays(calls(want{"c1", "wait", `{}`}), says("one"), says("two"))
			w, _ := bootOver(t, nil, m, box(tool.tool), d)
			first, second := make(chan struct{}), make(chan struct{})
			go func() { defer close(first); _, _ = dialog.Send(t.Context(), w.conv, message.TextInput("1"), nil) }()
			<-tool.reached
			go func() {
				defer close(second)
				_, _ = dialog.Send(t.Context(), w.conv, message.TextInput(said), &runtime.TurnOptions{WhenBusy: runtime.Queue})
			}()
			close(tool.open)
			<-first
			<-second
			return w, m, d
		},
		"Steer during a step": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			tool := newGate("wait")
			d, m := &doorkeeper{}, plays(calls(want{"c1", "wait", `{}`}), says("done"))
			w, _ := bootOver(t, nil, m, box(tool.tool), d)
			ended := make(chan struct{})
			go func() { defer close(ended); w.send("1") }()
			<-tool.reached
			steers(t, w, said)
			close(tool.open)
			<-ended
			return w, m, d
		},
		"Steer of a turn that is about to end": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			var w *world
			first := func(yield func(message.Chunk, error) bool) {
				steers(t, w, said)
				says("that was all")(yield)
			}
			d, m := &doorkeeper{}, plays(first, says("that too"))
			w, _ = bootOver(t, nil, m, d)
			w.send("1")
			return w, m, d
		},
		"Steer of a turn that is stopped": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			var w *world
			first := func(func(message.Chunk, error) bool) {
				steers(t, w, said)
				dialog.Stop(w.conv)
			}
			d, m := &doorkeeper{}, plays(first, says("done"))
			w, _ = bootOver(t, nil, m, d)
			_, _ = w.try(t.Context(), "1")
			w.send("2")
			return w, m, d
		},
		"Steer, resumed": func(t *testing.T, said string) (*world, *model, *doorkeeper) { return steeredAndKilled(t, said, true) },
		"Steer, settled": func(t *testing.T, said string) (*world, *model, *doorkeeper) { return steeredAndKilled(t, said, false) },
		"Resume": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			d, m := &doorkeeper{}, plays(says("done"))
			w, _ := bootOver(t, acknowledged(t, said), m, d)
			_, _ = dialog.Resume(t.Context(), w.conv, nil)
			return w, m, d
		},
		"a guest": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			d, m := &doorkeeper{}, plays(says("done"))
			w, _ := bootOver(t, nil, m, d)
			_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "guest"})
			require.NoError(t, err)
			_, _ = dialog.Send(t.Context(), w.conv, message.TextInput(said), &runtime.TurnOptions{Guest: "guest"})
			return w, m, d
		},
		"Host.RunAgent": func(t *testing.T, said string) (*world, *model, *doorkeeper) {
			run := tool{message.Tool{Name: "run", Waits: true}, func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
				_, _ = env.Call.Step().Turn().Host().RunAgent(ctx, hook.AgentRun{Agent: "other", Input: message.TextInput(said), Call: env.Call})
				return message.TextResult("ran")
			}}
			d, m := &doorkeeper{}, plays(calls(want{"c1", "run", `{}`}), says("done"), says("done"))
			w, _ := bootOver(t, nil, m, box(run), d)
			_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "other"})
			require.NoError(t, err)
			w.send("1")
			return w, m, d
		},
	}
	for name, door := range doors {
		for said, judged := range map[string]string{"a secret": "a secret|a secret", "a draft": "a final|a final"} {
			t.Run(name+" of "+said, func(t *testing.T) {
				t.Parallel()
				w, m, d := door(t, said)
				assert.Contains(t, d.judged, judged, "the place has the same input as the call")
				var asked []string
				for _, req := range m.requests {
					for _, m := range req.Messages.All() {
						asked = append(asked, line(m))
					}
				}
				all := strings.Join(append(asked, w.history()...), "\n")
				assert.NotContains(t, all, said)
				if said == "a draft" {
					assert.Contains(t, all, "user a final")
				}
			})
		}
	}
}

// steeredAndKilled is a process that takes up what was said to a turn whose process was
// killed then.
func steeredAndKilled(t *testing.T, said string, resume bool) (*world, *model, *doorkeeper) {
	t.Helper()
	g := newGate("wait")
	w, s := bootOver(t, nil, plays(calls(want{"c1", "wait", `{}`})), box(g.tool), &doorkeeper{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = w.try(ctx, "1") }()
	<-g.reached
	steers(t, w, said)
	s.dead.Store(true)
	cancel()
	<-ended
	d, m := &doorkeeper{}, plays(says("done"), says("done"))
	w, _ = bootOver(t, s, m, box(g.tool), d)
	if resume {
		_, _ = dialog.Resume(t.Context(), w.conv, nil)
	} else {
		w.send("2")
	}
	return w, m, d
}

func TestSpecARefusedSteerIsReportedAndTheTurnContinues(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	m := plays(calls(want{"c1", "wait", `{}`}), says("done"))
	d := &doorkeeper{}
	w, _ := bootOver(t, nil, m, box(tool.tool), d)
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.try(t.Context(), "1"); ended <- out }()
	<-tool.reached
	steers(t, w, "a secret", "hello", "/time")
	close(tool.open)
	out := <-ended
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user hello", "assistant done"}, w.history())
	var told []string
	for _, ev := range w.events {
		if ev.Kind == event.Steered || ev.Kind == event.SteerRefused {
			told = append(told, string(ev.Kind)+": "+ev.Text)
		}
	}
	require.Len(t, told, 3, "one event each, in their order")
	assert.Contains(t, told[0], "steer_refused: ")
	assert.Contains(t, told[0], "no secrets")
	assert.Equal(t, []string{"steered: hello", "steer_refused: it is noon"}, told[1:])
}

func TestSpecAPreprocessThatFailsRefusesWhatIsSteered(t *testing.T) {
	t.Parallel()
	var w *world
	d := &doorkeeper{}
	first := func(yield func(message.Chunk, error) bool) {
		d.fails = errors.New("with a password in it")
		steers(t, w, "hello")
		says("all")(yield)
	}
	w, _ = bootOver(t, nil, plays(first), d)
	out := w.send("1")
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, []string{"user 1", "assistant all"}, w.history())
	refused := w.eventsOf(event.SteerRefused)
	require.Len(t, refused, 1)
	assert.NotContains(t, refused[0].Text, "password", "what failed may quote secrets")
	require.ErrorIs(t, dialog.Steer(t.Context(), w.conv, message.TextInput("too late")), runtime.ErrIdle)
}

func TestSpecAGateThatSteersIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	var w *world
	asked := 0
	w, _ = bootOver(t, nil, plays(says("done")), point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if asked++; in.Text() == "1" {
			return hook.TurnDecision{}, dialog.Steer(t.Context(), w.conv, message.TextInput("more"))
		}
		return hook.RejectTurn("no"), dialog.Steer(t.Context(), w.conv, message.TextInput("more"))
	}))
	assert.Equal(t, hook.StopCompleted, w.send("1").Stop)
	assert.Less(t, asked, 100)
	assert.Equal(t, []string{"user 1", "assistant done"}, w.history())
}
