package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

// Volatile implements store.Writer.
func (s *Store) Volatile() bool { return false }

const updateClaim = `UPDATE conversation SET owner = ?, epoch = epoch + 1, until = ?
	WHERE id = ? AND (until <= ? OR epoch = ?) RETURNING ` + columns

// Claim implements store.Writer.
func (s *Store) Claim(ctx context.Context, id string, c store.Claim) (rec store.Record, err error) {
	if err := c.Check(); err != nil {
		return rec, s.failed("claim "+id, err)
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		now := s.now()
		rec, err = scan(tx.QueryRow(updateClaim, c.Owner, now.Add(c.Hold).UnixNano(), id, now.UnixNano(), c.Takes))
		if errors.Is(err, sql.ErrNoRows) {
			return leased(tx, id)
		}
		return err
	})
	return rec, s.failed("claim "+id, err)
}

func leased(tx *sqlitedb.Tx, id string) error {
	rec, err := scan(tx.QueryRow(byID, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return unknown(id)
	case err != nil:
		return err
	}
	return &store.LeasedError{Lease: rec.Lease}
}

// Append implements store.Writer. It returns when everything is on disk. Concurrent appends
// of several conversations share the sync.
func (s *Store) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	w, err := newAddition(a)
	if err == nil {
		err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error { return w.write(tx, id, s.now()) })
	}
	if err != nil {
		return 0, s.failed("append to "+id, err)
	}
	return a.Version + 1, nil
}

type addition struct {
	a      store.Append
	bodies []string
	note   note
}

func newAddition(a store.Append) (w addition, err error) {
	w.a = a
	w.bodies = make([]string, 0, a.Messages.Len())
	for _, m := range a.Messages.All() {
		if m.Ephemeral {
			continue
		}
		body, err := codec.Encode(m)
		if err != nil {
			return w, err
		}
		w.bodies = append(w.bodies, body)
	}
	if w.note, err = newNote(a.Entries, a.Events); err == nil {
		err = store.CheckJobs(a.Jobs)
	}
	w.note.states = a.States
	return w, err
}

const (
	updateAppend = `UPDATE conversation SET version = version + 1, turns = turns + ?1, messages = messages + ?2,
		updated = max(updated, ?3), until = iif(epoch > 0, ?4, 0), noted = noted + ?5, entries = iif(?1, 0, entries + ?5),
		events = max(events, ?6)
		WHERE id = ?7 AND version = ?8 AND epoch = ?9 AND events < ?10 RETURNING num, messages, turns, noted`
	insertMessage = `INSERT INTO message (num, turn, body) VALUES (?, ?, ?)`
	clearJournal  = `DELETE FROM entry WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32`
	deleteEntry   = `DELETE FROM entry WHERE num = (?1 << 32) + ?2`
	fewerEntries  = `UPDATE conversation SET entries = entries - ? WHERE num = ?`
)

func (w *addition) write(tx *sqlitedb.Tx, id string, now time.Time) error {
	ended := 0
	if w.a.TurnEnds {
		ended = 1
	}
	var num, next, turns, noted int64
	err := tx.QueryRow(updateAppend, ended, len(w.bodies), now.UnixNano(), until(now, w.a.Hold), len(w.note.entries), w.note.last,
		id, w.a.Version, w.a.Epoch, w.note.before).Scan(&num, &next, &turns, &noted)
	if errors.Is(err, sql.ErrNoRows) {
		return refused(tx, id, &w.a.Version, w.a.Epoch, w.a.Events)
	}
	if err == nil {
		err = enqueueAll(tx, w.a.Jobs, now)
	}
	if err != nil {
		return err
	}
	turn := turns - int64(ended) + 1
	for i, body := range w.bodies {
		seq := next - int64(len(w.bodies)-i)
		if _, err := tx.Exec(insertMessage, num<<32|seq, turn, body); err != nil {
			return err
		}
	}
	if w.a.TurnEnds {
		if _, err := tx.Exec(clearJournal, num); err != nil {
			return err
		}
		return w.note.writeRest(tx, num)
	}
	if err := forget(tx, num, w.a.Forget); err != nil {
		return err
	}
	return w.note.write(tx, num, noted)
}

func forget(tx *sqlitedb.Tx, num int64, seqs []int64) error {
	gone := int64(0)
	for _, seq := range seqs {
		if seq < 1 || seq >= 1<<32 {
			continue // the number of another conversation
		}
		res, err := tx.Exec(deleteEntry, num, seq)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		gone += n
	}
	if gone == 0 {
		return nil
	}
	_, err := tx.Exec(fewerEntries, gone, num)
	return err
}

// refused returns the error of a write that matched no row with that id, version (nil is
// any), epoch and events.
func refused(tx *sqlitedb.Tx, id string, version *int64, epoch int64, events []store.Event) error {
	rec, err := scan(tx.QueryRow(byID, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return unknown(id)
	case err != nil:
		return err
	case rec.Lease.Epoch != epoch:
		return fmt.Errorf("%w: %s is at epoch %d, not %d", store.ErrFenced, id, rec.Lease.Epoch, epoch)
	case version != nil && rec.Version != *version:
		return fmt.Errorf("%w: %s is at version %d, not %d", store.ErrConflict, id, rec.Version, *version)
	}
	return store.CheckEvents(rec.Events, events)
}

const updateNote = `UPDATE conversation SET until = iif(epoch > 0, ?1, 0), noted = noted + ?2, entries = entries + ?2, events = max(events, ?3)
	WHERE id = ?4 AND epoch = ?5 AND events < ?6 RETURNING num, noted`

// Note implements store.Writer.
func (s *Store) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	w, err := newNote(n.Entries, n.Events)
	if err == nil {
		err = store.CheckJobs(n.Jobs)
	}
	if err != nil {
		return 0, s.failed("note in "+id, err)
	}
	w.states = n.States
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		var num, noted int64
		now := s.now()
		err := tx.QueryRow(updateNote, until(now, n.Hold), len(w.entries), w.last, id, n.Epoch, w.before).Scan(&num, &noted)
		if errors.Is(err, sql.ErrNoRows) {
			return refused(tx, id, nil, n.Epoch, n.Events)
		}
		if err == nil {
			err = enqueueAll(tx, n.Jobs, now)
		}
		if err != nil {
			return err
		}
		first = noted - int64(len(w.entries)) + 1
		return w.write(tx, num, noted)
	})
	return first, s.failed("note in "+id, err)
}

// until returns the end of a lease; 0 is free.
func until(now time.Time, hold time.Duration) int64 {
	if hold <= 0 {
		return 0
	}
	return now.Add(hold).UnixNano()
}

// note has the encoded parts of a write other than messages.
type note struct {
	entries []store.Entry
	bodies  []sql.NullString
	states  []hook.StateValue
	events  string
	// The events fit if the last stored one is before this sequence; without events any
	// is. last is the sequence of the last event.
	before, last int64
}

func newNote(entries []store.Entry, events []store.Event) (note, error) {
	w := note{entries: entries, bodies: make([]sql.NullString, len(entries)), before: math.MaxInt64}
	for i, e := range entries {
		if e.Message.Role == "" {
			continue
		}
		body, err := codec.Encode(e.Message)
		if err != nil {
			return w, err
		}
		w.bodies[i] = sql.NullString{String: body, Valid: true}
	}
	if len(events) == 0 {
		return w, nil
	}
	if err := store.CheckEvents(0, events); err != nil {
		return w, err
	}
	w.events, w.before, w.last = codec.JoinEvents(events), int64(events[0].Seq), int64(events[len(events)-1].Seq)
	return w, nil
}

const (
	insertEntry = `INSERT INTO entry (num, kind, call_id, message, data) VALUES (?, ?, ?, ?, ?)`
	insertEvent = `INSERT INTO event (num, body) VALUES (?, ?)`
	writeState  = `INSERT INTO state (conversation, name, data) VALUES (?, ?, ?) ON CONFLICT (conversation, name) DO UPDATE SET data = excluded.data`
)

// write writes the entries, the last with the sequence noted, then states and events.
func (w *note) write(tx *sqlitedb.Tx, num, noted int64) error {
	for i, e := range w.entries {
		seq := noted - int64(len(w.entries)-i) + 1
		if _, err := tx.Exec(insertEntry, num<<32|seq, string(e.Kind), e.CallID, w.bodies[i], string(e.Data)); err != nil {
			return err
		}
	}
	return w.writeRest(tx, num)
}

func (w *note) writeRest(tx *sqlitedb.Tx, num int64) error {
	for _, v := range w.states {
		if _, err := tx.Exec(writeState, num, v.Name, string(v.Data)); err != nil {
			return err
		}
	}
	if w.events == "" {
		return nil
	}
	_, err := tx.Exec(insertEvent, num<<32|w.last, w.events)
	return err
}
