package postgres_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

func file(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// fillAll puts something into every table, and returns the id of a conversation.
func fillAll(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	ctx := t.Context()
	gone, err := s.Conversation(ctx, store.Key{Project: "/p", Agent: "a", Sender: "gone"})
	require.NoError(t, err)
	_, err = s.Erase(ctx, gone.ID, nil)
	require.NoError(t, err)
	rec, err := s.Conversation(ctx, store.Key{Project: "/p", Agent: "a", Sender: "ann"})
	require.NoError(t, err)
	held, err := s.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
	require.NoError(t, err)
	epoch, version := held.Lease.Epoch, int64(0)
	for _, text := range []string{"the anchor and the line", "the hook and the sail\x00", "the third"} {
		version, err = s.Append(ctx, rec.ID, store.Append{
			Version: version, Epoch: epoch, Hold: time.Hour, Messages: message.MessagesOf(message.UserText(text)), TurnEnds: true,
			States: []hook.StateValue{{Name: "n", Data: `{"a":1}`}},
			Jobs:   []store.Job{{Job: hook.Job{Kind: "k", Key: text, Payload: `{}`}, Project: "/p", Conversation: rec.ID}},
		})
		require.NoError(t, err)
	}
	version, err = s.Rewind(ctx, rec.ID, store.At{Version: version, Epoch: epoch, Hold: time.Hour}, 2)
	require.NoError(t, err)
	_, err = s.Note(ctx, rec.ID, store.Note{Epoch: epoch, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"t"}`}}})
	require.NoError(t, err)
	version, err = s.Rewind(ctx, rec.ID, store.At{Version: version, Epoch: epoch, Hold: time.Hour}, 2) // archives the journal
	require.NoError(t, err)
	_, err = s.Compact(ctx, rec.ID, store.At{Version: version, Epoch: epoch, Hold: time.Hour}, 1, message.UserText("they spoke of a ladder"))
	require.NoError(t, err)
	_, err = s.Note(ctx, rec.ID, store.Note{
		Epoch: epoch, Hold: time.Hour, Events: []store.Event{{Seq: 3, Data: `{"x":"y"}`}},
		Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"u"}`}, {Kind: store.EntryInput, Message: message.UserText("in")}},
	})
	require.NoError(t, err)
	_, err = s.Child(ctx, store.Key{Project: "/p", Agent: "b", Sender: "c"}, rec.ID)
	require.NoError(t, err)
	require.NoError(t, s.WriteRuns(ctx, []store.Run{{ID: "r", Project: "/p", Status: event.RunSucceeded, Conversation: rec.ID, Started: time.Unix(1, 2)}}))
	key := store.SpentKey{Day: "2026-11-25", Project: "/p", Agent: "a", Model: "m"}
	require.NoError(t, s.Settle(ctx, 0, store.Spent{SpentKey: key, Calls: 1}))
	_, err = s.Reserve(ctx, store.Reservation{Least: store.Spent{SpentKey: key, Calls: 1}, Hold: time.Hour}, nil)
	require.NoError(t, err)
	return rec.ID
}

func digests(t *testing.T, c store.Copier) []store.Digest {
	t.Helper()
	out, err := store.Digests(t.Context(), c)
	require.NoError(t, err)
	return out
}

func found(t *testing.T, s store.Searcher, word string) int {
	t.Helper()
	all, err := s.Search(t.Context(), store.Query{Text: word, AllProjects: true})
	require.NoError(t, err)
	return len(all)
}

func TestAStoreIsCopiedWholeAndBack(t *testing.T) {
	t.Parallel()
	from, to, back := file(t), open(t, migrated.Database(t), nil), file(t)
	id := fillAll(t, from)
	want := digests(t, from)
	var tables []string
	for _, d := range want {
		tables = append(tables, d.Table)
	}
	require.Equal(t, []string{"conversation", "message", "archive", "entry", "archived_entry", "event", "state", "job", "hook_run", "spent", "reserved", "erased"}, tables,
		"every table has something, so that nothing is equal by having nothing")

	require.NoError(t, to.Load(t.Context(), from.Rows))
	require.Equal(t, want, digests(t, to))
	require.ErrorIs(t, to.Load(t.Context(), from.Rows), store.ErrNotEmpty)
	require.NoError(t, back.Load(t.Context(), to.Rows))
	require.Equal(t, want, digests(t, back))
	require.ErrorIs(t, back.Load(t.Context(), to.Rows), store.ErrNotEmpty)

	for name, s := range map[string]interface {
		store.Store
		store.Searcher
		store.Copier
		store.Jobs
	}{"PostgreSQL": to, "a file": back} {
		assert.Equal(t, 1, found(t, s, "ladder"), name)
		assert.Equal(t, 1, found(t, s, "anchor"), "%s: what is archived is found", name)
		assert.Zero(t, found(t, s, "third"), "%s: a branch is not", name)
		rec, err := s.Claim(t.Context(), id, store.Claim{Owner: "another", Hold: time.Minute})
		require.NoError(t, err, "%s: no lease survives a copy", name)
		_, err = s.Append(t.Context(), id, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(message.UserText("a new lantern")), TurnEnds: true})
		require.NoError(t, err)
		assert.Equal(t, 1, found(t, s, "lantern"), name)
		_, err = s.Conversation(t.Context(), store.Key{Agent: "new"})
		require.NoError(t, err)
		_, err = s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "new"}})
		require.NoError(t, err, "%s: numbers go on behind those that were copied", name)
		assert.NotEqual(t, want, digests(t, s), "%s: a change changes the digest", name)
	}
}

func TestACopyThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	from, to := file(t), open(t, migrated.Database(t), nil)
	fillAll(t, from)
	broken := func(ctx context.Context, each func(store.Row) error) error {
		n := 0
		return from.Rows(ctx, func(r store.Row) error {
			if n++; n > 5 {
				return context.Canceled
			}
			return each(r)
		})
	}
	require.Error(t, to.Load(t.Context(), broken))
	assert.Empty(t, digests(t, to))
	require.NoError(t, to.Load(t.Context(), from.Rows))
}
