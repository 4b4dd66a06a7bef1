package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// File is a DB in an SQLite file. One transaction writes at a time, so locks have nothing to do.
type File struct{ *sqlitedb.DB }

var _ DB = File{}

// Read implements [DB].
func (f File) Read(ctx context.Context, do func(r Reader) error) error {
	return do(reader{ctx, f.DB.Read()})
}

// Write implements [DB], as [sqlitedb.DB.Write] does.
func (f File) Write(ctx context.Context, do func(tx Tx) error) error {
	return f.DB.Write(ctx, func(tx *sqlitedb.Tx) error { return do(transaction{tx}) })
}

// Now implements [DB]: processes with the same file have the same clock.
func (f File) Now(context.Context) (time.Time, error) { return time.Now(), nil }

type reader struct {
	ctx context.Context //nolint:containedctx // of the call of Read
	db  *sql.DB
}

func (r reader) Each(each func(row Row) error, query string, args ...any) error {
	rows, err := r.db.QueryContext(r.ctx, query, args...)
	return every(each, rows, err)
}

func (r reader) One(query string, args ...any) Row {
	return r.db.QueryRowContext(r.ctx, query, args...)
}

type transaction struct{ tx *sqlitedb.Tx }

func (t transaction) Each(each func(row Row) error, query string, args ...any) error {
	rows, err := t.tx.Query(query, args...)
	return every(each, rows, err)
}

func (t transaction) One(query string, args ...any) Row { return t.tx.QueryRow(query, args...) }

func (t transaction) Exec(query string, args ...any) (int64, error) {
	res, err := t.tx.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (transaction) Lock(string) error { return nil }

func every(each func(row Row) error, rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := each(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
