package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a write waits for writes of other processes.
const busyTimeout = 10 * time.Second

// busySlice is how long SQLite waits at a time, because its wait cannot be interrupted.
const busySlice = 100 * time.Millisecond

// writer is the writing connection, and the group whose transaction is open on it. The
// holder of the baton may use the other fields.
//
// A caller of Write takes the baton, runs its part and passes the baton on to the next
// waiting caller. Then it queues for the baton again. When it gets the baton, all callers
// that were waiting have run their parts too, and it commits for all of them. So sixty-four
// concurrent writes share one sync, and a single write costs no more than before.
type writer struct {
	pool  *sql.DB
	baton chan struct{} // has one element while the baton is held

	conn   *sql.Conn // nil until the first transaction
	known  map[string]*sql.Stmt
	open   *group // nil between transactions
	closed bool
}

// group is the calls that share a transaction.
type group struct {
	members int
	// done is closed at the end of the transaction; err is then its result.
	done chan struct{}
	err  error
}

var (
	errClosed = errors.New("the file has been closed")
	// errUndone: the part of another member broke the transaction.
	errUndone = errors.New("the transaction was undone")
)

// Tx is one part of a running transaction. It is valid until the function that got it
// returns.
type Tx struct{ w *writer }

// Exec runs one statement. The text is a constant: it is kept prepared.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	s, err := t.w.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

// QueryRow runs one statement that returns at most one row, which has to be
// scanned. The text is a constant: it is kept prepared.
func (t *Tx) QueryRow(query string, args ...any) *sql.Row {
	s, err := t.w.prepared(query)
	if err != nil {
		return t.w.conn.QueryRowContext(context.Background(), query, args...) // which says the same
	}
	return s.QueryRow(args...)
}

// Query runs one statement that returns rows, which have to be closed before the next statement.
// The text is a constant: it is kept prepared.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.w.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// Write runs f in a transaction that is on disk when Write returns nil. Concurrent calls
// share a transaction and its sync. If an f fails or panics, only its own part is undone.
// One f runs at a time; the others wait, until ctx ends. After f has run, the end of ctx has
// no effect. f must use the database only through tx. In the rare case that another part
// breaks the transaction, f is called again, so it must not depend on its first call.
func (d *DB) Write(ctx context.Context, f func(tx *Tx) error) error {
	for {
		g, err := d.w.join(ctx, f)
		if err != nil {
			return err
		}
		if err := d.w.settle(g); !errors.Is(err, errUndone) {
			return err
		}
	}
}

// join runs f as a part of the open transaction; if there is none, it begins one.
func (w *writer) join(ctx context.Context, f func(tx *Tx) error) (*group, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case w.baton <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-w.baton }()
	if w.open == nil {
		if err := w.begin(ctx); err != nil {
			return nil, err
		}
	}
	g := w.open
	return g, w.part(f)
}

// Scrub empties the log, so that no file has deleted data any more. Readers can block it;
// the error then says that the log still has the data.
func (d *DB) Scrub(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		var busy, frames, done int
		err := d.w.alone(ctx, func() error {
			return d.w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
		})
		if err == nil && busy == 0 || err != nil && code(err) != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("it is deleted, but the log of the file still has it, because another process reads: delete something again, or end all that use the file")
		}
	}
}

// alone runs f on the writing connection, outside transactions.
func (w *writer) alone(ctx context.Context, f func() error) error {
	select {
	case w.baton <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.baton }()
	if w.closed {
		return errClosed
	}
	if w.open != nil {
		w.commit()
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	return f()
}

// connect gets the connection, once.
func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn == nil {
		w.conn, err = w.pool.Conn(ctx)
	}
	return err
}

// settle waits for the end of the group's transaction. The member that gets the baton ends
// it, because by then all waiting callers have run their parts.
func (w *writer) settle(g *group) error {
	select {
	case <-g.done:
	case w.baton <- struct{}{}:
		if w.open == g {
			w.commit()
		}
		<-w.baton
	}
	<-g.done
	return g.err
}

func (w *writer) begin(ctx context.Context) error {
	if w.closed {
		return errClosed
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	if err := w.patiently(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.open = &group{done: make(chan struct{})}
	return nil
}

// patiently runs a statement. While another process writes, it waits until ctx ends.
func (w *writer) patiently(ctx context.Context, query string) error {
	for began := time.Now(); ; {
		err := w.exec(query)
		switch {
		case err == nil:
			return nil
		case code(err) != sqlite3.SQLITE_BUSY || time.Since(began) > busyTimeout:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// part runs f and undoes what it has done if it fails or panics.
func (w *writer) part(f func(tx *Tx) error) (err error) {
	done := false
	defer func() {
		if !done {
			w.undo()
		}
	}()
	if err := w.exec("SAVEPOINT part"); err != nil {
		return err
	}
	if err := f(&Tx{w}); err != nil {
		return err
	}
	if err := w.exec("RELEASE part"); err != nil {
		return err
	}
	w.open.members++
	done = true
	return nil
}

// undo rolls one part of the transaction back. If SQLite has undone the whole transaction,
// as with a full disk, or there is no other part, undo ends the transaction.
func (w *writer) undo() {
	err := w.exec("ROLLBACK TO part")
	if err == nil {
		err = w.exec("RELEASE part")
	}
	if err == nil && w.open.members > 0 {
		return
	}
	_ = w.exec("ROLLBACK") // fails if the transaction is over
	w.end(errUndone)
}

func (w *writer) commit() {
	err := w.exec("COMMIT")
	if err != nil {
		_ = w.exec("ROLLBACK") // fails if SQLite has done it
		err = fmt.Errorf("commit: %w", err)
	}
	w.end(err)
}

// end gives the members of the group the result.
func (w *writer) end(err error) {
	w.open.err = err
	close(w.open.done)
	w.open = nil
}

func (w *writer) exec(query string) error {
	_, err := (&Tx{w}).Exec(query)
	return err
}

func (w *writer) prepared(query string) (*sql.Stmt, error) {
	if s := w.known[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		w.known[query] = s
	}
	return s, err
}

// close commits the open transaction and closes the connection. Later calls get errClosed.
func (w *writer) close() error {
	w.baton <- struct{}{}
	defer func() { <-w.baton }()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.open != nil {
		w.commit()
	}
	var errs []error
	for _, s := range w.known {
		errs = append(errs, s.Close())
	}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.pool.Close())...)
}
