package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func stateRules() []rule {
	return []rule{
		{"states come back by name, each with its last value", states},
		{"states are written with what they belong to, or not at all", statesAreAtomic},
		{"a note writes states and leaves the version alone", notedStates},
		{"states stay over rewinding, compaction and the ends of turns", statesStay},
		{"a fork has the states as they are, and goes its own way", forkedStates},
		{"states are there when the store is opened again", keptStates},
	}
}

func value(name string, data message.JSON) hook.StateValue {
	return hook.StateValue{Name: name, Data: data}
}

func statesOf(t *testing.T, s store.Store, id string) []hook.StateValue {
	t.Helper()
	vs, err := s.(store.States).States(t.Context(), id)
	require.NoError(t, err)
	return vs
}

func set(t *testing.T, s store.Store, id string, v int64, vs ...hook.StateValue) int64 {
	t.Helper()
	v, err := s.Append(t.Context(), id, store.Append{Version: v, States: vs})
	require.NoError(t, err)
	return v
}

func states(t *testing.T, s *bench) {
	_, err := s.Store.(store.States).States(t.Context(), "nobody")
	require.ErrorIs(t, err, store.ErrUnknown)
	rec := create(t, s, "a", "x")
	assert.Empty(t, statesOf(t, s.Store, rec.ID))
	text := message.JSON(`{"a":[1.50,12345678901234567890],"b":"<&>\u0041 \u2028 😀"}`)
	v := set(t, s.Store, rec.ID, 0, value("Core.Cost.total", "1"), value("Extra[0].é", text))
	set(t, s.Store, rec.ID, v, value("Core.Cost.total", "2"), value("Approval.rules", "null"), value("Approval.rules", "[]"))
	want := []hook.StateValue{value("Approval.rules", "[]"), value("Core.Cost.total", "2"), value("Extra[0].é", text)}
	got := statesOf(t, s.Store, rec.ID)
	assert.Equal(t, want, got)
	got[0].Data = "changed by a reader"
	assert.Equal(t, want, statesOf(t, s.Store, rec.ID), "the caller owns what States returns")
	assert.Empty(t, statesOf(t, s.Store, create(t, s, "a", "y").ID), "each conversation has its own")
}

func statesAreAtomic(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v := set(t, s.Store, rec.ID, 0, value("n", "1"))
	rec = take(t, s, rec.ID, "me")
	later := []hook.StateValue{value("n", "2"), value("m", "2")}
	_, err := s.Append(t.Context(), rec.ID, store.Append{Version: v, States: later})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v + 1, Epoch: 1, States: later})
	require.ErrorIs(t, err, store.ErrConflict)
	_, err = s.Note(t.Context(), rec.ID, store.Note{States: later})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = s.Append(t.Context(), "nobody", store.Append{States: later})
	require.ErrorIs(t, err, store.ErrUnknown)
	if !s.Volatile() {
		bad := []store.Event{{Seq: 2, Data: `{}`}, {Seq: 1, Data: `{}`}}
		_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Epoch: 1, States: later, Events: bad})
		require.Error(t, err)
		_, err = s.Note(t.Context(), rec.ID, store.Note{Epoch: 1, States: later, Events: bad})
		require.Error(t, err)
	}
	assert.Equal(t, []hook.StateValue{value("n", "1")}, statesOf(t, s.Store, rec.ID))
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Epoch: 1, States: later, Messages: message.MessagesOf(user("1")...), TurnEnds: true})
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{value("m", "2"), value("n", "2")}, statesOf(t, s.Store, rec.ID))
	assert.Equal(t, []string{"1"}, said(t, s.Store, rec.ID))
}

func notedStates(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	_, err := s.Note(t.Context(), rec.ID, store.Note{States: []hook.StateValue{value("n", "1")}})
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{value("n", "1")}, statesOf(t, s.Store, rec.ID))
	assert.Zero(t, look(t, s, rec).Version)
	assert.False(t, look(t, s, rec).Journaled)
}

func statesStay(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1", "2", "3")
	v = set(t, s.Store, rec.ID, v, value("n", "1"))
	v = turned(t, s, rec.ID, v, "4")
	want := []hook.StateValue{value("n", "1")}
	assert.Equal(t, want, statesOf(t, s.Store, rec.ID))
	var err error
	if f, ok := s.Store.(store.Forker); ok {
		v, err = f.Rewind(t.Context(), rec.ID, store.At{Version: v}, 2)
		require.NoError(t, err)
		assert.Equal(t, want, statesOf(t, s.Store, rec.ID), "what they count has happened")
	}
	if _, ok := s.Store.(store.Compacter); ok {
		compacted(t, s.Store, rec.ID, v, 2, "s")
		assert.Equal(t, want, statesOf(t, s.Store, rec.ID))
	}
}

func forkedStates(t *testing.T, s *bench) {
	f, ok := s.Store.(store.Forker)
	if !ok {
		t.Log("not tested, because the store forks nothing")
		return
	}
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1", "2")
	v = set(t, s.Store, rec.ID, v, value("n", "1"), value("m", "1"))
	fork, err := f.Fork(t.Context(), rec.ID, 1, store.Key{Agent: "b"})
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{value("m", "1"), value("n", "1")}, statesOf(t, s.Store, fork.ID))
	set(t, s.Store, fork.ID, fork.Version, value("n", "2"))
	set(t, s.Store, rec.ID, v, value("m", "3"))
	assert.Equal(t, []hook.StateValue{value("m", "1"), value("n", "2")}, statesOf(t, s.Store, fork.ID))
	assert.Equal(t, []hook.StateValue{value("m", "3"), value("n", "1")}, statesOf(t, s.Store, rec.ID))
	if c, ok := s.Store.(store.Child); ok {
		child, err := c.Child(t.Context(), store.Key{Agent: "c"}, rec.ID)
		require.NoError(t, err)
		assert.Empty(t, statesOf(t, s.Store, child.ID), "a child begins with none")
	}
}

func keptStates(t *testing.T, s *bench) {
	if s.reopen == nil {
		t.Log("not tested, because the store ends with the process")
		return
	}
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	_, err := s.Append(t.Context(), rec.ID, store.Append{Epoch: 1, Hold: time.Hour, States: []hook.StateValue{value("n", "1"), value("m", "1")}})
	require.NoError(t, err)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Epoch: 1, States: []hook.StateValue{value("n", "2")}})
	require.NoError(t, err)
	assert.Equal(t, []hook.StateValue{value("m", "1"), value("n", "2")}, statesOf(t, s.reopen(), rec.ID))
}
