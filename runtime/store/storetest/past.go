package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func compactRules() []rule {
	return []rule{
		{"compaction puts a summary in the place of the oldest messages", compacts},
		{"the archive has all that was ever compacted, oldest first", archives},
		{"compaction of more than there is, or of nothing, is an error and changes nothing", compactsTooMuch},
		{"compaction wants version and epoch, and changes the lease as asked", compactConditions},
		{"compaction leaves the journal alone", compactsInATurn},
	}
}

func forkRules() []rule {
	return []rule{
		{"a fork has the first turns, and goes its own way", forks},
		{"a fork has the archive, and no lease, journal or events", forksArchive},
		{"a fork of a key that is there, or of nothing, is an error", forkErrors},
		{"rewinding takes away what is behind the first turns", rewinds},
		{"rewinding takes away a turn that has not ended, and its journal", rewindsJournal},
		{"rewinding wants version and epoch, and changes the lease as asked", rewindConditions},
		{"what lies behind a summary cannot be had back", behindSummary},
		{"turns without messages count", emptyTurns},
	}
}

func childRules() []rule {
	return []rule{
		{"a child is found by its key, and listed with its parent only", children},
		{"a child of nobody, and one of two parents, is an error", childErrors},
	}
}

func portRules() []rule {
	return []rule{
		{"a dump restored under another key is the same conversation", ports},
		{"a dump that no conversation can be like is refused", badDumps},
	}
}

// turned appends a turn of a question and an answer for each text and returns the
// version.
func turned(t *testing.T, s store.Store, id string, v int64, texts ...string) int64 {
	t.Helper()
	for _, text := range texts {
		var err error
		v, err = s.Append(t.Context(), id, store.Append{Version: v, Messages: message.MessagesOf(user(text + "?")...)})
		require.NoError(t, err)
		v, err = s.Append(t.Context(), id, store.Append{Version: v, Messages: message.MessagesOf(assistant(text + "!")), TurnEnds: true})
		require.NoError(t, err)
	}
	return v
}

func compacted(t *testing.T, s store.Store, id string, v int64, n int, summary string) int64 {
	t.Helper()
	v, err := s.(store.Compacter).Compact(t.Context(), id, store.At{Version: v}, n, message.UserText(summary))
	require.NoError(t, err)
	return v
}

func archive(t *testing.T, s store.Store, id string) []string {
	t.Helper()
	ms, err := s.(store.Compacter).Archive(t.Context(), id)
	require.NoError(t, err)
	return texts(ms)
}

func compacts(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	assert.Empty(t, archive(t, s.Store, rec.ID))
	v := turned(t, s, rec.ID, 0, "1", "2", "3")
	s.clock.pass(time.Second)
	summary := everything()[0]
	after, err := s.Store.(store.Compacter).Compact(t.Context(), rec.ID, store.At{Version: v}, 3, summary)
	require.NoError(t, err)
	assert.Equal(t, v+1, after)
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Len(t, ms, 4)
	assert.Equal(t, summary, ms[0])
	assert.Equal(t, []string{"2!", "3?", "3!"}, texts(ms[1:]))
	assert.Equal(t, []string{"1?", "1!", "2?"}, archive(t, s.Store, rec.ID))
	again := look(t, s, rec)
	assert.Equal(t, after, again.Version)
	assert.Equal(t, 3, again.Turns)
	assert.True(t, again.Updated.Equal(s.clock.Now()))
	turned(t, s, rec.ID, after, "4")
	assert.Equal(t, []string{"2!", "3?", "3!", "4?", "4!"}, said(t, s, rec.ID)[1:])
}

func archives(t *testing.T, s *bench) {
	rec, other := create(t, s, "a", "x"), create(t, s, "a", "y")
	turned(t, s, other.ID, 0, "other")
	v := turned(t, s, rec.ID, 0, "1", "2", "3")
	v = compacted(t, s.Store, rec.ID, v, 2, "s1")
	v = compacted(t, s.Store, rec.ID, v, 3, "s2")
	v = compacted(t, s.Store, rec.ID, v, 1, "s3")
	v = turned(t, s, rec.ID, v, "4")
	compacted(t, s.Store, rec.ID, v, 5, "s4")
	assert.Equal(t, []string{"s4"}, said(t, s, rec.ID))
	assert.Equal(t, []string{"1?", "1!", "s1", "2?", "2!", "s2", "s3", "3?", "3!", "4?", "4!"}, archive(t, s.Store, rec.ID))
	assert.Equal(t, []string{"other?", "other!"}, said(t, s, other.ID))
	assert.Empty(t, archive(t, s.Store, other.ID))
	_, err := s.Store.(store.Compacter).Archive(t.Context(), "nobody")
	require.ErrorIs(t, err, store.ErrUnknown)
}

func compactsTooMuch(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1")
	before := look(t, s, rec)
	for _, n := range []int{-1, 0, 3} {
		_, err := s.Store.(store.Compacter).Compact(t.Context(), rec.ID, store.At{Version: v}, n, message.UserText("s"))
		require.ErrorIs(t, err, store.ErrNoTurn, "%d", n)
	}
	assert.Equal(t, before, look(t, s, rec))
	assert.Equal(t, []string{"1?", "1!"}, said(t, s, rec.ID))
	_, err := s.Store.(store.Compacter).Compact(t.Context(), "nobody", store.At{}, 1, message.UserText("s"))
	require.ErrorIs(t, err, store.ErrUnknown)
}

// conditions tests the conditions of store.At for change. The conversation has the texts
// "1?" and "1!" in a turn that has ended.
func conditions(t *testing.T, s *bench, change func(id string, at store.At) (int64, error)) {
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1")
	rec = take(t, s, rec.ID, "me")
	_, err := change(rec.ID, store.At{Version: v})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = change(rec.ID, store.At{Version: v - 1, Epoch: 1})
	require.ErrorIs(t, err, store.ErrConflict)
	_, err = change(rec.ID, store.At{Version: v, Epoch: 1, Events: []store.Event{{Seq: 2, Data: `{}`}, {Seq: 1, Data: `{}`}}})
	if !s.Volatile() {
		require.Error(t, err)
	}
	require.Equal(t, []string{"1?", "1!"}, said(t, s, rec.ID))
	require.Equal(t, rec, look(t, s, rec))
	after, err := change(rec.ID, store.At{Version: v, Epoch: 1, Hold: time.Hour, Events: []store.Event{{Seq: 7, Data: `{}`}}})
	require.NoError(t, err)
	assert.Equal(t, v+1, after)
	again := look(t, s, rec)
	assert.Equal(t, after, again.Version)
	assert.True(t, again.Lease.Until.Equal(s.clock.Now().Add(time.Hour)))
	if !s.Volatile() {
		assert.Equal(t, uint64(7), again.Events)
	}
}

func compactConditions(t *testing.T, s *bench) {
	conditions(t, s, func(id string, at store.At) (int64, error) {
		return s.Store.(store.Compacter).Compact(t.Context(), id, at, 1, message.UserText("s"))
	})
}

func rewindConditions(t *testing.T, s *bench) {
	conditions(t, s, func(id string, at store.At) (int64, error) {
		return s.Store.(store.Forker).Rewind(t.Context(), id, at, 0)
	})
}

func compactsInATurn(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1")
	v, err := s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(user("2?")...), Entries: []store.Entry{{Kind: store.EntryStart, CallID: "1"}}})
	require.NoError(t, err)
	before := look(t, s, rec)
	entries, err := s.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	v = compacted(t, s.Store, rec.ID, v, 2, "s")
	after, err := s.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, entries, after)
	assert.Equal(t, before.Journaled, look(t, s, rec).Journaled)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true})
	require.NoError(t, err)
	assert.Equal(t, 2, look(t, s, rec).Turns)
}

func forks(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1", "2", "3")
	_, err := s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(user("4?")...)})
	require.NoError(t, err)
	source := look(t, s, rec)
	s.clock.pass(time.Minute)
	for turns, want := range [][]string{{}, {"1?", "1!"}, {"1?", "1!", "2?", "2!"}, {"1?", "1!", "2?", "2!", "3?", "3!"}} {
		key := store.Key{Agent: "b", Sender: fmt.Sprint(turns)}
		fork, err := s.Store.(store.Forker).Fork(t.Context(), rec.ID, turns, key)
		require.NoError(t, err)
		assert.Equal(t, store.Record{ID: fork.ID, Key: key, Version: 1, Turns: turns, Created: fork.Created, Updated: fork.Updated}, fork)
		assert.True(t, fork.Created.Equal(s.clock.Now()))
		assert.NotEqual(t, rec.ID, fork.ID)
		assert.Equal(t, fork, look(t, s, fork))
		assert.Equal(t, want, said(t, s, fork.ID))
		turned(t, s, fork.ID, 1, "own")
		assert.Equal(t, append(want, "own?", "own!"), said(t, s, fork.ID))
	}
	assert.Equal(t, source, look(t, s, rec))
	assert.Len(t, said(t, s, rec.ID), 7)
}

func forksArchive(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	rec = take(t, s, rec.ID, "me")
	at := store.Append{Epoch: 1, Hold: time.Hour, Messages: message.MessagesOf(everything()...), TurnEnds: true, Events: []store.Event{{Seq: 1, Data: `{}`}}}
	v, err := s.Append(t.Context(), rec.ID, at)
	require.NoError(t, err)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Epoch: 1, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryTurn}}})
	require.NoError(t, err)
	compacter, compacts := s.Store.(store.Compacter)
	if compacts {
		_, err = compacter.Compact(t.Context(), rec.ID, store.At{Version: v, Epoch: 1}, 1, message.UserText("s"))
		require.NoError(t, err)
	}
	want, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	fork, err := s.Store.(store.Forker).Fork(t.Context(), rec.ID, 1, store.Key{Agent: "b"})
	require.NoError(t, err)
	assert.Equal(t, store.Lease{}, fork.Lease)
	assert.False(t, fork.Journaled)
	assert.Zero(t, fork.Events)
	got, err := s.Messages(t.Context(), fork.ID)
	require.NoError(t, err)
	assert.Equal(t, want, got, "ids of calls are kept")
	if compacts {
		assert.Equal(t, texts(everything()[:1]), archive(t, s.Store, fork.ID))
		compacted(t, s.Store, fork.ID, 1, 2, "s2")
		assert.Len(t, archive(t, s.Store, fork.ID), 3)
		assert.Len(t, archive(t, s.Store, rec.ID), 1)
	}
	if log, ok := s.Store.(store.Log); ok {
		es, err := log.Events(t.Context(), fork.ID, 0, 10)
		require.NoError(t, err)
		assert.Empty(t, es)
	}
}

func forkErrors(t *testing.T, s *bench) {
	f := s.Store.(store.Forker)
	rec := create(t, s, "a", "x")
	turned(t, s, rec.ID, 0, "1")
	_, err := f.Fork(t.Context(), rec.ID, 1, rec.Key)
	require.ErrorIs(t, err, store.ErrExists)
	_, err = f.Fork(t.Context(), "nobody", 0, store.Key{Agent: "b"})
	require.ErrorIs(t, err, store.ErrUnknown)
	for _, turns := range []int{-1, 2} {
		_, err = f.Fork(t.Context(), rec.ID, turns, store.Key{Agent: "b"})
		require.ErrorIs(t, err, store.ErrNoTurn)
	}
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1, "what fails makes nothing")
}

func rewinds(t *testing.T, s *bench) {
	f := s.Store.(store.Forker)
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1", "2", "3")
	_, err := s.Note(t.Context(), rec.ID, store.Note{Events: []store.Event{{Seq: 4, Data: `{}`}}})
	require.NoError(t, err)
	events := look(t, s, rec).Events
	for _, turns := range []int{-1, 4} {
		_, err := f.Rewind(t.Context(), rec.ID, store.At{Version: v}, turns)
		require.ErrorIs(t, err, store.ErrNoTurn)
	}
	_, err = f.Rewind(t.Context(), "nobody", store.At{}, 0)
	require.ErrorIs(t, err, store.ErrUnknown)
	assert.Equal(t, v, look(t, s, rec).Version, "what fails changes nothing")
	for _, turns := range []int{3, 1} {
		v, err = f.Rewind(t.Context(), rec.ID, store.At{Version: v}, turns)
		require.NoError(t, err)
		assert.Len(t, said(t, s, rec.ID), 2*turns)
		assert.Equal(t, turns, look(t, s, rec).Turns)
	}
	v = turned(t, s, rec.ID, v, "4")
	assert.Equal(t, []string{"1?", "1!", "4?", "4!"}, said(t, s, rec.ID))
	if _, ok := s.Store.(store.Compacter); ok {
		assert.Empty(t, archive(t, s.Store, rec.ID), "a branch is not what compaction has archived")
	}
	v, err = f.Rewind(t.Context(), rec.ID, store.At{Version: v}, 0)
	require.NoError(t, err)
	assert.Empty(t, said(t, s, rec.ID))
	turned(t, s, rec.ID, v, "5")
	assert.Equal(t, []string{"5?", "5!"}, said(t, s, rec.ID))
	assert.Equal(t, 1, look(t, s, rec).Turns)
	assert.Equal(t, events, look(t, s, rec).Events, "events stay")
}

func rewindsJournal(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v := turned(t, s, rec.ID, 0, "1")
	start := store.Entry{Kind: store.EntryStart, CallID: "1"}
	v, err := s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(user("2?")...), Entries: []store.Entry{start}})
	require.NoError(t, err)
	v, err = s.Store.(store.Forker).Rewind(t.Context(), rec.ID, store.At{Version: v}, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"1?", "1!"}, said(t, s, rec.ID))
	assert.Empty(t, journal(t, s, rec.ID))
	assert.False(t, look(t, s, rec).Journaled)
	if !s.Volatile() {
		assert.Equal(t, int64(2), note(t, s, rec.ID, start), "sequences go on")
	}
	turned(t, s, rec.ID, v, "2")
	assert.Equal(t, 2, look(t, s, rec).Turns)
}

func behindSummary(t *testing.T, s *bench) {
	if _, ok := s.Store.(store.Compacter); !ok {
		t.Log("not tested, because the store compacts nothing")
		return
	}
	f := s.Store.(store.Forker)
	rec := create(t, s, "a", "x")
	v := compacted(t, s.Store, rec.ID, turned(t, s, rec.ID, 0, "1", "2", "3", "4"), 3, "s1")
	before := look(t, s, rec)
	for _, turns := range []int{0, 1} {
		_, err := f.Rewind(t.Context(), rec.ID, store.At{Version: v}, turns)
		require.ErrorIs(t, err, store.ErrCompacted, "%d", turns)
		_, err = f.Fork(t.Context(), rec.ID, turns, store.Key{Agent: "b"})
		require.ErrorIs(t, err, store.ErrCompacted, "%d", turns)
	}
	assert.Equal(t, before, look(t, s, rec))
	fork, err := f.Fork(t.Context(), rec.ID, 2, store.Key{Agent: "b"})
	require.NoError(t, err)
	assert.Equal(t, []string{"s1", "2!"}, said(t, s, fork.ID))
	_, err = f.Rewind(t.Context(), fork.ID, store.At{Version: fork.Version}, 1)
	require.ErrorIs(t, err, store.ErrCompacted)
	v, err = f.Rewind(t.Context(), rec.ID, store.At{Version: v}, 3)
	require.NoError(t, err)
	assert.Equal(t, []string{"s1", "2!", "3?", "3!"}, said(t, s, rec.ID))
	v = compacted(t, s.Store, rec.ID, v, 4, "s2")
	v, err = f.Rewind(t.Context(), rec.ID, store.At{Version: v}, 3)
	require.NoError(t, err)
	turned(t, s, rec.ID, v, "4")
	assert.Equal(t, []string{"s2", "4?", "4!"}, said(t, s, rec.ID))
	assert.Equal(t, []string{"1?", "1!", "2?", "s1", "2!", "3?", "3!"}, archive(t, s.Store, rec.ID))
}

func emptyTurns(t *testing.T, s *bench) {
	f := s.Store.(store.Forker)
	rec := create(t, s, "a", "x")
	v := int64(0)
	for _, text := range []string{"", "1", "", "2", ""} {
		a := store.Append{Version: v, TurnEnds: true}
		if text != "" {
			a.Messages = message.MessagesOf(user(text)...)
		}
		var err error
		v, err = s.Append(t.Context(), rec.ID, a)
		require.NoError(t, err)
	}
	for turns, want := range []int{0, 0, 1, 1, 2, 2} {
		fork, err := f.Fork(t.Context(), rec.ID, turns, store.Key{Agent: "b", Sender: fmt.Sprint(turns)})
		require.NoError(t, err)
		assert.Len(t, said(t, s, fork.ID), want)
	}
	v, err := f.Rewind(t.Context(), rec.ID, store.At{Version: v}, 3)
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(user("3")...), TurnEnds: true})
	require.NoError(t, err)
	fork, err := f.Fork(t.Context(), rec.ID, 3, store.Key{Agent: "c"})
	require.NoError(t, err)
	assert.Equal(t, []string{"1"}, said(t, s, fork.ID))
}

func children(t *testing.T, s *bench) {
	c := s.Store.(store.Child)
	parent := create(t, s, "a", "x")
	var want []store.Record
	for i := range 12 {
		key := store.Key{Agent: "helper", Sender: fmt.Sprint("child ", 12-i)}
		rec, err := c.Child(t.Context(), key, parent.ID)
		require.NoError(t, err)
		assert.Equal(t, parent.ID, rec.Parent)
		assert.Equal(t, key, rec.Key)
		assert.Equal(t, rec, look(t, s, rec), "Conversation finds it")
		again, err := c.Child(t.Context(), key, parent.ID)
		require.NoError(t, err)
		assert.Equal(t, rec, again)
		want = append(want, rec)
	}
	got, err := c.Children(t.Context(), parent.ID)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	grand, err := c.Child(t.Context(), store.Key{Agent: "deeper"}, want[0].ID)
	require.NoError(t, err)
	got, err = c.Children(t.Context(), want[0].ID)
	require.NoError(t, err)
	assert.Equal(t, []store.Record{grand}, got)
	got, err = c.Children(t.Context(), grand.ID)
	require.NoError(t, err)
	assert.Empty(t, got)
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []store.Record{parent}, all)
	turned(t, s, grand.ID, 0, "1")
	assert.Equal(t, []string{"1?", "1!"}, said(t, s, grand.ID))
}

func childErrors(t *testing.T, s *bench) {
	c := s.Store.(store.Child)
	one, two := create(t, s, "a", "1"), create(t, s, "a", "2")
	_, err := c.Child(t.Context(), store.Key{Agent: "b"}, "nobody")
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = c.Child(t.Context(), store.Key{Agent: "b"}, "")
	require.ErrorIs(t, err, store.ErrUnknown)
	for _, parent := range []string{"nobody", ""} {
		_, err = c.Children(t.Context(), parent)
		require.ErrorIs(t, err, store.ErrUnknown)
	}
	_, err = c.Child(t.Context(), store.Key{Agent: "b"}, one.ID)
	require.NoError(t, err)
	_, err = c.Child(t.Context(), store.Key{Agent: "b"}, two.ID)
	require.ErrorIs(t, err, store.ErrExists)
	_, err = c.Child(t.Context(), two.Key, one.ID)
	require.ErrorIs(t, err, store.ErrExists, "what people see is nobody's child")
}

func ports(t *testing.T, s *bench) {
	p := s.Store.(store.Porter)
	rec := create(t, s, "a", "x")
	v, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(everything()...), TurnEnds: true})
	require.NoError(t, err)
	v = turned(t, s, rec.ID, v, "2", "3")
	_, compacts := s.Store.(store.Compacter)
	if compacts {
		v = compacted(t, s.Store, rec.ID, v, 3, "s1")
		v = compacted(t, s.Store, rec.ID, v, 4, "s2")
	}
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(user("4?")...), Entries: []store.Entry{{Kind: store.EntryTurn}}})
	require.NoError(t, err)
	d, err := p.Dump(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, rec.Key, d.Key)
	assert.True(t, rec.Created.Equal(d.Created))
	assert.Equal(t, 3, d.Turns)
	require.NoError(t, d.Check())
	assert.Equal(t, 4, d.Messages[len(d.Messages)-1].Turn)
	for i, part := range [][]store.Kept{d.Archive, d.Messages} {
		var got []message.Message
		for _, k := range part {
			got = append(got, k.Message)
		}
		want, err := s.Messages(t.Context(), rec.ID)
		if i == 0 && compacts {
			want, err = s.Store.(store.Compacter).Archive(t.Context(), rec.ID)
		}
		require.NoError(t, err)
		if i == 1 || compacts {
			assert.Equal(t, want, got)
		}
	}
	_, err = p.Restore(t.Context(), d)
	require.ErrorIs(t, err, store.ErrExists)
	s.clock.pass(time.Hour)
	d.Key = store.Key{Agent: "b", Sender: "y"}
	other, err := p.Restore(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, store.Record{ID: other.ID, Key: d.Key, Version: 1, Turns: 3, Created: other.Created, Updated: other.Updated}, other)
	assert.True(t, other.Created.Equal(d.Created))
	assert.True(t, other.Updated.Equal(s.clock.Now()))
	assert.Equal(t, other, look(t, s, other))
	again, err := p.Dump(t.Context(), other.ID)
	require.NoError(t, err)
	again.Created = d.Created
	assert.Equal(t, d, again)
	turned(t, s, other.ID, 1, "4")
	if compacts {
		compacted(t, s.Store, other.ID, 3, 2, "s3")
		assert.Len(t, archive(t, s.Store, other.ID), len(d.Archive)+2)
	}
	if f, ok := s.Store.(store.Forker); ok {
		fork, err := f.Fork(t.Context(), other.ID, 3, store.Key{Agent: "c"})
		require.NoError(t, err)
		assert.Equal(t, 3, fork.Turns)
	}
	_, err = p.Dump(t.Context(), "nobody")
	require.ErrorIs(t, err, store.ErrUnknown)
}

func badDumps(t *testing.T, s *bench) {
	p := s.Store.(store.Porter)
	passing := message.UserText("passing")
	passing.Ephemeral = true
	one := store.Kept{Turn: 1, Message: message.UserText("1")}
	summary := store.Kept{Turn: 1, Summary: true, Message: message.UserText("s")}
	for name, d := range map[string]store.Dump{
		"fewer turns than none":           {Turns: -1},
		"more turns than there can be":    {Turns: 1<<31 - 1},
		"turn 0":                          {Turns: 1, Messages: []store.Kept{{Message: one.Message}}},
		"a turn that has not begun":       {Turns: 1, Messages: []store.Kept{{Turn: 3, Message: one.Message}}},
		"turns that go back":              {Turns: 2, Messages: []store.Kept{{Turn: 2, Message: one.Message}, one}},
		"turns that go back after all":    {Turns: 2, Archive: []store.Kept{{Turn: 2, Message: one.Message}}, Messages: []store.Kept{summary}},
		"an ephemeral message":            {Messages: []store.Kept{{Turn: 1, Message: passing}}},
		"an archive without a summary":    {Archive: []store.Kept{one}, Messages: []store.Kept{one}},
		"an archive without anything":     {Archive: []store.Kept{one}},
		"a summary of nothing":            {Messages: []store.Kept{summary}},
		"a summary in between":            {Archive: []store.Kept{one}, Messages: []store.Kept{summary, summary}},
		"an archive with a summary first": {Archive: []store.Kept{summary}, Messages: []store.Kept{summary}},
	} {
		d.Key.Agent = "a"
		_, err := p.Restore(t.Context(), d)
		require.Error(t, err, name)
	}
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	_, err = p.Restore(t.Context(), store.Dump{Key: store.Key{Agent: "a"}, Created: s.clock.Now(), Archive: []store.Kept{one, summary}, Messages: []store.Kept{summary, one}})
	require.NoError(t, err)
}
