package storage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Nothing of an ephemeral conversation is stored, and everything else is as always.

// untouchable is a store that counts what is written.
type untouchable struct {
	*sqlite.Store
	t      *testing.T
	closed bool
}

func (s *untouchable) refuse(what string) {
	if s.closed {
		assert.Fail(s.t, "the store was written", what)
	}
}

func (s *untouchable) Conversation(ctx context.Context, key store.Key) (store.Record, error) {
	s.refuse("Conversation " + key.Sender)
	return s.Store.Conversation(ctx, key)
}

func (s *untouchable) Child(ctx context.Context, key store.Key, parent string) (store.Record, error) {
	s.refuse("Child")
	return s.Store.Child(ctx, key, parent)
}

func (s *untouchable) Claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	s.refuse("Claim")
	return s.Store.Claim(ctx, id, c)
}

func (s *untouchable) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	s.refuse("Append")
	return s.Store.Append(ctx, id, a)
}

func (s *untouchable) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	s.refuse("Note")
	return s.Store.Note(ctx, id, n)
}

func (s *untouchable) Enqueue(ctx context.Context, j store.Job) (bool, error) {
	s.refuse("Enqueue")
	return s.Store.Enqueue(ctx, j)
}

// counts keeps a state in the conversation, and has seen which turns are ephemeral.
type counts struct {
	hook.Nop
	count     hook.ConversationState[int]
	counted   []int
	ephemeral []bool
	sessions  []string
	refused   error
}

// States implements hook.Stateful.
func (c *counts) States() map[string]hook.State { return map[string]hook.State{"count": &c.count} }

func (c *counts) OnSessionStart(_ context.Context, s *hook.Session) (hook.SessionDecision, error) {
	c.sessions = append(c.sessions, "start "+string(s.Source()))
	return hook.SessionDecision{}, nil
}

func (c *counts) OnSessionEnd(context.Context, *hook.Session) { c.sessions = append(c.sessions, "end") }

func (c *counts) AfterTurn(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	c.counted = append(c.counted, c.count.Update(t.Conversation(), func(n int) int { return n + 1 }))
	c.ephemeral = append(c.ephemeral, t.Conversation().Ephemeral())
	if t.Conversation().Ephemeral() {
		c.refused = t.Host().Enqueue(ctx, hook.Job{Kind: "remember", Key: "k", Payload: `{}`})
	}
}

// startEphemeral has a stored conversation of one turn, and a store that must not be written from
// now on.
func startEphemeral(t *testing.T, m *rig.Model, hooks ...hook.Hook) (*rig.World, *untouchable) {
	t.Helper()
	s := &untouchable{Store: rig.OpenSQLite(t, t.TempDir()), t: t}
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Instructions: "Help."}, &runtime.Options{Store: s}, hooks...)
	w.Send("remember seven")
	s.closed = true
	t.Cleanup(func() { s.closed = false })
	return w, s
}

func TestSpecAnEphemeralTurnReadsTheHistoryAndStoresNothing(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("noted"), rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("seven"), rig.Says("still seven"), rig.Says("stored"))
	c := &counts{}
	w, s := startEphemeral(t, m, rig.Box(rig.Named("echo")), c)
	e, err := w.Conv.Ephemeral(t.Context())
	require.NoError(t, err)
	var events []hook.Event
	out, err := e.Send(t.Context(), message.TextInput("which number?"), &runtime.TurnOptions{Observe: func(ev hook.Event) { events = append(events, ev) }})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	assert.Equal(t, "seven", out.Text())
	_, err = e.Send(t.Context(), message.TextInput("sure?"), nil)
	require.NoError(t, err)

	assert.Equal(t, []string{"remember seven", "noted", "which number?"}, textsOfMessages(m.Requests[1]))
	assert.Equal(t, []string{"remember seven", "noted", "which number?", "", "", "seven", "sure?"}, textsOfMessages(m.Requests[3]), "a second turn goes on")
	require.NotEmpty(t, events)
	for _, ev := range events {
		assert.True(t, ev.Ephemeral, "%s", ev.Kind)
		assert.Equal(t, e.ID(), ev.Conversation)
	}
	assert.True(t, strings.HasPrefix(e.ID(), "ephemeral-"))
	assert.Equal(t, event.TurnEnd, events[len(events)-1].Kind)
	assert.Equal(t, []int{1, 2, 3}, c.counted, "the states of hooks are read")
	assert.Equal(t, []bool{false, true, true}, c.ephemeral)
	require.ErrorIs(t, c.refused, runtime.ErrUnsupported)

	require.NoError(t, e.End(t.Context()))
	require.NoError(t, e.End(t.Context()), "a second end does nothing")
	_, err = e.Send(t.Context(), message.TextInput("more"), nil)
	require.ErrorIs(t, err, runtime.ErrEnded)
	assert.Equal(t, []string{"start startup", "start resume", "end"}, c.sessions)

	s.closed = false
	assert.Equal(t, "stored", w.Send("and now").Text())
	assert.Equal(t, []string{"user remember seven", "assistant noted", "user and now", "assistant stored"}, w.History())
	assert.Equal(t, []int{1, 2, 3, 2}, c.counted, "and not written")
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
	for _, ev := range w.Events {
		assert.False(t, ev.Ephemeral)
	}
}

func textsOfMessages(req message.ModelRequest) []string {
	out := make([]string, req.Messages.Len())
	for i, m := range req.Messages.All() {
		out[i] = m.Text()
	}
	return out
}

func TestSpecAnEphemeralTurnWaitsForNobody(t *testing.T) {
	t.Parallel()
	slow := rig.NewGate("slow")
	m := rig.Plays(rig.Says("noted"), rig.Calls(rig.Call("c1", "slow", `{}`)), rig.Says("meanwhile"), rig.Says("done"))
	w := rig.Start(t, m, rig.Box(slow.Tool))
	w.Send("remember seven")
	turn, err := w.Conv.Start(t.Context(), message.TextInput("go"), nil)
	require.NoError(t, err)
	<-slow.Reached
	e, err := w.Conv.Ephemeral(t.Context())
	require.NoError(t, err)
	out, err := e.Send(t.Context(), message.TextInput("quick question"), nil)
	require.NoError(t, err)
	assert.Equal(t, "meanwhile", out.Text())
	require.NoError(t, e.End(t.Context()))
	close(slow.Open)
	out, err = turn.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "done", out.Text())
	assert.NotContains(t, strings.Join(w.History(), "\n"), "quick question")
}

func TestSpecAFreshEphemeralConversationIsInNoStore(t *testing.T) {
	t.Parallel()
	slow := rig.NewGate("slow")
	m := rig.Plays(rig.Says("noted"), rig.Calls(rig.Call("c1", "slow", `{}`)), rig.Says("hello"))
	w, _ := startEphemeral(t, m, rig.Box(slow.Tool))
	agent, err := w.Runtime.Agent("a")
	require.NoError(t, err)
	e, err := agent.Ephemeral(t.Context(), "bob")
	require.NoError(t, err)
	turn, err := e.Start(t.Context(), message.TextInput("hi"), nil)
	require.NoError(t, err)
	var kinds []hook.EventKind
	for item, err := range turn.Events(t.Context(), 0) {
		require.NoError(t, err)
		if len(kinds) == 0 {
			close(slow.Open) // until it is read the turn runs, so its events are held
		}
		kinds = append(kinds, item.Event().Kind)
	}
	require.NotEmpty(t, kinds)
	assert.Equal(t, event.TurnStart, kinds[0])
	assert.Equal(t, event.TurnEnd, kinds[len(kinds)-1])
	assert.Equal(t, []string{"hi"}, textsOfMessages(m.Requests[1]))
	_, err = turn.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, e.End(t.Context()))
}

func TestSpecAChildOfAnEphemeralTurnIsEphemeral(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("noted"), rig.Calls(rig.Call("c1", "delegate", `{"tasks":[{"agent":"a","message":"look"}]}`)), rig.Says("looked"), rig.Says("all"))
	w, s := startEphemeral(t, m, delegate.New(nil))
	e, err := w.Conv.Ephemeral(t.Context())
	require.NoError(t, err)
	var ends []hook.Event
	out, err := e.Send(t.Context(), message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.SubagentEnd {
			ends = append(ends, ev)
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, "all", out.Text())
	require.Len(t, ends, 1)
	assert.True(t, ends[0].Ephemeral)
	assert.Equal(t, "looked", ends[0].Text)
	require.NoError(t, e.End(t.Context()))
	children, err := s.Children(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	assert.Empty(t, children)
}

func TestSpecAProgramStopsAtTheFirstTurnThatFails(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("noted"), rig.Says("one"), rig.Says("two"), cutOff("thr"), rig.Says("never"))
	w, _ := startEphemeral(t, m)
	e, err := w.Conv.Ephemeral(t.Context())
	require.NoError(t, err)
	out, err := e.Run(t.Context(), []message.Input{message.TextInput("1"), message.TextInput("2"), message.TextInput("3"), message.TextInput("4")}, nil)
	require.NoError(t, err)
	require.Len(t, out, 3)
	assert.Equal(t, "two", out[1].Text())
	assert.Equal(t, hook.StopMaxTokens, out[2].Stop)
	assert.Equal(t, []string{"remember seven", "noted", "1", "one", "2", "two", "3"}, textsOfMessages(m.Requests[3]))
	out, err = e.Run(t.Context(), []message.Input{{}, message.TextInput("5")}, nil)
	require.ErrorIs(t, err, runtime.ErrNoInput)
	assert.Len(t, out, 1)
	require.NoError(t, e.End(t.Context()))
}

func cutOff(s string) message.ModelStream {
	return rig.Chunks(rig.Text(s), rig.Finish(message.FinishLength))
}

func TestSpecAnEphemeralTurnEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	slow := rig.NewGate("slow")
	m := rig.Plays(rig.Calls(rig.Call("c1", "slow", `{}`)))
	w := rig.Start(t, m, rig.Box(slow.Tool))
	e, err := w.Conv.Ephemeral(t.Context())
	require.NoError(t, err)
	turn, err := e.Start(t.Context(), message.TextInput("go"), nil)
	require.NoError(t, err)
	<-slow.Reached
	require.ErrorIs(t, e.End(t.Context()), runtime.ErrBusy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, w.Runtime.Unregister(ctx, "a"))
	out, err := turn.Wait(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, out.Err, runtime.ErrAgentClosing)
	require.NoError(t, e.End(t.Context()))
}
