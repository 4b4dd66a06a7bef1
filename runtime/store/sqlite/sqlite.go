// Package sqlite keeps conversations in one SQLite file: the store of a program
// that shall find its conversations again. An append that has returned is on
// disk and survives a kill of the process and a loss of power. Several processes
// may use one file at the same time; of two that append at one version, one gets
// store.ErrConflict.
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

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

//go:embed schema/1.sql
var schema1 string

//go:embed schema/2.sql
var schema2 string

// fileID marks the files: "GRAc".
const fileID = 0x47524163

// Options of a Store; nil is all zero values.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID returns the id of a new conversation, unique in the file; nil makes
	// ULIDs, which sort by time.
	NewID func() string
}

// Store is an open file. It is safe for concurrent use.
type Store struct {
	db *sqlitedb.DB
	// byKey finds a conversation, which every turn does.
	byKey  *sql.Stmt
	now    func() time.Time
	newID  func() string
	closed atomic.Bool
}

var _ store.Store = (*Store)(nil)

// Open opens the file, which is made if it is not there: the file with mode
// 0600, directories with 0700. An older schema is brought up to date. The error
// of a file that is no conversation store, or one of a newer program, says so
// and changes nothing. Close closes the store.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Schema{Name: "conversation store", ID: fileID, Steps: []string{schema1, schema2}})
	if err != nil {
		return nil, err
	}
	byKey, err := db.Read().PrepareContext(ctx, `SELECT `+columns+` FROM conversation WHERE agent = ? AND sender = ?`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{db: db, byKey: byKey, now: time.Now, newID: func() string { return ulid.Make().String() }}
	if o != nil && o.Now != nil {
		s.now = o.Now
	}
	if o != nil && o.NewID != nil {
		s.newID = o.NewID
	}
	return s, nil
}

// Close closes the file once the calls in flight have ended. Every later call
// fails with store.ErrClosed, but a second Close does nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return errors.Join(s.byKey.Close(), s.db.Close())
}

// failed adds what was being done, and says that the store is closed where that
// is why.
func (s *Store) failed(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load():
		return store.ErrClosed
	case errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrFenced) ||
		errors.Is(err, store.ErrLeased) || errors.Is(err, store.ErrUnknown):
		return err
	}
	return fmt.Errorf("conversation store: %s: %w", what, err)
}

const columns = `id, agent, sender, parent, version, turns, created, updated, owner, epoch, until, entries, events`

func scan(row interface{ Scan(dest ...any) error }) (store.Record, error) {
	var r store.Record
	var created, updated, until, entries int64
	err := row.Scan(&r.ID, &r.Key.Agent, &r.Key.Sender, &r.Parent, &r.Version, &r.Turns, &created, &updated,
		&r.Lease.Owner, &r.Lease.Epoch, &until, &entries, &r.Events)
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
		if err = s.create(ctx, key); err == nil {
			rec, err = s.find(ctx, key)
		}
	}
	return rec, s.failed("find or begin a conversation", err)
}

func (s *Store) find(ctx context.Context, key store.Key) (store.Record, error) {
	return scan(s.byKey.QueryRowContext(ctx, key.Agent, key.Sender))
}

func (s *Store) create(ctx context.Context, key store.Key) error {
	now := s.now().UnixNano()
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO conversation (id, agent, sender, created, updated)
			VALUES (?, ?, ?, ?, ?) ON CONFLICT (agent, sender) DO NOTHING`, s.newID(), key.Agent, key.Sender, now, now)
		return err
	})
}

// Messages implements store.Reader.
func (s *Store) Messages(ctx context.Context, id string) ([]hook.Message, error) {
	ms, err := s.messages(ctx, id)
	return ms, s.failed("read "+id, err)
}

func (s *Store) messages(ctx context.Context, id string) (out []hook.Message, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT c.messages, m.seq, m.body FROM conversation c
		LEFT JOIN message m ON m.conversation = c.num WHERE c.id = ? ORDER BY m.seq`, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var total int
	var seq sql.NullInt64
	var body sql.RawBytes
	known := false
	for rows.Next() {
		known = true
		if err := rows.Scan(&total, &seq, &body); err != nil {
			return nil, err
		}
		if !seq.Valid {
			continue
		}
		if out == nil {
			out = make([]hook.Message, 0, total)
		}
		m, err := decode(body)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", seq.Int64, err)
		}
		out = append(out, m)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("%w: %q", store.ErrUnknown, id)
	}
	return out, nil
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context) ([]store.Record, error) {
	out, err := s.list(ctx)
	return out, s.failed("list the conversations", err)
}

func (s *Store) list(ctx context.Context) (out []store.Record, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+columns+` FROM conversation WHERE parent = '' ORDER BY agent, sender`)
	if err != nil {
		return nil, err
	}
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
