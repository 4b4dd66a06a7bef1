package sqlitedb

import (
	"encoding/binary"
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

// held reports whether the database at path has held data.
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
		_, err = held(path)
		return err
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// unhold notes that the database is to begin anew. It is called before the new file is
// there: an empty file beside the note is one that has lost its data.
func unhold(path string) error {
	err := os.Remove(path + heldSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkLost returns an error if the file is gone or empty and has held data: SQLite
// would begin anew, and delete the log. Who deletes the file with its log wants that;
// then gone is true.
func checkLost(path string) (gone bool, err error) {
	for {
		size, there, err := sizeOf(path)
		if err != nil || size > 0 {
			return false, err
		}
		wasHeld, err := held(path)
		if err != nil {
			return false, err
		}
		log, _, err := sizeOf(path + "-wal")
		if err != nil {
			return false, err
		}
		now, still, err := sizeOf(path)
		if err != nil || now > 0 {
			return false, err
		}
		if still == there { // otherwise another process makes it at this moment
			return wasHeld && !there, lost(path, there, wasHeld, log > 0)
		}
	}
}

// lost says why a file that is gone or empty cannot be made anew, if it cannot.
func lost(path string, there, wasHeld, log bool) error {
	switch {
	case log && !there:
		return fmt.Errorf("%w: the file is not there any more, but its log %s-wal is; %s", ErrLost, path, unchanged(path))
	case log:
		return fmt.Errorf("%w: the file is empty, but its log %s-wal is not; %s", ErrLost, path, unchanged(path))
	case there && wasHeld:
		return fmt.Errorf("%w: the file is empty and was not; %s", ErrLost, unchanged(path))
	}
	return nil
}

// A file begins with the magic; the application id and the first page's kind and number of
// cells stand behind it (https://www.sqlite.org/fileformat.html, 1.3 and 1.6).
const (
	magic      = "SQLite format 3\x00"
	atID       = 68
	atKind     = 100
	atCells    = 103
	headerSize = 108
	leaf       = 0x0d
)

// foreign reports whether a file is the database of something else. One without tables
// that nothing has marked is nobody's.
func foreign(id int32, tables int, want int32) bool { return id != want && (id != 0 || tables > 0) }

// checkHeader returns an error if the file holds something and is not a database of that
// id: SQLite takes a file of a few bytes for empty, and a connection that writes changes
// any database. What a log or a journal will be written over is SQLite's to judge.
func checkHeader(path string, want int32) error {
	log, _, err := sizeOf(path + "-wal")
	if err != nil || log > 0 {
		return err
	}
	return checkFile(path, want)
}

// checkFile is checkHeader whether there is a log or not.
func checkFile(path string, want int32) error {
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
	begins := make([]byte, headerSize)
	n, err := io.ReadFull(f, begins)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if n < headerSize || string(begins[:len(magic)]) != magic {
		if journal, _, err := sizeOf(path + "-journal"); err != nil || journal > 0 {
			return err
		}
		return noDatabase(path)
	}
	tables := int(binary.BigEndian.Uint16(begins[atCells:]))
	if begins[atKind] != leaf {
		tables++ // pages of them
	}
	if foreign(int32(binary.BigEndian.Uint32(begins[atID:])), tables, want) { //nolint:gosec // it is a signed number
		return errOther
	}
	return nil
}

func noDatabase(path string) error {
	wasHeld, err := held(path)
	switch {
	case err != nil:
		return err
	case wasHeld:
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
		path, quoted(path))
}

// quoted is the path as a shell takes it.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
