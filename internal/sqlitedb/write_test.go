package sqlitedb_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// insert adds a note in a part of its own.
func insert(tx *sqlitedb.Tx, body string) error {
	_, err := tx.Exec(`INSERT INTO note (body) VALUES (?)`, body)
	return err
}

// together runs the parts in one transaction: the first holds it until all others
// wait. It returns their errors. It has to be called in a bubble.
func together(t *testing.T, db *sqlitedb.DB, parts ...func(tx *sqlitedb.Tx) error) []error {
	t.Helper()
	errs := make([]error, len(parts))
	called := make(chan struct{})
	var wg sync.WaitGroup
	for i, f := range parts {
		wg.Go(func() {
			errs[i] = db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
				<-called
				return f(tx)
			})
		})
		synctest.Wait() // and so they come in this order
	}
	close(called)
	wg.Wait()
	return errs
}

func notes(t *testing.T, db *sqlitedb.DB) string {
	t.Helper()
	return value(t, db, `SELECT coalesce(group_concat(body, ' '), '') FROM (SELECT body FROM note ORDER BY id)`)
}

func TestWritesAtTheSameTimeShareATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, writesAtTheSameTimeShareATransaction)
}

func writesAtTheSameTimeShareATransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, other := open(t, path, one), open(t, path, one)
	committed := func(tx *sqlitedb.Tx, body string, want string) error {
		assert.Equal(t, want, notes(t, other), "another connection sees nothing before the end")
		return insert(tx, body)
	}
	errs := together(t, db,
		func(tx *sqlitedb.Tx) error { return committed(tx, "a", "") },
		func(tx *sqlitedb.Tx) error { return committed(tx, "b", "") },
		func(tx *sqlitedb.Tx) error { return committed(tx, "c", "") },
	)
	require.NoError(t, errors.Join(errs...))
	assert.Equal(t, "a b c", notes(t, other))
}

func TestAPartThatFailsIsUndoneAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, aPartThatFailsIsUndoneAlone)
}

func aPartThatFailsIsUndoneAlone(t *testing.T) {
	cause := errors.New("changed my mind")
	fails := func(tx *sqlitedb.Tx) error { return errors.Join(insert(tx, "x"), cause) }
	panics := func(tx *sqlitedb.Tx) error { _ = insert(tx, "y"); panic("oh") }
	db := open(t, filepath.Join(t.TempDir(), "x.db"), one)
	errs := together(t, db, fails,
		func(tx *sqlitedb.Tx) error { return insert(tx, "a") },
		fails,
		func(tx *sqlitedb.Tx) error { return insert(tx, "b") })
	require.ErrorIs(t, errs[0], cause)
	require.ErrorIs(t, errs[2], cause)
	require.NoError(t, errors.Join(errs[1], errs[3]))
	assert.Equal(t, "a b", notes(t, db))
	assert.PanicsWithValue(t, "oh", func() { _ = db.Write(t.Context(), panics) })
	require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error { return insert(tx, "c") }))
	assert.Equal(t, "a b c", notes(t, db))
}

func TestAPartThatBreaksTheTransactionTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, aPartThatBreaksTheTransactionTakesNobodyWithIt)
}

func aPartThatBreaksTheTransactionTakesNobodyWithIt(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), one)
	full := errors.New("disk full")
	runs := 0
	errs := together(t, db,
		func(tx *sqlitedb.Tx) error { runs++; return insert(tx, "a") },
		func(tx *sqlitedb.Tx) error {
			_, err := tx.Exec("ROLLBACK") // as SQLite does by itself when the disk is full
			return errors.Join(err, full)
		},
		func(tx *sqlitedb.Tx) error { return insert(tx, "b") })
	require.ErrorIs(t, errs[1], full)
	require.NoError(t, errors.Join(errs[0], errs[2]))
	assert.Equal(t, 2, runs)
	assert.Equal(t, "2", value(t, db, `SELECT count(*) FROM note`))
}

func TestWhoIsCancelledWhileWaitingWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, whoIsCancelledWhileWaitingWritesNothing)
}

func whoIsCancelledWhileWaitingWritesNothing(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), one)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	errs := together(t, db,
		func(tx *sqlitedb.Tx) error {
			go func() {
				result <- db.Write(ctx, func(tx *sqlitedb.Tx) error { return insert(tx, "never") })
			}()
			time.Sleep(time.Second) // of the bubble: until all others wait
			cancel()
			assert.ErrorIs(t, <-result, context.Canceled)
			return insert(tx, "a")
		},
		func(tx *sqlitedb.Tx) error { return insert(tx, "b") })
	require.NoError(t, errors.Join(errs...))
	assert.Equal(t, "a b", notes(t, db))

	ctx, cancel = context.WithCancel(t.Context())
	require.NoError(t, db.Write(ctx, func(tx *sqlitedb.Tx) error { cancel(); return insert(tx, "c") }),
		"what has been done is kept")
	require.ErrorIs(t, db.Write(ctx, func(*sqlitedb.Tx) error { panic("not called") }), context.Canceled)
	assert.Equal(t, "a b c", notes(t, db))
}

func TestAWriteWaitsForAnotherProcessAsLongAsItMay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db, other := open(t, path, one), open(t, path, one)
	require.NoError(t, other.Write(t.Context(), func(*sqlitedb.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := db.Write(ctx, func(*sqlitedb.Tx) error { panic("not called") })
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	}))
	require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error { return insert(tx, "a") }))
}

func TestCloseKeepsWhatIsOpenAndEndsTheRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, one)
	const n = 50
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			errs[i] = db.Write(t.Context(), func(tx *sqlitedb.Tx) error { return insert(tx, fmt.Sprint(i)) })
		})
	}
	require.NoError(t, db.Close())
	wg.Wait()
	kept := 0
	for _, err := range errs {
		if err == nil {
			kept++
		}
	}
	assert.Equal(t, fmt.Sprint(kept), value(t, open(t, path, one), `SELECT count(*) FROM note`))
	require.Error(t, db.Write(t.Context(), func(*sqlitedb.Tx) error { return nil }))
}
