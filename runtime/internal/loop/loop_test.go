package loop_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is one thread with all that its turns need, and no Runtime.
type world struct {
	t      *testing.T
	thread *loop.Thread
	store  *mem.Store
	lease  *durable.Lease
}

// newWorld returns a thread of an agent with the hook, whose model answers with one function
// after the other.
func newWorld(t *testing.T, h hook.Hook, answers ...message.ModelStream) *world {
	t.Helper()
	w := &world{t: t, store: mem.New(nil)}
	c, err := composite.From(h)
	require.NoError(t, err)
	tools := toolrun.New(toolrun.Options{Slots: 4, Abandoned: 4})
	env := &loop.Env{
		Provider: &model{answers: answers}, Store: w.store, Grace: time.Second, Now: time.Now, NewID: counter("t"),
		Limits: loop.Limits{Result: 1000, Contributions: contribution.Budget{}, Depth: 1, Children: 1, Resumes: 1, Unreadable: 3},
		Tools:  tools, Loops: new(drive.Pool), Abandoned: new(abandoned.Counts), Requests: new(human.Table), Background: queue.New(nil),
	}
	setup := &loop.Setup{Process: new(loop.Process), Registered: new(loop.Users), Config: &hook.AgentConfig{Name: "a", Model: message.Model{Name: "m"}}, Hooks: scope.New(c)}
	require.NoError(t, setup.Refresh(env.Environment))
	agent := &loop.Agent{Name: "a"}
	agent.Set(setup)

	rec, err := w.store.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	leases := durable.NewLeases(durable.Options{Store: w.store, Owner: "w", Hold: time.Minute, Now: time.Now, Gone: func(string) bool { return false }})
	t.Cleanup(leases.Close)
	log := stream.NewLog(stream.LogOptions{Conversation: rec.ID, Agent: "a", Owner: w, Hub: stream.NewHub(stream.Options{})})
	states := hook.NewStates(nil)
	w.lease = leases.Lease(durable.LeaseOptions{Record: rec, Log: log, States: states, Owner: w})
	w.thread = &loop.Thread{Env: env, Agent: agent, Host: hook.NoHost{}, Log: log, Lease: w.lease}
	w.thread.Place = hook.NewConversation(hook.ConversationData{ID: rec.ID, Sender: "ann", Agent: setup.Config, Host: hook.NoHost{}, States: states})
	w.thread.Loaded(message.Messages{})
	t.Cleanup(func() { assert.Empty(t, tools.Close(context.Background())) })
	t.Cleanup(func() { env.Background.Close(context.Background(), time.Second) })
	t.Cleanup(env.Loops.Close)
	return w
}

func (w *world) Listeners() (*composite.Composite, func()) {
	return w.thread.Agent.Now().Hooks.Composite, func() {}
}
func (w *world) EventHost() hook.Host                                    { return hook.NoHost{} }
func (w *world) Now() time.Time                                          { return time.Now() }
func (w *world) WriteEvents(context.Context, int64, []store.Event) error { return nil }
func (w *world) Tell(context.Context, hook.Event)                        {}
func (w *world) Loaded(history message.Messages)                         { w.thread.Loaded(history) }
func (w *world) WriteFailed(error)                                       {}
func (w *world) LeaseLost()                                              {}

// run runs a turn and returns its outcome and the kinds of its events.
func (w *world) run(ctx context.Context, h *loop.Handle, text string) (hook.TurnOutcome, []hook.EventKind) {
	w.t.Helper()
	ctx = h.Init(ctx)
	require.NoError(w.t, w.lease.Open(ctx, false))
	var kinds []hook.EventKind
	out := w.thread.Run(ctx, h, loop.Input{Message: message.TextInput(text), Observe: func(ev hook.Event) { kinds = append(kinds, ev.Kind) }})
	h.Cancel(nil)
	h.End(out)
	return out, kinds
}

func (w *world) history() (out []string) {
	w.t.Helper()
	messages, err := w.store.Messages(w.t.Context(), w.thread.ID())
	require.NoError(w.t, err)
	for _, m := range messages {
		out = append(out, string(m.Role)+": "+m.Text()+m.Result.Text())
	}
	return out
}

// TestATurnRunsFromItsInputToItsOutcome: with a call of a tool between.
func TestATurnRunsFromItsInputToItsOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bell{}, calls("c1", "ring", `{}`), says("It rang."))
	var h loop.Handle
	out, kinds := w.run(t.Context(), &h, "ring the bell")
	require.NoError(t, out.Err)
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, "It rang.", out.Text())
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, []string{"user: ring the bell", "assistant: ", "tool: ding", "assistant: It rang."}, w.history())
	assert.Equal(t, event.TurnStart, kinds[0])
	assert.Equal(t, event.TurnEnd, kinds[len(kinds)-1])
	assert.Contains(t, kinds, event.CallResult)
	assert.Nil(t, w.thread.Current())
}

// TestAHandleKnowsHowFarItsTurnIs: before its beginning, and after its end.
func TestAHandleKnowsHowFarItsTurnIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hook.Nop{}, says("hello"))
	var h loop.Handle
	assert.False(t, h.HasBegun())
	assert.Empty(t, h.ID())
	begun := 0
	h.OnBegun = func() { begun++ }
	out, _ := w.run(t.Context(), &h, "hi")
	assert.Equal(t, 1, begun)
	assert.Equal(t, "t1", h.ID())
	assert.True(t, h.Ending())
	<-h.Begun()
	<-h.Done()
	got, err := h.Outcome()
	require.NoError(t, err)
	assert.Equal(t, out, got)
	assert.ErrorIs(t, w.thread.Steer(t.Context(), &h, message.TextInput("late")), loop.ErrIdle)
}

// TestATurnThatIsCancelledKeepsWhatWasSaid: up to its cancellation.
func TestATurnThatIsCancelledKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	var h loop.Handle
	half := func(yield func(message.Chunk, error) bool) {
		if yield(message.Chunk{Kind: message.ChunkText, Text: "half"}, nil) {
			h.Cancel(loop.ErrStopped)
			yield(message.Chunk{Kind: message.ChunkText, Text: " more"}, nil)
		}
	}
	w := newWorld(t, hook.Nop{}, half)
	out, _ := w.run(t.Context(), &h, "go")
	assert.Equal(t, hook.StopUserRequested, out.Stop)
	require.ErrorIs(t, out.Err, loop.ErrStopped)
	assert.Equal(t, []string{"user: go", "assistant: half"}, w.history())
}

// TestALoopThatHangsIsAbandoned: its owner ends the turn in its place, within two grace
// periods, and what was done is kept.
func TestALoopThatHangsIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stall := make(chan struct{})
		w := newWorld(t, staller{stall: stall}, says("never heard"))
		var h loop.Handle
		began := time.Now()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(loop.ErrStopped)
		}()
		out, kinds := w.run(ctx, &h, "hi")
		assert.LessOrEqual(t, time.Since(began), 3*time.Second)
		require.ErrorIs(t, out.Err, loop.ErrStopped)
		assert.Equal(t, event.TurnEnd, kinds[len(kinds)-1])
		close(stall)
		synctest.Wait()
	})
}

// TestATurnEndsAtItsLimitOfSteps: also where the model would go on.
func TestATurnEndsAtItsLimitOfSteps(t *testing.T) {
	t.Parallel()
	again := make([]message.ModelStream, message.LoopToolCalling.Steps()+1)
	for i := range again {
		again[i] = calls("c"+strconv.Itoa(i), "ring", `{}`)
	}
	w := newWorld(t, bell{}, again...)
	var h loop.Handle
	out, _ := w.run(t.Context(), &h, "ring for ever")
	assert.Equal(t, hook.StopStepsLimit, out.Stop)
	assert.Equal(t, message.LoopToolCalling.Steps(), out.Steps)
}

// bell has one tool.
type bell struct{ hook.Nop }

func (bell) Schema() []message.Tool {
	return []message.Tool{{Name: "ring", Input: `{"type":"object"}`}}
}

func (bell) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), ding{}), call.Name() == "ring"
}

type ding struct{}

func (ding) Run(context.Context, *hook.Env) message.ToolResult { return message.TextResult("ding") }

// staller hangs before the first request, whatever its context says.
type staller struct {
	hook.Nop
	stall chan struct{}
}

func (s staller) BeforeTurn(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
	<-s.stall
	return hook.TurnDecision{}, nil
}

type model struct{ answers []message.ModelStream }

func (m *model) Stream(context.Context, message.ModelRequest) message.ModelStream {
	next := m.answers[0]
	m.answers = m.answers[1:]
	return next
}

func says(text string) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
	}
}

func calls(id, tool, args string) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkCallStart, CallID: id, Tool: tool}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Text: args}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallEnd}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools}, nil)
	}
}

func counter(prefix string) func() string {
	n := 0
	return func() string { n++; return prefix + strconv.Itoa(n) }
}

var _ provider.Provider = (*model)(nil)
