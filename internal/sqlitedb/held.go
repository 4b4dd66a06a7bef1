package sqlitedb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// heldSuffix names the file beside a database that says that the database has held
// data. It is empty, and there once the schema has been committed. Without it nobody
// could tell a database that was emptied from one that a killed program never wrote.
const heldSuffix = "-held"

// held reports whether the database at path has held data. It is asked before anything
// else about the file: another process may be making it.
func held(path string) (bool, error) {
	info, err := os.Lstat(path + heldSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: %s%s is no regular file, and this program made none there; look at it and move it away", ErrForeign, path, heldSuffix)
	}
	return err == nil, err
}

// hold notes that the database holds data.
func hold(path string) error {
	f, err := os.OpenFile(path+heldSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// checkLost returns an error if the file is gone or empty and has held data: SQLite
// would begin anew, and delete the log. Who deletes the file with its log wants that;
// then gone is true.
func checkLost(path string, wasHeld bool) (gone bool, err error) {
	size, there, err := sizeOf(path)
	if err != nil || size > 0 {
		return false, err
	}
	log, _, err := sizeOf(path + "-wal")
	switch {
	case err != nil:
		return false, err
	case log > 0 && !there:
		return false, fmt.Errorf("%w: the file is not there any more, but its log %s-wal is; %s", ErrLost, path, unchanged(path))
	case log > 0:
		return false, fmt.Errorf("%w: the file is empty, but its log %s-wal is not; %s", ErrLost, path, unchanged(path))
	case there && wasHeld:
		return false, fmt.Errorf("%w: the file is empty and was not; %s", ErrLost, unchanged(path))
	}
	return wasHeld, nil
}

// magic is how every SQLite file begins (https://www.sqlite.org/fileformat.html, 1.3.1).
const magic = "SQLite format 3\x00"

// checkHeader returns an error if the file holds something and does not begin as a
// database does: SQLite takes one of a few bytes for empty, and writes to it. What a log
// or a journal will be written over is SQLite's to judge.
func checkHeader(path string, wasHeld bool) error {
	for _, suffix := range []string{"-wal", "-journal"} {
		if size, _, err := sizeOf(path + suffix); err != nil || size > 0 {
			return err
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err // create says what it is
	}
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // SQLite fails for the same reason, and says what is needed
	}
	defer f.Close() //nolint:errcheck // it was only read
	begins := make([]byte, len(magic))
	n, err := io.ReadFull(f, begins)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if string(begins[:n]) != magic {
		return noDatabase(path, wasHeld)
	}
	return nil
}

func noDatabase(path string, wasHeld bool) error {
	if wasHeld {
		return fmt.Errorf("%w: the file is no SQLite database, and was one; %s", ErrLost, unchanged(path))
	}
	return fmt.Errorf("%w: it is no SQLite database; move it away or name another one", ErrForeign)
}

// sizeOf returns the size of a file, 0 where there is none.
func sizeOf(path string) (size int64, there bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

func unchanged(path string) string { return "nothing was changed: " + Advice(path) }

// Advice says what a person can do about a file that is damaged.
func Advice(path string) string {
	return fmt.Sprintf("to go on with a backup, put it in the place of %[1]s and delete %[1]s-wal and %[1]s-shm; "+
		"to save what can be read, run `sqlite3 %[2]s .recover | sqlite3 new.db`; to begin anew, move all files %[1]s* away",
		path, "'"+strings.ReplaceAll(path, "'", `'\''`)+"'")
}
