package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"
)

// Index is a full-text table (FTS5 without content) that can be made anew from the other tables.
type Index struct {
	// Name is the name of the table.
	Name string
	// Create are the statements that make the table, and fill it or mark everything as
	// not yet in it. They run in one transaction.
	Create string
}

// shadows are the suffixes of the tables in which FTS5 keeps an index without content.
func (i Index) shadows() []string { return []string{"_data", "_idx", "_docsize", "_config"} }

// repair is the state of an index in this process.
type repair struct {
	mu               sync.Mutex
	checked, rebuilt bool
}

// Indexed runs f, which uses the index of the schema. Before the first f the index is
// checked. If it is damaged, or if f fails as it does over a damaged one, the index is
// made anew and f runs once more. That happens once in a process: what fails again is
// damaged elsewhere.
func (d *DB) Indexed(ctx context.Context, f func() error) error {
	if err := d.checkIndex(ctx); err != nil {
		return err
	}
	err := f()
	if !suspect(err) {
		return err
	}
	if again, rebuildErr := d.rebuildOnce(ctx, err); !again {
		return errors.Join(err, rebuildErr)
	}
	return f()
}

// suspect reports whether a damaged index can be the cause of err. The statements are
// constants, so a logic error says that a table is not what it was.
func suspect(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_ERROR
}

func (d *DB) checkIndex(ctx context.Context) error {
	d.repair.mu.Lock()
	defer d.repair.mu.Unlock()
	if d.repair.checked {
		return nil
	}
	err := d.inspect(ctx)
	if suspect(err) || errors.Is(err, errUnsound) {
		err = d.rebuild(ctx, err)
	}
	d.repair.checked = err == nil
	return err
}

// rebuildOnce makes the index anew unless this process has done so.
func (d *DB) rebuildOnce(ctx context.Context, why error) (again bool, err error) {
	d.repair.mu.Lock()
	defer d.repair.mu.Unlock()
	if d.repair.rebuilt {
		return false, nil
	}
	err = d.rebuild(ctx, why)
	return err == nil, err
}

// errUnsound: a check has found something.
var errUnsound = errors.New("the check of the index found")

// inspected is the number of pages up to which the words themselves are read when an
// index is checked: 1 MB, which takes some 150 ms. A larger one is checked as every table
// is, which finds pages that are no pages, in 1 ms a MB or so.
const inspected = 250

// inspect checks the index. Nobody waits for that: it only reads.
func (d *DB) inspect(ctx context.Context) error {
	if err := d.usable(ctx); err != nil {
		return err
	}
	name := d.schema.Index.Name
	for _, table := range d.schema.Index.shadows() {
		if err := d.sound(ctx, name+table); err != nil {
			return err
		}
	}
	var size int
	var lost bool
	// Rows 1 and 10 of the data say how many words there are and where; the words are
	// behind them. The check of FTS5 starts from what leads to them.
	err := d.read.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM "+name+"_data), EXISTS (SELECT 1 FROM "+name+"_data WHERE id > 10) "+
		"AND NOT EXISTS (SELECT 1 FROM "+name+"_idx)").Scan(&size, &lost)
	switch {
	case err != nil:
		return err
	case lost:
		return fmt.Errorf("%w: words that nothing leads to", errUnsound)
	case size > inspected:
		return nil
	}
	return d.sound(ctx, name)
}

// sound lets SQLite check a table.
func (d *DB) sound(ctx context.Context, table string) error {
	var found string
	err := d.read.QueryRowContext(ctx, "PRAGMA integrity_check('"+table+"')").Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", errUnsound, found)
	}
	return err
}

// usable returns an error if the index cannot even be opened.
func (d *DB) usable(ctx context.Context) error {
	name := d.schema.Index.Name
	rows, err := d.read.QueryContext(ctx, "SELECT rowid FROM "+name+" WHERE "+name+` MATCH '"x"' LIMIT 1`)
	if err != nil {
		return err
	}
	rows.Next()
	return errors.Join(rows.Err(), rows.Close())
}

// rebuild makes the index anew and tells of it.
func (d *DB) rebuild(ctx context.Context, why error) error {
	d.repair.rebuilt = true
	loose, err := d.recreate(ctx)
	if err != nil {
		return fmt.Errorf("the search index is damaged (%w) and cannot be made anew: %w; %s", why, err, Advice(d.path))
	}
	rest := "nothing is lost"
	if loose {
		if err := d.w.alone(ctx, func() error { return d.w.exec("VACUUM") }); err != nil {
			rest = fmt.Sprintf("but something else in the file is damaged too (%v); %s", err, Advice(d.path))
		}
	}
	d.schema.note(fmt.Sprintf("%s %s: the search index was damaged (%v) and has been made anew; %s", d.schema.Name, d.path, why, rest))
	return nil
}

// recreate drops the index and creates it. loose reports whether its old pages are
// still in the file, in use by nothing.
func (d *DB) recreate(ctx context.Context) (loose bool, err error) {
	index := d.schema.Index
	err = d.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec("DROP TABLE IF EXISTS " + index.Name)
		for _, s := range index.shadows() {
			if err == nil { // left behind where the table itself was gone
				_, err = tx.Exec("DROP TABLE IF EXISTS " + index.Name + s)
			}
		}
		if err == nil {
			err = tx.w.script(index.Create)
		}
		return err
	})
	if !suspect(err) {
		return false, err
	}
	return true, d.w.alone(ctx, func() error { return d.w.replace(ctx, index) })
}

// script runs statements that are not kept prepared.
func (w *writer) script(statements string) error {
	_, err := w.conn.ExecContext(context.Background(), statements)
	return err
}

// replace takes an index out of the schema that cannot be dropped, because SQLite
// cannot read it, and creates it. Its pages are left behind.
func (w *writer) replace(ctx context.Context, index Index) (err error) {
	names := "'" + index.Name + "'"
	for _, s := range index.shadows() {
		names += ", '" + index.Name + s + "'"
	}
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = w.script("ROLLBACK; PRAGMA writable_schema = RESET")
		}
	}()
	return w.script("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE tbl_name IN (" + names + ");" +
		"PRAGMA writable_schema = RESET;" + index.Create + "; COMMIT")
}
