package sqlitedb

import (
	"context"
	"os"
	"strconv"
)

// shrinkPages is how many free pages one step of Shrink gives back. Writers wait for one step.
const shrinkPages = 1000

// Shrink gives the free pages of the file back to the file system, in steps, and empties the log
// as Scrub does. freed is by how many bytes the two became smaller; never less than 0. Only a file
// whose Schema has Shrinks loses pages. It stops when ctx ends, and may be called again.
func (d *DB) Shrink(ctx context.Context) (freed int64, err error) {
	before, err := d.bytes()
	if err != nil {
		return 0, err
	}
	for left, last := 1, 0; left > 0 && left != last; {
		last = left
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err := d.w.alone(ctx, func() error {
			if err := d.w.free(ctx, shrinkPages); err != nil {
				return err
			}
			return d.w.conn.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&left)
		})
		if err != nil {
			return 0, err
		}
	}
	if err := d.Scrub(ctx); err != nil {
		return 0, err
	}
	after, err := d.bytes()
	return max(0, before-after), err
}

// free gives up to n pages back. The pragma does one page for each row that is read.
func (w *writer) free(ctx context.Context, n int) error {
	if err := w.patiently(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var err error
	rows, err := w.conn.QueryContext(ctx, "PRAGMA incremental_vacuum("+strconv.Itoa(n)+")")
	if err == nil {
		for rows.Next() {
		}
		if err = rows.Err(); err == nil {
			err = rows.Close()
		}
	}
	if err != nil {
		_ = w.exec("ROLLBACK") // fails if SQLite has done it
		return err
	}
	return w.exec("COMMIT")
}

func (d *DB) bytes() (int64, error) {
	var sum int64
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(d.path + suffix)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}
