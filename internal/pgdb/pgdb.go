// Package pgdb opens PostgreSQL databases for Grapnel's stores, and is the one place that knows
// the driver. It upgrades the schema, retries what a lost connection or a conflict has broken, and
// commits the writes of many callers together. It does not know the tables.
//
// Everything but [DB.Listen] works through a pooler in transaction mode: there is no session state
// but prepared statements, which are four times as fast. A pooler that does not know those (PgBouncer
// before 1.21, or without max_prepared_statements) needs default_query_exec_mode=cache_describe in
// the DSN.
package pgdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// These are types of pgx.
type (
	Row  = pgx.Row
	Rows = pgx.Rows
	Tx   = pgx.Tx
	// Batch is several statements for one exchange.
	Batch = pgx.Batch
	// CommandTag says what a statement has done.
	CommandTag = pgconn.CommandTag
)

// ErrNoRows: a query that has to return a row returned none.
var ErrNoRows = pgx.ErrNoRows

// Options are the options of a DB; nil is all zero values.
type Options struct {
	// Connections bounds the connections for reads and transactions; 0 is 9. There are up to three
	// more for Apply and Urgent, which slow reads do not hold up, and one for each Listen. Connections
	// are made when they are needed.
	Connections int
	// Patience is how long a call waits for a database that is not there, because it is started
	// again or fails over; 0 is 10 s. A call whose context ends before ends with it.
	Patience time.Duration
	// Direct is the DSN for Listen, past a pooler in transaction mode; "" is that of Open.
	Direct string
	// Unverified allows connections to another machine whose certificate is not verified.
	Unverified bool
	// AsItIs: Open makes no tables and upgrades none. Then SchemaVersion says what there is.
	AsItIs bool
	// Note is called with a sentence for people that is no error. Nil drops it.
	Note func(text string)
	// Trace is called with each message exchange with the server, for tests. Nil is none.
	Trace func(sql string)
}

const (
	mostConnections = 9
	patience        = 10 * time.Second
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	*connections
	bind Binder // nil leaves statements as they are
}

// connections are those of a DB and of all that are bound to it.
type connections struct {
	pool *pgxpool.Pool
	// urgent has connections that no slow call takes: for the committers, and one for Urgent.
	urgent   *pgxpool.Pool
	direct   *pgx.ConnConfig
	patience time.Duration

	queue      chan *write
	closing    chan struct{}
	close      sync.Once
	committers sync.WaitGroup
}

// ErrClosed: the database has been closed.
var ErrClosed = errors.New("the database has been closed")

// Open connects to the database of the DSN and upgrades its schema. It waits while another
// process does the same. The DSN is a URL or key=value words, as of libpq. What it lacks comes
// from the PG… variables: the password from PGPASSWORD, or from the file that PGPASSFILE names.
// No error of a DB says where the database is, or what it, its user or the password are called; only
// ErrUnverified names the host.
//
// A connection to another machine needs sslmode=verify-full, unless Options.Unverified is set.
func Open(ctx context.Context, dsn string, o *Options) (*DB, error) {
	if o == nil {
		o = &Options{}
	}
	config, direct, err := configure(dsn, *o)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	urgent := config.Copy()
	urgent.MaxConns = min(committers+1, config.MaxConns)
	urgent.MinConns = 0
	d := &DB{connections: &connections{direct: direct, patience: patience, queue: make(chan *write), closing: make(chan struct{})}}
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if d.urgent, err = pgxpool.NewWithConfig(ctx, urgent); err != nil {
		d.pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if o.Patience > 0 {
		d.patience = o.Patience
	}
	for range committers {
		d.committers.Go(d.commitAll)
	}
	err = d.checkServer(ctx, o.Note)
	if err == nil && !o.AsItIs {
		err = d.migrate(ctx)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return d, nil
}

// checkServer returns an error if the server or the database is not one to use, and notes what
// makes writes that are acknowledged not last.
func (d *DB) checkServer(ctx context.Context, note func(text string)) error {
	const oldest = 150000
	var version int
	var encoding, fsync, commit string
	err := d.Read(ctx, func(q Queryer) error {
		return q.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_setting('fsync'), current_setting('synchronous_commit')`).
			Scan(&version, &encoding, &fsync, &commit)
	})
	switch {
	case err != nil:
		return err
	case version < oldest:
		return fmt.Errorf("the server is PostgreSQL %d; this program needs %d or later", version/10_000, oldest/10_000)
	case encoding != "UTF8":
		return fmt.Errorf("the encoding of the database is %s, and has to be UTF8: make another one with CREATE DATABASE grapnel ENCODING 'UTF8' TEMPLATE template0", encoding)
	case note != nil && (fsync == "off" || commit == "off"):
		note("the database does not wait for its disk (fsync = " + fsync + ", synchronous_commit = " + commit + "): after a crash of its machine, writes that were acknowledged are missing; set both to on")
	}
	return nil
}

// Close ends the connections once the calls in flight have ended. Later calls fail with
// ErrClosed; a second Close does nothing.
func (d *DB) Close() {
	d.close.Do(func() {
		close(d.closing)
		d.committers.Wait()
		d.pool.Close()
		d.urgent.Close()
	})
}

// Pool has the connections, for a library that speaks to the database itself. Only the DB closes it.
func (d *DB) Pool() *pgxpool.Pool { return d.pool }

// Queryer reads. It is valid until the function that got it returns.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) Row
}

// Read calls f with a connection, and again if the connection was lost meanwhile, so f begins its
// result anew. Two queries of f may see different states.
func (d *DB) Read(ctx context.Context, f func(q Queryer) error) error {
	return d.with(ctx, d.pool, func(conn *pgxpool.Conn) error { return f(boundQueryer{conn, d}) })
}

// Urgent is Read for what must not wait for slow reads, such as a beat. f is short, and may write what
// can be repeated.
func (d *DB) Urgent(ctx context.Context, f func(q Queryer) error) error {
	return d.with(ctx, d.urgent, func(conn *pgxpool.Conn) error { return f(boundQueryer{conn, d}) })
}

// with calls f with a connection, and again if the connection was lost meanwhile.
func (d *DB) with(ctx context.Context, pool *pgxpool.Pool, f func(conn *pgxpool.Conn) error) error {
	return d.patiently(ctx, func() error {
		conn, err := d.acquire(ctx, pool)
		if err != nil {
			return err
		}
		defer conn.Release()
		return f(conn)
	})
}

// Snapshot is Read with all queries of f in the same state of the database.
func (d *DB) Snapshot(ctx context.Context, f func(q Queryer) error) error {
	return d.with(ctx, d.pool, func(conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx Tx) error { return f(boundQueryer{tx, d}) })
	})
}

// Exec runs a statement that may be repeated, outside of any transaction, as VACUUM needs it.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) error {
	sql, args, err := d.bound(sql, args)
	if err != nil {
		return err
	}
	return d.with(ctx, d.pool, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

func (d *DB) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	select {
	case <-d.closing:
		return nil, ErrClosed
	default:
		return pool.Acquire(ctx)
	}
}

// Write runs f in a transaction, and again if a conflict or a lost connection has undone it, so f
// must not depend on its earlier calls. If the answer of the commit is lost, Write asks the
// database whether it has happened.
//
// The server undoes the transaction if f lets more than five seconds pass between two statements, or
// if one waits for a lock longer than the patience: others wait for its locks, and its machine may be
// gone. [Slow] is for what takes longer.
func (d *DB) Write(ctx context.Context, f func(tx Tx) error) error {
	return d.patiently(ctx, func() error {
		id, err := d.transact(ctx, f)
		if id == "" || !lost(err) {
			return err
		}
		return d.outcome(ctx, id, err)
	})
}

const (
	// idleWithin is how long a transaction may wait for its next statement.
	idleWithin = 5 * time.Second
	// bounds are those of a transaction, so that they work through a pooler. It returns its number first.
	bounds = `SELECT pg_current_xact_id()::text, set_config('idle_in_transaction_session_timeout', $1, true), set_config('lock_timeout', $2, true)`
	slow   = `SELECT set_config('idle_in_transaction_session_timeout', '0', true), set_config('lock_timeout', '0', true)`
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Slow lets the transaction wait for locks and for its next statement as long as that takes, as an upgrade
// and a copy do. Nobody else may have to wait for it.
func Slow(ctx context.Context, tx Tx) error {
	_, err := Unbound(tx).Exec(ctx, slow)
	return err
}

// transact runs f in a transaction and returns its number once its commit has been sent.
func (d *DB) transact(ctx context.Context, f func(tx Tx) error) (id string, err error) {
	conn, err := d.acquire(ctx, d.pool)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	var number string
	begin := &pgx.Batch{}
	begin.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	begin.Queue(bounds, milliseconds(idleWithin), milliseconds(d.patience)).QueryRow(func(row Row) error { return row.Scan(&number, nil, nil) })
	results := conn.SendBatch(ctx, begin)
	if err := results.Close(); err != nil {
		return "", err
	}
	tx := results.Tx()
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it does nothing after the commit
	if err := f(boundTx{tx, d}); err != nil {
		return "", err
	}
	return number, tx.Commit(ctx)
}

// outcome returns nil if the transaction was committed, and else err, which is retried. It waits
// while the server still works on it, but no longer than the patience.
func (d *DB) outcome(ctx context.Context, id string, err error) error {
	for deadline := time.Now().Add(d.patience); ; {
		var status string
		asked := d.patiently(ctx, func() error {
			return d.pool.QueryRow(ctx, `SELECT coalesce(pg_xact_status($1::text::xid8), '')`, id).Scan(&status)
		})
		switch {
		case asked != nil:
			return fmt.Errorf("%w: %w, and then: %w", ErrUnknownOutcome, err, asked)
		case status == "committed":
			return nil
		case status == "aborted":
			return err
		case status != "in progress", time.Now().After(deadline):
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// Copy adds the rows to the columns of a table, by COPY.
func Copy(ctx context.Context, tx Tx, table string, columns []string, rows [][]any) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	return err
}
