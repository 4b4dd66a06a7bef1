package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

// body has the columns of a conversation's row that its messages need.
type body struct {
	id                                                   string
	num, first, next, archived, turns, branches, indexed int64
}

const bodyColumns = `id, num, first, messages, archived, turns, branches, indexed`

func scanBody(row *sql.Row) (b body, err error) {
	err = row.Scan(&b.id, &b.num, &b.first, &b.next, &b.archived, &b.turns, &b.branches, &b.indexed)
	return b, err
}

// change increases the version of the conversation if it meets the conditions of at.
func (s *Store) change(tx *sqlitedb.Tx, id string, at store.At) (body, error) {
	w, err := newNote(nil, at.Events)
	if err != nil {
		return body{}, err
	}
	now := s.now()
	b, err := scanBody(tx.QueryRow(`UPDATE conversation SET version = version + 1, updated = max(updated, ?),
		until = iif(epoch > 0, ?, 0), events = max(events, ?)
		WHERE id = ? AND version = ? AND epoch = ? AND events < ? RETURNING `+bodyColumns,
		now.UnixNano(), until(now, at.Hold), w.last, id, at.Version, at.Epoch, w.before))
	if errors.Is(err, sql.ErrNoRows) {
		return b, refused(tx, id, &at.Version, at.Epoch, at.Events)
	}
	if err != nil {
		return b, err
	}
	return b, w.writeRest(tx, b.num)
}

// all runs the steps until one of them fails.
func all(tx *sqlitedb.Tx, steps ...step) error {
	for _, s := range steps {
		if _, err := tx.Exec(s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

type step struct {
	query string
	args  []any
}

func do(query string, args ...any) step { return step{query, args} }

// Compact implements store.Compacter.
func (s *Store) Compact(ctx context.Context, id string, at store.At, n int, summary message.Message) (int64, error) {
	text, err := codec.Encode(summary)
	if err == nil {
		err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
			b, err := s.change(tx, id, at)
			if err != nil {
				return err
			}
			return b.compact(tx, int64(n), text)
		})
	}
	if err != nil {
		return 0, s.failed("compact "+id, err)
	}
	return at.Version + 1, nil
}

// compact gives the summary the number and the turn of the last archived message. The messages
// from there on count as not indexed, so that the next search indexes the summary.
func (b body) compact(tx *sqlitedb.Tx, n int64, summary string) error {
	if n < 1 || n > b.next-b.first {
		return fmt.Errorf("%w: %s has %d messages, of which %d cannot be compacted", store.ErrNoTurn, b.id, b.next-b.first, n)
	}
	base, last := b.num<<32, b.first+n-1
	return all(tx,
		do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body)
			SELECT ?1, 0, num - ?2 + ?3, num - (?1 << 32), turn, ?3 > 0 AND num = ?2, body FROM message WHERE num BETWEEN ?2 AND ?4`,
			b.num, base+b.first, b.archived, base+last),
		do(`DELETE FROM message WHERE num >= ? AND num < ?`, base+b.first, base+last),
		do(`UPDATE message SET body = ? WHERE num = ?`, summary, base+last),
		do(`UPDATE conversation SET first = ?1, archived = archived + ?2, indexed = min(indexed, ?1) WHERE num = ?3`, last, n, b.num))
}

// end returns the seq behind the first turns.
func (b body) end(tx *sqlitedb.Tx, turns int) (seq int64, err error) {
	if turns < 0 || int64(turns) > b.turns {
		return 0, fmt.Errorf("%w: %s has had %d turns, not %d", store.ErrNoTurn, b.id, b.turns, turns)
	}
	err = tx.QueryRow(`SELECT coalesce(min(num) - (?1 << 32), ?3) FROM message WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32 AND turn > ?2`,
		b.num, turns, b.next).Scan(&seq)
	if err == nil && b.archived > 0 && seq == b.first {
		err = fmt.Errorf("%w: a summary stands for more than the first %d turns of %s", store.ErrCompacted, turns, b.id)
	}
	return seq, err
}

// Rewind implements store.Forker.
func (s *Store) Rewind(ctx context.Context, id string, at store.At, turns int) (int64, error) {
	err := s.db.Indexed(ctx, func() error {
		return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
			b, err := s.change(tx, id, at)
			if err != nil {
				return err
			}
			return b.rewind(tx, turns)
		})
	})
	if err != nil {
		return 0, s.failed("rewind "+id, err)
	}
	return at.Version + 1, nil
}

func (b body) rewind(tx *sqlitedb.Tx, turns int) error {
	end, err := b.end(tx, turns)
	if err != nil {
		return err
	}
	branch, from, behind := b.branches+1, b.num<<32|end, (b.num+1)<<32
	if err := all(tx,
		do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body)
			SELECT ?1, ?2, num - ?3, num - (?1 << 32), turn, 0, body FROM message WHERE num >= ?3 AND num < ?4`, b.num, branch, from, behind),
		do(`DELETE FROM message WHERE num >= ? AND num < ?`, from, behind),
		do(`INSERT INTO archived_entry (conversation, branch, seq, kind, call_id, message, data)
			SELECT ?1, ?2, num - (?1 << 32), kind, call_id, message, data FROM entry WHERE num >= ?1 << 32 AND num < (?1 + 1) << 32`,
			b.num, branch),
		do(clearJournal, b.num),
		do(`UPDATE conversation SET messages = ?1, turns = ?2, branches = ?3, entries = 0, indexed = min(indexed, ?1) WHERE num = ?4`,
			end, turns, branch, b.num),
	); err != nil || b.indexed <= end {
		return err
	}
	// The summary stays: no rewind removes it.
	return all(tx, do(`DELETE FROM word WHERE rowid >= ? AND rowid < ?`, from, b.num<<32|summarySeq), do(flushWords))
}

// Fork implements store.Forker.
func (s *Store) Fork(ctx context.Context, id string, turns int, key store.Key) (rec store.Record, err error) {
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		b, err := scanBody(tx.QueryRow(`SELECT `+bodyColumns+` FROM conversation WHERE id = ?`, id))
		if errors.Is(err, sql.ErrNoRows) {
			return unknown(id)
		}
		if err != nil {
			return err
		}
		rec, err = s.fork(tx, b, turns, key)
		return err
	})
	return rec, s.failed("fork "+id, err)
}

func (s *Store) fork(tx *sqlitedb.Tx, b body, turns int, key store.Key) (store.Record, error) {
	end, err := b.end(tx, turns)
	if err != nil {
		return store.Record{}, err
	}
	now := s.now().UnixNano()
	return s.beginWith(tx, body{first: b.first, next: end, archived: b.archived, turns: int64(turns)}, key, now, func(num int64) error {
		return all(tx,
			do(`INSERT INTO message (num, turn, body) SELECT (?1 << 32) + num - ?2, turn, body FROM message WHERE num >= ?2 AND num < ?3`,
				num, b.num<<32, b.num<<32|end),
			do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body)
				SELECT ?1, 0, pos, seq, turn, summary, body FROM archive WHERE conversation = ?2 AND branch = 0`, num, b.num),
			do(`INSERT INTO state (conversation, name, data) SELECT ?1, name, data FROM state WHERE conversation = ?2`, num, b.num))
	})
}

// beginWith makes a conversation of the key; fill writes its messages.
func (s *Store) beginWith(tx *sqlitedb.Tx, b body, key store.Key, created int64, fill func(num int64) error) (store.Record, error) {
	if err := key.Check(); err != nil {
		return store.Record{}, err
	}
	var num int64
	err := tx.QueryRow(`INSERT INTO conversation (num, id, project, agent, sender, version, turns, messages, first, archived, created, updated)
		VALUES (`+nextNumber+`, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, agent, sender) DO NOTHING RETURNING num`,
		s.newID(), key.Project, key.Agent, key.Sender, b.turns, b.next, b.first, b.archived, created, max(created, s.now().UnixNano())).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Record{}, fmt.Errorf("%w: of %q with %q", store.ErrExists, key.Agent, key.Sender)
	}
	if err == nil {
		err = fill(num)
	}
	if err != nil {
		return store.Record{}, err
	}
	return scan(tx.QueryRow(byKey, key.Project, key.Agent, key.Sender))
}

// Restore implements store.Porter.
func (s *Store) Restore(ctx context.Context, d store.Dump) (rec store.Record, err error) {
	bodies, err := encodeDump(d)
	if err != nil {
		return rec, s.failed("restore a conversation", err)
	}
	err = s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		rec, err = s.restore(tx, d, bodies)
		return err
	})
	return rec, s.failed("restore a conversation", err)
}

// encodeDump returns the bodies of archive and messages.
func encodeDump(d store.Dump) ([]string, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(d.Archive)+len(d.Messages))
	for _, part := range [][]store.Kept{d.Archive, d.Messages} {
		for _, k := range part {
			text, err := codec.Encode(k.Message)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
	}
	return out, nil
}

// restore writes the messages with numbers as before: a summary has the seq of the message
// before it.
func (s *Store) restore(tx *sqlitedb.Tx, d store.Dump, bodies []string) (store.Record, error) {
	b := body{archived: int64(len(d.Archive)), turns: int64(d.Turns)}
	seqs := make([]int64, 0, len(bodies))
	for i := range bodies {
		if kept(d, i).Summary {
			b.next--
		}
		if i == len(d.Archive) {
			b.first = b.next
		}
		seqs = append(seqs, b.next)
		b.next++
	}
	return s.beginWith(tx, b, d.Key, d.Created.UnixNano(), func(num int64) error {
		for i, text := range bodies {
			k, err := kept(d, i), error(nil)
			if i < len(d.Archive) {
				_, err = tx.Exec(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) VALUES (?, 0, ?, ?, ?, ?, ?)`,
					num, i, seqs[i], k.Turn, k.Summary, text)
			} else {
				_, err = tx.Exec(insertMessage, num<<32|seqs[i], k.Turn, text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// kept returns message i of archive and messages.
func kept(d store.Dump, i int) store.Kept {
	if i < len(d.Archive) {
		return d.Archive[i]
	}
	return d.Messages[i-len(d.Archive)]
}
