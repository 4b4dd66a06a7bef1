package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// SQL returns the file as a database for statements that PostgreSQL has to understand, too. One
// transaction writes at a time, so locks have nothing to do.
func (d *DB) SQL() sqldb.DB { return shared{d} }

type shared struct{ *DB }

func (s shared) Read(ctx context.Context, f func(r sqldb.Reader) error) error {
	return f(reader{ctx, s.DB.Read()})
}

func (s shared) Write(ctx context.Context, f func(tx sqldb.Tx) error) error {
	return s.DB.Write(ctx, func(tx *Tx) error { return f(transaction{tx}) })
}

// Now returns this machine's time: processes with the same file have the same clock.
func (shared) Now(context.Context) (time.Time, error) { return time.Now(), nil }

type reader struct {
	ctx context.Context //nolint:containedctx // of the call of Read
	db  *sql.DB
}

func (r reader) Each(each func(row sqldb.Row) error, query string, args ...any) error {
	rows, err := r.db.QueryContext(r.ctx, query, args...)
	return every(each, rows, err)
}

func (r reader) One(query string, args ...any) sqldb.Row {
	return r.db.QueryRowContext(r.ctx, query, args...)
}

type transaction struct{ tx *Tx }

func (t transaction) Each(each func(row sqldb.Row) error, query string, args ...any) error {
	rows, err := t.tx.Query(query, args...)
	return every(each, rows, err)
}

func (t transaction) One(query string, args ...any) sqldb.Row { return t.tx.QueryRow(query, args...) }

func (t transaction) Exec(query string, args ...any) (int64, error) {
	res, err := t.tx.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Load fills tables whose numbers SQLite takes from what is in them.
func (t transaction) Load(table string, columns []string, rows [][]any) error {
	query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	for _, row := range rows {
		if _, err := t.tx.Exec(query, row...); err != nil {
			return err
		}
	}
	return nil
}

func (transaction) Lock(string) error { return nil }

func every(each func(row sqldb.Row) error, rows *sql.Rows, err error) error {
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
