package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Index is a full-text table (FTS5 without content) that can be rebuilt from the other tables.
type Index struct {
	// Name is the name of the table.
	Name string
	// Create has the statements that make the table, and fill it or mark all rows as not
	// indexed. They run in one transaction.
	Create string
	// From are the tables of its words.
	From []string
	// Column is a column that only the newest form of the table has. Open makes a table without
	// it anew, without a new version of the file: an index has nothing that is not elsewhere.
	// "" is none.
	Column string
}

// shadows are the suffixes of the tables in which FTS5 keeps an index without content.
func (i Index) shadows() []string { return []string{"_data", "_idx", "_docsize", "_config"} }

// repair is the state of an index in this process. The holder of mu may rebuild the index.
type repair struct {
	mu      sync.Mutex
	checked bool
	// made is how often this process has rebuilt the index.
	made int
}

// Indexed runs f, which uses the schema's index. Before the first f it checks the index. If
// f fails with an error that a damaged index can cause, Indexed checks the index again,
// rebuilds it if it is damaged, and runs f once more.
func (d *DB) Indexed(ctx context.Context, f func() error) error {
	made, err := d.checkIndex(ctx)
	if err != nil {
		return err
	}
	if err = f(); !suspect(err) {
		return err
	}
	if err := d.mend(ctx, made, err); err != nil {
		return err
	}
	return f() // even if the index is sound: another process may have rebuilt it
}

// suspect reports whether a damaged index can cause err. The statements are constants, so a
// logic error means that a table has changed. A damaged size can ask for too much memory.
func suspect(err error) bool {
	return Damaged(err) || code(err) == sqlite3.SQLITE_ERROR || code(err) == sqlite3.SQLITE_NOMEM
}

// errUnsound: a check has found damage.
var errUnsound = errors.New("a check found")

// unsound reports whether err, from a check of a table, means damage.
func unsound(err error) bool { return suspect(err) || errors.Is(err, errUnsound) }

// checkIndex checks the index once in a process. made is the count of rebuilds before f.
func (d *DB) checkIndex(ctx context.Context) (made int, err error) {
	d.repair.mu.Lock()
	defer d.repair.mu.Unlock()
	if d.repair.checked {
		return d.repair.made, nil
	}
	err = d.inspect(ctx)
	if unsound(err) {
		err = d.rebuild(ctx, err)
	}
	d.repair.checked = err == nil
	return d.repair.made, err
}

// FromIndex is Indexed for an f that only reads an index that Create leaves empty. It runs
// f once more if the index was rebuilt meanwhile, because f may have seen it empty.
func (d *DB) FromIndex(ctx context.Context, f func() error) error {
	made := 0
	err := d.Indexed(ctx, func() error {
		made = d.made()
		return f()
	})
	if err == nil && d.made() != made {
		err = f()
	}
	return err
}

func (d *DB) made() int {
	d.repair.mu.Lock()
	defer d.repair.mu.Unlock()
	return d.repair.made
}

// mend rebuilds the index if it is damaged. Damage in another table can cause the same
// error and is no reason: only FTS5 returns SQLITE_CORRUPT_VTAB.
func (d *DB) mend(ctx context.Context, made int, cause error) error {
	d.repair.mu.Lock()
	defer d.repair.mu.Unlock()
	if d.repair.made != made {
		return nil
	}
	var e *sqlite.Error
	if !errors.As(cause, &e) || e.Code() != sqlite3.SQLITE_CORRUPT_VTAB {
		found := d.inspect(ctx)
		switch {
		case found == nil:
			return nil
		case !unsound(found):
			return fmt.Errorf("%v, and the search index could not be checked: %w", cause, found)
		}
		cause = found
	}
	return d.rebuild(ctx, cause)
}

// inspected is the largest size of an index, in pages, whose words are checked: 1 MB, in
// about 150 ms. A larger index gets the check of every table, which finds broken pages, in
// about 1 ms a MB.
const inspected = 250

// inspect checks the index. It only reads, and so blocks no writer.
func (d *DB) inspect(ctx context.Context) error {
	if err := d.usable(ctx); err != nil {
		return err
	}
	name := d.schema.Index.Name
	for _, table := range d.schema.Index.shadows() {
		if err := d.sound(ctx, "integrity_check('"+name+table+"')"); err != nil {
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
	return d.sound(ctx, "integrity_check('"+name+"')")
}

// sound makes SQLite check a table, or the file.
func (d *DB) sound(ctx context.Context, pragma string) error {
	var found string
	err := d.read.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&found)
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

// rebuild rebuilds the index and reports that. If the tables of its words are damaged, it
// keeps an index that can still be opened, because a part of it may be of use. An index that
// cannot be opened would block the rest of the file.
func (d *DB) rebuild(ctx context.Context, why error) error {
	source := d.source(ctx)
	switch {
	case source == nil:
	case !unsound(source):
		return fmt.Errorf("the search index is damaged (%v) and could not be made anew: %w", why, source)
	case d.usable(ctx) == nil:
		return fmt.Errorf("the search index is damaged (%v) and stays as it is, because what it is made from is damaged too: %w; %s", why, source, Advice(d.path))
	}
	loose, err := d.recreate(ctx)
	switch {
	case unsound(err):
		return fmt.Errorf("the search index is damaged (%v) and cannot be made anew: %w; %s", why, err, Advice(d.path))
	case err != nil:
		return fmt.Errorf("the search index is damaged (%v) and could not be made anew: %w", why, err)
	}
	d.repair.made++
	if loose && source == nil {
		err = d.w.alone(ctx, func() error { return d.w.patiently(ctx, "VACUUM") })
	}
	rest := source
	if source == nil && err == nil {
		rest = d.sound(ctx, "quick_check")
	}
	d.schema.note(fmt.Sprintf("%s %s: the search index was damaged (%v) and has been made anew; %s", d.schema.Name, d.path, why, d.outcome(rest, err)))
	return nil
}

// errOutdated: an earlier program has made the index.
var errOutdated = errors.New("an earlier program has made the search index")

// current returns errOutdated if the index lacks the newest column.
func (d *DB) current(ctx context.Context) error {
	index := d.schema.Index
	if index.Column == "" {
		return nil
	}
	var n int
	err := d.read.QueryRowContext(ctx, "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", index.Name, index.Column).Scan(&n)
	if err == nil && n == 0 {
		err = errOutdated
	}
	return err
}

// renew replaces an index that an earlier program has made.
func (d *DB) renew(ctx context.Context) error {
	if _, err := d.recreate(ctx); err != nil {
		return fmt.Errorf("%w, and it could not be made anew: %w", errOutdated, err)
	}
	d.repair.made++
	d.schema.note(fmt.Sprintf("%s %s: %v; the next search makes a new one", d.schema.Name, d.path, errOutdated))
	return nil
}

// source reads the tables of the words, and returns an error if they are damaged.
func (d *DB) source(ctx context.Context) error {
	for _, table := range d.schema.Index.From {
		if err := d.sound(ctx, "quick_check('"+table+"')"); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return nil
}

// outcome describes the file after the rebuild: rest is the error of a check of the other
// tables, vacuum why the old index's pages are still in the file.
func (d *DB) outcome(rest, vacuum error) string {
	for _, err := range []error{rest, vacuum} {
		if unsound(err) {
			return fmt.Sprintf("but something else in the file is damaged too (%v); %s", err, Advice(d.path))
		}
	}
	switch {
	case vacuum != nil:
		return fmt.Sprintf("the pages of the old one are still in the file (%v); run `sqlite3 %s VACUUM`", vacuum, quoted(d.path))
	case rest != nil:
		return fmt.Sprintf("the rest of the file could not be checked (%v); run `sqlite3 %s 'PRAGMA quick_check'`", rest, quoted(d.path))
	}
	return "a check of the rest of the file found no damage"
}

// recreate drops the index and creates it. loose reports whether its old pages are still in
// the file, unused.
func (d *DB) recreate(ctx context.Context) (loose bool, err error) {
	index := d.schema.Index
	err = d.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec("DROP TABLE IF EXISTS " + index.Name)
		for _, s := range index.shadows() {
			if err == nil { // the shadow tables remain if the table itself is gone
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

// replace removes an index from the schema that SQLite cannot drop, because it cannot read
// it, and creates it. The old pages stay in the file.
func (w *writer) replace(ctx context.Context, index Index) (err error) {
	names := "'" + index.Name + "'"
	for _, s := range index.shadows() {
		names += ", '" + index.Name + s + "'"
	}
	if err := w.patiently(ctx, "BEGIN IMMEDIATE"); err != nil {
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
