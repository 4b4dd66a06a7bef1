package statements

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// DB returns the database with its statements watched. Those of a transaction run again in it, up to a savepoint, so that they see what it
// has written.
func (c *Check) DB(name string, db sqldb.DB) sqldb.DB { return watched{db, c, name} }

type watched struct {
	sqldb.DB
	c    *Check
	name string
}

func (w watched) Read(ctx context.Context, f func(r sqldb.Reader) error) error {
	return w.DB.Read(ctx, func(r sqldb.Reader) error {
		again := func(query string, args []any) (int, error) { return touched(r, query, args) }
		return f(reader{r, w, again})
	})
}

func (w watched) Write(ctx context.Context, f func(tx sqldb.Tx) error) error {
	return w.DB.Write(ctx, func(tx sqldb.Tx) error {
		again := func(query string, args []any) (int, error) {
			return takenBack(tx, func() (int, error) { return touched(tx, query, args) })
		}
		return f(transaction{tx, reader{tx, w, again}})
	})
}

// takenBack runs f and undoes it. A row that cannot be made because it is there was found.
func takenBack(tx sqldb.Tx, f func() (int, error)) (int, error) {
	if _, err := tx.Exec("SAVEPOINT again"); err != nil {
		return 0, err
	}
	n, err := f()
	if err != nil && (strings.Contains(err.Error(), "23505") || strings.Contains(err.Error(), "UNIQUE constraint failed")) {
		n, err = 1, nil
	}
	for _, query := range []string{"ROLLBACK TO SAVEPOINT again", "RELEASE SAVEPOINT again"} {
		if _, failed := tx.Exec(query); failed != nil {
			return n, errors.Join(err, failed)
		}
	}
	return n, err
}

type reader struct {
	sqldb.Reader
	w     watched
	again Again
}

func (r reader) Each(each func(row sqldb.Row) error, query string, args ...any) error {
	r.w.c.Watch(r.w.name, query, args, r.again)
	return r.Reader.Each(each, query, args...)
}

func (r reader) One(query string, args ...any) sqldb.Row {
	r.w.c.Watch(r.w.name, query, args, r.again)
	return r.Reader.One(query, args...)
}

type transaction struct {
	sqldb.Tx
	reader reader
}

func (t transaction) Each(each func(row sqldb.Row) error, query string, args ...any) error {
	return t.reader.Each(each, query, args...)
}

func (t transaction) One(query string, args ...any) sqldb.Row { return t.reader.One(query, args...) }

func (t transaction) Exec(query string, args ...any) (int64, error) {
	again := func(query string, args []any) (int, error) {
		return takenBack(t.Tx, func() (int, error) {
			changed, err := t.Tx.Exec(query, args...)
			return int(changed), err
		})
	}
	t.reader.w.c.Watch(t.reader.w.name, query, args, again)
	return t.Tx.Exec(query, args...)
}

// touched returns how many rows a query has.
func touched(r sqldb.Reader, query string, args []any) (n int, err error) {
	err = r.Each(func(row sqldb.Row) error {
		values, err := valuesOf(row)
		if err == nil && Found(values) {
			n++
		}
		return err
	}, query, args...)
	return n, err
}

func valuesOf(row sqldb.Row) ([]any, error) {
	switch row := row.(type) {
	case *sql.Rows:
		columns, err := row.Columns()
		values, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			at[i] = &values[i]
		}
		if err == nil {
			err = row.Scan(at...)
		}
		return values, err
	case interface{ Values() ([]any, error) }:
		return row.Values()
	}
	return nil, fmt.Errorf("a row of the type %T", row)
}

// Found reports whether a row says that there is something: sums, and answers to whether there is something, have a row of zeros.
func Found(values []any) bool {
	return slices.ContainsFunc(values, func(v any) bool {
		switch v := v.(type) {
		case nil:
			return false
		case int64:
			return v != 0
		case int32:
			return v != 0
		case float64:
			return v != 0
		case bool:
			return v
		case string:
			return strings.TrimSpace(v) != "[]"
		}
		return true
	})
}
