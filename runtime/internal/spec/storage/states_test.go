package storage_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
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
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Hooks keep states of a turn and of a conversation. Those of a conversation are
// stored with the messages, and continue where the conversation does.

// tally is a subsystem that counts in states: the requests of a turn, and the replies
// of a conversation with those of its children.
type tally struct {
	hook.Nop
	turn hook.TurnState[int]
	all  hook.ConversationState[int]
	// ended gets each turn that ends, with its own count.
	ended func(t *hook.Turn, steps int)
}

// States implements hook.Stateful.
func (s *tally) States() map[string]hook.State { return map[string]hook.State{"all": &s.all} }

func more(n int) int { return n + 1 }

// Preprocess implements hook.Hook: a turn begins with a count, and another input.
func (s *tally) Preprocess(_ context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	s.turn.Update(t, func(int) int { return 100 })
	return message.TextInput(in.Text() + "!"), nil
}

// BeforeModel implements hook.BeforeModel.
func (s *tally) BeforeModel(_ context.Context, step *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	s.turn.Update(step.Turn(), more)
	return hook.ModelDecision{}, nil
}

// AfterModel implements hook.AfterModel.
func (s *tally) AfterModel(_ context.Context, step *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	s.all.Update(step.Turn().Root().Conversation(), more)
	return hook.ReplyDecision{}, nil
}

// AfterTurn implements hook.AfterTurn.
func (s *tally) AfterTurn(_ context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	if s.ended != nil {
		s.ended(t, s.turn.Get(t))
	}
}

// stateIn returns what the store has under the name.
func stateIn(t *testing.T, s store.Store, id, name string) string {
	t.Helper()
	values, err := s.(store.States).States(t.Context(), id)
	require.NoError(t, err)
	for _, v := range values {
		if v.Name == name {
			return string(v.Data)
		}
	}
	return ""
}

func TestSpecStatesOfATurnAndItsChildren(t *testing.T) {
	t.Parallel()
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer"), rig.Says("done"), rig.Says("again")), "writer": rig.Plays(rig.Says("written"))}
	steps, all := map[string][]int{}, map[string]int{}
	s := &tally{}
	s.ended = func(turn *hook.Turn, n int) {
		name := turn.Agent().Name
		steps[name], all[name] = append(steps[name], n), s.all.Get(turn.Conversation())
		if turn.Depth() == 0 {
			assert.Nil(t, turn.Parent())
		} else {
			assert.Equal(t, "chief", turn.Parent().Agent().Name)
		}
	}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "writer"), delegate.New(nil), s)
	w.Send("do it")
	w.Send("once more")
	assert.Equal(t, map[string][]int{"writer": {101}, "chief": {102, 101}}, steps,
		"each turn has its own, from before its input was changed")
	assert.Equal(t, map[string]int{"writer": 0, "chief": 4}, all, "a child counts in the conversation of its root")
	assert.Equal(t, "4", stateIn(t, w.Store, w.Conv.ID(), "H1.all"))
}

// crowd counts in turns that run at the same time, and notes when it sees a count that
// is not its own.
type crowd struct {
	hook.Nop
	calls hook.TurnState[map[string]int]
	total hook.ConversationState[int]
	mixed atomic.Int64
}

// States implements hook.Stateful.
func (s *crowd) States() map[string]hook.State { return map[string]hook.State{"total": &s.total} }

// BeforeModel implements hook.BeforeModel.
func (s *crowd) BeforeModel(_ context.Context, step *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	id := step.Turn().ID()
	got := s.calls.Update(step.Turn(), func(was map[string]int) map[string]int {
		return map[string]int{id: was[id] + 1, "all": was["all"] + 1}
	})
	s.total.Update(step.Turn().Conversation(), more)
	if got[id] != step.Number() || got["all"] != step.Number() {
		s.mixed.Add(1)
	}
	return hook.ModelDecision{}, nil
}

func TestSpecTurnsAtTheSameTimeShareNoState(t *testing.T) {
	t.Parallel()
	const conversations, turns = 16, 10
	a, b := &crowd{}, &crowd{}
	m := modelFunc(func(_ context.Context, req message.ModelRequest) message.ModelStream {
		if n := req.Messages.Len(); req.Messages.At(n-1).Role == message.RoleTool {
			return rig.Says("done")
		}
		return rig.Calls(rig.Call("c1", "echo", `{}`))
	})
	rt := runtime.New(rig.Compose(t, []hook.Hook{rig.Box(rig.Named("echo")), a, b}), m, &runtime.Options{Calls: runtime.Calls{Slots: conversations}})
	require.NoError(t, rt.Open(t.Context()))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range conversations {
		wg.Go(func() {
			conv, err := dialog.Conversation(t.Context(), rt, "a", fmt.Sprint(i))
			if !assert.NoError(t, err) {
				return
			}
			for range turns {
				_, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.Zero(t, a.mixed.Load()+b.mixed.Load(), "counts of another turn were seen")
}

type modelFunc func(context.Context, message.ModelRequest) message.ModelStream

func (f modelFunc) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return f(ctx, req)
}

func TestSpecAStateContinuesInAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := rig.NewGate("wait")
	p := rig.Boot(t, dir, rig.Plays(rig.Says("1"), rig.Calls(rig.Call("c1", "wait", `{}`))), runtime.Options{}, rig.Box(tool.Tool), &tally{})
	p.Send("first")
	p.Sends("second")
	<-tool.Reached
	assert.Equal(t, "2", stateIn(t, p.Store, p.Conv.ID(), "H1.all"), "with the reply, before its calls run")
	p.Dies()

	s := &tally{}
	var ended []int
	s.ended = func(turn *hook.Turn, steps int) { ended = append(ended, steps, s.all.Get(turn.Conversation())) }
	next := rig.Boot(t, dir, rig.Plays(rig.Says("3"), rig.Says("4")), runtime.Options{}, rig.Box(tool.Tool), s)
	next.Resumes()
	require.NoError(t, next.Ends().Returned)
	next.Send("third")
	assert.Equal(t, []int{1, 3, 101, 4}, ended, "the state of a turn is not kept, that of its conversation is")
	assert.Equal(t, "4", stateIn(t, next.Store, next.Conv.ID(), "H1.all"))
}

// A process whose conversation has been taken over counts on from what the other one
// has written, and not from what it could not write itself.
func TestSpecAStateThatSomebodyElseHasWrittenIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := rig.NewGate("wait")
	s := &tally{}
	s.ended = func(turn *hook.Turn, _ int) { s.all.Update(turn.Conversation(), func(n int) int { return n + 50 }) }
	p := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("lost"), rig.Says("3")), runtime.Options{}, rig.Box(tool.Tool), s)
	p.Sends("first")
	<-tool.Reached
	next := rig.Boot(t, dir, rig.Plays(rig.Says("2")), runtime.Options{}, rig.Box(tool.Tool), &tally{})
	next.Send("second")
	close(tool.Open)
	require.Error(t, p.Ends().Returned)
	assert.Equal(t, "2", stateIn(t, p.Store, p.Conv.ID(), "H1.all"))
	p.Send("third")
	assert.Equal(t, "53", stateIn(t, p.Store, p.Conv.ID(), "H1.all"))
}

// brittle dies with the n-th write.
type brittle struct {
	*mem.Store
	left, states atomic.Int64
}

func (s *brittle) dies() error {
	if s.left.Add(-1) < 0 {
		return rig.ErrDead
	}
	return nil
}

func (s *brittle) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if err := s.dies(); err != nil {
		return 0, err
	}
	s.states.Add(int64(len(a.States)))
	return s.Store.Append(ctx, id, a)
}

func (s *brittle) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if err := s.dies(); err != nil {
		return 0, err
	}
	s.states.Add(int64(len(n.States)))
	return s.Store.Note(ctx, id, n)
}

// replies is how many replies of models the store has, in history and journal.
func replies(t *testing.T, s store.Store, id string) (n int) {
	t.Helper()
	ms, err := s.Messages(t.Context(), id)
	require.NoError(t, err)
	for _, m := range ms {
		if m.Role == message.RoleAssistant {
			n++
		}
	}
	entries, err := s.Journal(t.Context(), id)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Kind == store.EntryReply {
			n++
		}
	}
	return n
}

func TestSpecAStateIsNeverAheadOfWhatItCountsNorBehind(t *testing.T) {
	t.Parallel()
	again := rig.Named("echo")
	again.Annotations.ReadOnly = true
	script := func() *rig.Model {
		return rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`), rig.Call("c2", "echo", `{}`)), rig.Calls(rig.Call("c3", "echo", `{}`)), rig.Says("done"))
	}
	died := 0
	for writes := int64(0); ; writes++ {
		disk := mem.New(&mem.Options{Journal: true})
		dying := &brittle{Store: disk}
		dying.left.Store(writes)
		w := rig.StartWith(t, script(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: dying}, rig.Box(again), &tally{})
		_, err := w.Try(t.Context(), "go")
		count := func() string { return fmt.Sprint(max(replies(t, disk, w.Conv.ID()), 0)) }
		if got := stateIn(t, disk, w.Conv.ID(), "H1.all"); got != "" || count() != "0" {
			require.Equal(t, count(), got, "after %d writes", writes)
		}
		if err == nil {
			assert.Equal(t, int64(3), dying.states.Load(), "each change is written once")
			break
		}
		died++
		m := script()
		m.Requests = make([]message.ModelRequest, replies(t, disk, w.Conv.ID())) // where the first one was
		next := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: disk, Gone: func(string) bool { return true }}, rig.Box(again), &tally{})
		rec, err := disk.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
		require.NoError(t, err)
		if rec.Journaled {
			_, err = dialog.Resume(t.Context(), next.Conv, nil)
			require.NoError(t, err)
			require.Equal(t, "3", stateIn(t, disk, w.Conv.ID(), "H1.all"), "after %d writes", writes)
		} else {
			next.Send("go")
		}
		require.Equal(t, count(), stateIn(t, disk, w.Conv.ID(), "H1.all"), "after %d writes", writes)
	}
	assert.Greater(t, died, 5)
}

func TestSpecStatesAreForkedAndStayOverARewind(t *testing.T) {
	t.Parallel()
	s := &tally{}
	var seen []string
	s.ended = func(turn *hook.Turn, _ int) {
		seen = append(seen, fmt.Sprint(turn.Conversation().Sender(), " ", s.all.Get(turn.Conversation())))
	}
	for _, o := range []*runtime.Options{{}, {Store: mem.New(&mem.Options{Journal: true})}, {Store: rig.OpenSQLite(t, t.TempDir())}} {
		seen = nil
		w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, o, s)
		w.Send("1")
		w.Send("2")
		fork, err := w.Conv.Fork(t.Context(), 1, "bob")
		require.NoError(t, err)
		require.NoError(t, w.Conv.Rewind(t.Context(), 1))
		w.Send("3")
		_, err = dialog.Send(t.Context(), fork, message.TextInput("own"), nil)
		require.NoError(t, err)
		w.Send("4")
		assert.Equal(t, []string{"ann 1", "ann 2", "ann 3", "bob 3", "ann 4"}, seen)
	}
}

// odd is a subsystem whose state may be what JSON cannot hold.
type odd struct {
	hook.Nop
	share hook.ConversationState[float64]
	value float64
}

// States implements hook.Stateful.
func (s *odd) States() map[string]hook.State { return map[string]hook.State{"share": &s.share} }

// AfterModel implements hook.AfterModel.
func (s *odd) AfterModel(_ context.Context, step *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	s.share.Update(step.Turn().Conversation(), func(float64) float64 { return s.value })
	return hook.ReplyDecision{}, nil
}

func TestSpecAStateThatCannotBeKeptFailsTheTurn(t *testing.T) {
	t.Parallel()
	s, all := &odd{value: math.NaN()}, &tally{}
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("1"), rig.Says("2")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: rig.OpenSQLite(t, t.TempDir())}, s, all, rig.Box(rig.Named("echo")))
	out, err := w.Try(t.Context(), "go")
	require.EqualError(t, err, "state H0.share cannot be stored: its value cannot be encoded as JSON: json: unsupported value: NaN")
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Equal(t, "1", stateIn(t, w.Store, w.Conv.ID(), "H1.all"), "the others are")
	assert.Len(t, w.History(), 3, "and so is what was said and done")
	s.value = 0.5
	w.Send("again")
	assert.Equal(t, "0.5", stateIn(t, w.Store, w.Conv.ID(), "H0.share"))
	assert.Equal(t, "2", stateIn(t, w.Store, w.Conv.ID(), "H1.all"))
}

func TestSpecAStateThatNobodyKnowsFailsTheTurn(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("1")), &hidden{states: func() *hook.ConversationState[int] { return new(hook.ConversationState[int]) }})
	_, err := w.Try(t.Context(), "go")
	require.ErrorContains(t, err, "a hook.ConversationState[int] has no key in the store")
}

// hidden is a subsystem whose state is no field.
type hidden struct {
	hook.Nop
	states func() *hook.ConversationState[int]
}

// AfterModel implements hook.AfterModel.
func (s *hidden) AfterModel(_ context.Context, step *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	s.states().Update(step.Turn().Conversation(), more)
	return hook.ReplyDecision{}, nil
}

func TestSpecAStateThatCannotBeReadStartsAfresh(t *testing.T) {
	t.Parallel()
	disk := rig.OpenSQLite(t, t.TempDir())
	rec, err := disk.Conversation(t.Context(), store.Key{Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	_, err = disk.Append(t.Context(), rec.ID, store.Append{States: []hook.StateValue{{Name: "H0.all", Data: `"canary"`}, {Name: "gone.total", Data: "7"}}})
	require.NoError(t, err)
	told := &listener{}
	w := rig.StartWith(t, rig.Plays(rig.Says("1")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: disk}, &tally{}, told)
	w.Send("go")
	assert.Equal(t, "1", stateIn(t, disk, rec.ID, "H0.all"))
	assert.Equal(t, "7", stateIn(t, disk, rec.ID, "gone.total"), "whose subsystem may come back")
	assert.Equal(t, []string{"state H0.all starts afresh: its stored value is no int: its JSON has another form"}, told.diagnostics)
}

// closing is a subsystem that counts its sessions when they have ended.
type closing struct {
	hook.Nop
	sessions hook.ConversationState[int]
}

// States implements hook.Stateful.
func (s *closing) States() map[string]hook.State {
	return map[string]hook.State{"sessions": &s.sessions}
}

// OnSessionEnd implements hook.OnSessionEnd.
func (s *closing) OnSessionEnd(_ context.Context, session *hook.Session) {
	s.sessions.Update(session.Conversation(), more)
}

func TestSpecAStateThatIsSetAtTheEndOfASessionIsKept(t *testing.T) {
	t.Parallel()
	disk := mem.New(&mem.Options{Journal: true})
	for _, want := range []string{"1", "2"} {
		w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: disk, Gone: func(string) bool { return true }}, &closing{})
		w.Send("go")
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.Equal(t, want, stateIn(t, disk, w.Conv.ID(), "sessions"))
	}
}

// listener notes the diagnostics.
type listener struct {
	hook.Nop
	diagnostics []string
}

// OnEvent implements hook.Hook.
func (l *listener) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == event.Diagnostic {
		l.diagnostics = append(l.diagnostics, ev.Text)
	}
}

func TestSpecAStateThatIsSetOutsideOfATurnIsWrittenWithTheNext(t *testing.T) {
	t.Parallel()
	disk := mem.New(&mem.Options{Journal: true})
	s := &tally{}
	var place *hook.Conversation
	s.ended = func(turn *hook.Turn, _ int) { place = turn.Conversation() }
	w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: disk}, s)
	w.Send("1")
	s.all.Update(place, func(n int) int { return n + 10 })
	assert.Equal(t, "1", stateIn(t, disk, w.Conv.ID(), "all"))
	w.Send("2")
	assert.Equal(t, "12", stateIn(t, disk, w.Conv.ID(), "all"))
}

func TestSpecMistakesInStatesAreErrorsOfOpen(t *testing.T) {
	t.Parallel()
	a, b := &tally{}, &odd{}
	a.all.Shared, b.share.Shared = "cost.total", "cost.total"
	rt := runtime.New(rig.Compose(t, []hook.Hook{a, b}), rig.Plays(), nil)
	assert.EqualError(t, rt.Open(t.Context()), `open: states: H1.share: the shared state "cost.total" is a hook.ConversationState[float64] here `+
		`and a hook.ConversationState[int] in H0.all: give them the same type, or different names`)

	rt = runtime.New(&tally{}, rig.Plays(), &runtime.Options{Store: struct{ store.Store }{mem.New(&mem.Options{Journal: true})}})
	assert.EqualError(t, rt.Open(t.Context()), "open: the hook has a conversation state, all, but a store of type struct { store.Store } does not keep states: use a store that implements store.States")
	rt = runtime.New(&tally{}, rig.Plays(), &runtime.Options{Store: struct{ store.Store }{mem.New(nil)}})
	require.NoError(t, rt.Open(t.Context()), "a store that ends with the process keeps nothing else either")
	require.NoError(t, rt.Close(t.Context()))
}
