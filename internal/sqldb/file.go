package sqldb

import (
	"context"
	"database/sql"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// File is a DB in an SQLite file. One transaction writes at a time, so locks have nothing to do.
type File struct{ *sqlitedb.DB }

var _ DB = File{}

// Read implements [DB].
func (f File) Read(ctx context.Context) Reader { return reading{ctx, f.DB.Read()} }

// Write implements [DB], as [sqlitedb.DB.Write] does.
func (f File) Write(ctx context.Context, do func(tx Tx) error) error {
	return f.DB.Write(ctx, func(tx *sqlitedb.Tx) error { return do(fileTx{tx}) })
}

// Now implements [DB]: processes with the same file have the same clock.
func (f File) Now(context.Context) (time.Time, error) { return time.Now(), nil }

type fileTx struct{ *sqlitedb.Tx }

func (fileTx) Lock(string) error { return nil }

type reading struct {
	ctx context.Context
	db  *sql.DB
}

func (r reading) Query(query string, args ...any) (*sql.Rows, error) {
	return r.db.QueryContext(r.ctx, query, args...)
}

func (r reading) QueryRow(query string, args ...any) *sql.Row {
	return r.db.QueryRowContext(r.ctx, query, args...)
}
