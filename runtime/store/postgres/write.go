package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

// Volatile implements store.Writer.
func (s *Store) Volatile() bool { return false }

const (
	claim = `UPDATE conversation c SET owner = $4, epoch = c.epoch + 1, until = ` + statement.Now + ` + $5, ` + statement.Marking + `
		WHERE c.id = $3 AND {c.project} AND (c.until <= ` + statement.Now + ` OR c.epoch = $6 OR ` + statement.Orphaned + `) AND ` + statement.Marked + ` RETURNING ` + columns
	// known is what the conversation is like that refused the write of the mark $2, whether that
	// write has run, and the first entry that it has added.
	known = `SELECT ` + columns + `, $2::bigint = ANY (c.marks), coalesce((SELECT min(e.seq) FROM entry e WHERE e.conversation = c.num AND e.mark = $2::bigint), c.noted + 1)
		FROM conversation c WHERE c.id = $3 AND {c.project}`
)

// Claim implements store.Writer.
func (s *Store) Claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	rec, err := s.claim(ctx, id, c)
	if err == nil {
		s.changed.add(id)
	}
	return rec, s.failed("claim "+id, err)
}

func (s *Store) claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	if err := c.Check(); err != nil {
		return store.Record{}, err
	}
	mark := statement.Mark()
	rec, err := one(pgdb.Apply(ctx, s.db, pgdb.Statement{Order: id, SQL: claim, Args: []any{
		s.clock(), mark, id, c.Owner, int64(c.Hold), c.Takes,
	}}, scanRecord))
	if !errors.Is(err, pgdb.ErrNoRows) {
		return rec, err
	}
	k, err := s.known(ctx, id, mark)
	switch {
	case err != nil:
		return store.Record{}, err
	case k.done && k.Lease.Owner == c.Owner: // else another one has claimed since
		return k.Record, nil
	}
	return store.Record{}, &store.LeasedError{Lease: k.Lease}
}

// state is what known reads.
type state struct {
	store.Record
	// done: the write has run. first is the first entry that it has added.
	done  bool
	first int64
}

// known reads what the conversation is like that refused a write.
func (s *Store) known(ctx context.Context, id string, mark int64) (state, error) {
	k, err := one(query(ctx, s, func(row pgdb.Row) (k state, err error) {
		k.Record, err = scan(row, &k.done, &k.first)
		return k, err
	}, known, s.clock(), mark, id))
	if errors.Is(err, pgdb.ErrNoRows) {
		return k, unknown(id)
	}
	return k, err
}

// refused returns why the conversation refuses a write of that version (nil is any), epoch and
// events.
func (k state) refused(version *int64, epoch int64, events []store.Event) error {
	switch {
	case k.Lease.Epoch != epoch:
		return fmt.Errorf("%w: %s is at epoch %d, not %d", store.ErrFenced, k.ID, k.Lease.Epoch, epoch)
	case version != nil && k.Version != *version:
		return fmt.Errorf("%w: %s is at version %d, not %d", store.ErrConflict, k.ID, k.Version, *version)
	}
	if err := store.CheckEvents(k.Record.Events, events); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", store.ErrConflict, k.ID) // it was another one a moment ago
}

// Append implements store.Writer. Concurrent appends of several conversations share the sync.
func (s *Store) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	w, err := statement.OfAppend(a)
	if err == nil {
		_, err = s.apply(ctx, id, w)
	}
	if err != nil {
		return 0, s.failed("append to "+id, err)
	}
	return a.Version + 1, nil
}

// Note implements store.Writer.
func (s *Store) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	w, err := statement.OfNote(n)
	if err == nil {
		first, err = s.apply(ctx, id, w)
	}
	return first, s.failed("note in "+id, err)
}

// apply writes the addition and returns the sequence of its first entry.
func (s *Store) apply(ctx context.Context, id string, w *statement.Addition) (first int64, err error) {
	sql, args := w.Statement(s.clock(), id)
	first, err = one(pgdb.Apply(ctx, s.db, pgdb.Statement{Order: id, SQL: sql, Args: args}, func(row pgdb.Row) (int64, error) {
		var first int64
		err := row.Scan(&first)
		return first, err
	}))
	if errors.Is(err, pgdb.ErrNoRows) {
		var k state
		if k, err = s.known(ctx, id, w.Mark); err == nil && k.done {
			first = k.first
		} else if err == nil {
			err = k.refused(w.Version, w.Epoch, w.Events)
		}
	}
	if err == nil && w.Told() {
		s.changed.add(id)
	}
	return first, err
}
