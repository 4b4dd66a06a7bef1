// Package sqldb is what a subsystem needs of a database, so that its statements stand once and run
// in SQLite and in PostgreSQL.
//
// Such statements number their parameters ($1), and keep to what both databases know: times are
// nanoseconds in 64 bits, lists of values are loops in Go. What has to differ, such as a full-text
// search, is the subsystem's own affair.
package sqldb

import (
	"context"
	"database/sql"
	"time"
)

// Reader runs statements that change nothing.
type Reader interface {
	// Query runs a statement; the caller closes the rows before the next statement.
	Query(query string, args ...any) (*sql.Rows, error)
	// QueryRow runs a statement that returns at most one row, which the caller scans.
	QueryRow(query string, args ...any) *sql.Row
}

// Tx is a running transaction. It is valid until the function that got it returns, and for one
// goroutine at a time.
type Tx interface {
	Reader
	Exec(query string, args ...any) (sql.Result, error)
	// Lock waits until no other transaction has the lock of that name, and keeps it until the end
	// of this one. Statements behind it see what the others have committed. Who takes several locks
	// takes them in the order of their names.
	Lock(name string) error
}

// DB is an open database. It is safe for concurrent use, also by several processes.
type DB interface {
	// Read returns a reader of what is committed. Its statements end with ctx.
	Read(ctx context.Context) Reader
	// Write runs f in a transaction that is on disk when Write returns nil. An error of f, or of the
	// commit, undoes it. f may be called again, so it must not depend on its first call.
	Write(ctx context.Context, f func(tx Tx) error) error
	// Now returns the time. All processes that share the database are given that of one clock.
	Now(ctx context.Context) (time.Time, error)
	// Scrub removes what was deleted from the files, as far as the database can.
	Scrub(ctx context.Context) error
}
