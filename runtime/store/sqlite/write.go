package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Volatile implements store.Writer: nothing is.
func (s *Store) Volatile() bool { return false }

// Claim implements store.Writer.
func (s *Store) Claim(ctx context.Context, id string, c store.Claim) (rec store.Record, err error) {
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		now := s.now()
		rec, err = scan(tx.QueryRow(`UPDATE conversation SET owner = ?, epoch = epoch + 1, until = ?
			WHERE id = ? AND (until <= ? OR epoch = ?) RETURNING `+columns,
			c.Owner, now.Add(c.Hold).UnixNano(), id, now.UnixNano(), c.Takes))
		if errors.Is(err, sql.ErrNoRows) {
			return leased(tx, id)
		}
		return err
	})
	return rec, s.failed("claim "+id, err)
}

// leased says why the lease was not to be had.
func leased(tx *sqlitedb.Tx, id string) error {
	rec, err := scan(tx.QueryRow(`SELECT `+columns+` FROM conversation WHERE id = ?`, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %q", store.ErrUnknown, id)
	case err != nil:
		return err
	}
	return &store.LeasedError{Lease: rec.Lease}
}

// Append implements store.Writer. It returns when everything is on disk; the
// appends of several conversations at the same time share the sync. Ephemeral
// messages are left out.
func (s *Store) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	bodies, err := encodeAll(a.Messages)
	if err != nil {
		return 0, s.failed("append to "+id, err)
	}
	w, err := newNote(store.Note{Epoch: a.Epoch, Hold: a.Hold, Entries: a.Entries, Events: a.Events})
	if err == nil {
		err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error { return s.append(tx, id, a, bodies, w) })
	}
	if err != nil {
		return 0, s.failed("append to "+id, err)
	}
	return a.Version + 1, nil
}

func (s *Store) append(tx *sqlitedb.Tx, id string, a store.Append, bodies []string, w *note) error {
	turns := 0
	if a.TurnEnds {
		turns = 1
	}
	now := s.now()
	var num, next, entries int64
	err := tx.QueryRow(`UPDATE conversation SET version = version + 1, turns = turns + ?,
		messages = messages + ?, updated = max(updated, ?), until = ?
		WHERE id = ? AND version = ? AND epoch = ? RETURNING num, messages, entries`,
		turns, len(bodies), now.UnixNano(), until(now, a.Hold), id, a.Version, a.Epoch).Scan(&num, &next, &entries)
	if errors.Is(err, sql.ErrNoRows) {
		return refused(tx, id, a.Version, a.Epoch)
	}
	if err != nil {
		return err
	}
	next -= int64(len(bodies))
	for i, body := range bodies {
		if _, err := tx.Exec(`INSERT INTO message (conversation, seq, body) VALUES (?, ?, ?)`, num, next+int64(i), body); err != nil {
			return err
		}
	}
	if err := forget(tx, num, entries, a); err != nil {
		return err
	}
	return w.write(tx, num)
}

// forget takes away what the journal need not have any more.
func forget(tx *sqlitedb.Tx, num, entries int64, a store.Append) error {
	if entries == 0 {
		return nil
	}
	if a.TurnEnds {
		if _, err := tx.Exec(`DELETE FROM entry WHERE conversation = ?`, num); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE conversation SET entries = 0 WHERE num = ?`, num)
		return err
	}
	for _, seq := range a.Forget {
		if _, err := tx.Exec(`DELETE FROM entry WHERE conversation = ? AND seq = ?`, num, seq); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`UPDATE conversation SET entries = (SELECT count(*) FROM entry WHERE conversation = num) WHERE num = ?`, num)
	return err
}

// refused says why no row had that id, version and epoch.
func refused(tx *sqlitedb.Tx, id string, version, epoch int64) error {
	var v, e int64
	err := tx.QueryRow(`SELECT version, epoch FROM conversation WHERE id = ?`, id).Scan(&v, &e)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %q", store.ErrUnknown, id)
	case err != nil:
		return err
	case e != epoch:
		return fmt.Errorf("%w: %s is at epoch %d, not %d", store.ErrFenced, id, e, epoch)
	}
	return fmt.Errorf("%w: %s is at version %d, not %d", store.ErrConflict, id, v, version)
}

// Note implements store.Writer.
func (s *Store) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	w, err := newNote(n)
	if err != nil {
		return 0, s.failed("note in "+id, err)
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		var num int64
		err := tx.QueryRow(`UPDATE conversation SET until = ? WHERE id = ? AND epoch = ? RETURNING num, noted + 1`,
			until(s.now(), n.Hold), id, n.Epoch).Scan(&num, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return refused(tx, id, 0, n.Epoch)
		}
		if err != nil {
			return err
		}
		return w.write(tx, num)
	})
	return first, s.failed("note in "+id, err)
}

// until is the end of a lease; 0 is free.
func until(now time.Time, hold time.Duration) int64 {
	if hold <= 0 {
		return 0
	}
	return now.Add(hold).UnixNano()
}

// note is what is written beside the messages, encoded.
type note struct {
	entries []store.Entry
	bodies  []sql.NullString
	events  string
	last    uint64
}

func newNote(n store.Note) (*note, error) {
	w := &note{entries: n.Entries, bodies: make([]sql.NullString, len(n.Entries))}
	for i, e := range n.Entries {
		if e.Message.Role == "" {
			continue
		}
		body, err := encodeAll([]hook.Message{e.Message})
		if err != nil {
			return nil, err
		}
		w.bodies[i] = sql.NullString{String: body[0], Valid: true}
	}
	var lines strings.Builder
	for _, ev := range n.Events {
		lines.WriteString(strconv.FormatUint(ev.Seq, 10))
		lines.WriteByte(' ')
		lines.WriteString(string(ev.Data))
		lines.WriteByte('\n')
		w.last = ev.Seq
	}
	w.events = lines.String()
	return w, nil
}

func (w *note) write(tx *sqlitedb.Tx, num int64) error {
	if len(w.entries) > 0 {
		var last int64
		if err := tx.QueryRow(`UPDATE conversation SET noted = noted + ?1, entries = entries + ?1 WHERE num = ?2 RETURNING noted`,
			len(w.entries), num).Scan(&last); err != nil {
			return err
		}
		first := last - int64(len(w.entries)) + 1
		for i, e := range w.entries {
			if _, err := tx.Exec(`INSERT INTO entry (conversation, seq, kind, call_id, message, data) VALUES (?, ?, ?, ?, ?, ?)`,
				num, first+int64(i), string(e.Kind), e.CallID, w.bodies[i], string(e.Data)); err != nil {
				return err
			}
		}
	}
	if w.events == "" {
		return nil
	}
	if _, err := tx.Exec(`INSERT INTO event (conversation, last, body) VALUES (?, ?, ?)`, num, w.last, w.events); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE conversation SET events = ? WHERE num = ?`, w.last, num)
	return err
}

// Journal implements store.Reader.
func (s *Store) Journal(ctx context.Context, id string) ([]store.Entry, error) {
	es, err := s.journal(ctx, id)
	return es, s.failed("read the journal of "+id, err)
}

func (s *Store) journal(ctx context.Context, id string) (out []store.Entry, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT e.seq, e.kind, e.call_id, e.message, e.data FROM conversation c
		LEFT JOIN entry e ON e.conversation = c.num WHERE c.id = ? ORDER BY e.seq`, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known := false
	for rows.Next() {
		known = true
		var seq sql.NullInt64
		var kind, call, message, data sql.NullString
		if err := rows.Scan(&seq, &kind, &call, &message, &data); err != nil {
			return nil, err
		}
		if !seq.Valid {
			continue
		}
		e := store.Entry{Seq: seq.Int64, Kind: store.EntryKind(kind.String), CallID: call.String, Data: hook.JSON(data.String)}
		if message.Valid {
			if e.Message, err = decode([]byte(message.String)); err != nil {
				return nil, fmt.Errorf("entry %d: %w", e.Seq, err)
			}
		}
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("%w: %q", store.ErrUnknown, id)
	}
	return out, nil
}
