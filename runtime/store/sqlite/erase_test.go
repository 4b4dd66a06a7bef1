package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// bytesOf returns all files of the store, in one text.
func bytesOf(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	for _, suffix := range []string{"", "-wal", "-shm", "-held"} {
		data, err := os.ReadFile(path + suffix)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		all.Write(data)
	}
	return all.String()
}

// write fills the conversation with n turns around the word.
func write(t *testing.T, s *sqlite.Store, sender, word string, n int) store.Record {
	t.Helper()
	rec, err := s.Conversation(t.Context(), store.Key{Project: "/p", Agent: "a", Sender: sender})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		var filler strings.Builder
		for range 200 {
			fmt.Fprintf(&filler, " %x", r.Uint32())
		}
		_, err := s.Append(t.Context(), rec.ID, store.Append{
			Version: int64(i), Messages: message.MessagesOf(message.UserText(word + filler.String())), TurnEnds: i%2 == 0,
			Entries: []store.Entry{{Kind: store.EntryInput, Message: message.UserText(word), Data: `{}`}},
			Events:  []store.Event{{Seq: uint64(i + 1), Data: message.JSON(`{"text":"` + word + `"}`)}},
			States:  []hook.StateValue{{Name: word, Data: message.JSON(`"` + word + `"`)}},
		})
		require.NoError(t, err)
	}
	return rec
}

func find(t *testing.T, s *sqlite.Store, word string) int {
	t.Helper()
	found, err := s.Search(t.Context(), store.Query{Text: word, AllProjects: true, Limit: 20})
	require.NoError(t, err)
	return len(found)
}

// TestDeletedBytesAreInNoFile: not in free pages, not in the index and not in the log.
func TestDeletedBytesAreInNoFile(t *testing.T) {
	t.Parallel()
	const word, stays = "qzcanaryqz", "qzstaysqz"
	path := file(t)
	s := open(t, path)
	lasting := write(t, s, "stays", stays, 40)
	rec := write(t, s, "me", word, 40)
	require.NotZero(t, find(t, s, word), "its words are in the index")
	require.Contains(t, bytesOf(t, path), word)

	_, err := s.Erase(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	_, err = s.Shrink(t.Context())
	require.NoError(t, err)
	text := bytesOf(t, path)
	assert.NotContains(t, text, word)
	assert.NotContains(t, text, "canary", "the index keeps a word without what it has in common with the one before")
	assert.Contains(t, text, stays)
	assert.Len(t, texts(t, s, lasting.ID), 40)
	assert.Equal(t, 20, find(t, s, stays))
	assert.Zero(t, find(t, s, word))

	again := write(t, s, "me", "new", 2)
	assert.NotEqual(t, rec.ID, again.ID)
	assert.Len(t, texts(t, s, again.ID), 2)
}

// TestSpaceIsGivenBack: a file without its largest conversation is as small as one that never
// had it, about.
func TestSpaceIsGivenBack(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	write(t, s, "stays", "small", 5)
	_, err := s.Shrink(t.Context())
	require.NoError(t, err)
	small := len(bytesOf(t, path))
	rec := write(t, s, "me", "big", 300)
	require.NotZero(t, find(t, s, "big"))
	big := len(bytesOf(t, path))
	require.Greater(t, big, small+500_000)
	got, err := s.Erase(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 300, got.Messages)
	freed, err := s.Shrink(t.Context())
	require.NoError(t, err)
	left := len(bytesOf(t, path))
	assert.Less(t, left, small+200_000)
	assert.InDelta(t, big-left, freed, 40_000)
	freed, err = s.Shrink(t.Context())
	require.NoError(t, err)
	assert.Less(t, freed, int64(100_000), "nothing is left to give back")
}

// TestAnOlderFileIsRewrittenOnce: what it deleted before is not in it any more, and it can shrink.
func TestAnOlderFileIsRewrittenOnce(t *testing.T) {
	t.Parallel()
	path := version1(t)
	s := open(t, path)
	all, err := s.List(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"2"}, column(t, path, current(), "SELECT auto_vacuum FROM pragma_auto_vacuum"))
	s = open(t, path)
	for _, rec := range all {
		_, err := s.Erase(t.Context(), rec.ID, nil)
		require.NoError(t, err)
	}
	_, err = s.Shrink(t.Context())
	require.NoError(t, err)
	assert.NotContains(t, bytesOf(t, path), "question without an answer")
}

// TestADeletionIsOneTransaction: a process that is killed in it has deleted all or nothing; here a
// part of the deletion fails.
func TestADeletionIsOneTransaction(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	rec := write(t, s, "me", "word", 3)
	change(t, path, current(), `CREATE TRIGGER no BEFORE DELETE ON conversation BEGIN SELECT RAISE(ABORT, 'no'); END`)
	_, err := s.Erase(t.Context(), rec.ID, nil)
	require.ErrorContains(t, err, "no")
	assert.Len(t, texts(t, s, rec.ID), 3)
	assert.NotZero(t, find(t, s, "word"))
	change(t, path, current(), `DROP TRIGGER no`)
	_, err = s.Erase(t.Context(), rec.ID, nil)
	require.NoError(t, err)
}
