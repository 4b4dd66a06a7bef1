// Package sqldb is what a subsystem needs of a database, so that its statements stand once and run
// in SQLite and in PostgreSQL.
//
// Such statements number their parameters ($1), and keep to what both databases know: times are
// nanoseconds in 64 bits, lists of values are loops in Go. Where the databases have to differ, as in
// full-text search, the subsystem has statements for each.
package sqldb

import (
	"context"
	"database/sql"
	"time"
)

// ErrNoRows is the error of a Row without a row.
var ErrNoRows = sql.ErrNoRows

// AnyTenant ends a statement that reads or changes rows of all tenants by purpose, such as one of a copy.
// Every other statement has the project whose rows it may touch in its condition.
const AnyTenant = ` /* any tenant */`

// Row is one row of a result.
type Row interface{ Scan(dest ...any) error }

// Reader runs statements that change nothing. It is valid until the function that got it returns,
// and for one goroutine at a time.
type Reader interface {
	// Each runs a statement and calls each with every row. An error of each ends it. each runs no
	// statement.
	Each(each func(row Row) error, query string, args ...any) error
	// One runs a statement and scans its row, the first one; ErrNoRows if there is none.
	One(query string, args ...any) Row
}

// Tx is a running transaction.
type Tx interface {
	Reader
	// Exec runs a statement and returns how many rows it has changed.
	Exec(query string, args ...any) (int64, error)
	// Load adds rows to a table, with the numbers that they have. A column "num" that the database numbers
	// goes on behind them.
	Load(table string, columns []string, rows [][]any) error
	// Lock waits until no other transaction has the lock of that name, and keeps it until the end
	// of this one. Statements behind it see what the others have committed. Who takes several locks
	// takes them in the order of their names.
	Lock(name string) error
}

// DB is an open database. It is safe for concurrent use, also by several processes.
//
// Read and Write may call f again, after a conflict or a lost connection; so f begins its results
// anew.
type DB interface {
	// Read runs f on what is committed. Each statement may see another state.
	Read(ctx context.Context, f func(r Reader) error) error
	// Write runs f in a transaction that is on disk when Write returns nil. An error of f, or of the
	// commit, undoes it.
	Write(ctx context.Context, f func(tx Tx) error) error
	// Now returns the time. All processes that share the database are given that of one clock.
	Now(ctx context.Context) (time.Time, error)
	// Scrub removes what was deleted from the files, as far as the database can.
	Scrub(ctx context.Context) error
}
