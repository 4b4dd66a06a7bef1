package turns_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
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
		return 0, rig.ErrDead
	}
	v, err := s.Store.Append(ctx, id, a)
	if s.last != nil && s.last(a) {
		s.dead.Store(true)
	}
	return v, err
}

func (s *mortal) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if s.dead.Load() {
		return 0, rig.ErrDead
	}
	return s.Store.Note(ctx, id, n)
}

// bootOver starts a process over what the one before it has left in the store.
func bootOver(t *testing.T, s *mortal, m *rig.Model, hooks ...hook.Hook) (*rig.World, *mortal) {
	t.Helper()
	next := &mortal{Store: mem.New(&mem.Options{Journal: true})}
	if s != nil {
		next.Store = s.Store
	}
	o := &runtime.Options{Store: next, Gone: func(string) bool { return true }}
	return rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, o, hooks...), next
}

// acknowledged starts a turn whose process dies while a hook has its input.
func acknowledged(t *testing.T, said string) *mortal {
	t.Helper()
	d := &doorkeeper{reached: make(chan struct{}, 1), open: make(chan struct{})}
	w, s := bootOver(t, nil, rig.Plays(), d)
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan hook.Event, 10), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = dialog.Send(ctx, w.Conv, message.TextInput(said), &runtime.TurnOptions{Observe: func(ev hook.Event) { begun <- ev }})
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
	for name, goesOn := range map[string]func(w *rig.World) (hook.TurnOutcome, error){
		"resumed": func(w *rig.World) (hook.TurnOutcome, error) { return dialog.Resume(t.Context(), w.Conv, nil) },
		"settled": func(w *rig.World) (hook.TurnOutcome, error) { return w.Try(t.Context(), "and then?") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, m := &doorkeeper{}, rig.Plays(rig.Says("done"))
			w, s := bootOver(t, acknowledged(t, "a draft"), m, d)
			interrupted, err := w.Conv.Interrupted(t.Context())
			require.NoError(t, err)
			require.True(t, interrupted, "who was told that the turn begins can rely on it")
			_, err = goesOn(w)
			require.NoError(t, err)
			assert.Equal(t, "user a final", w.History()[0], "as the gates have left it")
			assert.Equal(t, "a final|a final", d.judged[0], "which were asked")
			assert.Equal(t, "user a final", rig.Line(m.Requests[0].Messages.At(0)))
			entries, err := s.Journal(t.Context(), w.Conv.ID())
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
		t.Run(name+" and refused", func(t *testing.T) {
			t.Parallel()
			m := rig.Plays(rig.Says("done"))
			w, s := bootOver(t, acknowledged(t, "a secret"), m, &doorkeeper{})
			out, err := goesOn(w)
			if name == "resumed" {
				require.ErrorIs(t, err, runtime.ErrRejected)
				assert.Equal(t, hook.StopDenied, out.Stop)
				assert.Empty(t, m.Requests, "the gates hold after a restart")
			}
			assert.NotContains(t, strings.Join(w.History(), "\n"), "secret")
			entries, err := s.Journal(t.Context(), w.Conv.ID())
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
	w, s := bootOver(t, nil, rig.Plays(rig.Says("done")))
	s.dead.Store(true)
	_, err := w.Try(t.Context(), "hello")
	require.ErrorIs(t, err, rig.ErrDead)
	assert.NotContains(t, w.Kinds(), event.TurnStart, "nobody hears of it")
	s.dead.Store(false)
	require.ErrorIs(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("?")), runtime.ErrIdle)
	w.Send("again")
	assert.Equal(t, []string{"user again", "assistant done"}, w.History())
}

func TestSpecAGateThatKillsItsProcessIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	s := acknowledged(t, "hello")
	for range 3 {
		d := &doorkeeper{reached: make(chan struct{}, 1), open: make(chan struct{})}
		w, next := bootOver(t, s, rig.Plays(), d)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = dialog.Resume(ctx, w.Conv, nil)
		}()
		<-d.reached
		next.dead.Store(true)
		cancel()
		<-ended
		s = next
	}
	d := &doorkeeper{}
	w, _ := bootOver(t, s, rig.Plays(rig.Says("done")), d)
	out, err := dialog.Resume(t.Context(), w.Conv, nil)
	require.ErrorContains(t, err, "was resumed as often")
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Empty(t, d.judged)
	w.Send("next")
	assert.Equal(t, []string{"user next", "assistant done"}, w.History())
}

// A door is a way by which the text of a person gets to the model.
func TestSpecEveryDoorHasTheGates(t *testing.T) {
	t.Parallel()
	doors := map[string]func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper){
		"Send": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			d, m := &doorkeeper{}, rig.Plays(rig.Says("done"))
			w, _ := bootOver(t, nil, m, d)
			_, _ = w.Try(t.Context(), said)
			return w, m, d
		},
		"Send with Queue": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			tool := rig.NewGate("wait")
			d, m := &doorkeeper{}, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("one"), rig.Says("two"))
			w, _ := bootOver(t, nil, m, rig.Box(tool.Tool), d)
			first, second := make(chan struct{}), make(chan struct{})
			go func() { defer close(first); _, _ = dialog.Send(t.Context(), w.Conv, message.TextInput("1"), nil) }()
			<-tool.Reached
			go func() {
				defer close(second)
				_, _ = dialog.Send(t.Context(), w.Conv, message.TextInput(said), &runtime.TurnOptions{WhenBusy: runtime.Queue})
			}()
			close(tool.Open)
			<-first
			<-second
			return w, m, d
		},
		"Steer during a step": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			tool := rig.NewGate("wait")
			d, m := &doorkeeper{}, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done"))
			w, _ := bootOver(t, nil, m, rig.Box(tool.Tool), d)
			ended := make(chan struct{})
			go func() { defer close(ended); w.Send("1") }()
			<-tool.Reached
			rig.Steers(t, w, said)
			close(tool.Open)
			<-ended
			return w, m, d
		},
		"Steer of a turn that is about to end": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			var w *rig.World
			first := func(yield func(message.Chunk, error) bool) {
				rig.Steers(t, w, said)
				rig.Says("that was all")(yield)
			}
			d, m := &doorkeeper{}, rig.Plays(first, rig.Says("that too"))
			w, _ = bootOver(t, nil, m, d)
			w.Send("1")
			return w, m, d
		},
		"Steer of a turn that is stopped": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			var w *rig.World
			first := func(func(message.Chunk, error) bool) {
				rig.Steers(t, w, said)
				dialog.Stop(w.Conv)
			}
			d, m := &doorkeeper{}, rig.Plays(first, rig.Says("done"))
			w, _ = bootOver(t, nil, m, d)
			_, _ = w.Try(t.Context(), "1")
			w.Send("2")
			return w, m, d
		},
		"Steer, resumed": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			return steeredAndKilled(t, said, true)
		},
		"Steer, settled": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			return steeredAndKilled(t, said, false)
		},
		"Resume": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			d, m := &doorkeeper{}, rig.Plays(rig.Says("done"))
			w, _ := bootOver(t, acknowledged(t, said), m, d)
			_, _ = dialog.Resume(t.Context(), w.Conv, nil)
			return w, m, d
		},
		"a guest": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			d, m := &doorkeeper{}, rig.Plays(rig.Says("done"))
			w, _ := bootOver(t, nil, m, d)
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "guest"})
			require.NoError(t, err)
			_, _ = dialog.Send(t.Context(), w.Conv, message.TextInput(said), &runtime.TurnOptions{Guest: "guest"})
			return w, m, d
		},
		"Host.RunAgent": func(t *testing.T, said string) (*rig.World, *rig.Model, *doorkeeper) {
			run := rig.Tool{Tool: message.Tool{Name: "run", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
				_, _ = env.Call.Step().Turn().Host().RunAgent(ctx, hook.AgentRun{Agent: "other", Input: message.TextInput(said), Call: env.Call})
				return message.TextResult("ran")
			}}
			d, m := &doorkeeper{}, rig.Plays(rig.Calls(rig.Call("c1", "run", `{}`)), rig.Says("done"), rig.Says("done"))
			w, _ := bootOver(t, nil, m, rig.Box(run), d)
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "other"})
			require.NoError(t, err)
			w.Send("1")
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
				for _, req := range m.Requests {
					for _, m := range req.Messages.All() {
						asked = append(asked, rig.Line(m))
					}
				}
				all := strings.Join(append(asked, w.History()...), "\n")
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
func steeredAndKilled(t *testing.T, said string, resume bool) (*rig.World, *rig.Model, *doorkeeper) {
	t.Helper()
	g := rig.NewGate("wait")
	w, s := bootOver(t, nil, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`))), rig.Box(g.Tool), &doorkeeper{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = w.Try(ctx, "1") }()
	<-g.Reached
	rig.Steers(t, w, said)
	s.dead.Store(true)
	cancel()
	<-ended
	d, m := &doorkeeper{}, rig.Plays(rig.Says("done"), rig.Says("done"))
	w, _ = bootOver(t, s, m, rig.Box(g.Tool), d)
	if resume {
		_, _ = dialog.Resume(t.Context(), w.Conv, nil)
	} else {
		w.Send("2")
	}
	return w, m, d
}

func TestSpecARefusedSteerIsReportedAndTheTurnContinues(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	m := rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done"))
	d := &doorkeeper{}
	w, _ := bootOver(t, nil, m, rig.Box(tool.Tool), d)
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.Try(t.Context(), "1"); ended <- out }()
	<-tool.Reached
	rig.Steers(t, w, "a secret", "hello", "/time")
	close(tool.Open)
	out := <-ended
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user hello", "assistant done"}, w.History())
	var told []string
	for _, ev := range w.Events {
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
	var w *rig.World
	d := &doorkeeper{}
	first := func(yield func(message.Chunk, error) bool) {
		d.fails = errors.New("with a password in it")
		rig.Steers(t, w, "hello")
		rig.Says("all")(yield)
	}
	w, _ = bootOver(t, nil, rig.Plays(first), d)
	out := w.Send("1")
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, []string{"user 1", "assistant all"}, w.History())
	refused := w.EventsOf(event.SteerRefused)
	require.Len(t, refused, 1)
	assert.NotContains(t, refused[0].Text, "password", "what failed may quote secrets")
	require.ErrorIs(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("too late")), runtime.ErrIdle)
}

func TestSpecAGateThatSteersIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	var w *rig.World
	asked := 0
	w, _ = bootOver(t, nil, rig.Plays(rig.Says("done")), point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
		if asked++; in.Text() == "1" {
			return hook.TurnDecision{}, dialog.Steer(t.Context(), w.Conv, message.TextInput("more"))
		}
		return hook.RejectTurn("no"), dialog.Steer(t.Context(), w.Conv, message.TextInput("more"))
	}))
	assert.Equal(t, hook.StopCompleted, w.Send("1").Stop)
	assert.Less(t, asked, 100)
	assert.Equal(t, []string{"user 1", "assistant done"}, w.History())
}
