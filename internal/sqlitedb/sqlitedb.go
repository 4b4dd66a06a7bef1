// Package sqlitedb opens SQLite files for Grapnel's stores: in write-ahead mode, synced at
// every commit, readable by their owner alone, with an upgraded schema. It refuses files of
// other programs. It does not know the tables.
package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrForeign: the file is no database, or the database of another program.
	ErrForeign = errors.New("not a file of this kind")
	// ErrNewer: a newer program has written the file.
	ErrNewer = errors.New("the file has a newer schema")
	// ErrLost: the file has lost its data.
	ErrLost = errors.New("its data is gone")

	errOther = fmt.Errorf("%w: it is the database of something else; name another one", ErrForeign)
)

// readers is the number of reading connections, in addition to the writing one.
const readers = 4

// Schema is the kind of a file.
type Schema struct {
	// Name names the kind of file in errors: "conversation store".
	Name string
	// ID marks the files (PRAGMA application_id), so that kinds are not mixed up. Not 0.
	ID int32
	// Steps are SQL scripts: step i upgrades a file from version i to i+1. The version is
	// PRAGMA user_version. Released steps are never changed.
	Steps []string
	// Secure: overwrite deleted data in the file. Scrub removes it from the log, too.
	Secure bool
	// Shrinks: DB.Shrink can make the file smaller. An older file has to be rewritten for it: see
	// Vacuum. In such a file a new table takes the page behind those of the other tables: if
	// just that page is damaged, a lost index cannot be made anew.
	Shrinks bool
	// Vacuum is the first version without deleted data in the file: an older file is
	// rewritten before its steps. 0 is none.
	Vacuum int
	// Index is the index of Indexed; the zero value is none.
	Index Index
	// Note is called with a sentence for people that is no error. Nil drops it.
	Note func(text string)
}

func (s Schema) note(text string) {
	if s.Note != nil {
		s.Note(text)
	}
}

// DB is an open file: one connection that writes and a few that only read. It is
// safe for concurrent use.
type DB struct {
	w      *writer
	read   *sql.DB
	path   string
	schema Schema
	repair repair
}

// Open opens the file and upgrades its schema. It makes a missing file with mode 0600, and
// missing directories with 0700. It waits while another process does the same. Close closes
// the file.
//
// Open follows links. It returns an error for a file of another program or of a newer one,
// for a damaged file, and for one that was emptied. It leaves such a file and its log as
// they are, except that it plays back a journal that a power cut has left next to the log.
// It rebuilds an index that cannot be opened.
func Open(ctx context.Context, path string, s Schema) (*DB, error) {
	db, err := open(ctx, path, s)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.Name, path, err)
	}
	return db, nil
}

// open checks the file before it opens it for writing, so that a refused file stays as it
// is.
func open(ctx context.Context, path string, s Schema) (*DB, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	gone, err := checkLost(file)
	if err != nil {
		return nil, err
	}
	if gone {
		s.note(fmt.Sprintf("%s %s is not there any more; a new one is made, and nothing of what it held is in it", s.Name, path))
		if err := unhold(file); err != nil {
			return nil, err
		}
	}
	if err := checkHeader(file, s.ID); err != nil {
		return nil, err
	}
	if err := create(file, syncDir); err != nil {
		return nil, err
	}
	db, err := pools(file, s)
	if err != nil {
		return nil, err
	}
	if err := db.ready(ctx); err != nil {
		return nil, errors.Join(err, db.abandon())
	}
	return db, nil
}

// pools prepares the connections; each is made at its first use. Opening or closing a
// writing connection can change the file; a reading one cannot.
func pools(file string, s Schema) (*DB, error) {
	params := "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	if s.Shrinks { // before the switch to write-ahead mode, which writes the first page
		params = "_pragma=auto_vacuum(INCREMENTAL)&" + params
	}
	if s.Secure {
		params += "&_pragma=secure_delete(1)"
	}
	pool, err := connect(file, busySlice, params, 1)
	if err != nil {
		return nil, err
	}
	read, err := connect(file, busyTimeout, "mode=ro", readers)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	w := &writer{pool: pool, baton: make(chan struct{}, 1), known: map[string]*sql.Stmt{}}
	return &DB{w: w, read: read, path: file, schema: s}, nil
}

func connect(file string, busy time.Duration, params string, most int) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(file)}
	u.RawQuery = fmt.Sprintf("_busy_timeout=%d&_foreign_keys=1&_dqs=0&%s", busy.Milliseconds(), params)
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// ready prepares the database, and marks that it holds data.
func (d *DB) ready(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := hold(d.path); err != nil {
		return err
	}
	if d.schema.Index.Name == "" {
		return nil
	}
	d.repair.mu.Lock()
	defer d.repair.mu.Unlock()
	err := d.usable(ctx)
	if suspect(err) {
		return d.rebuild(ctx, err)
	}
	if err == nil {
		err = d.current(ctx)
	}
	if errors.Is(err, errOutdated) {
		err = d.renew(ctx)
	}
	return err
}

// prepare checks the file and migrates it. The switch to write-ahead mode does not wait for
// other processes by itself, so prepare retries it.
func (d *DB) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		err := d.look(ctx)
		if err == nil {
			err = d.vacuum(ctx)
		}
		if err == nil {
			err = d.Write(ctx, func(tx *Tx) error { return d.migrate(ctx, tx.w.conn) })
		}
		if code(err) != sqlite3.SQLITE_BUSY {
			return d.explained(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process holds it: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// explained adds to an error why the file cannot be opened, and what to do.
func (d *DB) explained(err error) error {
	switch c := code(err); {
	case c == sqlite3.SQLITE_NOTADB:
		return noDatabase(d.path)
	case Damaged(err):
		return fmt.Errorf("%w; the file is damaged; %s", err, unchanged(d.path))
	case c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w; this user has to be able to read and write the file and its directory", err)
	}
	return err
}

// look checks a file that has a log, without a writing connection, which would copy the log
// into the file at its close. checkHeader has checked any other file.
func (d *DB) look(ctx context.Context) error {
	log, _, err := sizeOf(d.path + "-wal")
	if err != nil || log == 0 {
		return err
	}
	_, err = d.judge(ctx, d.read)
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK {
		// A power cut has left a journal; only a writing connection plays it back.
		return checkFile(d.path, d.schema.ID)
	}
	return err
}

// vacuum rewrites a file of an older version, without deleted data.
func (d *DB) vacuum(ctx context.Context) error {
	if d.schema.Vacuum == 0 {
		return nil
	}
	return d.w.alone(ctx, func() error {
		version, err := d.judge(ctx, d.w.conn)
		if err != nil || version == 0 || version >= d.schema.Vacuum {
			return err
		}
		return d.w.exec("VACUUM")
	})
}

// code returns the primary result code of an SQLite error, 0 for any other.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// Damaged reports whether err means that a disk or another program has changed or cut off
// the file. It is false for nil.
func Damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ
}

// queryer is a connection, or several.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// judge returns the version of the file, 0 if it is new, or why it cannot be used.
func (d *DB) judge(ctx context.Context, q queryer) (version int, err error) {
	s := d.schema
	wasHeld, err := held(d.path) // first: another process may be about to make the tables
	if err != nil {
		return 0, err
	}
	var id int32
	var tables int
	row := q.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&id, &version, &tables); err != nil {
		return 0, err
	}
	switch {
	case foreign(id, tables, s.ID):
		return 0, errOther
	case id == 0 && wasHeld:
		return 0, fmt.Errorf("%w: the file has no tables, and had; %s", ErrLost, unchanged(d.path))
	case id == 0:
		return 0, nil
	case version > len(s.Steps):
		return 0, fmt.Errorf("%w: version %d, this program knows %d; use the newer program, or name another file", ErrNewer, version, len(s.Steps))
	}
	return version, nil
}

// migrate checks the file again, now that no other process can change it, and upgrades it.
func (d *DB) migrate(ctx context.Context, tx *sql.Conn) error {
	s := d.schema
	version, err := d.judge(ctx, tx)
	if err != nil || version == len(s.Steps) {
		return err
	}
	for i := version; i < len(s.Steps); i++ {
		if _, err := tx.ExecContext(ctx, s.Steps[i]); err != nil {
			return fmt.Errorf("schema step %d: %w", i+1, err)
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", s.ID, len(s.Steps)))
	return err
}

// Read returns the reading connections. They see committed data and cannot write.
func (d *DB) Read() *sql.DB { return d.read }

// Close closes the file; calls in flight end first. A second Close does nothing. The
// writing connection closes last: it copies the log into the file and removes it.
func (d *DB) Close() error {
	return errors.Join(d.read.Close(), d.w.close())
}

// abandon closes a file that cannot be used. The reading connections close last, so that
// the log stays.
func (d *DB) abandon() error {
	return errors.Join(d.w.close(), d.read.Close())
}

// Full reports whether err means that the file system has no room, or the user's quota is used up.
func Full(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE) {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
