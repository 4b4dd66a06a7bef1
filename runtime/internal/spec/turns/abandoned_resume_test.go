package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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
)

// A process dies in the middle of a turn, and in the process that takes the turn up a
// hook hangs. Whoever cancels that gets it ended within the grace periods, and nothing
// that the journal knows is lost.

const (
	// payInterrupted is the line of a call that had run, nobody knows how far.
	payInterrupted = "tool c2 pay cancelled: interrupted: the turn broke off while the tool ran; what it did is not known, so look before you call it again"
	twoGraces      = 2 * 5 * time.Second
)

// brokenOff is what a process leaves that dies while "held" and "pay" run and "echo" has
// its result. Only "held" may run twice.
func brokenOff(t *testing.T) *mortal {
	t.Helper()
	held, pay := rig.NewGate("held"), rig.NewGate("pay")
	held.Annotations.ReadOnly = true
	w, s := bootOver(t, nil, rig.Plays(rig.Calls(rig.Call("c1", "held", `{}`), rig.Call("c2", "pay", `{}`), rig.Call("c3", "echo", `{"s":"x"}`))), rig.Box(held.Tool, pay.Tool, rig.Named("echo")))
	dies(t, w, s, "1")
	return s
}

// dies sends the line and has the process die when everything waits.
func dies(t *testing.T, w *rig.World, s *mortal, line string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = w.Try(ctx, line) }()
	synctest.Wait()
	s.dead.Store(true)
	cancel()
	<-ended
}

// takesUp are the ways to continue after an interrupted turn: to resume it, and to send a message.
var takesUp = map[string]func(ctx context.Context, w *rig.World) (hook.TurnOutcome, error){
	"resumed": func(ctx context.Context, w *rig.World) (hook.TurnOutcome, error) {
		return dialog.Resume(ctx, w.Conv, nil)
	},
	"settled": func(ctx context.Context, w *rig.World) (hook.TurnOutcome, error) { return w.Try(ctx, "2") },
}

// cancelledAt takes the turn up, cancels that when the hook hangs, and returns how long it
// then took to end.
func cancelledAt(t *testing.T, w *rig.World, entered chan struct{}, how string, takeUp func(context.Context, *rig.World) (hook.TurnOutcome, error)) (time.Duration, hook.TurnOutcome, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out hook.TurnOutcome
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out, err = takeUp(ctx, w)
	}()
	<-entered
	synctest.Wait()
	began := time.Now()
	if how == "stop" {
		require.True(t, dialog.Stop(w.Conv))
	} else {
		cancel()
	}
	<-ended
	return time.Since(began), out, err
}

// eventsIn are the events that the store has.
func eventsIn(t *testing.T, s store.Log, id string) (out []hook.Event) {
	t.Helper()
	events, err := s.Events(t.Context(), id, 0, 10_000)
	require.NoError(t, err)
	for _, e := range events {
		var ev hook.Event
		require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
		out = append(out, ev)
	}
	return out
}

// resumePoints are the points that a turn comes to when it is taken up: true for those
// where it is only settled, too.
func resumePoints() map[hook.Point]bool {
	return map[hook.Point]bool{
		point.OnSessionStart: false, point.TurnPolicy: false, point.TurnContext: false, point.RefineContext: false,
		point.TurnTools: false, point.PromptSections: false, point.Dispatch: false, point.BeforeTool: false,
		point.Approve: false, point.WrapTool: false, point.BeforeStep: false, point.BeforeModel: false,
		point.RewriteResult: true, point.AfterTool: true, point.AfterStep: true, point.AfterTurn: true,
	}
}

func TestSpecAHookThatHangsInAResumedTurnLosesNothingOfTheJournal(t *testing.T) {
	t.Parallel()
	try := func(up, how string, at hook.Point, kind hook.EventKind) {
		t.Run(fmt.Sprintf("%s/%s/%s %s", up, how, at, kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { hangsInResumed(t, up, how, at, kind) })
		})
	}
	for up := range takesUp {
		for _, how := range []string{"cancel", "stop"} {
			for at, settles := range resumePoints() {
				if settles || up == "resumed" {
					try(up, how, at, "")
				}
			}
			for _, kind := range []hook.EventKind{
				event.TurnStart, event.StepStart, event.CallsBegin, event.CallResult, event.CallsComplete,
				event.StepEnd, event.TurnEnd,
			} {
				try(up, how, point.OnEvent, kind)
			}
		}
	}
}

func hangsInResumed(t *testing.T, up, how string, at hook.Point, kind hook.EventKind) {
	s := brokenOff(t)
	h := newHangs(at, kind)
	w, s := bootOver(t, s, rig.Plays(rig.Says("done"), rig.Says("again")), append(h.hooks(), rig.Box(rig.Does("pay", rig.Never(t)), rig.Does("echo", rig.Never(t))))...)
	took, out, err := cancelledAt(t, w, h.entered, how, takesUp[up])
	assert.LessOrEqual(t, took, twoGraces)
	if up == "settled" {
		require.Error(t, err, "no turn follows one that was cancelled")
	} else if at != point.AfterTurn && kind != event.TurnEnd { // by then it has its outcome
		assert.Equal(t, map[string]hook.StopReason{"cancel": hook.StopCancelled, "stop": hook.StopUserRequested}[how], out.Stop)
	}
	synctest.Wait()
	lines := w.History()
	require.GreaterOrEqual(t, len(lines), 5)
	assert.Equal(t, []string{"user 1", `assistant [c1 held {}] [c2 pay {}] [c3 echo {"s":"x"}]`}, lines[:2])
	assert.NotContains(t, strings.Join(lines, "\n"), "before it started", "no call is said not to have run that may have")
	assert.Equal(t, []string{payInterrupted, "tool c3 echo: echo:x"}, lines[3:5])
	h.checkEnd(t, w)
	if at != point.OnEvent { // a hanging observer gets no further event
		assert.Equal(t, 2, h.told.of(point.AfterTool), "AfterTool is told of those calls that it was not told of")
	}
	n := map[hook.EventKind]int{}
	for _, ev := range eventsIn(t, s, w.Conv.ID()) {
		n[ev.Kind]++
		if ev.Kind == event.TurnEnd && up == "settled" {
			assert.Equal(t, hook.StopCancelled, ev.Detail().Stop)
		}
	}
	assert.Equal(t, 1, n[event.TurnEnd])
	assert.Equal(t, n[event.StepStart]-1, n[event.StepEnd], "the dead process has left one open")
	assert.Equal(t, n[event.CallsBegin]-1, n[event.CallsComplete])

	w.Send("next")
	assert.Equal(t, "user next", w.History()[len(lines)])
	close(h.release)
	synctest.Wait()
	assert.Equal(t, lines, w.History()[:len(lines)])
	assert.Empty(t, w.Runtime.Abandoned())
}

// A call that is to run again because it may is interrupted, and not one that has never
// run, if it does not come to that.
func TestSpecARerunThatIsCancelledBeforeItStartsIsOfACallThatRan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered := make(chan struct{})
		gate := point.BeforeToolFunc(func(ctx context.Context, _ *hook.ToolCall) (d hook.ToolDecision, err error) {
			close(entered)
			<-ctx.Done()
			return d, nil
		})
		w, _ := bootOver(t, brokenOff(t), rig.Plays(), gate, rig.Box(rig.Does("held", rig.Never(t)), rig.Does("pay", rig.Never(t)), rig.Named("echo")))
		_, _, err := cancelledAt(t, w, entered, "cancel", takesUp["resumed"])
		require.ErrorIs(t, err, context.Canceled)
		assert.Contains(t, w.History()[2], "tool c1 held cancelled: interrupted")
	})
}

// unheard is what a process leaves that dies while a gate has the input of its turn.
func unheard(t *testing.T) *mortal {
	t.Helper()
	w, s := bootOver(t, nil, rig.Plays(), point.BeforeTurnFunc(func(ctx context.Context, _ *hook.Turn, _ message.Input) (d hook.TurnDecision, err error) {
		<-ctx.Done()
		return d, ctx.Err()
	}))
	dies(t, w, s, "1")
	return s
}

// An input that a dead process has acknowledged is not lost because somebody else gives
// up who has only said something further.
func TestSpecWhoGivesUpASettlementDropsNoInput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		at   hook.Point
		kind hook.EventKind
	}{
		"turn_start": {point.OnEvent, event.TurnStart}, "OnSessionStart": {at: point.OnSessionStart},
		"Preprocess": {at: point.Preprocess}, "BeforeTurn": {at: point.BeforeTurn},
	}
	for name, tc := range tests {
		for _, how := range []string{"cancel", "stop"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := newHangs(tc.at, tc.kind)
					w, s := bootOver(t, unheard(t), rig.Plays(rig.Says("again")), h.hooks()...)
					took, out, err := cancelledAt(t, w, h.entered, how, takesUp["settled"])
					assert.LessOrEqual(t, took, twoGraces)
					require.Error(t, err)
					if how == "cancel" {
						require.ErrorIs(t, err, context.Canceled)
						assert.Equal(t, hook.StopCancelled, out.Stop)
					}
					was, err := w.Conv.Interrupted(t.Context())
					require.NoError(t, err)
					assert.True(t, was, "the turn is still interrupted")
					assert.Empty(t, w.History(), "and a gate that did not answer lets nothing through")
					for _, ev := range eventsIn(t, s, w.Conv.ID()) {
						if ev.Kind == event.TurnEnd {
							assert.Equal(t, hook.StopCancelled, ev.Detail().Stop)
						}
					}
					w.Send("3")
					assert.Equal(t, []string{"user 1", "user 3", "assistant again"}, w.History())
					close(h.release)
					synctest.Wait()
					assert.Len(t, w.History(), 3)
					assert.Empty(t, w.Runtime.Abandoned())
				})
			})
		}
	}
}

// A settlement that is given up leaves the input of the interrupted turn to the next one. Steers
// are refused meanwhile: the turn that they would reach has not begun.
func TestSpecWhoGivesUpASettlementDropsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHangs(point.BeforeTurn, "")
		w, _ := bootOver(t, unheard(t), rig.Plays(rig.Says("again")), h.hooks()...)
		_, _, err := cancelledAt(t, w, h.entered, "cancel", func(ctx context.Context, w *rig.World) (hook.TurnOutcome, error) {
			return w.Try(ctx, "2")
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, dialog.Steer(t.Context(), w.Conv, message.TextInput("too late")), runtime.ErrIdle)
		w.Send("3")
		assert.Equal(t, []string{"user 1", "user 3", "assistant again"}, w.History())
		close(h.release)
	})
}

// A hook that hangs at every settlement does not keep a conversation for ever.
func TestSpecAnInputWhoseGateAlwaysHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{}, 100)
		gate := point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (d hook.TurnDecision, err error) {
			if in.Text() == "1" {
				entered <- struct{}{}
				<-release
			}
			return d, nil
		})
		w, _ := bootOver(t, unheard(t), rig.Plays(rig.Says("done")), gate)
		for range 3 {
			_, _, err := cancelledAt(t, w, entered, "cancel", takesUp["settled"])
			require.ErrorIs(t, err, context.Canceled)
		}
		w.Send("2")
		assert.Equal(t, []string{"user 2", "assistant done"}, w.History())
		close(release)
	})
}

// The caller of a settlement can give it up although the turn has a limit of time of its
// own, and the limit ends it although the caller waits.
func TestSpecASettlementEndsWithItsCallerAndWithItsLimit(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancel", "limit"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHangs(point.BeforeTurn, "")
				s := unheard(t)
				next := &mortal{Store: s.Store}
				w := rig.StartWith(t, rig.Plays(rig.Says("again")), hook.AgentConfig{Name: "a", Limits: hook.Limits{Time: time.Hour}},
					&runtime.Options{Store: next, Gone: func(string) bool { return true }}, h.hooks()...)
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() { _, err := w.Try(ctx, "2"); ended <- err }()
				<-h.entered
				want := time.Hour + twoGraces
				if how == "cancel" {
					cancel()
					want = twoGraces
				}
				err := <-ended
				assert.LessOrEqual(t, time.Since(began), want)
				if how == "cancel" {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.NoError(t, err, "the next turn follows")
					assert.GreaterOrEqual(t, time.Since(began), time.Hour)
				}
				close(h.release)
			})
		})
	}
}

// A gate that obeys its context learns that nobody waits for it any more.
func TestSpecAGateOfASettlementThatWasGivenUpLearnsThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered, learnt := make(chan struct{}), make(chan struct{})
		gate := point.BeforeTurnFunc(func(ctx context.Context, _ *hook.Turn, _ message.Input) (d hook.TurnDecision, err error) {
			close(entered)
			<-ctx.Done()
			close(learnt)
			return d, ctx.Err()
		})
		w, _ := bootOver(t, unheard(t), rig.Plays(), gate)
		_, _, err := cancelledAt(t, w, entered, "cancel", takesUp["settled"])
		require.ErrorIs(t, err, context.Canceled)
		<-learnt
		synctest.Wait()
		assert.Empty(t, w.Runtime.Abandoned())
	})
}

// childrenLeft is what a process leaves that dies while so many children run.
func childrenLeft(t *testing.T, n int) *mortal {
	t.Helper()
	g := rig.NewGate("wait")
	var wants []rig.ToolCall
	var replies []message.ModelStream
	for i := range n {
		wants = append(wants, rig.Call(fmt.Sprintf("c%d", i), "run", `{}`))
		replies = append(replies, rig.Calls(rig.Call("w", "wait", `{}`)))
	}
	w, s := bootOver(t, nil, rig.Plays(append([]message.ModelStream{rig.Calls(wants...)}, replies...)...), rig.Box(runsAgent(), g.Tool))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
	require.NoError(t, err)
	dies(t, w, s, "1")
	return s
}

// Whoever ends the children of an interrupted turn can give that up, wherever a hook hangs.
func TestSpecAHookThatHangsInAChildThatIsSettledHoldsNobody(t *testing.T) {
	t.Parallel()
	kinds := []hook.EventKind{
		event.SubagentStart, event.TurnStart, event.StepStart, event.CallsBegin, event.CallResult,
		event.CallsComplete, event.StepEnd, event.TurnEnd, event.SubagentEnd,
	}
	for up := range takesUp {
		for _, kind := range kinds {
			t.Run(up+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := childrenLeft(t, 1)
					entered, release, once := make(chan struct{}), make(chan struct{}), false
					w, _ := bootOver(t, s, rig.Plays(rig.Says("done"), rig.Says("again")), rig.Box(runsAgent(), rig.NewGate("wait").Tool), rig.Observer{Do: func(_ context.Context, ev hook.Event) {
						if ev.Kind == kind && ev.Depth == 1 && !once {
							once = true
							close(entered)
							<-release
						}
					}})
					_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
					require.NoError(t, err)
					took, _, err := cancelledAt(t, w, entered, "cancel", takesUp[up])
					require.Error(t, err)
					assert.LessOrEqual(t, took, twoGraces)
					w.Send("next")
					close(release)
					synctest.Wait()
					assert.Empty(t, w.Runtime.Abandoned())
				})
			})
		}
	}
}

// However many children a hook hangs in, they share the time that is left.
func TestSpecManyChildrenThatHangHoldNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := childrenLeft(t, 20)
		entered, release := make(chan struct{}, 100), make(chan struct{})
		after := point.AfterTurnFunc(func(_ context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
			if turn.Depth() == 1 {
				entered <- struct{}{}
				<-release
			}
		})
		w, _ := bootOver(t, s, rig.Plays(rig.Says("again")), rig.Box(runsAgent(), rig.NewGate("wait").Tool), after)
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
		require.NoError(t, err)
		took, _, err := cancelledAt(t, w, entered, "cancel", takesUp["resumed"])
		require.ErrorIs(t, err, context.Canceled)
		assert.LessOrEqual(t, took, twoGraces)
		close(release)
	})
}

// The agent of a child may have to be registered first, which asks hooks.
func TestSpecAHookThatHangsWhileTheAgentOfAChildIsRegisteredHoldsNobody(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"FindAgent", "OnBuildAgent", "OnRegisterAgent"} {
		for up := range takesUp {
			t.Run(up+"/"+at, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := childrenLeft(t, 1)
					entered, release := make(chan struct{}), make(chan struct{})
					hang := func(where string) {
						if where == at {
							close(entered)
							<-release
						}
					}
					find := func(context.Context, string) (hook.AgentConfig, error) {
						hang("FindAgent")
						return hook.AgentConfig{}, nil
					}
					w := rig.StartWith(t, rig.Plays(rig.Says("done"), rig.Says("again")), hook.AgentConfig{Name: "a"}, &runtime.Options{
						Store: &mortal{Store: s.Store}, Gone: func(string) bool { return true }, FindAgent: find,
					}, rig.Box(runsAgent(), rig.NewGate("wait").Tool), registering{hang: hang})
					took, _, err := cancelledAt(t, w, entered, "cancel", takesUp[up])
					require.Error(t, err)
					assert.LessOrEqual(t, took, twoGraces)
					w.Send("next")
					close(release)
					synctest.Wait()
					assert.Empty(t, w.Runtime.Abandoned())
				})
			})
		}
	}
}

// registering hangs where the agent "b" is registered.
type registering struct {
	hook.Nop
	hang func(where string)
}

func (r registering) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	if cfg.Name == "b" {
		r.hang("OnBuildAgent")
	}
	return cfg, nil
}

func (r registering) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	if cfg.Name == "b" {
		r.hang("OnRegisterAgent")
	}
	return nil
}

// Whatever a turn waits for after its cancellation shares two grace periods.
func TestSpecACancelledTurnWhereEverythingHangsEndsInTwoGracePeriods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		rewrite := point.RewriteResultFunc(func(_ context.Context, _ *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
			<-release
			return r, nil
		})
		x := rig.Does("x", func(context.Context) message.ToolResult { <-release; return message.TextResult("") })
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("again")), hook.AgentConfig{Name: "a"}, nil, rewrite, rig.Box(x),
			rig.Observer{Do: func(_ context.Context, ev hook.Event) {
				if ev.Kind == event.TurnEnd {
					<-release
				}
			}})
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		began := time.Now()
		_, err := w.Try(ctx, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.LessOrEqual(t, time.Since(began), soon+twoGraces)
		close(release)
		synctest.Wait()
		assert.Empty(t, w.Runtime.Abandoned())
		w.Send("next")
	})
}
