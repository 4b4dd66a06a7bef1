package pgdb

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// SQL returns the database for statements that SQLite has to understand, too. Texts of PostgreSQL
// have no NUL and are UTF-8: both become U+FFFD in what such statements get.
func (d *DB) SQL() sqldb.DB { return shared{d} }

type shared struct{ d *DB }

func (s shared) Read(ctx context.Context, f func(r sqldb.Reader) error) error {
	return s.d.Read(ctx, func(q Queryer) error { return f(reader{ctx, q}) })
}

func (s shared) Write(ctx context.Context, f func(tx sqldb.Tx) error) error {
	return s.d.Write(ctx, func(tx Tx) error { return f(transaction{reader{ctx, tx}, tx}) })
}

// Now returns the time of the server.
func (s shared) Now(ctx context.Context) (now time.Time, err error) {
	err = s.d.Read(ctx, func(q Queryer) error { return q.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now) })
	return now, err
}

// Scrub does nothing: the server reuses the place of deleted rows when it likes, and its log and
// backups have them until they are deleted themselves.
func (shared) Scrub(context.Context) error { return nil }

type reader struct {
	ctx context.Context //nolint:containedctx // of the call of Read or Write
	q   Queryer
}

func (r reader) Each(each func(row sqldb.Row) error, query string, args ...any) error {
	rows, err := r.q.Query(r.ctx, query, texts(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (r reader) One(query string, args ...any) sqldb.Row {
	return r.q.QueryRow(r.ctx, query, texts(args)...)
}

type transaction struct {
	reader
	tx Tx
}

func (t transaction) Exec(query string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(t.ctx, query, texts(args)...)
	return tag.RowsAffected(), err
}

func (t transaction) Load(table string, columns []string, rows [][]any) error {
	if err := Slow(t.ctx, t.tx); err != nil { // a copy reads the other place before its next rows
		return err
	}
	if err := Copy(t.ctx, t.tx, table, columns, rows); err != nil {
		return err
	}
	if !slices.Contains(columns, "num") {
		return nil
	}
	// Without a sequence this does nothing: setval of NULL is NULL.
	name := pgx.Identifier{table}.Sanitize()
	_, err := t.tx.Exec(t.ctx, "SELECT setval(pg_get_serial_sequence($1, 'num'), greatest(max(num), 1), max(num) IS NOT NULL) FROM "+name, name)
	return err
}

func (t transaction) Lock(name string) error {
	_, err := t.tx.Exec(t.ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, sqldb.Text(name))
	return err
}

// texts returns the arguments with texts that PostgreSQL can have.
func texts(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			arg = sqldb.Text(v.String())
		}
		out[i] = arg
	}
	return out
}
