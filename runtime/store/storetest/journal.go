package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func journalRules() []rule {
	return []rule{
		{"entries come back in order, with all they hold", entries},
		{"a sequence is never used again", sequences},
		{"what is forgotten is gone", forgotten},
		{"the end of a turn empties the journal", turnEmpties},
		{"a note changes neither messages nor version", noteIsBeside},
		{"an append is there with its entries and events, or not at all", atomic},
		{"events have to be in order", eventOrder},
		{"what was written is there when the store is opened again", reopens},
	}
}

func logRules() []rule {
	return []rule{
		{"events come back in order, with gaps, behind a sequence, up to a limit", events},
	}
}

func note(t *testing.T, s store.Store, id string, es ...store.Entry) int64 {
	t.Helper()
	first, err := s.Note(t.Context(), id, store.Note{Entries: es})
	require.NoError(t, err)
	return first
}

func journal(t *testing.T, s store.Store, id string) []store.Entry {
	t.Helper()
	es, err := s.Journal(t.Context(), id)
	require.NoError(t, err)
	return es
}

func seqs(t *testing.T, s store.Store, id string) []int64 {
	t.Helper()
	out := []int64{}
	for _, e := range journal(t, s, id) {
		out = append(out, e.Seq)
	}
	return out
}

func entries(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	assert.Empty(t, journal(t, s, rec.ID))
	assert.False(t, rec.Journaled)
	all := everything()
	want := []store.Entry{
		{Kind: store.EntryTurn, Data: `{"id":"t1","html":"<&>\u0041","n":12345678901234567890}`},
		{Kind: store.EntryReply, Message: all[1], Data: `{}`},
		{Kind: store.EntryStart, CallID: "1", Data: `{"hash":"h"}`},
		{Kind: store.EntryResult, CallID: "1\x00é", Message: all[2]},
		{Kind: store.EntrySteer, Message: all[0]},
	}
	assert.Equal(t, int64(1), note(t, s, rec.ID, want[:2]...))
	assert.Equal(t, int64(3), note(t, s, rec.ID, want[2:]...))
	for i := range want {
		want[i].Seq = int64(i + 1)
	}
	got := journal(t, s, rec.ID)
	assert.Equal(t, want, got)
	assert.True(t, look(t, s, rec).Journaled)
	got[0].CallID = "changed by a reader"
	assert.Equal(t, want, journal(t, s, rec.ID), "the caller owns what Journal returns")
	assert.Empty(t, journal(t, s, create(t, s, "a", "y").ID), "each conversation has its own")
}

func sequences(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	start := store.Entry{Kind: store.EntryStart, Seq: 77}
	note(t, s, rec.ID, start, start)
	v, err := s.Append(t.Context(), rec.ID, store.Append{Forget: []int64{1, 2}})
	require.NoError(t, err)
	assert.Equal(t, int64(3), note(t, s, rec.ID, start))
	v, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true})
	require.NoError(t, err)
	assert.Equal(t, int64(4), note(t, s, rec.ID, start, start))
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Entries: []store.Entry{start}})
	require.NoError(t, err)
	assert.Equal(t, []int64{4, 5, 6}, seqs(t, s, rec.ID))
	assert.Equal(t, int64(7), note(t, s, rec.ID), "the first of none is the next one")
	assert.Equal(t, int64(7), note(t, s, rec.ID, start))
}

func forgotten(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	start := store.Entry{Kind: store.EntryStart}
	note(t, s, rec.ID, start, start, start, start)
	v, err := s.Append(t.Context(), rec.ID, store.Append{Forget: []int64{3, 1, 3, 99, 0, -1}, Entries: []store.Entry{start}})
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 4, 5}, seqs(t, s, rec.ID))
	assert.True(t, look(t, s, rec).Journaled)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Forget: []int64{1, 2, 4, 5}})
	require.NoError(t, err)
	assert.Empty(t, seqs(t, s, rec.ID))
	assert.False(t, look(t, s, rec).Journaled)
}

func turnEmpties(t *testing.T, s *bench) {
	rec, other := create(t, s, "a", "x"), create(t, s, "a", "y")
	start := store.Entry{Kind: store.EntryStart}
	note(t, s, rec.ID, start, start)
	note(t, s, other.ID, start)
	_, err := s.Append(t.Context(), rec.ID, store.Append{TurnEnds: true, Entries: []store.Entry{start}, Forget: []int64{1}})
	require.NoError(t, err)
	assert.Empty(t, seqs(t, s, rec.ID))
	assert.False(t, look(t, s, rec).Journaled)
	assert.Equal(t, []int64{1}, seqs(t, s, other.ID))
}

func noteIsBeside(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(user("one")...)})
	require.NoError(t, err)
	before := look(t, s, rec)
	s.clock.pass(time.Second)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Entries: []store.Entry{{Kind: store.EntrySteer, Message: message.UserText("two")}},
		Events: []store.Event{{Seq: 1, Data: `{}`}}})
	require.NoError(t, err)
	after := look(t, s, rec)
	before.Journaled, before.Events = true, 1
	assert.Equal(t, before, after)
	assert.Equal(t, []string{"one"}, said(t, s, rec.ID))
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v})
	require.NoError(t, err)
}

func atomic(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	a := store.Append{Messages: message.MessagesOf(user("one")...), Entries: []store.Entry{{Kind: store.EntryStart}}, Events: []store.Event{{Seq: 3, Data: `{}`}}}
	bad := a
	bad.Version = 1
	_, err := s.Append(t.Context(), rec.ID, bad)
	require.ErrorIs(t, err, store.ErrConflict)
	bad = a
	bad.Events = []store.Event{{Seq: 4, Data: `{}`}, {Seq: 4, Data: `{}`}}
	_, err = s.Append(t.Context(), rec.ID, bad)
	require.Error(t, err)
	assert.Equal(t, rec, look(t, s, rec))
	assert.Empty(t, said(t, s, rec.ID))
	assert.Empty(t, seqs(t, s, rec.ID))

	_, err = s.Append(t.Context(), rec.ID, a)
	require.NoError(t, err)
	after := look(t, s, rec)
	assert.Equal(t, uint64(3), after.Events)
	assert.True(t, after.Journaled)
	assert.Equal(t, []int64{1}, seqs(t, s, rec.ID))
	assert.Equal(t, []string{"one"}, said(t, s, rec.ID))
}

func eventOrder(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	_, err := s.Note(t.Context(), rec.ID, store.Note{Events: []store.Event{{Seq: 5, Data: `{}`}}})
	require.NoError(t, err)
	for _, bad := range [][]uint64{{0}, {4}, {5}, {6, 6}, {7, 6}, {store.MaxEvent + 1}, {6, 1 << 63}} {
		var es []store.Event
		for _, seq := range bad {
			es = append(es, store.Event{Seq: seq, Data: `{}`})
		}
		_, err = s.Note(t.Context(), rec.ID, store.Note{Events: es, Entries: []store.Entry{{Kind: store.EntryStart}}})
		require.Error(t, err, "%d", bad)
		_, err = s.Append(t.Context(), rec.ID, store.Append{Events: es, Messages: message.MessagesOf(user("x")...)})
		require.Error(t, err, "%d", bad)
	}
	assert.Equal(t, uint64(5), look(t, s, rec).Events)
	assert.Empty(t, seqs(t, s, rec.ID))
	assert.Empty(t, said(t, s, rec.ID))
	_, err = s.Note(t.Context(), rec.ID, store.Note{Events: []store.Event{{Seq: 6, Data: `{}`}, {Seq: store.MaxEvent, Data: `{}`}}})
	require.NoError(t, err)
}

func reopens(t *testing.T, s *bench) {
	if s.reopen == nil {
		t.Log("not tested, because the store ends with the process")
		return
	}
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	note := store.Note{Epoch: 1, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryReply, Message: everything()[1]}, {Kind: store.EntryStart, CallID: "1"}},
		Events: []store.Event{{Seq: 9, Data: `{"kind":"turn_start"}`}}}
	_, err := s.Note(t.Context(), rec.ID, note)
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Epoch: 1, Hold: time.Hour, Messages: message.MessagesOf(everything()...)})
	require.NoError(t, err)
	before, entries := look(t, s, rec), journal(t, s, rec.ID)
	again := s.reopen()
	assert.Equal(t, before, look(t, again, rec))
	assert.Equal(t, entries, journal(t, again, rec.ID))
	assert.Len(t, said(t, again, rec.ID), len(everything()))
	refusal(t, again, rec.ID, 0)
	_, err = again.Append(t.Context(), rec.ID, store.Append{Version: 1, Epoch: 1, Forget: []int64{1}})
	require.NoError(t, err)
	assert.Equal(t, []int64{2}, seqs(t, again, rec.ID))
	first, err := again.Note(t.Context(), rec.ID, store.Note{Epoch: 1, Entries: []store.Entry{{Kind: store.EntryStart}}})
	require.NoError(t, err)
	assert.Equal(t, int64(3), first)
}

func events(t *testing.T, s *bench) {
	log := s.Store.(store.Log)
	_, err := log.Events(t.Context(), "nobody", 0, 10)
	require.ErrorIs(t, err, store.ErrUnknown)
	rec := create(t, s, "a", "x")
	got, err := log.Events(t.Context(), rec.ID, 0, 10)
	require.NoError(t, err)
	assert.Empty(t, got)
	want := []store.Event{
		{Seq: 1, Data: `{"kind":"turn_start","text":"<&> \u2028 1\\n2"}`}, {Seq: 2, Data: `[]`}, {Seq: 5, Data: `"5"`},
		{Seq: 900, Data: `{"n":12345678901234567890}`}, {Seq: 1 << 31, Data: `7`}, {Seq: store.MaxEvent, Data: `null`},
	}
	_, err = s.Note(t.Context(), rec.ID, store.Note{Events: want[:3]})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Events: want[3:4], TurnEnds: true})
	require.NoError(t, err)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Events: want[4:]})
	require.NoError(t, err)
	for after, rest := range map[uint64][]store.Event{
		0: want, 1: want[1:], 2: want[2:], 4: want[2:], 5: want[3:], 899: want[3:], 900: want[4:], store.MaxEvent - 1: want[5:], store.MaxEvent: nil, 1 << 63: nil,
	} {
		for limit := range len(want) + 2 {
			got, err := log.Events(t.Context(), rec.ID, after, limit)
			require.NoError(t, err)
			if n := min(limit, len(rest)); n > 0 {
				assert.Equal(t, rest[:n], got, "behind %d, at most %d", after, limit)
			} else {
				assert.Empty(t, got)
			}
		}
	}
	got, err = log.Events(t.Context(), create(t, s, "a", "y").ID, 0, 10)
	require.NoError(t, err)
	assert.Empty(t, got, "each conversation has its own")
}
