package sqlite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// threeSenders makes a file with the conversations of three senders, all indexed, and
// overwrites a page with messages of sender s0, counted from the first.
func threeSenders(t *testing.T, leaf int) (path string, recs []store.Record) {
	t.Helper()
	path = file(t)
	s := open(t, path)
	for c := range 3 {
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: fmt.Sprint("s", c)})
		require.NoError(t, err)
		for v := range int64(30) {
			text := fmt.Sprintf("anchor v%d %s", v, strings.Repeat("x", 900))
			rec.Version, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true, Messages: message.MessagesOf(message.UserText(text))})
			require.NoError(t, err)
		}
		recs = append(recs, rec)
	}
	_, err := s.Search(t.Context(), store.Query{Text: "anchor"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	db := raw(t, path, current()...)
	var page int64
	require.NoError(t, db.Read().QueryRowContext(t.Context(), `SELECT pageno FROM dbstat WHERE name = 'message' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET ?`, leaf).Scan(&page))
	require.NoError(t, db.Close())
	overwrite(t, path, []int64{page}, pageSize, 0)
	return path, recs
}

// TestDamagedMessagesLeaveTheIndex: what is whole is found as before.
func TestDamagedMessagesLeaveTheIndex(t *testing.T) {
	t.Parallel()
	path, recs := threeSenders(t, 0)
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Note: func(text string) { t.Error(text) }})
		require.NoError(t, err)
		for range 2 {
			found, err := s.Search(t.Context(), store.Query{Text: "v20", Sender: "s2"})
			require.NoError(t, err)
			assert.Len(t, found, 1)
			_, err = s.Search(t.Context(), store.Query{Text: "v1", Sender: "s0"})
			require.True(t, sqlitedb.Damaged(err), "%v", err)
			_, err = s.Rewind(t.Context(), recs[0].ID, store.At{Version: recs[0].Version}, 0)
			require.True(t, sqlitedb.Damaged(err), "%v", err)
		}
		require.NoError(t, s.Close())
	}
	assert.Equal(t, []string{"90"}, column(t, path, current(), `SELECT count(*) FROM word_docsize`))
}

// TestAnIndexIsNotMadeOfDamagedMessages: one that can be opened stays.
func TestAnIndexIsNotMadeOfDamagedMessages(t *testing.T) {
	t.Parallel()
	path, _ := threeSenders(t, 0)
	change(t, path, current(), `DELETE FROM word_idx`)
	s := openWith(t, path, &sqlite.Options{Note: func(text string) { t.Error(text) }})
	for range 2 {
		_, err := s.Search(t.Context(), store.Query{Text: "v20", Sender: "s2"})
		require.ErrorContains(t, err, "stays as it is, because what it is made from is damaged too: table message: ")
		require.ErrorContains(t, err, "to begin anew, move all files "+path+"* away")
	}
	assert.Equal(t, []string{"90"}, column(t, path, current(), `SELECT count(*) FROM word_docsize`))
}

// TestAnIndexThatCannotBeOpenedKeepsNobodyFromTheRest, and nobody says that nothing is lost.
func TestAnIndexThatCannotBeOpenedKeepsNobodyFromTheRest(t *testing.T) {
	t.Parallel()
	// A new table takes the page behind those of the other tables, which is the first one.
	path, recs := threeSenders(t, 1)
	change(t, path, current(), `DROP TABLE word_config`)
	var notes []string
	s := openWith(t, path, &sqlite.Options{Note: func(text string) { notes = append(notes, text) }})
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], "has been made anew; but something else in the file is damaged too (table message: ")
	ms, err := s.Messages(t.Context(), recs[2].ID)
	require.NoError(t, err)
	assert.Len(t, ms, 30)
}

// TestAnInterruptedRepairIsTriedAgain, and nobody is told to begin anew.
func TestAnInterruptedRepairIsTriedAgain(t *testing.T) {
	t.Parallel()
	path, _ := indexed(t)
	s := open(t, path)
	_, err := s.Search(t.Context(), store.Query{Text: "w2042"})
	require.NoError(t, err)
	change(t, path, current(), `DROP TABLE word_idx`)
	other := raw(t, path, current()...)
	held, release, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		done <- other.Write(context.WithoutCancel(t.Context()), func(*sqlitedb.Tx) error { close(held); <-release; return nil })
	}()
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = s.Search(ctx, store.Query{Text: "w2042"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "could not be made anew")
	assert.NotContains(t, err.Error(), "to begin anew")
	assert.False(t, sqlitedb.Damaged(err))
	close(release)
	require.NoError(t, <-done)
	require.NoError(t, other.Close())
	found, err := s.Search(t.Context(), store.Query{Text: "w2042"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// TestSearchesMendAnIndexTogether, which was damaged after the first of them.
func TestSearchesMendAnIndexTogether(t *testing.T) {
	t.Parallel()
	path, _ := indexed(t)
	s := open(t, path)
	_, err := s.Search(t.Context(), store.Query{Text: "w2042"})
	require.NoError(t, err)
	for _, damage := range []string{`DROP TABLE word_idx`, `DELETE FROM word_data`, `DROP TABLE word`} {
		change(t, path, current(), damage)
		errs := make(chan error)
		for range 8 {
			go func() {
				found, err := s.Search(t.Context(), store.Query{Text: "w2042"})
				if err == nil && len(found) != 1 {
					err = fmt.Errorf("found %d", len(found))
				}
				errs <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-errs, damage)
		}
	}
}

// TestWhatElseIsDamagedIsTold: nobody says that nothing is lost without having looked.
func TestWhatElseIsDamagedIsTold(t *testing.T) {
	t.Parallel()
	path, rec := indexed(t)
	s := open(t, path)
	_, err := s.Note(t.Context(), rec.ID, store.Note{Events: []store.Event{{Seq: 1, Data: `{}`}}})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	change(t, path, current(), `DELETE FROM word_idx`)
	db := raw(t, path, current()...)
	var page int64
	require.NoError(t, db.Read().QueryRowContext(t.Context(), `SELECT pageno FROM dbstat WHERE name = 'event'`).Scan(&page))
	require.NoError(t, db.Close())
	overwrite(t, path, []int64{page}, pageSize, 0)
	var notes []string
	s = openWith(t, path, &sqlite.Options{Note: func(text string) { notes = append(notes, text) }})
	found, err := s.Search(t.Context(), store.Query{Text: "w2042"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], "has been made anew; but something else in the file is damaged too (")
}
