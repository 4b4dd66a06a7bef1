package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/rows"
)

var _ store.Copier = (*Store)(nil)

// numbered are the tables whose num is conversation << 32 | seq.
var numbered = map[string]bool{"message": true, "entry": true, "event": true}

// selectRows reads a table in the order of all stores.
func selectRows(t rows.Table) string {
	names, order := make([]string, len(t.Columns)), t.Order
	for i, c := range t.Columns {
		if names[i] = "x." + c.Name; numbered[t.Name] && c.Name == "seq" {
			names[i] = "x.num & 4294967295"
		}
	}
	what := strings.Join(names, ", ")
	switch {
	case numbered[t.Name]:
		return "SELECT c.id, " + what + " FROM " + t.Name + " x JOIN conversation c ON c.num = x.num >> 32 ORDER BY x.num"
	case t.Of:
		return "SELECT c.id, " + what + " FROM " + t.Name + " x JOIN conversation c ON c.num = x.conversation ORDER BY c.num, " + order
	}
	return "SELECT " + what + " FROM " + t.Name + " x ORDER BY " + order
}

// insertRow adds a row with the values of selectRows.
func insertRow(t rows.Table) string {
	names, values := t.Names(), make([]string, len(t.Columns))
	first := 1
	if t.Of {
		first = 2
	}
	for i := range values {
		values[i] = fmt.Sprintf("?%d", i+first)
		switch {
		case numbered[t.Name] && names[i] == "seq":
			names[i], values[i] = "num", "(SELECT num FROM conversation WHERE id = ?1) << 32 | "+values[i]
		case t.Columns[i].Kind == rows.Bytes || t.Columns[i].Kind == rows.Text:
			values[i] = "CAST(" + values[i] + " AS TEXT)"
		}
	}
	switch {
	case t.Of && !numbered[t.Name]:
		names, values = append(names, "conversation"), append(values, "(SELECT num FROM conversation WHERE id = ?1)")
	case t.Name == "erased": // the numbers of another store mean nothing here
		names, values = append(names, "num"), append(values, "0")
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// Rows implements store.Copier.
func (s *Store) Rows(ctx context.Context, each func(store.Row) error) error {
	tx, err := s.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.failed("read all", err)
	}
	for _, t := range rows.Tables {
		if err := readRows(ctx, tx, t, each); err != nil {
			return errors.Join(s.failed("read all of "+t.Name, err), tx.Rollback())
		}
	}
	return tx.Rollback()
}

func readRows(ctx context.Context, tx *sql.Tx, t rows.Table, each func(store.Row) error) error {
	found, err := tx.QueryContext(ctx, selectRows(t))
	if err != nil {
		return err
	}
	defer found.Close()
	n := len(t.Columns)
	if t.Of {
		n++
	}
	for found.Next() {
		values, at := make([]any, n), make([]any, n)
		for i := range values {
			at[i] = &values[i]
		}
		if err := found.Scan(at...); err != nil {
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

// Load implements store.Copier.
func (s *Store) Load(ctx context.Context, from func(context.Context, func(store.Row) error) error) error {
	err := s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		for _, t := range rows.Tables {
			var some int
			if err := tx.QueryRow("SELECT count(*) FROM (SELECT 1 FROM " + t.Name + " LIMIT 1)").Scan(&some); err != nil {
				return err
			}
			if some > 0 {
				return store.ErrNotEmpty
			}
		}
		inserts := map[string]string{}
		for _, t := range rows.Tables {
			inserts[t.Name] = insertRow(t)
		}
		return from(ctx, func(r store.Row) error {
			insert, known := inserts[r.Table]
			if !known {
				return fmt.Errorf("there is no table %q", r.Table)
			}
			_, err := tx.Exec(insert, r.Values...)
			return err
		})
	})
	return s.failed("fill the store", err)
}
