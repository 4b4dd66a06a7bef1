package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Table is a table that Rows and Load copy.
type Table struct {
	Name    string
	Columns []Column
	// Order are the columns that order the rows: those of the primary key.
	Order string
}

// Column is a column of a Table.
type Column struct {
	Name string
	// Real: it has floating-point numbers.
	Real bool
	// JSON: it has JSON, or an empty text.
	JSON bool
}

// Columns returns the columns of these names, which blanks separate. Behind a name may be its kind:
// ":real" or ":json".
func Columns(names string) (out []Column) {
	for word := range strings.FieldsSeq(names) {
		name, kind, _ := strings.Cut(word, ":")
		out = append(out, Column{name, kind == "real", kind == "json"})
	}
	return out
}

// Damaged returns a sentence for each row with a column that has to be JSON and is none. It names the row by
// its first column.
func Damaged(ctx context.Context, db DB, tables []Table) (out []string, err error) {
	err = Rows(ctx, db, tables, func(table string, values []any) error {
		t, err := named(tables, table)
		if err != nil {
			return err
		}
		for i, c := range t.Columns {
			if text, isText := values[i].(string); c.JSON && isText && text != "" && !json.Valid([]byte(text)) {
				out = append(out, fmt.Sprintf("%s %v: %s is no JSON", table, values[0], c.Name))
			}
		}
		return nil
	})
	return out, err
}

// Each is called with each row of a table, in the order of its columns. A value is an int64 or a string:
// a floating-point number is its shortest decimal text, and a text is UTF-8 without NUL. An error ends
// the reading.
type Each func(table string, values []any) error

// ErrNotEmpty: a table that Load was to fill has rows.
var ErrNotEmpty = errors.New("there is something already where the copy is to go")

// Rows calls each with all rows of the tables, always in the same order. Nothing else may write
// meanwhile.
func Rows(ctx context.Context, db DB, tables []Table, each Each) error {
	begun := false
	return db.Read(ctx, func(r Reader) error {
		if begun { // each has had some rows already
			return errors.New("the connection to the database was lost; try again")
		}
		begun = true
		for _, t := range tables {
			if err := t.read(r, each); err != nil {
				return fmt.Errorf("read all of %s: %w", t.Name, err)
			}
		}
		return nil
	})
}

func (t Table) names() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Name
	}
	return out
}

func (t Table) read(r Reader, each Each) error {
	return r.Each(func(row Row) error {
		values, at := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i := range values {
			at[i] = &values[i]
		}
		if err := row.Scan(at...); err != nil {
			return err
		}
		for i, v := range values {
			switch v := v.(type) {
			case int64:
			case int32:
				values[i] = int64(v)
			case float64:
				values[i] = strconv.FormatFloat(v, 'g', -1, 64)
			case string:
				values[i] = Text(v)
			default:
				return fmt.Errorf("the column %s has a value of the type %T", t.Columns[i].Name, v)
			}
		}
		return each(t.Name, values)
	}, "SELECT "+strings.Join(t.names(), ", ")+" FROM "+t.Name+" ORDER BY "+t.Order+AnyTenant)
}

// Text returns the text as PostgreSQL can have it: what is not UTF-8, and NUL, become U+FFFD.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// loadAtOnce is how many rows go to the database together.
const loadAtOnce = 1000

// Load fills the tables, which have to be empty (ErrNotEmpty), with the rows that from calls its argument
// with: those of Rows, in their order.
func Load(ctx context.Context, tx Tx, tables []Table, from func(ctx context.Context, each Each) error) error {
	for _, t := range tables {
		var some int64
		if err := tx.One("SELECT count(*) FROM (SELECT 1 FROM " + t.Name + " LIMIT 1) AS found" + AnyTenant).Scan(&some); err != nil {
			return err
		}
		if some > 0 {
			return fmt.Errorf("%w: rows of %s", ErrNotEmpty, t.Name)
		}
	}
	var of Table
	var rows [][]any
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := tx.Load(of.Name, of.names(), rows)
		rows = nil
		return err
	}
	err := from(ctx, func(table string, values []any) error {
		if table != of.Name || len(rows) == loadAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
		if table != of.Name {
			var err error
			if of, err = named(tables, table); err != nil {
				return err
			}
		}
		row, err := of.stored(values)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return err
	}
	return flush()
}

func named(tables []Table, name string) (Table, error) {
	for _, t := range tables {
		if t.Name == name {
			return t, nil
		}
	}
	return Table{}, fmt.Errorf("there is no table %q", name)
}

// stored returns the values as the columns have them.
func (t Table) stored(values []any) ([]any, error) {
	if len(values) != len(t.Columns) {
		return nil, fmt.Errorf("a row of %s has %d values, not %d", t.Name, len(values), len(t.Columns))
	}
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
		if text, isText := v.(string); isText && t.Columns[i].Real {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("the column %s of %s: %w", t.Columns[i].Name, t.Name, err)
			}
			out[i] = n
		}
	}
	return out, nil
}
