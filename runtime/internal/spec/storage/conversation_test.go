package storage_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

func TestAConversationContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	o := &runtime.Options{Store: mem.New(nil)}
	cfg := hook.AgentConfig{Name: "a"}
	first := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), cfg, o, rig.Box(rig.Named("x")))
	first.Send("one")
	require.NoError(t, first.Runtime.Close(t.Context()))

	numbers := []int{}
	number := point.AfterTurnFunc(func(_ context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
		numbers = append(numbers, turn.Number())
		assert.Equal(t, 8, turn.Standing().History.Len())
	})
	second := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("again")), cfg, o, number, rig.Box(rig.Named("x")))
	second.Send("two")
	assert.Equal(t, first.Conv.ID(), second.Conv.ID())
	assert.Equal(t, []int{2}, numbers)
	assert.Equal(t, 5, second.Model.Requests[0].Messages.Len())
	assert.Equal(t, []string{
		"user one", "assistant [1 x {}]", "tool 1 x: x:", "assistant done",
		"user two", "assistant [call_2 x {}]", "tool call_2 x: x:", "assistant again",
	}, second.History(), "ids are unique over the whole history")
}

func TestTheSameConversationIsTheSameValue(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays())
	again, err := dialog.Conversation(t.Context(), w.Runtime, "a", "ann")
	require.NoError(t, err)
	assert.Same(t, w.Conv, again)
	other, err := dialog.Conversation(t.Context(), w.Runtime, "a", "bob")
	require.NoError(t, err)
	assert.NotEqual(t, w.Conv.ID(), other.ID())
	_, err = dialog.Conversation(t.Context(), w.Runtime, "nobody", "ann")
	require.ErrorIs(t, err, runtime.ErrAgentUnknown)
}

func TestPreprocessMayRewriteAndExpandTheInput(t *testing.T) {
	t.Parallel()
	seen := ""
	expand := rig.Preprocess(func(in message.Input) (message.Input, error) {
		skill := message.UserText("(the text of a skill)")
		skill.Label = "skill"
		hint := message.UserText("(not to be stored)")
		hint.Ephemeral = true
		return message.Input{Messages: message.ListOf(skill, hint, message.UserText("do it"))}, nil
	})
	after := point.AfterTurnFunc(func(_ context.Context, turn *hook.Turn, _ hook.TurnOutcome) { seen = turn.Input().Text() })
	m := rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"), rig.Says("next"))
	w := rig.Start(t, m, expand, after, rig.Box(rig.Named("x")))
	w.Send("/skill")
	assert.Equal(t, "/skill", w.Events[0].Text, "the event says what the user sent")
	assert.Equal(t, "(the text of a skill)\n\n(not to be stored)\n\ndo it", seen)
	assert.Equal(t, []string{"user (the text of a skill)", "user do it"}, w.History()[:2])
	assert.Equal(t, []string{"(the text of a skill)", "(not to be stored)", "do it"}, texts(m.Requests[0])[:3])
	assert.Equal(t, "(not to be stored)", texts(m.Requests[1])[1], "it stays where it was for the rest of the turn")
	assert.Len(t, texts(m.Requests[1]), 5)
	w.Send("/skill")
	assert.NotContains(t, texts(m.Requests[2])[:5], "(not to be stored)", "and is gone in the next one")
}

func texts(r message.ModelRequest) []string {
	var out []string
	for _, m := range r.Messages.All() {
		out = append(out, m.Text())
	}
	return out
}

func TestContextFromAfterToolIsEphemeral(t *testing.T) {
	t.Parallel()
	after := point.AfterToolFunc(func(_ context.Context, c *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
		return hook.ContextOutcome("note about " + c.ID()), nil
	})
	m := rig.Plays(rig.Calls(rig.Call("1", "x", "{}"), rig.Call("2", "x", "{}")), rig.Says("done"))
	w := rig.Start(t, m, after, rig.Box(rig.Named("x")))
	w.Send("go")
	last := m.Requests[1].Messages
	require.Equal(t, 6, last.Len())
	assert.Equal(t, "note about 1", last.At(4).Text())
	assert.Equal(t, "context", last.At(5).Label)
	assert.Len(t, w.History(), 5)
}

func TestPreprocessMayLeaveNothing(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(), rig.Preprocess(func(message.Input) (message.Input, error) { return message.Input{}, nil }))
	_, err := w.Try(t.Context(), "hi")
	require.ErrorIs(t, err, runtime.ErrNoInput)
}

// faulty is a store whose appends fail on request.
type faulty struct {
	store.Store
	fail func(a store.Append) error
}

func (f *faulty) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if err := f.fail(a); err != nil {
		return 0, err
	}
	return f.Store.Append(ctx, id, a)
}

func TestAStoreThatFailsEndsTheTurnAndNotTheConversation(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for name, role := range map[string]message.Role{"at the input": message.RoleUser, "at the results": message.RoleTool, "at the answer": message.RoleAssistant} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := true
			st := &faulty{Store: mem.New(nil), fail: func(a store.Append) error {
				if n := a.Messages.Len(); broken && n > 0 && a.Messages.At(n-1).Role == role {
					return full
				}
				return nil
			}}
			w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done"), rig.Says("better")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st}, rig.Box(rig.Named("x")))
			out, err := w.Try(t.Context(), "one")
			require.ErrorIs(t, err, full)
			assert.Equal(t, hook.StopError, out.Stop)
			rig.AssertBrackets(t, w)
			broken = false
			w.Model.Mu.Lock()
			w.Model.Requests = w.Model.Requests[:0]
			w.Model.Replies = []message.ModelStream{rig.Says("better")}
			w.Model.Mu.Unlock()
			assert.Equal(t, "better", w.Send("two").Text())
			assert.Len(t, w.Model.Requests[0].Messages.Slice(), len(w.History())-1, "what was not stored is not shown")
		})
	}
}

func TestATurnSeesWhatAnotherProcessHasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.db")
	process := func(replies ...message.ModelStream) *rig.World {
		st, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, st.Close()) })
		return rig.StartWith(t, rig.Plays(replies...), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st}, rig.Box(rig.Named("x")))
	}
	one := process(rig.Says("1"), rig.Calls(rig.Call("id", "x", "{}")), rig.Says("3"))
	two := process(rig.Calls(rig.Call("id", "x", "{}")), rig.Says("2"))
	one.Send("first")
	two.Send("second")
	one.Send("third")
	assert.Equal(t, []string{
		"user first", "assistant 1",
		"user second", "assistant [id x {}]", "tool id x: x:", "assistant 2",
		"user third", "assistant [call_2 x {}]", "tool call_2 x: x:", "assistant 3",
	}, one.History(), "and ids stay unique")
	assert.Equal(t, 7, one.Model.Requests[1].Messages.Len(), "the model sees the whole history")
}

func TestAWriteInTheMiddleOfATurnIsAConflict(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("three")))
	elsewhere := message.UserText("from elsewhere")
	w.Model.Replies[0] = func(yield func(message.Chunk, error) bool) {
		_, err := w.Store.Append(t.Context(), w.Conv.ID(), store.Append{Version: 1, Epoch: 1, Messages: message.MessagesOf(elsewhere)})
		assert.NoError(t, err)
		rig.Says("one")(yield)
	}
	_, err := w.Try(t.Context(), "first")
	require.ErrorIs(t, err, store.ErrConflict)
	w.Send("third")
	assert.Equal(t, []string{"user first", "user from elsewhere", "user third", "assistant three"}, w.History())
}

func TestATurnThatIsCancelledBeforeItBeginsIsCancelled(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "conversations.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, st.Close()) })
	w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := w.Try(ctx, "hi")
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, hook.StopCancelled, out.Stop)
	assert.Empty(t, w.History())
}

func TestOnlyUserMessagesAreInput(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]message.Message{
		"a result":     {Role: message.RoleTool, CallID: "1", Result: message.TextResult("x")},
		"an answer":    {Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("x"))},
		"nothing":      {Role: message.RoleUser},
		"a tool call":  {Role: message.RoleUser, Content: message.ListOf(message.Block{Kind: message.BlockToolCall, CallID: "1", Tool: "x"})},
		"without role": {Content: message.ListOf(message.TextBlock("x"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays())
			_, err := dialog.Send(t.Context(), w.Conv, message.Input{Messages: message.ListOf(m)}, nil)
			require.ErrorContains(t, err, "input message 0")
			assert.Empty(t, w.History())
		})
	}
}

// A nil context is a mistake of the program and panics, but the conversation can
// be used and the runtime closed after it.
func TestANilContextTakesNothing(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("hello")))
	var none context.Context
	assert.Panics(t, func() { _, _ = dialog.Send(none, w.Conv, message.TextInput("hi"), nil) })
	_, err := w.Try(t.Context(), "hi")
	require.NoError(t, err)
	assert.Equal(t, []string{"user hi", "assistant hello"}, w.History())
}
