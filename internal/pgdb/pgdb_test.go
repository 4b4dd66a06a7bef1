package pgdb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// migrated is a database with the schema and a table of notes.
var migrated = pgtest.Template{Prepare: func(ctx context.Context, dsn string) error {
	db, err := pgdb.Open(ctx, dsn, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Write(ctx, func(tx pgdb.Tx) error {
		_, err := tx.Exec(ctx, `CREATE TABLE note (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)`)
		return err
	})
}, Reset: `DELETE FROM note`}

func open(t *testing.T, dsn string, o *pgdb.Options) *pgdb.DB {
	t.Helper()
	db, err := pgdb.Open(t.Context(), dsn, o)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func exec(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func scanInt(row pgdb.Row) (n int, err error) {
	err = row.Scan(&n)
	return n, err
}

// add inserts a note and returns its id.
func add(ctx context.Context, db *pgdb.DB, id int) error {
	_, err := pgdb.Apply(ctx, db, pgdb.Statement{Order: fmt.Sprintf("%09d", id), SQL: `INSERT INTO note (id) VALUES ($1) RETURNING id`, Args: []any{id}}, scanInt)
	return err
}

func count(t *testing.T, db *pgdb.DB, where string) (n int) {
	t.Helper()
	require.NoError(t, db.Read(t.Context(), func(q pgdb.Queryer) error {
		return q.QueryRow(t.Context(), `SELECT count(*) FROM note WHERE `+where).Scan(&n)
	}))
	return n
}

func TestTheSchemaIsMadeOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	var opening sync.WaitGroup
	for range 4 {
		opening.Go(func() {
			db, err := pgdb.Open(t.Context(), dsn, nil)
			if assert.NoError(t, err) {
				db.Close()
			}
		})
	}
	opening.Wait()
	version, err := open(t, dsn, nil).SchemaVersion(t.Context())
	require.NoError(t, err)
	assert.Equal(t, pgdb.Version(), version)
}

// TestASchemaMadeWhileWaiting: the server caches for each connection which names do not exist, and waiting for an advisory lock
// does not refresh that (only locks of relations do, src/backend/utils/cache/inval.c). Whoever waited made the tables again.
func TestASchemaMadeWhileWaiting(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	other, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer other.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	_, err = other.Exec(t.Context(), `BEGIN; SELECT pg_advisory_xact_lock(x'47524150'::bigint)`)
	require.NoError(t, err)
	opened := make(chan error, 1)
	go func() {
		db, err := pgdb.Open(t.Context(), dsn+"&pool_max_conns=1", nil) // so that the lock is waited for where was looked before
		if err == nil {
			db.Close()
		}
		opened <- err
	}()
	require.Eventually(t, func() bool {
		var waits bool
		err := other.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waits)
		return assert.NoError(t, err) && waits
	}, time.Minute, 5*time.Millisecond)
	// Little is written: much would make the server refresh the caches of all connections.
	_, err = other.Exec(t.Context(), `CREATE TABLE grapnel_schema (version int PRIMARY KEY, made timestamptz, needs int NOT NULL DEFAULT 0)`)
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `INSERT INTO grapnel_schema VALUES ($1, now())`, pgdb.Version())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.NoError(t, <-opened)
}

func TestAForeignOrNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	foreign := pgtest.Database(t)
	exec(t, foreign, `CREATE TABLE conversation (id int)`)
	_, err := pgdb.Open(t.Context(), foreign, nil)
	require.ErrorIs(t, err, pgdb.ErrForeign)

	newer := pgtest.Database(t)
	open(t, newer, nil).Close()
	exec(t, newer, `INSERT INTO grapnel_schema VALUES (1000, now(), 999)`)
	_, err = pgdb.Open(t.Context(), newer, nil)
	require.ErrorIs(t, err, pgdb.ErrNewer)
	assert.ErrorContains(t, err, "version 1000, for programs that know version 999")
}

// TestAStepThatOnlyAddsKeepsNobodyOut: during a rolling upgrade the older program goes on, and is started.
func TestAStepThatOnlyAddsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	running := open(t, dsn, nil)
	exec(t, dsn, `INSERT INTO grapnel_schema VALUES (1000, now())`)
	for _, db := range []*pgdb.DB{running, open(t, dsn, nil)} {
		version, err := db.SchemaVersion(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1000, version)
	}
}

func TestADatabaseIsOpenedAsItIs(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	for range 2 {
		db := open(t, dsn, &pgdb.Options{AsItIs: true})
		version, err := db.SchemaVersion(t.Context())
		require.NoError(t, err)
		assert.Zero(t, version, "no table is made")
	}
}

func TestADatabaseOfAnotherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, nil)
	exec(t, c.DSN(""), `CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`)
	_, err := pgdb.Open(t.Context(), c.DSN("latin"), nil)
	require.ErrorContains(t, err, "LATIN1")
	assert.ErrorContains(t, err, "CREATE DATABASE")

	var notes []string
	open(t, c.DSN(""), &pgdb.Options{Note: func(text string) { notes = append(notes, text) }})
	require.Len(t, notes, 1, "the clusters of tests do not wait for the disk")
	assert.Contains(t, notes[0], "fsync = off")
}

func TestAStatementThatFailsTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	db := open(t, migrated.Database(t), nil)
	require.NoError(t, add(t.Context(), db, 0))
	const n = 200
	errs := make([]error, n)
	var adding sync.WaitGroup
	for i := range n {
		adding.Go(func() { errs[i] = add(t.Context(), db, i%100) }) // each twice, but 0 three times
	}
	adding.Wait()
	ok := 0
	for _, err := range errs {
		if err == nil {
			ok++
			continue
		}
		assert.True(t, pgdb.Exists(err), "%v", err)
	}
	assert.Equal(t, 99, ok)
	assert.Equal(t, 100, count(t, db, "true"))
}

func TestWritesAtTheSameTimeShareATransaction(t *testing.T) {
	t.Parallel()
	var exchanges atomic.Int64
	gate := make(chan struct{}) // closed once all wait
	db := open(t, migrated.Database(t), &pgdb.Options{Trace: func(sql string) {
		if strings.Contains(sql, "lock_timeout") {
			exchanges.Add(1)
			<-gate
		}
	}})
	const n = 120
	var adding, started sync.WaitGroup
	started.Add(n)
	for i := range n {
		adding.Go(func() {
			started.Done()
			assert.NoError(t, add(t.Context(), db, i))
		})
	}
	started.Wait()
	time.Sleep(100 * time.Millisecond) // until they wait; who comes later makes a transaction more
	close(gate)
	adding.Wait()
	assert.Less(t, exchanges.Load(), int64(n/4))
	assert.Equal(t, n, count(t, db, "true"))
}

// A write that waits for a lock holds up no other.
func TestALockHoldsUpOneWrite(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	db := open(t, dsn, nil)
	require.NoError(t, add(t.Context(), db, 1))
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `UPDATE note SET n = 1 WHERE id = 1`)
	require.NoError(t, err)
	var waiting, others sync.WaitGroup
	for range 5 {
		waiting.Go(func() {
			_, err := pgdb.Apply(t.Context(), db, pgdb.Statement{SQL: `UPDATE note SET n = n + 1 WHERE id = 1 RETURNING n`}, scanInt)
			assert.NoError(t, err)
		})
	}
	for i := range 100 {
		others.Go(func() { assert.NoError(t, add(t.Context(), db, 100+i)) })
	}
	others.Wait() // the lock is held all the time
	assert.Equal(t, 101, count(t, db, "true"))
	require.NoError(t, tx.Commit(t.Context()))
	waiting.Wait()
	assert.Equal(t, 1, count(t, db, "n = 6"))
}

// A write that gets no answer fails when the patience is over, and not with an error of its
// caller's context.
func TestAWriteWaitsNoLongerThanThePatience(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	db := open(t, dsn, &pgdb.Options{Patience: time.Second})
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `LOCK TABLE note`)
	require.NoError(t, err)
	err = add(t.Context(), db, 1)
	require.ErrorContains(t, err, "the database does not answer within 1s")
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Eventually(t, func() bool { return add(t.Context(), db, 2) == nil }, time.Minute, time.Millisecond)
}

// Slow reads take all connections but those of writes and beats.
func TestSlowReadsHoldUpNoWrite(t *testing.T) {
	t.Parallel()
	db := open(t, migrated.Database(t), &pgdb.Options{Connections: 2})
	release := make(chan struct{})
	var reading, began sync.WaitGroup
	began.Add(2)
	for range 2 {
		var once sync.Once
		reading.Go(func() {
			assert.NoError(t, db.Read(t.Context(), func(pgdb.Queryer) error { once.Do(began.Done); <-release; return nil }))
		})
	}
	began.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, db.Read(ctx, func(pgdb.Queryer) error { return nil }), context.DeadlineExceeded, "no connection is left for a third")
	for i := range 20 {
		require.NoError(t, add(t.Context(), db, i))
		require.NoError(t, db.Urgent(t.Context(), func(q pgdb.Queryer) error { return q.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)) }))
	}
	close(release)
	reading.Wait()
}

// What is checked at the commit fails when all statements have succeeded.
func TestACommitThatFailsIsNoSuccess(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	exec(t, dsn, `CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE late (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`)
	db := open(t, dsn, nil)
	_, err := pgdb.Apply(t.Context(), db, pgdb.Statement{SQL: `INSERT INTO late VALUES (1) RETURNING id`}, scanInt)
	require.ErrorContains(t, err, "foreign key")
	err = db.Write(t.Context(), func(tx pgdb.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO late VALUES (1)`)
		return err
	})
	require.ErrorContains(t, err, "foreign key")
}

// failOnce makes the database fail the first writes of a note with that SQLSTATE.
func failOnce(t *testing.T, dsn, state string, times int) {
	t.Helper()
	exec(t, dsn, fmt.Sprintf(`CREATE SEQUENCE tries; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('tries') <= %d THEN RAISE EXCEPTION 'injected' USING ERRCODE = '%s'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION fail()`, times, state))
}

func TestConflictsAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40001", "40P01"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Database(t)
			db := open(t, dsn, nil)
			exec(t, dsn, `CREATE TABLE note (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)`)
			failOnce(t, dsn, state, 3)
			require.NoError(t, add(t.Context(), db, 1))
			exec(t, dsn, `ALTER SEQUENCE tries RESTART`)
			calls := 0
			require.NoError(t, db.Write(t.Context(), func(tx pgdb.Tx) error {
				calls++
				_, err := tx.Exec(t.Context(), `INSERT INTO note (id) VALUES (2)`)
				return err
			}))
			assert.Equal(t, 4, calls)
			assert.Equal(t, 2, count(t, db, "true"))
		})
	}
}

// Two transactions that wait for each other: PostgreSQL ends one, which is tried again.
func TestADeadlockIsNobodysError(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	db := open(t, dsn, nil)
	require.NoError(t, errors.Join(add(t.Context(), db, 1), add(t.Context(), db, 2)))
	var both, done sync.WaitGroup
	both.Add(2)
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		var met sync.Once
		done.Go(func() {
			assert.NoError(t, db.Write(t.Context(), func(tx pgdb.Tx) error {
				for i, id := range order {
					if i == 1 {
						met.Do(func() { both.Done(); both.Wait() })
					}
					if _, err := tx.Exec(t.Context(), `UPDATE note SET n = n + 1 WHERE id = $1`, id); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
	done.Wait()
	assert.Equal(t, 2, count(t, db, "n = 2"))
}

func TestWhoIsCancelledWritesNothing(t *testing.T) {
	t.Parallel()
	db := open(t, migrated.Database(t), nil)
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	require.ErrorIs(t, add(ctx, db, 1), reason)
	assert.Zero(t, count(t, db, "true"))
}

func TestAfterCloseEverythingFails(t *testing.T) {
	t.Parallel()
	db := open(t, migrated.Database(t), nil)
	db.Close()
	db.Close()
	require.ErrorIs(t, add(t.Context(), db, 1), pgdb.ErrClosed)
	require.ErrorIs(t, db.Read(t.Context(), func(pgdb.Queryer) error { return nil }), pgdb.ErrClosed)
	require.ErrorIs(t, db.Write(t.Context(), func(pgdb.Tx) error { return nil }), pgdb.ErrClosed)
}

// A restart of the server ends all connections; nobody notices more than a pause.
func TestARestartIsAPause(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, nil)
	dsn := c.DSN("")
	db := open(t, dsn, nil)
	exec(t, dsn, `CREATE TABLE note (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)`)
	heard := make(chan string, 100)
	ctx, stop := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { _ = db.Listen(ctx, "x", func(p string) { heard <- p }) })
	listens := func() {
		for {
			require.NoError(t, db.Notify(t.Context(), "x", "hello"))
			select {
			case p := <-heard:
				require.Equal(t, "hello", p)
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	listens()
	require.NoError(t, add(t.Context(), db, 1))
	c.Restart(t, "immediate")
	require.NoError(t, add(t.Context(), db, 2))
	require.NoError(t, db.Write(t.Context(), func(tx pgdb.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO note (id) VALUES (3)`)
		return err
	}))
	assert.Equal(t, 3, count(t, db, "true"))
	for len(heard) > 0 {
		<-heard
	}
	assert.Eventually(t, func() bool { return db.Notify(t.Context(), "x", "hello") == nil }, time.Minute, 20*time.Millisecond)
	listens()
	stop()
	listening.Wait()
}
