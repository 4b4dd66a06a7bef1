package turns_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// The queue of events is bounded, and who has the delivery is the only one that empties
// it. A turn ends although the queue is full, and who follows has its end once.

// queueLimit is how many events are queued before who emits has to wait.
const queueLimit = 1024

// following reads the events of a conversation as they come.
type following struct {
	t  *testing.T
	w  *rig.World
	mu sync.Mutex
	// have are those that have come.
	have []hook.Event
}

// follow begins to read. The test is one of synctest.
func follow(t *testing.T, w *rig.World) *following {
	t.Helper()
	f := &following{t: t, w: w}
	r := w.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: w.Conv.ID(), Buffer: 4 * queueLimit})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for item, err := range r.Events(ctx) {
			if ev := item.Event(); err == nil && ev.Kind != "" {
				f.mu.Lock()
				f.have = append(f.have, ev)
				f.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-over
		r.Close()
	})
	return f
}

// events are those that have come by now.
func (f *following) events() []hook.Event {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.have)
}

// checkEnd checks that the turn has one end for who follows and for the store, behind
// everything else of it. all says that nobody hung on an event, which nobody has missed
// then.
func (f *following) checkEnd(journal, all bool) []hook.Event {
	f.t.Helper()
	events := f.events()
	assert.Equal(f.t, 1, countKind(events, event.TurnEnd), "who follows is told of the end once")
	assert.True(f.t, slices.IsSortedFunc(events, func(a, b hook.Event) int { return int(a.Seq) - int(b.Seq) }), "and in order")
	assert.Len(f.t, slices.CompactFunc(slices.Clone(events), func(a, b hook.Event) bool { return a.Seq == b.Seq }), len(events), "and once")
	if all {
		assert.Empty(f.t, rig.Unbalanced(events))
	}
	if journal {
		kept := rig.KeptEvents(f.t, f.w.Store, f.w.Conv.ID())
		assert.Equal(f.t, 1, countKind(kept, event.TurnEnd), "the store has the end once")
		assert.Empty(f.t, rig.Unbalanced(kept))
	}
	rec, err := f.w.Store.Conversation(context.Background(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(f.t, err)
	assert.False(f.t, rec.Journaled, "the turn has its end in the store")
	return events
}

func countKind(events []hook.Event, kind hook.EventKind) (n int) {
	for _, ev := range events {
		if ev.Kind == kind && ev.Depth == 0 {
			n++
		}
	}
	return n
}

// crowds fills the queue: somebody delivers an event that is slow, and the rest waits.
func crowds(ctx context.Context, host hook.Host) {
	go host.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "slow"})
	synctest.Wait()
	for range queueLimit {
		host.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "more"})
	}
}

// stuckOnSlow is a hook that does not come back from the event "slow" before it is released.
func stuckOnSlow(release <-chan struct{}) hook.Hook {
	return rig.Observer{Do: func(_ context.Context, ev hook.Event) {
		if ev.Text == "slow" {
			<-release
		}
	}}
}

// The loop gets the delivery with a full queue when it is about to tell of the end:
// nothing hangs, and the turn ends.
func TestSpecAFullQueueDoesNotHoldTheEndOfATurn(t *testing.T) {
	t.Parallel()
	for _, journal := range []bool{false, true} {
		t.Run(fmt.Sprintf("journal=%t", journal), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				after := point.AfterTurnFunc(func(ctx context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
					crowds(ctx, turn.Host())
					time.AfterFunc(time.Second, func() { close(release) })
				})
				w := rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"},
					&runtime.Options{Store: mem.New(&mem.Options{Journal: journal})}, stuckOnSlow(release), after)
				f := follow(t, w)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				out, err := w.Try(ctx, "go")
				require.NoError(t, err)
				assert.Equal(t, hook.StopCompleted, out.Stop)
				assert.Equal(t, time.Second, time.Since(began))
				f.checkEnd(journal, true)
				assert.Len(t, w.EventsOf(event.TurnEnd), 1)
				assert.Len(t, w.EventsOf(event.Diagnostic), queueLimit+1)
			})
		})
	}
}

// An observer hangs on an event, and the queue is full: the turn is abandoned wherever it
// waits, and has its end.
func TestSpecATurnAbandonedWithAFullQueueHasItsEnd(t *testing.T) {
	t.Parallel()
	full := map[string]func() []hook.Hook{
		"a tool reports": func() []hook.Hook {
			return []hook.Hook{rig.Box(rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
				go env.Progress("slow")
				synctest.Wait()
				for range queueLimit {
					env.Progress("more")
				}
				return message.TextResult("done")
			}})}
		},
		"AfterTurn emits": func() []hook.Hook {
			return []hook.Hook{rig.Box(rig.Named("x")), point.AfterTurnFunc(func(ctx context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
				crowds(context.WithoutCancel(ctx), turn.Host())
			})}
		},
		"BeforeStep emits": func() []hook.Hook {
			return []hook.Hook{rig.Box(rig.Named("x")), point.BeforeStepFunc(func(ctx context.Context, s *hook.Step) (d hook.StepDecision, err error) {
				crowds(context.WithoutCancel(ctx), s.Host())
				return d, nil
			})}
		},
	}
	for name, hooks := range full {
		for _, journal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/journal=%t", name, journal), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					defer close(release)
					w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"), rig.Says("again")), hook.AgentConfig{Name: "a"},
						&runtime.Options{Calls: runtime.Calls{Grace: time.Second}, Store: mem.New(&mem.Options{Journal: journal})}, append(hooks(), stuckOnSlow(release))...)
					f := follow(t, w)
					ctx, cancel := context.WithTimeout(t.Context(), soon)
					defer cancel()
					began := time.Now()
					_, _ = w.Try(ctx, "go")
					assert.LessOrEqual(t, time.Since(began), soon+2*time.Second)
					events := f.checkEnd(journal, true)
					assert.Len(t, slices.DeleteFunc(events, func(ev hook.Event) bool { return ev.Text != "more" }), queueLimit, "nothing in front of the end is lost")
				})
			})
		}
	}
}

// A hook that hangs in a child is abandoned. The events of the child's end wait for
// their turn: an observer of the parent's turn is not called while it has another event.
func TestSpecAChildThatHangsLeavesTheDeliveryToItsParentsTurn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		// begins and lasts are the times of the tool that runs in parallel to the child. The
		// child is abandoned after 14 seconds, and its end emitted half a second later.
		begins, lasts time.Duration
	}{
		"the parent waits for its calls":    {time.Second, 0},
		"the parent waits for the delivery": {13 * time.Second, 1200 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				slow := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
					time.Sleep(test.begins)
					go env.Progress("slow")
					time.Sleep(test.lasts)
					synctest.Wait()
					return message.TextResult("done")
				}}
				hang := point.BeforeStepFunc(func(_ context.Context, s *hook.Step) (d hook.StepDecision, err error) {
					if s.Turn().Depth() == 1 {
						<-release
					}
					return d, nil
				})
				cfgs := rig.Agents("chief", "helper")
				cfgs[1].Limits.Time = 10 * time.Second
				c := rig.Cast{
					"chief":  rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "delegate", `{"tasks":[{"agent":"helper","message":"m"}]}`)), rig.Says("done")),
					"helper": rig.Plays(rig.Says("helped")),
				}
				w := rig.Stage(t, c, &runtime.Options{Calls: runtime.Calls{Grace: 8 * time.Second}}, cfgs, delegate.New(nil), hang, rig.Box(slow))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				told := 0
				var events []hook.Event
				began := time.Now()
				_, err := dialog.Send(ctx, w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
					told++
					assert.Equal(t, 1, told, "the observer is called once at a time: %s", ev.Kind)
					events = append(events, ev)
					if ev.Text == "slow" {
						time.Sleep(soon)
					}
					told--
				}})
				require.NoError(t, err)
				assert.Equal(t, test.begins+soon, time.Since(began))
				assert.Empty(t, rig.Unbalanced(events))
				assert.True(t, slices.IsSortedFunc(events, func(a, b hook.Event) int { return int(a.Seq) - int(b.Seq) }))
				assert.Equal(t, []string{"subagent_start", "subagent_end"}, subagents(events))
				close(release)
			})
		})
	}
}

// subagents are the kinds of the events that bracket children.
func subagents(events []hook.Event) (out []string) {
	for _, ev := range events {
		if ev.Kind == event.SubagentStart || ev.Kind == event.SubagentEnd {
			out = append(out, string(ev.Kind))
		}
	}
	return out
}

// Every child with a start among the events has its end there, once, also if a
// hook hung on one of its events or at one of its points.
func TestSpecTheEndOfAnAbandonedChildIsEmitted(t *testing.T) {
	t.Parallel()
	for _, kind := range []hook.EventKind{
		event.SubagentStart, event.TurnStart, event.StepStart, event.TextDelta, event.TurnEnd, event.SubagentEnd, "",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				hung := false
				hangs := func(hangs bool) {
					if hangs && !hung {
						hung = true
						<-release
					}
				}
				on := rig.Observer{Do: func(_ context.Context, ev hook.Event) { hangs(ev.Kind == kind && ev.Depth == 1) }}
				step := point.BeforeStepFunc(func(_ context.Context, s *hook.Step) (d hook.StepDecision, err error) {
					hangs(kind == "" && s.Turn().Depth() == 1)
					return d, nil
				})
				w, s := bootOver(t, nil, rig.Plays(rig.Calls(rig.Call("c1", "run", `{}`)), rig.Says("child")), rig.Box(runsAgent()), on, step)
				_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
				require.NoError(t, err)
				f := follow(t, w)
				ctx, cancel := context.WithTimeout(t.Context(), soon)
				defer cancel()
				began := time.Now()
				_, err = dialog.Send(ctx, w.Conv, message.TextInput("1"), nil)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.LessOrEqual(t, time.Since(began), soon+10*time.Second, "two grace periods")
				f.checkEnd(true, kind == "")
				assert.Equal(t, []string{"subagent_start", "subagent_end"}, subagents(rig.KeptEvents(t, s, w.Conv.ID())))
				close(release)
			})
		})
	}
}

// A background run is not abandoned with its turn.
func TestSpecABackgroundRunOfAnAbandonedTurnEmits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, audits := make(chan struct{}), make(chan struct{})
		told := 0
		var refused error
		before := point.BeforeTurnFunc(func(ctx context.Context, turn *hook.Turn, _ message.Input) (d hook.TurnDecision, err error) {
			host := turn.Host()
			return d, host.Go(ctx, "Audit", func(ctx context.Context) {
				<-audits
				host.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "audit"})
				refused = host.Enqueue(ctx, hook.Job{Kind: "k", Key: "1", Payload: `{}`})
			})
		})
		step := point.BeforeStepFunc(func(context.Context, *hook.Step) (d hook.StepDecision, err error) { <-release; return d, nil })
		w := rig.StartWith(t, rig.Plays(rig.Says("x")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}, Store: mem.New(&mem.Options{Journal: true})},
			before, step, rig.Observer{Do: func(_ context.Context, ev hook.Event) {
				if ev.Text == "audit" {
					assert.Empty(t, ev.Turn)
					told++
				}
			}})
		f := follow(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		_, err := w.Try(ctx, "go")
		require.Error(t, err)
		f.checkEnd(true, true)
		close(audits)
		synctest.Wait()
		assert.Equal(t, 1, told, "the event of a background run")
		require.NoError(t, refused)
		close(release)
	})
}

// A tool that had returned before the turn was cancelled has its result, also if the loop
// had not seen it because somebody hung on the result of another call.
func TestSpecAResultThatTheAbandonedLoopHasNotSeenIsKept(t *testing.T) {
	t.Parallel()
	for _, judged := range []bool{false, true} {
		for _, journal := range []bool{false, true} {
			t.Run(fmt.Sprintf("judged=%t/journal=%t", judged, journal), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := newHangs(point.OnEvent, event.CallResult)
					pays := rig.Does("y", func(context.Context) message.ToolResult { time.Sleep(time.Second); return message.TextResult("paid") })
					fails := rig.Does("z", func(context.Context) message.ToolResult {
						time.Sleep(time.Second)
						return message.FailedResult(message.FailOperation, "broke")
					})
					hooks := []hook.Hook{&hangingHook{hangs: h}, rig.Box(rig.Named("x"), pays, fails)}
					if judged {
						hooks = append(hooks, point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
							return d, nil
						}))
					}
					w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "y", "{}"), rig.Call("3", "z", "{}"))), hook.AgentConfig{Name: "a"},
						&runtime.Options{Calls: runtime.Calls{Grace: time.Second}, Store: mem.New(&mem.Options{Journal: journal})}, hooks...)
					f := follow(t, w)
					ctx, cancel := context.WithTimeout(t.Context(), soon)
					defer cancel()
					_, err := w.Try(ctx, "go")
					require.ErrorIs(t, err, context.DeadlineExceeded)
					outcomes := map[string]message.Outcome{}
					for _, ev := range f.checkEnd(journal, false) {
						if ev.Kind == event.CallResult {
							outcomes[ev.Detail().CallID] = ev.Detail().Outcome
						}
					}
					assert.Equal(t, message.OutcomeExecuted, outcomes["2"])
					assert.Equal(t, message.OutcomeFailed, outcomes["3"])
					if said := strings.Join(w.History(), "\n"); judged {
						assert.NotContains(t, said, "paid", "no gate has let it through")
						assert.Contains(t, said, "withheld")
					} else {
						assert.Contains(t, said, "paid")
						assert.Contains(t, said, "broke")
					}
					close(h.release)
				})
			})
		}
	}
}

// A turn that a background run starts is a turn like any other: the events of its hooks
// belong to it, and are refused once it is abandoned.
func TestSpecATurnStartedByABackgroundRunIsAbandonedLikeAny(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var w *rig.World
		var turns, late []string
		before := point.BeforeTurnFunc(func(ctx context.Context, turn *hook.Turn, in message.Input) (d hook.TurnDecision, err error) {
			if in.Text() == "first" {
				return d, turn.Host().Go(ctx, "Reports", func(ctx context.Context) {
					other, err := dialog.Conversation(ctx, w.Runtime, "a", "reports")
					if !assert.NoError(t, err) {
						return
					}
					ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
					defer cancel()
					_, err = dialog.Send(ctx, other, message.TextInput("second"), nil)
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				})
			}
			turn.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "in time"})
			<-release
			turn.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "too late"})
			return d, nil
		})
		w = rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, before,
			rig.Observer{Do: func(_ context.Context, ev hook.Event) {
				switch ev.Text {
				case "in time":
					turns = append(turns, ev.Turn)
				case "too late":
					late = append(late, ev.Text)
				}
			}})
		w.Send("first")
		time.Sleep(2 * soon)
		close(release)
		synctest.Wait()
		require.Len(t, turns, 1)
		assert.NotEmpty(t, turns[0], "the event is of the turn whose hook emits it")
		assert.Empty(t, late)
	})
}

// A hook that hangs on an event of a child holds the child for its limit of time and the
// grace period, and not the turn that runs it.
func TestSpecAChildWhoseEventsHangDoesNotHoldItsParent(t *testing.T) {
	t.Parallel()
	for _, kind := range []hook.EventKind{event.SubagentStart, event.StepStart, event.TextDelta} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				hung := false
				hangs := rig.Observer{Do: func(_ context.Context, ev hook.Event) {
					if ev.Kind == kind && ev.Depth == 1 && !hung {
						hung = true
						<-release
					}
				}}
				cfgs := rig.Agents("chief", "helper")
				cfgs[1].Limits.Time = 10 * time.Second
				c := rig.Cast{"chief": rig.Plays(rig.Delegates("helper"), rig.Says("done")), "helper": rig.Plays(rig.Says("he", "lp", "ed"))}
				w := rig.Stage(t, c, &runtime.Options{Calls: runtime.Calls{Grace: 8 * time.Second}}, cfgs, delegate.New(nil), hangs)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if kind == event.SubagentStart { // the limit counts from the turn's start
					ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
				}
				began := time.Now()
				out, err := dialog.Send(ctx, w.Conv, message.TextInput("go"), nil)
				if kind != event.SubagentStart {
					require.NoError(t, err)
					assert.Equal(t, "done", out.Text())
				}
				assert.LessOrEqual(t, time.Since(began), 15*time.Second, "the grace period of the child")
			})
		})
	}
}

// The session of a child ends with its turn, also if its loop is abandoned.
func TestSpecTheSessionOfAnAbandonedChildEnds(t *testing.T) {
	for _, at := range []hook.Point{point.BeforeStep, point.AfterTurn} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &sessionTally{at: at, release: make(chan struct{})}
				cfgs := rig.Agents("chief", "helper")
				cfgs[1].Limits.Time = 10 * time.Second
				c := rig.Cast{
					"chief":  rig.Plays(rig.Calls(rig.Call("1", "delegate", `{"tasks":[{"agent":"helper","message":"m"}]}`)), rig.Says("done")),
					"helper": rig.Plays(rig.Says("helped")),
				}
				w := rig.Stage(t, c, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, cfgs, delegate.New(nil), h)
				_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), nil)
				require.NoError(t, err)
				synctest.Wait()
				assert.Equal(t, []string{"chief begins", "helper begins", "helper ends"}, h.told())
				close(h.release)
				synctest.Wait()
				require.NoError(t, w.Runtime.Close(t.Context()))
				assert.Equal(t, []string{"chief begins", "helper begins", "helper ends", "chief ends"}, h.told())
			})
		})
	}
}

// sessionTally notes which sessions begin and end, and hangs in a child's turn.
type sessionTally struct {
	hook.Nop
	at      hook.Point
	release chan struct{}

	mu  sync.Mutex
	all []string
}

func (s *sessionTally) note(session *hook.Session, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, session.Conversation().Agent().Name+what)
}

func (s *sessionTally) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

func (s *sessionTally) OnSessionStart(_ context.Context, session *hook.Session) (d hook.SessionDecision, err error) {
	s.note(session, " begins")
	return d, nil
}

func (s *sessionTally) OnSessionEnd(_ context.Context, session *hook.Session) {
	s.note(session, " ends")
}

func (s *sessionTally) BeforeStep(_ context.Context, step *hook.Step) (d hook.StepDecision, err error) {
	if s.at == point.BeforeStep && step.Turn().Depth() == 1 {
		<-s.release
	}
	return d, nil
}

func (s *sessionTally) AfterTurn(_ context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
	if s.at == point.AfterTurn && turn.Depth() == 1 {
		<-s.release
	}
}
