// Package postgres keeps conversations in PostgreSQL, for several daemons over one database. A
// write that has returned is on the disk of the server. The holder of the lease may write to a
// conversation, and a write with an old epoch or version changes nothing.
//
// A write is one statement, which has the conditions of the write and all that it adds. Concurrent
// writes of a process share a transaction, see pgdb.Apply. A statement whose answer is lost is
// repeated: each has a mark, by which it finds out that it has run already.
//
// All times are those of the database's clock, so that no two machines' clocks are compared.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/sentinel"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

// Options of a Store; nil is all zero values.
type Options struct {
	// Now is the clock; nil is that of the database. Only tests set it.
	Now func() time.Time
	// NewID returns the id of a new conversation, unique in the database; nil makes ULIDs, which
	// sort by time.
	NewID func() string
	// Database are the options of the connections.
	Database pgdb.Options
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	*database
	db     *pgdb.DB
	tenant *tenant // nil: all projects
}

// database is what a store and its tenants share.
type database struct {
	now    func() time.Time // nil: the clock of the database
	newID  func() string
	closed atomic.Bool

	presence presence
	changed  changes
	stop     context.CancelFunc
	notifier sync.WaitGroup

	ofAll, ofTenant texts
	// searching has a place for each search that runs.
	searching chan struct{}
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Compacter = (*Store)(nil)
	_ store.Forker    = (*Store)(nil)
	_ store.Adopter   = (*Store)(nil)
	_ store.Eraser    = (*Store)(nil)
	_ store.Child     = (*Store)(nil)
	_ store.Log       = (*Store)(nil)
	_ store.Porter    = (*Store)(nil)
	_ store.Searcher  = (*Store)(nil)
	_ store.States    = (*Store)(nil)
	_ store.Titles    = (*Store)(nil)
	_ store.Jobs      = (*Store)(nil)
	_ store.Runs      = (*Store)(nil)
	_ store.Spending  = (*Store)(nil)
	_ store.Presence  = (*Store)(nil)
	_ store.Waker     = (*Store)(nil)
)

// Open connects to the database of the DSN, which pgdb.Open describes, and makes or upgrades its
// tables. No error has the DSN in it. Close closes the store.
func Open(ctx context.Context, dsn string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	db, err := pgdb.Open(ctx, dsn, &o.Database)
	if err != nil {
		return nil, fmt.Errorf("conversation store: %w", err)
	}
	d := &database{now: o.Now, newID: o.NewID, searching: make(chan struct{}, max(1, db.Pool().Config().MaxConns/3))}
	s := &Store{database: d, db: db.Bound(d.bindAll)}
	if s.newID == nil {
		s.newID = func() string { return ulid.Make().String() }
	}
	var background context.Context
	background, s.stop = context.WithCancel(context.Background())
	s.notifier.Go(func() { s.notify(background) })
	return s, nil
}

// Close ends the connections once the calls in flight have ended. Later calls fail with
// store.ErrClosed; a second Close does nothing.
func (s *Store) Close() error {
	if s.tenant != nil || s.closed.Swap(true) {
		return nil
	}
	s.stop()
	s.notifier.Wait()
	s.db.Close()
	return nil
}

// DB is the database, for an engine of jobs that has tables of its own beside those of the store. Only
// the store closes it. It knows no tenants.
func (s *Store) DB() *pgdb.DB { return s.db.Bound(nil) }

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
	switch {
	case pgdb.Down(err):
		err = fmt.Errorf("%w (%w)", store.ErrDown, err)
	case pgdb.Full(err):
		err = fmt.Errorf("%w (%w)", store.ErrFull, err)
	case pgdb.NotText(err): // only ids are text
		err = fmt.Errorf("%w: no id has such characters (%w)", store.ErrUnknown, err)
	}
	return fmt.Errorf("conversation store: %s: %w", what, err)
}

// clock is the argument $1 of statements that know the time; nil is the clock of the database.
func (s *Store) clock() *int64 {
	if s.now == nil {
		return nil
	}
	now := s.now().UnixNano()
	return &now
}

const (
	// columns are those of a record, of conversation c.
	columns = `c.id, c.project, c.agent, c.sender, c.parent, c.version, c.turns, c.created, c.updated, c.owner, c.epoch,
		CASE WHEN c.until = 0 OR ` + statement.Orphaned + ` THEN 0 ELSE c.until END, c.entries, c.events`
)

// scan reads the columns of a record, and more columns behind them.
func scan(row pgdb.Row, more ...any) (store.Record, error) {
	var r store.Record
	var project, agent, sender []byte
	var created, updated, until, entries, events int64
	err := row.Scan(append([]any{&r.ID, &project, &agent, &sender, &r.Parent, &r.Version, &r.Turns, &created, &updated,
		&r.Lease.Owner, &r.Lease.Epoch, &until, &entries, &events}, more...)...)
	r.Key = store.Key{Project: string(project), Agent: string(agent), Sender: string(sender)}
	r.Created, r.Updated, r.Journaled, r.Events = time.Unix(0, created), time.Unix(0, updated), entries > 0, uint64(events) //nolint:gosec // it is not negative
	if until != 0 {
		r.Lease.Until = time.Unix(0, until)
	}
	return r, err
}

func scanRecord(row pgdb.Row) (store.Record, error) { return scan(row) }

// one returns the first of the rows, ErrNoRows if there is none.
func one[T any](rows []T, err error) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(rows) == 0:
		return none, pgdb.ErrNoRows
	}
	return rows[0], nil
}

// query reads the rows of one query.
func query[T any](ctx context.Context, s *Store, scan func(row pgdb.Row) (T, error), sql string, args ...any) (out []T, err error) {
	err = s.db.Read(ctx, func(q pgdb.Queryer) error {
		out, err = rowsOf(ctx, q, scan, sql, args...)
		return err
	})
	return out, err
}

func rowsOf[T any](ctx context.Context, q pgdb.Queryer, scan func(row pgdb.Row) (T, error), sql string, args ...any) (out []T, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

const (
	byKey = `SELECT ` + columns + ` FROM conversation c WHERE c.project = $2 AND c.agent = $3 AND c.sender = $4 AND {c.project}`
	byID  = `SELECT ` + columns + ` FROM conversation c WHERE c.id = $2 AND {c.project}`
	// A parent that is being deleted is waited for, and then gone.
	begin = `INSERT INTO conversation AS c (id, project, agent, sender, parent, created, updated)
		SELECT $2, $3::bytea, $4::bytea, $5::bytea, $6::text, ` + statement.Now + `, ` + statement.Now + `
		WHERE {$3::bytea} AND ($6::text = '' OR EXISTS (SELECT FROM (SELECT FROM conversation p WHERE p.id = $6::text AND {p.project} FOR KEY SHARE) p))
		ON CONFLICT (project, agent, sender) DO NOTHING RETURNING ` + columns
	listed   = `SELECT ` + columns + ` FROM conversation c WHERE c.parent = '' AND {c.project} ORDER BY c.project, c.agent, c.sender`
	children = `SELECT ` + columns + ` FROM conversation c WHERE c.parent = $2 AND c.parent <> '' AND {c.project} ORDER BY c.num`
)

func unknown(id string) error { return fmt.Errorf("%w: %q", store.ErrUnknown, id) }

// Conversation implements store.Reader.
func (s *Store) Conversation(ctx context.Context, key store.Key) (store.Record, error) {
	rec, err := s.find(ctx, key)
	if errors.Is(err, pgdb.ErrNoRows) {
		rec, err = s.create(ctx, key, "")
	}
	return rec, s.failed("find or begin a conversation", err)
}

func (s *Store) find(ctx context.Context, key store.Key) (store.Record, error) {
	return one(query(ctx, s, scanRecord, byKey, s.clock(), []byte(key.Project), []byte(key.Agent), []byte(key.Sender)))
}

// byID returns the record, store.ErrUnknown if there is none.
func (s *Store) byID(ctx context.Context, id string) (store.Record, error) {
	rec, err := one(query(ctx, s, scanRecord, byID, s.clock(), id))
	if errors.Is(err, pgdb.ErrNoRows) {
		return rec, unknown(id)
	}
	return rec, err
}

// create makes the conversation, or returns the one that another caller has just made.
func (s *Store) create(ctx context.Context, key store.Key, parent string) (store.Record, error) {
	if err := key.Check(); err != nil {
		return store.Record{}, err
	}
	rec, err := one(pgdb.Apply(ctx, s.db, pgdb.Statement{Order: parent, SQL: begin, Args: []any{
		s.clock(), s.newID(), []byte(key.Project), []byte(key.Agent), []byte(key.Sender), parent,
	}}, scanRecord))
	if !errors.Is(err, pgdb.ErrNoRows) {
		return rec, err
	}
	rec, err = s.find(ctx, key)
	if errors.Is(err, pgdb.ErrNoRows) {
		return rec, unknown(parent) // it has been deleted meanwhile
	}
	return rec, err
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context) ([]store.Record, error) {
	out, err := query(ctx, s, scanRecord, listed, s.clock())
	return out, s.failed("list the conversations", err)
}

// Child implements store.Child.
func (s *Store) Child(ctx context.Context, key store.Key, parent string) (store.Record, error) {
	rec, err := s.child(ctx, key, parent)
	return rec, s.failed("find or begin a child of "+parent, err)
}

func (s *Store) child(ctx context.Context, key store.Key, parent string) (store.Record, error) {
	if parent == "" {
		return store.Record{}, unknown(parent)
	}
	rec, err := s.find(ctx, key)
	if errors.Is(err, pgdb.ErrNoRows) {
		rec, err = s.create(ctx, key, parent)
	}
	if err != nil || rec.Parent == parent {
		return rec, err
	}
	if _, err := s.byID(ctx, parent); err != nil {
		return store.Record{}, err
	}
	return store.Record{}, fmt.Errorf("%w: %s is no child of %s", store.ErrExists, rec.ID, parent)
}

// Children implements store.Child.
func (s *Store) Children(ctx context.Context, parent string) ([]store.Record, error) {
	out, err := query(ctx, s, scanRecord, children, s.clock(), parent)
	if err == nil && len(out) == 0 {
		_, err = s.byID(ctx, parent)
	}
	return out, s.failed("list the children of "+parent, err)
}
