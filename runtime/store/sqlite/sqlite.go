// Package sqlite keeps conversations in one SQLite file. An append that has returned is on
// disk, and survives a kill of the process and a loss of power. Several processes may use
// one file at the same time: the holder of the lease may write to a conversation, and a
// write with an old epoch or version changes nothing.
//
// A write waits only for the disk. A search indexes the new messages first, 500 in a
// transaction.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/sentinel"
)

//go:embed schema/1.sql
var schema1 string

//go:embed schema/2.sql
var schema2 string

//go:embed schema/3.sql
var schema3 string

//go:embed schema/4.sql
var schema4 string

//go:embed schema/5.sql
var schema5 string

//go:embed schema/6.sql
var schema6 string

//go:embed schema/7.sql
var schema7 string

//go:embed schema/8.sql
var schema8 string

//go:embed schema/index.sql
var makeIndex string

// fileID marks the files: "GRAc".
const fileID = 0x47524163

// Options of a Store; nil is all zero values.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID returns the id of a new conversation, unique in the file; nil makes
	// ULIDs, which sort by time.
	NewID func() string
	// Note is called with a sentence about each repaired or lost part of the file. Nil
	// drops them.
	Note func(text string)
}

// Store is an open file. It is safe for concurrent use.
type Store struct {
	db *sqlitedb.DB
	// reads has the prepared read statements.
	reads  map[string]*sql.Stmt
	now    func() time.Time
	newID  func() string
	closed atomic.Bool
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Compacter = (*Store)(nil)
	_ store.Forker    = (*Store)(nil)
	_ store.Adopter   = (*Store)(nil)
	_ store.Child     = (*Store)(nil)
	_ store.Log       = (*Store)(nil)
	_ store.Porter    = (*Store)(nil)
	_ store.Searcher  = (*Store)(nil)
	_ store.States    = (*Store)(nil)
	_ store.Titles    = (*Store)(nil)
)

// Open opens the file, or makes it: the file with mode 0600, directories with 0700. The
// path is a path of the file system, not a URI; for ":memory:" use package mem. Open
// upgrades an older schema. It returns an error, and changes nothing, if the file has other
// content, comes from a newer program, is damaged, or was emptied. It rebuilds a damaged
// index of words. Close closes the store.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Schema{
		Name: "conversation store", ID: fileID, Steps: []string{schema1, schema2, schema3, schema4, schema5, schema6, schema7, schema8},
		Secure: true, Shrinks: true, Vacuum: 8,
		Index: sqlitedb.Index{Name: "word", Create: makeIndex, From: []string{"conversation", "message", "archive"}, Column: "summary"}, Note: o.Note,
	})
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, reads: map[string]*sql.Stmt{}, now: time.Now, newID: func() string { return ulid.Make().String() }}
	for _, query := range reads() {
		if s.reads[query], err = db.Read().PrepareContext(ctx, query); err != nil {
			delete(s.reads, query)
			return nil, errors.Join(err, s.Close())
		}
	}
	if o.Now != nil {
		s.now = o.Now
	}
	if o.NewID != nil {
		s.newID = o.NewID
	}
	return s, nil
}

func reads() []string {
	return []string{
		byKey, byID, byNumber, firstMessage, listed, children, liveMessages, archivedMessages, openJournal, eventsAfter, keptStates,
		unindexed, newArchived, newLive, liveSummary, findWords, archivedAt, around, oldAround,
	}
}

// Close closes the file once the calls in flight have ended. Later calls fail with
// store.ErrClosed; a second Close does nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	var errs []error
	for _, stmt := range s.reads {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// failed adds the action to an error. It returns store.ErrClosed if that is the cause.
func (s *Store) failed(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load():
		return store.ErrClosed
	case sentinel.Is(err):
		return err
	}
	if sqlitedb.Full(err) {
		err = fmt.Errorf("%w (%w)", store.ErrFull, err)
	}
	return fmt.Errorf("conversation store: %s: %w", what, err)
}

const columns = `id, project, agent, sender, parent, version, turns, created, updated, owner, epoch, until, entries, events`

// scan reads the columns of a record, and more columns behind them.
func scan(row interface{ Scan(dest ...any) error }, more ...any) (store.Record, error) {
	var r store.Record
	var created, updated, until, entries int64
	err := row.Scan(append([]any{&r.ID, &r.Key.Project, &r.Key.Agent, &r.Key.Sender, &r.Parent, &r.Version, &r.Turns, &created, &updated,
		&r.Lease.Owner, &r.Lease.Epoch, &until, &entries, &r.Events}, more...)...)
	r.Created, r.Updated, r.Journaled = time.Unix(0, created), time.Unix(0, updated), entries > 0
	if until != 0 {
		r.Lease.Until = time.Unix(0, until)
	}
	return r, err
}

// Conversation implements store.Reader.
func (s *Store) Conversation(ctx context.Context, key store.Key) (store.Record, error) {
	rec, err := s.find(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.create(ctx, key, ""); err == nil {
			rec, err = s.find(ctx, key)
		}
	}
	return rec, s.failed("find or begin a conversation", err)
}

const (
	byKey = `SELECT ` + columns + ` FROM conversation WHERE project = ? AND agent = ? AND sender = ?`
	byID  = `SELECT ` + columns + ` FROM conversation WHERE id = ?`
)

func (s *Store) find(ctx context.Context, key store.Key) (store.Record, error) {
	return scan(s.reads[byKey].QueryRowContext(ctx, key.Project, key.Agent, key.Sender))
}

func unknown(id string) error { return fmt.Errorf("%w: %q", store.ErrUnknown, id) }

func (s *Store) create(ctx context.Context, key store.Key, parent string) error {
	if err := key.Check(); err != nil {
		return err
	}
	now := s.now().UnixNano()
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if parent != "" { // it may have been deleted meanwhile
			if _, err := scan(tx.QueryRow(byID, parent)); errors.Is(err, sql.ErrNoRows) {
				return unknown(parent)
			}
		}
		_, err := tx.Exec(`INSERT INTO conversation (num, id, project, agent, sender, parent, created, updated)
			VALUES (`+nextNumber+`, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, agent, sender) DO NOTHING`, s.newID(), key.Project, key.Agent, key.Sender, parent, now, now)
		return err
	})
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context) ([]store.Record, error) {
	out, err := s.list(ctx)
	return out, s.failed("list the conversations", err)
}

const listed = `SELECT ` + columns + ` FROM conversation WHERE parent = '' ORDER BY project, agent, sender`

func (s *Store) list(ctx context.Context) ([]store.Record, error) {
	rows, err := s.reads[listed].QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	return records(rows)
}

func records(rows *sql.Rows) (out []store.Record, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		rec, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, rows.Err()
}

// Child implements store.Child.
func (s *Store) Child(ctx context.Context, key store.Key, parent string) (store.Record, error) {
	rec, err := s.child(ctx, key, parent)
	return rec, s.failed("find or begin a child of "+parent, err)
}

func (s *Store) child(ctx context.Context, key store.Key, parent string) (store.Record, error) {
	if err := s.exists(ctx, parent); err != nil {
		return store.Record{}, err
	}
	rec, err := s.find(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.create(ctx, key, parent); err == nil {
			rec, err = s.find(ctx, key)
		}
	}
	if err == nil && rec.Parent != parent {
		return store.Record{}, fmt.Errorf("%w: %s is no child of %s", store.ErrExists, rec.ID, parent)
	}
	return rec, err
}

func (s *Store) exists(ctx context.Context, id string) error {
	_, err := scan(s.reads[byID].QueryRowContext(ctx, id))
	if errors.Is(err, sql.ErrNoRows) {
		return unknown(id)
	}
	return err
}

const children = `SELECT ` + columns + ` FROM conversation WHERE parent = ? AND parent <> '' ORDER BY num`

// Children implements store.Child.
func (s *Store) Children(ctx context.Context, parent string) ([]store.Record, error) {
	err := s.exists(ctx, parent)
	var out []store.Record
	if err == nil {
		var rows *sql.Rows
		if rows, err = s.reads[children].QueryContext(ctx, parent); err == nil {
			out, err = records(rows)
		}
	}
	return out, s.failed("list the children of "+parent, err)
}
