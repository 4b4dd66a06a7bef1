package turns_test

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
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A hook, an observer or a model that ignores its context holds a cancelled turn for
// the grace period and no longer. The turn has an end like every other, the next one
// begins, and the abandoned loop changes nothing any more.

// soon is when the turns of these tests are cancelled: before the bound of gates.
const soon = 20 * time.Second

// hangs is a hook that hangs at one point, once, until it is released.
type hangs struct {
	at      hook.Point
	kind    hook.EventKind
	entered chan struct{}
	release chan struct{}
	once    bool
	// told counts the calls of the After hooks.
	told told
	// host is used when the hook comes back.
	host hook.Host
	ctx  context.Context
}

// told counts calls by point.
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
		point.OnSessionStartFunc(func(ctx context.Context, s *hook.Session) (d hook.SessionDecision, err error) {
			h.hang(ctx, s.Conversation().Host(), point.OnSessionStart)
			return d, nil
		}),
		point.BeforeTurnFunc(func(ctx context.Context, t *hook.Turn, _ message.Input) (d hook.TurnDecision, err error) {
			h.hang(ctx, t.Host(), point.BeforeTurn)
			return d, nil
		}),
		point.TurnPolicyFunc(func(ctx context.Context, t *hook.Turn) (p []hook.Policy, err error) {
			h.hang(ctx, t.Host(), point.TurnPolicy)
			return nil, nil
		}),
		point.TurnContextFunc(func(ctx context.Context, t *hook.Turn) (b []hook.ContextBlock, err error) {
			h.hang(ctx, t.Host(), point.TurnContext)
			return nil, nil
		}),
		point.RefineContextFunc(func(ctx context.Context, t *hook.Turn) (b []hook.ContextBlock, err error) {
			h.hang(ctx, t.Host(), point.RefineContext)
			return nil, nil
		}),
		point.TurnToolsFunc(func(ctx context.Context, t *hook.Turn) (c []hook.ToolChange, err error) {
			h.hang(ctx, t.Host(), point.TurnTools)
			return nil, nil
		}),
		point.PromptSectionsFunc(func(ctx context.Context, t *hook.Turn) (s []hook.PromptSection, err error) {
			h.hang(ctx, t.Host(), point.PromptSections)
			return nil, nil
		}),
		point.BeforeStepFunc(func(ctx context.Context, s *hook.Step) (d hook.StepDecision, err error) {
			h.hang(ctx, s.Host(), point.BeforeStep)
			return d, nil
		}),
		point.RewriteRequestFunc(func(ctx context.Context, s *hook.Step, r message.ModelRequest) (message.ModelRequest, error) {
			h.hang(ctx, s.Host(), point.RewriteRequest)
			return r, nil
		}),
		point.BeforeModelFunc(func(ctx context.Context, s *hook.Step, _ message.ModelRequest) (d hook.ModelDecision, err error) {
			h.hang(ctx, s.Host(), point.BeforeModel)
			return d, nil
		}),
		point.WrapModelFunc(func(ctx context.Context, s *hook.Step, r message.ModelRequest, next hook.ModelNext) message.ModelStream {
			h.hang(ctx, s.Host(), point.WrapModel)
			return next.Stream(ctx)
		}),
		point.OnModelErrorFunc(func(ctx context.Context, s *hook.Step, _ message.ModelFailure) (d hook.FailureDecision, err error) {
			h.hang(ctx, s.Host(), point.OnModelError)
			return d, nil
		}),
		point.RewriteReplyFunc(func(ctx context.Context, s *hook.Step, r message.ModelReply) (message.ModelReply, error) {
			h.hang(ctx, s.Host(), point.RewriteReply)
			return r, nil
		}),
		point.AfterModelFunc(func(ctx context.Context, s *hook.Step, _ message.ModelReply) (d hook.ReplyDecision, err error) {
			h.hang(ctx, s.Host(), point.AfterModel)
			return d, nil
		}),
		point.OnInvalidToolFunc(func(ctx context.Context, s *hook.Step, _ hook.InvalidCall) (d hook.RepairDecision, err error) {
			h.hang(ctx, s.Host(), point.OnInvalidTool)
			return d, nil
		}),
		point.RewriteArgsFunc(func(ctx context.Context, c *hook.ToolCall, a message.JSON) (message.JSON, error) {
			h.hang(ctx, c.Host(), point.RewriteArgs)
			return a, nil
		}),
		point.BeforeToolFunc(func(ctx context.Context, c *hook.ToolCall) (d hook.ToolDecision, err error) {
			h.hang(ctx, c.Host(), point.BeforeTool)
			return hook.AskTool("sure?"), nil
		}),
		point.ApproveFunc(func(ctx context.Context, c *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
			h.hang(ctx, c.Host(), point.Approve)
			return hook.ApproveCall(), nil
		}),
		point.WrapToolFunc(func(ctx context.Context, c *hook.ToolCall, next hook.ToolNext) message.ToolResult {
			h.hang(ctx, c.Host(), point.WrapTool)
			return next.Run(ctx)
		}),
		point.RewriteResultFunc(func(ctx context.Context, c *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
			h.hang(ctx, c.Host(), point.RewriteResult)
			return r, nil
		}),
		point.AfterToolFunc(func(ctx context.Context, c *hook.ToolCall, _ hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
			h.told.note(point.AfterTool)
			h.hang(ctx, c.Host(), point.AfterTool)
			return d, nil
		}),
		point.AfterStepFunc(func(ctx context.Context, s *hook.Step, _ hook.StepOutcome) (d hook.StepDecision, err error) {
			h.told.note(point.AfterStep)
			h.hang(ctx, s.Host(), point.AfterStep)
			return d, nil
		}),
		point.OnStopFunc(func(ctx context.Context, t *hook.Turn, _ hook.Stopping) (d hook.StopDecision, err error) {
			h.hang(ctx, t.Host(), point.OnStop)
			return d, nil
		}),
		point.OnTurnErrorFunc(func(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) (d hook.RecoverDecision, err error) {
			h.hang(ctx, t.Host(), point.OnTurnError)
			return d, nil
		}),
		point.AfterTurnFunc(func(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) {
			h.told.note(point.AfterTurn)
			h.hang(ctx, t.Host(), point.AfterTurn)
		}),
	}
}

// hangingHook hangs in the methods that every hook has.
type hangingHook struct {
	hook.Nop
	*hangs
}

func (h *hangingHook) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	h.hang(ctx, t.Host(), point.Preprocess)
	return in, nil
}

func (h *hangingHook) Schema() []message.Tool {
	return []message.Tool{{Name: "held", Input: rig.BoxSchema}}
}

func (h *hangingHook) Dispatch(ctx context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	if c.Name() != "held" {
		return hook.Invocation{}, false
	}
	h.hang(ctx, c.Host(), point.Dispatch)
	return hook.Bound(`{}`, rig.BoxRun{Tool: rig.Named("held")}), true
}

func (h *hangingHook) OnEvent(ctx context.Context, ev hook.Event) {
	if ev.Kind == h.kind {
		h.hang(ctx, ev.Host(), point.OnEvent)
	}
}

// turnPoints are the points of a turn, with the model that leads there.
func turnPoints() map[string]struct {
	at    hook.Point
	kind  hook.EventKind
	plays func() *rig.Model
} {
	usual := func() *rig.Model {
		return rig.Plays(rig.Calls(rig.Call("1", "held", "{}")), rig.Says("done"), rig.Says("again"))
	}
	fails := func() *rig.Model {
		return rig.Plays(func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, errors.New("no model")) }, rig.Says("again"))
	}
	out := map[string]struct {
		at    hook.Point
		kind  hook.EventKind
		plays func() *rig.Model
	}{}
	for _, p := range []hook.Point{
		point.OnSessionStart, point.Preprocess, point.BeforeTurn, point.TurnPolicy, point.TurnContext,
		point.RefineContext, point.TurnTools, point.PromptSections, point.BeforeStep, point.RewriteRequest,
		point.BeforeModel, point.WrapModel, point.RewriteReply, point.AfterModel, point.Dispatch,
		point.RewriteArgs, point.BeforeTool, point.Approve, point.WrapTool, point.RewriteResult,
		point.AfterTool, point.AfterStep, point.OnStop, point.AfterTurn,
	} {
		tc := out[p.String()]
		tc.at, tc.plays = p, usual
		out[p.String()] = tc
	}
	for _, p := range []hook.Point{point.OnModelError, point.OnTurnError} {
		tc := out[p.String()]
		tc.at, tc.plays = p, fails
		out[p.String()] = tc
	}
	tc := out["OnInvalidTool"]
	tc.at, tc.plays = point.OnInvalidTool, func() *rig.Model {
		return rig.Plays(rig.Calls(rig.Call("1", "nobody", "{}")), rig.Says("done"), rig.Says("again"))
	}
	out["OnInvalidTool"] = tc
	for _, kind := range []hook.EventKind{
		event.TurnStart, event.StepStart, event.TextStart, event.TextDelta, event.TextEnd, event.CallsBegin,
		event.CallStart, event.ApprovalAsked, event.ApprovalGiven, event.CallResult, event.CallsComplete,
		event.StepEnd, event.Usage, event.TurnEnd,
	} {
		tc := out["OnEvent "+string(kind)]
		tc.at, tc.kind, tc.plays = point.OnEvent, kind, usual
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

func hangsAt(t *testing.T, at hook.Point, kind hook.EventKind, m *rig.Model, how string, journal bool) {
	h := newHangs(at, kind)
	const grace, limit = time.Second, 3 * time.Second // together less than the default timeout of contributors
	cfg := hook.AgentConfig{Name: "a"}
	if how == "deadline" {
		cfg.Limits.Time = limit
	}
	w := rig.StartWith(t, m, cfg, &runtime.Options{Calls: runtime.Calls{Grace: grace}, Store: mem.New(&mem.Options{Journal: journal})}, h.hooks()...)
	f := follow(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan time.Time, 1)
	var out hook.TurnOutcome
	go func() {
		out, _ = w.Try(ctx, "go")
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
		dialog.Stop(w.Conv)
	case "close":
		over, stop := context.WithCancel(context.Background())
		stop()
		go func() { closed <- w.Runtime.Close(over) }()
	case "deadline":
		time.Sleep(limit)
	}
	at0 = time.Now()
	took := (<-ended).Sub(at0)
	assert.LessOrEqual(t, took, grace+grace/2, "the turn ends with the grace period")
	wantStop := map[string]hook.StopReason{
		"cancel": hook.StopCancelled, "stop": hook.StopUserRequested, "close": hook.StopCancelled, "deadline": hook.StopTimeLimit,
	}[how]
	if at != point.AfterTurn && at != point.OnTurnError && kind != event.TurnEnd { // by then the turn has its outcome
		assert.Equal(t, wantStop, out.Stop)
	}
	h.checkEnd(t, w)
	f.checkEnd(journal, at != point.OnEvent)
	if how == "close" {
		close(h.release)
		<-closed
		return
	}
	n := len(w.Events)
	if at != point.WrapTool {
		left := w.Runtime.Abandoned()
		require.Len(t, left, 1)
		assert.Equal(t, at.String(), left[0].Point)
		assert.Equal(t, 1, left[0].Count)
		if !slices.Contains([]hook.Point{point.OnEvent, point.Preprocess, point.Dispatch}, at) { // the plan does not know who has those
			assert.NotEmpty(t, left[0].Hook)
		}
	}
	synctest.Wait()
	if at != point.OnEvent { // a hanging observer gets no further event
		assert.NotEmpty(t, w.EventsOf(event.TurnEnd))
		for after, began := range map[hook.Point]hook.EventKind{
			point.AfterTool: event.CallStart, point.AfterStep: event.StepStart, point.AfterTurn: event.TurnStart,
		} {
			assert.Equal(t, len(w.EventsOf(began)), h.told.of(after), "%s runs once for each %s", after, began)
		}
	}
	lines := w.History()

	next, err := dialog.Send(t.Context(), w.Conv, message.TextInput("next"), nil)
	require.NoError(t, err, "the next turn begins")
	require.NotEmpty(t, next.Text())
	now := w.History()
	assert.Equal(t, lines, now[:len(lines)])
	close(h.release)
	synctest.Wait()
	h.host.Emit(h.ctx, hook.Event{Kind: event.Diagnostic, Text: "too late"})
	assert.Len(t, w.Events, n, "what was left behind tells nothing any more")
	assert.Equal(t, now, w.History(), "and stores nothing")
	assert.Empty(t, w.Runtime.Abandoned())
}

// A call that the loop had not started when it was abandoned never starts, and nothing
// waits for it.
func TestSpecACallOfAnAbandonedLoopNeverStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHangs(point.OnEvent, event.CallResult)
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "nobody", "{}"), rig.Call("2", "x", "{}"))), hook.AgentConfig{Name: "a"},
			&runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, &hangingHook{hangs: h}, rig.Box(rig.Does("x", rig.Never(t))))
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		_, err := w.Try(ctx, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, strings.Join(w.History(), "\n"), "cancelled before it started")
		close(h.release)
		synctest.Wait()
		assert.Empty(t, w.Runtime.Abandoned())
		require.NoError(t, w.Runtime.Close(context.Background()))
	})
}

// checkEnd checks what the store has of the turn.
func (h *hangs) checkEnd(t *testing.T, w *rig.World) {
	t.Helper()
	ms, err := w.Store.Messages(context.Background(), w.Conv.ID())
	require.NoError(t, err)
	assert.Empty(t, history.Check(ms))
	for _, m := range ms {
		if m.Role == message.RoleTool && h.at == point.BeforeTool {
			assert.NotEqual(t, "held:", m.Result.Text(), "a gate that did not answer lets nothing through")
		}
	}
	rec, err := w.Store.Conversation(context.Background(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	assert.False(t, rec.Journaled, "the turn has its end in the store")
}

// A hanging observer is dropped, and the others get the events.
func TestSpecAnObserverThatHangsHoldsACancelledTurnForTheGracePeriod(t *testing.T) {
	t.Parallel()
	for _, kind := range []hook.EventKind{event.TurnStart, event.TextDelta, event.CallResult, event.TurnEnd} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"), rig.Says("again")),
					hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, rig.Box(rig.Named("x")))
				release := make(chan struct{})
				ctx, cancel := context.WithTimeout(t.Context(), soon)
				defer cancel()
				began := time.Now()
				_, err := dialog.Send(ctx, w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
					if ev.Kind == kind {
						<-release
					}
				}})
				assert.Equal(t, soon+time.Second, time.Since(began))
				if kind != event.TurnEnd {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("next"), nil)
				require.NoError(t, err)
				close(release)
			})
		})
	}
}

// A model that ignores its context is abandoned like a hook.
func TestSpecAModelThatHangsHoldsACancelledTurnForTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := rig.StartWith(t, rig.Plays(func(yield func(message.Chunk, error) bool) {
			if yield(rig.Text("half"), nil) {
				<-release
				yield(rig.Text("late"), nil)
			}
		}, rig.Says("again")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}})
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		began := time.Now()
		_, err := w.Try(ctx, "go")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, soon+time.Second, time.Since(began))
		rig.AssertBrackets(t, w)
		n := len(w.Events)
		out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("next"), nil)
		require.NoError(t, err)
		assert.Equal(t, "again", out.Text())
		close(release)
		synctest.Wait()
		assert.Len(t, w.Events, n)
		assert.NotContains(t, strings.Join(w.History(), "\n"), "late")
		assert.Empty(t, w.Runtime.Abandoned())
	})
}

// A hook that ends its goroutine ends the turn, which has an end all the same.
func TestSpecAHookThatEndsItsGoroutineEndsTheTurn(t *testing.T) {
	t.Parallel()
	gate := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		goruntime.Goexit()
		return hook.ToolDecision{}, nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("again")), gate, rig.Box(rig.Does("x", rig.Never(t))))
	out, err := w.Try(t.Context(), "go")
	require.Error(t, err)
	assert.Equal(t, hook.StopError, out.Stop)
	rig.AssertBrackets(t, w)
	assert.Equal(t, "again", w.Send("next").Text())
	assert.True(t, slices.ContainsFunc(w.History(), func(line string) bool { return strings.Contains(line, "cancelled before it started") }))
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
	h.hang(point.OnUnregisterAgent)
}

func (h *endHangs) OnClose(context.Context) error { h.hang(point.OnClose); return nil }

func (h *endHangs) OnSessionEnd(context.Context, *hook.Session) { h.hang(point.OnSessionEnd) }

func (h *endHangs) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == event.AgentUnregistered {
		h.hang(point.OnEvent)
	}
}

func (h *endHangs) BeforeCompaction(context.Context, *hook.Conversation, hook.Compaction) (d hook.CompactionDecision, err error) {
	h.hang(point.BeforeCompaction)
	return d, nil
}

// TestSpecCloseEndsWhateverHangs: Close ends when its context has ended, some grace
// periods later at most, and says what is left.
func TestSpecCloseEndsWhateverHangs(t *testing.T) {
	t.Parallel()
	for _, at := range []hook.Point{
		point.OnUnregisterAgent, point.OnClose, point.OnSessionEnd, point.OnEvent, point.BeforeCompaction,
	} {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &endHangs{at: at, release: make(chan struct{})}
				w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: time.Second}}, h, hook.Nop{})
				w.Send("one")
				w.Send("two")
				if at == point.BeforeCompaction {
					go func() { _, _ = w.Conv.Compact(context.Background(), &runtime.CompactOptions{Keep: 1}) }()
					synctest.Wait()
				}
				ctx, cancel := context.WithTimeout(context.Background(), soon)
				defer cancel()
				began := time.Now()
				err := w.Runtime.Close(ctx)
				assert.LessOrEqual(t, time.Since(began), soon+5*time.Second)
				assert.GreaterOrEqual(t, time.Since(began), soon+time.Second)
				if at != point.BeforeCompaction {
					assert.ErrorContains(t, err, at.String())
					assert.Len(t, w.Runtime.Abandoned(), 1)
				}
				close(h.release)
				synctest.Wait()
				assert.Empty(t, w.Runtime.Abandoned())
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
				gate := point.BeforeTurnFunc(func(_ context.Context, _ *hook.Turn, in message.Input) (d hook.TurnDecision, err error) {
					if in.Text() == "two" {
						<-release
					}
					return d, nil
				})
				said := make(chan struct{})
				slow := rig.Does("x", func(context.Context) message.ToolResult { <-said; return message.TextResult("done") })
				w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("never")), hook.AgentConfig{Name: "a"},
					&runtime.Options{Calls: runtime.Calls{Grace: time.Second}, Store: mem.New(&mem.Options{Journal: journal})}, gate, rig.Box(slow))
				go func() {
					synctest.Wait()
					for _, text := range []string{"one", "two", "three"} {
						assert.NoError(t, dialog.Steer(t.Context(), w.Conv, message.TextInput(text)))
					}
					close(said)
					synctest.Wait()
					dialog.Stop(w.Conv)
				}()
				out, err := w.Try(t.Context(), "go")
				require.Error(t, err)
				assert.Equal(t, hook.StopUserRequested, out.Stop)
				var heard []string
				for _, ev := range w.EventsOf(event.Steered) {
					heard = append(heard, ev.Text)
				}
				assert.Equal(t, []string{"one"}, heard)
				assert.Len(t, w.EventsOf(event.SteerRefused), 2)
				history := strings.Join(w.History(), "\n")
				assert.Contains(t, history, "user one")
				assert.NotContains(t, history, "two")
				assert.NotContains(t, history, "three")
				close(release)
				synctest.Wait()
				assert.Equal(t, history, strings.Join(w.History(), "\n"))
			})
		})
	}
}
