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

// heldSuffix is the suffix of the marker file next to a database that has held data. It is
// empty, and made once the schema is committed. Without it, a database that was emptied
// looks like one that a killed program never wrote.
const heldSuffix = "-held"

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

// unhold removes the marker file, for a new database. Call it before the new file exists:
// an empty file with the marker counts as one that lost its data.
func unhold(path string) error {
	err := os.Remove(path + heldSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkLost returns an error if the file is missing or empty and has held data: SQLite
// would make a new one, and delete the log. If a person has deleted the file with its log,
// gone is true instead.
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
		if still == there { // else another process is making it now
			return wasHeld && !there, lost(path, there, wasHeld, log > 0)
		}
	}
}

// lost returns why a missing or empty file cannot be made anew; nil if it can.
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

// foreign reports whether a file is a database of another program. An unmarked one without
// tables is not.
func foreign(id int32, tables int, want int32) bool { return id != want && (id != 0 || tables > 0) }

// checkHeader returns an error if the file is not empty and not a database of that id.
// SQLite takes a file of a few bytes for empty, and a writing connection changes any
// database. If there is a log or a journal, SQLite itself checks the file.
func checkHeader(path string, want int32) error {
	log, _, err := sizeOf(path + "-wal")
	if err != nil || log > 0 {
		return err
	}
	return checkFile(path, want)
}

// checkFile is checkHeader, also if there is a log.
func checkFile(path string, want int32) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err // create explains it
	}
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // SQLite fails for the same reason, with a better error
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

// Advice says what a person can do about a damaged file.
func Advice(path string) string {
	return fmt.Sprintf("to go on with a backup, put it in the place of %[1]s and delete %[1]s-wal and %[1]s-shm; "+
		"to save what can be read, run `sqlite3 %[2]s .recover | sqlite3 new.db`; to begin anew, move all files %[1]s* away",
		path, quoted(path))
}

func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
