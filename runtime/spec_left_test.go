package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/history"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A hook, an observer or a model that ignores its context holds a cancelled turn for
// the grace period and no longer. The turn has an end like every other, the next one
// begins, and what was left behind changes nothing any more.

// hangs is a hook that hangs at one point, once, until it is released.
type hangs struct {
	at      hook.Point
	kind    hook.EventKind
	entered chan struct{}
	release chan struct{}
	once    bool
	// told is how often the hooks behind the end of something were told.
	told told
	// host is used when the hook comes back.
	host hook.Host
	ctx  context.Context
}

// told counts by point.
type told struct {
	mu    sync.Mutex
	times map[hook.Point]int
}

func (c *told) note(at hook.Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[at]++
}

func (c *told) of(at hook.Point) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times[at]
}

func newHangs(at hook.Point, kind hook.EventKind) *hangs {
	return &hangs{at: at, kind: kind, entered: make(chan struct{}), release: make(chan struct{}), told: told{times: map[hook.Point]int{}}}
}

func (h *hangs) hang(ctx context.Context, host hook.Host, at hook.Point) {
	if at != h.at || h.once {
		return
	}
	h.once = true
	h.host, h.ctx = host, ctx
	close(h.entered)
	<-h.release
}

// hooks returns a hook for each point of a turn.
func (h *hangs) hooks() []hook.Hook {
	return []hook.Hook{
		&hangingHook{hangs: h},
		hook.OnSessionStartFunc(func(ctx context.Context, s *hook.Session) (d hook.SessionDecision, err error) {
			h.hang(ctx, s.Conversation().Host(), hook.PointOnSessionStart)
			return d, nil
		}),
		hook.BeforeTurnFunc(func(ctx context.Context, t *hook.Turn, _ hook.Input) (d hook.TurnDecision, err error) {
			h.hang(ctx, t.Host(), hook.PointBeforeTurn)
			return d, nil
		}),
		hook.TurnPolicyFunc(func(ctx context.Context, t *hook.Turn) (p []hook.Policy, err error) {
			h.hang(ctx, t.Host(), hook.PointTurnPolicy)
			return nil, nil
		}),
		hook.TurnContextFunc(func(ctx context.Context, t *hook.Turn) (b []hook.ContextBlock, err error) {
			h.hang(ctx, t.Host(), hook.PointTurnContext)
			return nil, nil
		}),
		hook.RefineContextFunc(func(ctx context.Context, t *hook.Turn) (b []hook.ContextBlock, err error) {
			h.hang(ctx, t.Host(), hook.PointRefineContext)
			return nil, nil
		}),
		hook.TurnToolsFunc(func(ctx context.Context, t *hook.Turn) (c []hook.ToolChange, err error) {
			h.hang(ctx, t.Host(), hook.PointTurnTools)
			return nil, nil
		}),
		hook.PromptSectionsFunc(func(ctx context.Context, t *hook.Turn) (s []hook.PromptSection, err error) {
			h.hang(ctx, t.Host(), hook.PointPromptSections)
			return nil, nil
		}),
		hook.BeforeStepFunc(func(ctx context.Context, s *hook.Step) (d hook.StepDecision, err error) {
			h.hang(ctx, s.Host(), hook.PointBeforeStep)
			return d, nil
		}),
		hook.RewriteRequestFunc(func(ctx context.Context, s *hook.Step, r hook.ModelRequest) (hook.ModelRequest, error) {
			h.hang(ctx, s.Host(), hook.PointRewriteRequest)
			return r, nil
		}),
		hook.BeforeModelFunc(func(ctx context.Context, s *hook.Step, _ hook.ModelRequest) (d hook.ModelDecision, err error) {
			h.hang(ctx, s.Host(), hook.PointBeforeModel)
			return d, nil
		}),
		hook.WrapModelFunc(func(ctx context.Context, s *hook.Step, r hook.ModelRequest, next hook.ModelNext) hook.ModelStream {
			h.hang(ctx, s.Host(), hook.PointWrapModel)
			return next.Stream(ctx)
		}),
		hook.OnModelErrorFunc(func(ctx context.Context, s *hook.Step, _ hook.ModelFailure) (d hook.FailureDecision, err error) {
			h.hang(ctx, s.Host(), hook.PointOnModelError)
			return d, nil
		}),
		hook.RewriteReplyFunc(func(ctx context.Context, s *hook.Step, r hook.ModelReply) (hook.ModelReply, error) {
			h.hang(ctx, s.Host(), hook.PointRewriteReply)
			return r, nil
		}),
		hook.AfterModelFunc(func(ctx context.Context, s *hook.Step, _ hook.ModelReply) (d hook.ReplyDecision, err error) {
			h.hang(ctx, s.Host(), hook.PointAfterModel)
			return d, nil
		}),
		hook.OnInvalidToolFunc(func(ctx context.Context, s *hook.Step, _ hook.InvalidCall) (d hook.RepairDecision, err error) {
			h.hang(ctx, s.Host(), hook.PointOnInvalidTool)
			return d, nil
		}),
		hook.RewriteArgsFunc(func(ctx context.Context, c *hook.ToolCall, a hook.JSON) (hook.JSON, error) {
			h.hang(ctx, c.Host(), hook.PointRewriteArgs)
			return a, nil
		}),
		hook.BeforeToolFunc(func(ctx context.Context, c *hook.ToolCall) (d hook.ToolDecision, err error) {
			h.hang(ctx, c.Host(), hook.PointBeforeTool)
			return hook.AskTool("sure?"), nil
		}),
		hook.ApproveFunc(func(ctx context.Context, c *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
			h.hang(ctx, c.Host(), hook.PointApprove)
			return hook.ApproveCall(), nil
		}),
		hook.WrapToolFunc(func(ctx context.Context, c *hook.ToolCall, next hook.ToolNext) hook.ToolResult {
			h.hang(ctx, c.Host(), hook.PointWrapTool)
			return next.Run(ctx)
		}),
		hook.RewriteResultFunc(func(ctx context.Context, c *hook.ToolCall, r hook.ToolResult) (hook.ToolResult, error) {
			h.hang(ctx, c.Host(), hook.PointRewriteResult)
			return r, nil
		}),
		hook.AfterToolFunc(func(ctx context.Context, c *hook.ToolCall, _ hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
			h.told.note(hook.PointAfterTool)
			h.hang(ctx, c.Host(), hook.PointAfterTool)
			return d, nil
		}),
		hook.AfterStepFunc(func(ctx context.Context, s *hook.Step, _ hook.StepOutcome) (d hook.StepDecision, err error) {
			h.told.note(hook.PointAfterStep)
			h.hang(ctx, s.Host(), hook.PointAfterStep)
			return d, nil
		}),
		hook.OnStopFunc(func(ctx context.Context, t *hook.Turn, _ hook.Stopping) (d hook.StopDecision, err error) {
			h.hang(ctx, t.Host(), hook.PointOnStop)
			return d, nil
		}),
		hook.OnTurnErrorFunc(func(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) (d hook.RecoverDecision, err error) {
			h.hang(ctx, t.Host(), hook.PointOnTurnError)
			return d, nil
		}),
		hook.AfterTurnFunc(func(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) {
			h.told.note(hook.PointAfterTurn)
			h.hang(ctx, t.Host(), hook.PointAfterTurn)
		}),
	}
}

// hangingHook hangs in the methods that every hook has.
type hangingHook struct {
	hook.Nop
	*hangs
}

func (h *hangingHook) Preprocess(ctx context.Context, t *hook.Turn, in hook.Input) (hook.Input, error) {
	h.hang(ctx, t.Host(), hook.PointPreprocess)
	return in, nil
}

func (h *hangingHook) Schema() []hook.Tool {
	return []hook.Tool{{Name: "held", Input: boxSchema}}
}

func (h *hangingHook) Dispatch(ctx context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	if c.Name() != "held" {
		return hook.Invocation{}, false
	}
	h.hang(ctx, c.Host(), hook.PointDispatch)
	return hook.Bound(`{}`, boxRun{tool: named("held")}), true
}

func (h *hangingHook) OnEvent(ctx context.Context, ev hook.Event) {
	if ev.Kind == h.kind {
		h.hang(ctx, ev.Host(), hook.PointOnEvent)
	}
}

// turnPoints are the points of a turn, with the model that leads there.
func turnPoints() map[string]struct {
	at    hook.Point
	kind  hook.EventKind
	plays func() *model
} {
	usual := func() *model {
		return plays(calls(want{"1", "held", "{}"}), says("done"), says("again"))
	}
	fails := func() *model {
		return plays(func(yield func(hook.Chunk, error) bool) { yield(hook.Chunk{}, errors.New("no model")) }, says("again"))
	}
	out := map[string]struct {
		at    hook.Point
		kind  hook.EventKind
		plays func() *model
	}{}
	for _, p := range []hook.Point{
		hook.PointOnSessionStart, hook.PointPreprocess, hook.PointBeforeTurn, hook.PointTurnPolicy, hook.PointTurnContext,
		hook.PointRefineContext, hook.PointTurnTools, hook.PointPromptSections, hook.PointBeforeStep, hook.PointRewriteRequest,
		hook.PointBeforeModel, hook.PointWrapModel, hook.PointRewriteReply, hook.PointAfterModel, hook.PointDispatch,
		hook.PointRewriteArgs, hook.PointBeforeTool, hook.PointApprove, hook.PointWrapTool, hook.PointRewriteResult,
		hook.PointAfterTool, hook.PointAfterStep, hook.PointOnStop, hook.PointAfterTurn,
	} {
		tc := out[p.String()]
		tc.at, tc.plays = p, usual
		out[p.String()] = tc
	}
	for _, p := range []hook.Point{hook.PointOnModelError, hook.PointOnTurnError} {
		tc := out[p.String()]
		tc.at, tc.plays = p, fails
		out[p.String()] = tc
	}
	tc := out["OnInvalidTool"]
	tc.at, tc.plays = hook.PointOnInvalidTool, func() *model { return plays(calls(want{"1", "nobody", "{}"}), says("done"), says("again")) }
	out["OnInvalidTool"] = tc
	for _, kind := range []hook.EventKind{
		hook.EventTurnStart, hook.EventStepStart, hook.EventTextStart, hook.EventTextDelta, hook.EventTextEnd, hook.EventCallsBegin,
		hook.EventCallStart, hook.EventApprovalAsked, hook.EventApprovalGiven, hook.EventCallResult, hook.EventCallsComplete,
		hook.EventStepEnd, hook.EventUsage, hook.EventTurnEnd,
	} {
		tc := out["OnEvent "+string(kind)]
		tc.at, tc.kind, tc.plays = hook.PointOnEvent, kind, usual
		out["OnEvent "+string(kind)] = tc
	}
	return out
}

// ends are the ways in which a turn is cancelled.
var cancels = []string{"cancel", "deadline", "stop", "close"}

func TestSpecAHookThatHangsHoldsACancelledTurnForTheGracePeriod(t *testing.T) {
	t.Parallel()
	for name, tc := range turnPoints() {
		for _, how := range cancels {
			for _, journal := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/journal=%t", name, how, journal), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { hangsAt(t, tc.at, tc.kind, tc.plays(), how, journal) })
				})
			}
		}
	}
}

func hangsAt(t *testing.T, at hook.Point, kind hook.EventKind, m *model, how string, journal bool) {
	h := newHangs(at, kind)
	const grace = time.Second
	cfg := hook.AgentConfig{Name: "a"}
	if how == "deadline" {
		cfg.Limits.Time = time.Hour
	}
	w := startWith(t, m, cfg, &runtime.Options{Grace: grace, Store: mem.New(&mem.Options{Journal: journal})}, h.hooks()...)
	f := follow(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan time.Time, 1)
	var out hook.TurnOutcome
	go func() {
		out, _ = w.try(ctx, "go")
		ended <- time.Now()
	}()
	<-h.entered
	synctest.Wait()
	closed := make(chan error, 1)
	var at0 time.Time
	switch how {
	case "cancel":
		cancel()
	case "stop":
		w.conv.Stop()
	case "close":
		over, stop := context.WithCancel(context.Background())
		stop()
		go func() { closed <- w.rt.Close(over) }()
	case "deadline":
		time.Sleep(time.Hour)
	}
	at0 = time.Now()
	took := (<-ended).Sub(at0)
	assert.LessOrEqual(t, took, grace+grace/2, "the turn ends with the grace period")
	wantStop := map[string]hook.StopReason{
		"cancel": hook.StopCancelled, "stop": hook.StopUserRequested, "close": hook.StopCancelled, "deadline": hook.StopTimeLimit,
	}[how]
	if at != hook.PointAfterTurn && at != hook.PointOnTurnError && kind != hook.EventTurnEnd { // by then the turn has its outcome
		assert.Equal(t, wantStop, out.Stop)
	}
	h.checkEnd(t, w)
	f.checkEnd(journal, at != hook.PointOnEvent)
	if how == "close" {
		close(h.release)
		<-closed
		return
	}
	n := len(w.events)
	if at != hook.PointWrapTool {
		left := w.rt.Abandoned()
		require.Len(t, left, 1)
		assert.Equal(t, at.String(), left[0].Point)
		assert.Equal(t, 1, left[0].Count)
		if !slices.Contains([]hook.Point{hook.PointOnEvent, hook.PointPreprocess, hook.PointDispatch}, at) { // the plan does not know who has those
			assert.NotEmpty(t, left[0].Hook)
		}
	}
	synctest.Wait()
	if at != hook.PointOnEvent { // one that hangs is not told
		assert.NotEmpty(t, w.eventsOf(hook.EventTurnEnd))
		for after, began := range map[hook.Point]hook.EventKind{
			hook.PointAfterTool: hook.EventCallStart, hook.PointAfterStep: hook.EventStepStart, hook.PointAfterTurn: hook.EventTurnStart,
		} {
			assert.Equal(t, len(w.eventsOf(began)), h.told.of(after), "%s runs once for each %s", after, began)
		}
	}
	lines := w.history()

	next, err := w.conv.Send(t.Context(), hook.TextInput("next"), nil)
	require.NoError(t, err, "the next turn begins")
	require.NotEmpty(t, next.Text())
	now := w.history()
	assert.Equal(t, lines, now[:len(lines)])
	close(h.release)
	synctest.Wait()
	h.host.Emit(h.ctx, hook.Event{Kind: hook.EventDiagnostic, Text: "too late"})
	assert.Len(t, w.events, n, "what was left behind tells nothing any more")
	assert.Equal(t, now, w.history(), "and stores nothing")
	assert.Empty(t, w.rt.Abandoned())
}

// A call that the loop had not started when it was left behind never starts, and nobody
// waits for it.
func TestSpecACallOfALoopThatWasLeftBehindNeverStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHangs(hook.PointOnEvent, hook.EventCallResult)
		w := startWith(t, plays(calls(want{"1", "nobody", "{}"}, want{"2", "x", "{}"})), hook.AgentConfig{Name: "a"},
			&runtime.Options{Grace: time.Second}, &hangingHook{hangs: h}, box(does("x", never(t))))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.try(ctx, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, strings.Join(w.history(), "\n"), "cancelled before it started")
		close(h.release)
		synctest.Wait()
		assert.Empty(t, w.rt.Abandoned())
		require.NoError(t, w.rt.Close(context.Background()))
	})
}

// checkEnd checks what the store has of the turn.
func (h *hangs) checkEnd(t *testing.T, w *world) {
	t.Helper()
	ms, err := w.store.Messages(context.Background(), w.conv.ID())
	require.NoError(t, err)
	assert.Empty(t, history.Check(ms))
	for _, m := range ms {
		if m.Role == hook.RoleTool && h.at == hook.PointBeforeTool {
			assert.NotEqual(t, "held:", m.Result.Text(), "a gate that did not answer lets nothing through")
		}
	}
	rec, err := w.store.Conversation(context.Background(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	assert.False(t, rec.Journaled, "the turn has its end in the store")
}

// An observer that hangs is dropped, and the others are told.
func TestSpecAnObserverThatHangsHoldsACancelledTurnForTheGracePeriod(t *testing.T) {
	t.Parallel()
	for _, kind := range []hook.EventKind{hook.EventTurnStart, hook.EventTextDelta, hook.EventCallResult, hook.EventTurnEnd} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := startWith(t, plays(calls(want{"1", "x", "{}"}), says("done"), says("again")),
					hook.AgentConfig{Name: "a"}, &runtime.Options{Grace: time.Second}, box(named("x")))
				release := make(chan struct{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := w.conv.Send(ctx, hook.TextInput("go"), &runtime.SendOptions{Observe: func(ev hook.Event) {
					if ev.Kind == kind {
						<-release
					}
				}})
				assert.Equal(t, time.Minute+time.Second, time.Since(began))
				if kind != hook.EventTurnEnd {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				_, err = w.conv.Send(t.Context(), hook.TextInput("next"), nil)
				require.NoError(t, err)
				close(release)
			})
		})
	}
}

// A model that ignores its context is left behind as hooks are.
func TestSpecAModelThatHangsHoldsACancelledTurnForTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := startWith(t, plays(func(yield func(hook.Chunk, error) bool) {
			if yield(text("half"), nil) {
				<-release
				yield(text("late"), nil)
			}
		}, says("again")), hook.AgentConfig{Name: "a"}, &runtime.Options{Grace: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := w.try(ctx, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute+time.Second, time.Since(began))
		assertBrackets(t, w)
		n := len(w.events)
		out, err := w.conv.Send(t.Context(), hook.TextInput("next"), nil)
		require.NoError(t, err)
		assert.Equal(t, "again", out.Text())
		close(release)
		synctest.Wait()
		assert.Len(t, w.events, n)
		assert.NotContains(t, strings.Join(w.history(), "\n"), "late")
		assert.Empty(t, w.rt.Abandoned())
	})
}

// A hook that ends its goroutine ends the turn, which has an end all the same.
func TestSpecAHookThatEndsItsGoroutineEndsTheTurn(t *testing.T) {
	t.Parallel()
	gate := hook.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		goruntime.Goexit()
		return hook.ToolDecision{}, nil
	})
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("again")), gate, box(does("x", never(t))))
	out, err := w.try(t.Context(), "go")
	require.Error(t, err)
	assert.Equal(t, hook.StopError, out.Stop)
	assertBrackets(t, w)
	assert.Equal(t, "again", w.send("next").Text())
	assert.True(t, slices.ContainsFunc(w.history(), func(line string) bool { return strings.Contains(line, "cancelled before it started") }))
}

// endHangs hangs at one of the ends of a life.
type endHangs struct {
	hook.Nop
	at      hook.Point
	release chan struct{}
}

func (h *endHangs) hang(at hook.Point) {
	if at == h.at {
		<-h.release
	}
}

func (h *endHangs) OnUnregisterAgent(context.Context, *hook.AgentConfig) {
	h.hang(hook.PointOnUnregisterAgent)
}

func (h *endHangs) OnClose(context.Context) error { h.hang(hook.PointOnClose); return nil }

func (h *endHangs) OnSessionEnd(context.Context, *hook.Session) { h.hang(hook.PointOnSessionEnd) }

func (h *endHangs) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == hook.EventAgentUnregistered {
		h.hang(hook.PointOnEvent)
	}
}

func (h *endHangs) BeforeCompaction(context.Context, *hook.Conversation, hook.Compaction) (d hook.CompactionDecision, err error) {
	h.hang(hook.PointBeforeCompaction)
	return d, nil
}

// TestSpecCloseEndsWhateverHangs: Close ends when its context has ended, some grace
// periods later at most, and says what is left.
func TestSpecCloseEndsWhateverHangs(t *testing.T) {
	t.Parallel()
	for _, at := range []hook.Point{
		hook.PointOnUnregisterAgent, hook.PointOnClose, hook.PointOnSessionEnd, hook.PointOnEvent, hook.PointBeforeCompaction,
	} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &endHangs{at: at, release: make(chan struct{})}
				w := startWith(t, plays(says("one"), says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Grace: time.Second}, h, hook.Nop{})
				w.send("one")
				w.send("two")
				if at == hook.PointBeforeCompaction {
					go func() { _, _ = w.conv.Compact(context.Background(), &runtime.CompactOptions{Keep: 1}) }()
					synctest.Wait()
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				began := time.Now()
				err := w.rt.Close(ctx)
				assert.LessOrEqual(t, time.Since(began), time.Minute+5*time.Second)
				assert.GreaterOrEqual(t, time.Since(began), time.Minute+time.Second)
				if at != hook.PointBeforeCompaction {
					assert.ErrorContains(t, err, at.String())
					assert.Len(t, w.rt.Abandoned(), 1)
				}
				close(h.release)
				synctest.Wait()
				assert.Empty(t, w.rt.Abandoned())
			})
		})
	}
}

// What was said to a turn whose gate hangs over it is refused, with what was said behind
// it: a gate that does not answer lets nothing through, and nothing is lost in silence.
func TestSpecWhatIsSteeredIntoAGateThatHangsIsRefused(t *testing.T) {
	for _, journal := range []bool{false, true} {
		t.Run(fmt.Sprint("journal ", journal), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				gate := hook.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in hook.Input) (d hook.TurnDecision, err error) {
					if in.Text() == "two" {
						<-release
					}
					return d, nil
				})
				said := make(chan struct{})
				slow := does("x", func(context.Context) hook.ToolResult { <-said; return hook.TextResult("done") })
				w := startWith(t, plays(calls(want{"1", "x", "{}"}), says("never")), hook.AgentConfig{Name: "a"},
					&runtime.Options{Grace: time.Second, Store: mem.New(&mem.Options{Journal: journal})}, gate, box(slow))
				go func() {
					synctest.Wait()
					for _, text := range []string{"one", "two", "three"} {
						assert.NoError(t, w.conv.Steer(t.Context(), hook.TextInput(text)))
					}
					close(said)
					synctest.Wait()
					w.conv.Stop()
				}()
				out, err := w.try(t.Context(), "go")
				require.Error(t, err)
				assert.Equal(t, hook.StopUserRequested, out.Stop)
				var heard []string
				for _, ev := range w.eventsOf(hook.EventSteered) {
					heard = append(heard, ev.Text)
				}
				assert.Equal(t, []string{"one"}, heard)
				assert.Len(t, w.eventsOf(hook.EventSteerRefused), 2)
				history := strings.Join(w.history(), "\n")
				assert.Contains(t, history, "user one")
				assert.NotContains(t, history, "two")
				assert.NotContains(t, history, "three")
				close(release)
				synctest.Wait()
				assert.Equal(t, history, strings.Join(w.history(), "\n"))
			})
		})
	}
}
