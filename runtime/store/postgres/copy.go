package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/rows"
)

var _ store.Copier = (*Store)(nil)

// selectRows reads a table in the order of all stores.
func selectRows(t rows.Table) string {
	what := "x." + strings.Join(t.Names(), ", x.")
	if t.Of {
		return "SELECT c.id, " + what + " FROM " + t.Name + " x JOIN conversation c ON c.num = x.conversation ORDER BY c.num, " + t.Order
	}
	return "SELECT " + what + " FROM " + t.Name + " x ORDER BY " + t.Order
}

// Rows implements store.Copier.
func (s *Store) Rows(ctx context.Context, each func(store.Row) error) error {
	begun := false
	err := s.db.Snapshot(ctx, func(q pgdb.Queryer) error {
		if begun { // each has had some rows already
			return errors.New("the connection to the database was lost; try again")
		}
		begun = true
		for _, t := range rows.Tables {
			if err := readRows(ctx, q, t, each); err != nil {
				return err
			}
		}
		return nil
	})
	return s.failed("read all", err)
}

func readRows(ctx context.Context, q pgdb.Queryer, t rows.Table, each func(store.Row) error) error {
	found, err := q.Query(ctx, selectRows(t))
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		values, err := found.Values()
		if err != nil {
			return err
		}
		for i, v := range values {
			if values[i], err = rows.Value(v); err != nil {
				return err
			}
		}
		if err := each(store.Row{Table: t.Name, Values: values}); err != nil {
			return err
		}
	}
	return found.Err()
}

// loadAtOnce is how many rows go to the server together.
const loadAtOnce = 1000

// Load implements store.Copier.
func (s *Store) Load(ctx context.Context, from func(context.Context, func(store.Row) error) error) error {
	err := s.db.Write(ctx, func(tx pgdb.Tx) error {
		if err := pgdb.Slow(ctx, tx); err != nil { // it reads the other place between its statements
			return err
		}
		for _, t := range rows.Tables {
			var some bool
			if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+t.Name+")").Scan(&some); err != nil {
				return err
			}
			if some {
				return store.ErrNotEmpty
			}
		}
		l := &loading{tx: tx, numbers: map[string]int64{}}
		err := from(ctx, func(r store.Row) error { return l.add(ctx, r) })
		if err == nil {
			err = l.flush(ctx)
		}
		if err != nil {
			return err
		}
		return l.finish(ctx)
	})
	return s.failed("fill the store", err)
}

// loading is a load that goes on.
type loading struct {
	tx pgdb.Tx
	// numbers are those of conversations by their ids.
	numbers map[string]int64
	table   rows.Table
	values  [][]any
}

func (l *loading) add(ctx context.Context, r store.Row) error {
	if r.Table != l.table.Name || len(l.values) == loadAtOnce {
		if err := l.flush(ctx); err != nil {
			return err
		}
		t, known := rows.ByName(r.Table)
		if !known {
			return fmt.Errorf("there is no table %q", r.Table)
		}
		l.table = t
	}
	values := r.Values
	var first []any
	switch {
	case l.table.Of:
		id, _ := values[0].(string)
		number, known := l.numbers[id]
		if !known {
			return fmt.Errorf("a row of %s is of a conversation that is not there", r.Table)
		}
		first, values = []any{number}, values[1:]
	case l.table.Name == "conversation":
		id, _ := values[0].(string)
		l.numbers[id] = int64(len(l.numbers)) + 1
		first = []any{l.numbers[id]}
	}
	if len(values) != len(l.table.Columns) {
		return fmt.Errorf("a row of %s has %d values, not %d", r.Table, len(values), len(l.table.Columns))
	}
	for i, c := range l.table.Columns {
		v := values[i]
		switch text, isText := v.(string); {
		case c.Kind == rows.Bytes && isText:
			v = []byte(text)
		case c.Kind == rows.Flag:
			v = v != int64(0)
		}
		first = append(first, v)
	}
	if l.table.Name == "entry" {
		first = append(first, int64(0))
	}
	l.values = append(l.values, first)
	return nil
}

func (l *loading) flush(ctx context.Context) error {
	if len(l.values) == 0 {
		return nil
	}
	names := l.table.Names()
	switch {
	case l.table.Of:
		names = append([]string{"conversation"}, names...)
	case l.table.Name == "conversation":
		names = append([]string{"num"}, names...)
	}
	if l.table.Name == "entry" {
		names = append(names, "mark")
	}
	err := pgdb.Copy(ctx, l.tx, l.table.Name, names, l.values)
	l.values = nil
	return err
}

// finish makes the index of words, and later numbers go on behind those that were given.
func (l *loading) finish(ctx context.Context) error {
	for _, table := range []string{"conversation", "job", "reserved"} {
		if _, err := l.tx.Exec(ctx, "SELECT setval(pg_get_serial_sequence('"+table+"', 'num'), greatest(max(num), 1), max(num) IS NOT NULL) FROM "+table); err != nil {
			return err
		}
	}
	all, err := rowsOf(ctx, l.tx, scanBody, "SELECT "+bodyColumns+" FROM conversation c WHERE c.parent = '' ORDER BY c.num")
	if err != nil {
		return err
	}
	for _, b := range all {
		if err := fillIndex(ctx, l.tx, b.num, b); err != nil {
			return err
		}
	}
	return nil
}
