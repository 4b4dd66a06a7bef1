package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

// body has the columns of a conversation's row that its messages need.
type body struct {
	id, parent                                  string
	num, first, next, archived, turns, branches int64
}

const bodyColumns = `c.id, c.parent, c.num, c.first, c.messages, c.archived, c.turns, c.branches`

func scanBody(row pgdb.Row) (b body, err error) {
	err = row.Scan(&b.id, &b.parent, &b.num, &b.first, &b.next, &b.archived, &b.turns, &b.branches)
	return b, err
}

const change = `UPDATE conversation c SET version = c.version + 1, updated = greatest(c.updated, ` + statement.Now + `),
		until = CASE WHEN c.epoch > 0 AND $5::bigint > 0 THEN ` + statement.Now + ` + $5::bigint ELSE 0 END, events = greatest(c.events, $6)
	WHERE c.id = $2 AND {c.project} AND c.version = $3 AND c.epoch = $4 AND c.events < $7 RETURNING ` + bodyColumns

// change runs f in a transaction that has locked the conversation and increased its version, if it
// meets the conditions of at.
func (s *Store) change(ctx context.Context, id string, at store.At, f func(tx pgdb.Tx, b body) error) error {
	w, err := statement.OfNote(store.Note{Events: at.Events})
	if err != nil {
		return err
	}
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		b, err := one(rowsOf(ctx, tx, scanBody, change, s.clock(), id, at.Version, at.Epoch, statement.Hold(at.Hold), w.Last, w.Before))
		if errors.Is(err, pgdb.ErrNoRows) {
			return errRefused
		}
		if err != nil {
			return err
		}
		if w.Last > 0 {
			if _, err := tx.Exec(ctx, `INSERT INTO event (conversation, seq, body) SELECT $1::bigint, $2::bigint, $3::bytea WHERE {of $1::bigint}`, b.num, w.Last, w.Lines); err != nil {
				return err
			}
		}
		return f(tx, b)
	})
	if errors.Is(err, errRefused) {
		var k state
		if k, err = s.known(ctx, id, w.Mark); err == nil {
			err = k.refused(&at.Version, at.Epoch, at.Events)
		}
	}
	if err == nil {
		s.changed.add(id)
	}
	return err
}

// errRefused: no conversation meets the conditions.
var errRefused = errors.New("refused")

// all runs the statements in one exchange with the server.
func all(ctx context.Context, tx pgdb.Tx, steps ...step) error {
	batch := &pgdb.Batch{}
	for _, s := range steps {
		batch.Queue(s.sql, s.args...)
	}
	return tx.SendBatch(ctx, batch).Close()
}

type step struct {
	sql  string
	args []any
}

func do(sql string, args ...any) step { return step{sql, args} }

// Compact implements store.Compacter.
func (s *Store) Compact(ctx context.Context, id string, at store.At, n int, summary message.Message) (int64, error) {
	text, err := codec.Encode(summary)
	if err == nil {
		err = s.change(ctx, id, at, func(tx pgdb.Tx, b body) error { return b.compact(ctx, tx, int64(n), []byte(text), summary) })
	}
	if err != nil {
		return 0, s.failed("compact "+id, err)
	}
	return at.Version + 1, nil
}

// compact gives the summary the seq and the turn of the last archived message.
func (b body) compact(ctx context.Context, tx pgdb.Tx, n int64, text []byte, summary message.Message) error {
	if n < 1 || n > b.next-b.first {
		return fmt.Errorf("%w: %s has %d messages, of which %d cannot be compacted", store.ErrNoTurn, b.id, b.next-b.first, n)
	}
	last := b.first + n - 1
	steps := []step{
		do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body)
			SELECT conversation, 0, seq - $2 + $3, seq, turn, $3 > 0 AND seq = $2, body FROM message m WHERE conversation = $1 AND seq BETWEEN $2 AND $4 AND {of m.conversation}`,
			b.num, b.first, b.archived, last),
		do(`DELETE FROM message m WHERE conversation = $1 AND seq >= $2 AND seq < $3 AND {of m.conversation}`, b.num, b.first, last),
		do(`UPDATE message m SET body = $3 WHERE conversation = $1 AND seq = $2 AND {of m.conversation}`, b.num, last, text),
		do(`UPDATE conversation SET first = $2, archived = archived + $3 WHERE num = $1 AND {project}`, b.num, last, n),
		do(`DELETE FROM word w WHERE conversation = $1 AND seq = $2 AND {of w.conversation}`, b.num, int64(index.SummarySeq)),
	}
	if texts := search.OfSummary(summary); b.parent == "" && !texts.IsZero() {
		words, length := index.Vector(texts)
		steps = append(steps, do(insertWords, b.num, int64(index.SummarySeq), length, words))
	}
	return all(ctx, tx, steps...)
}

var insertWords = `INSERT INTO word (conversation, seq, length, tsv) SELECT c.num, $2::bigint, $3::int, $4::text::tsvector || ` + index.Owner("c.project") + `
	FROM conversation c WHERE c.num = $1 AND {c.project}`

// end returns the seq behind the first turns.
func (b body) end(ctx context.Context, tx pgdb.Tx, turns int) (seq int64, err error) {
	if turns < 0 || int64(turns) > b.turns {
		return 0, fmt.Errorf("%w: %s has had %d turns, not %d", store.ErrNoTurn, b.id, b.turns, turns)
	}
	var later *int64
	err = tx.QueryRow(ctx, `SELECT min(seq) FROM message m WHERE conversation = $1 AND turn > $2 AND {of m.conversation}`, b.num, turns).Scan(&later)
	if seq = b.next; later != nil {
		seq = *later
	}
	if err == nil && b.archived > 0 && seq == b.first {
		err = fmt.Errorf("%w: a summary stands for more than the first %d turns of %s", store.ErrCompacted, turns, b.id)
	}
	return seq, err
}

// Rewind implements store.Forker.
func (s *Store) Rewind(ctx context.Context, id string, at store.At, turns int) (int64, error) {
	err := s.change(ctx, id, at, func(tx pgdb.Tx, b body) error { return b.rewind(ctx, tx, turns) })
	if err != nil {
		return 0, s.failed("rewind "+id, err)
	}
	return at.Version + 1, nil
}

func (b body) rewind(ctx context.Context, tx pgdb.Tx, turns int) error {
	end, err := b.end(ctx, tx, turns)
	if err != nil {
		return err
	}
	branch := b.branches + 1
	return all(ctx, tx,
		do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body)
			SELECT conversation, $2, seq - $3, seq, turn, false, body FROM message m WHERE conversation = $1 AND seq >= $3 AND {of m.conversation}`, b.num, branch, end),
		do(`DELETE FROM message m WHERE conversation = $1 AND seq >= $2 AND {of m.conversation}`, b.num, end),
		do(`INSERT INTO archived_entry (conversation, branch, seq, kind, call_id, message, data)
			SELECT conversation, $2, seq, kind, call_id, message, data FROM entry e WHERE conversation = $1 AND {of e.conversation}`, b.num, branch),
		do(`DELETE FROM entry e WHERE conversation = $1 AND {of e.conversation}`, b.num),
		do(`DELETE FROM word w WHERE conversation = $1 AND seq >= $2 AND seq < $3 AND {of w.conversation}`, b.num, end, int64(index.SummarySeq)), // the summary stays
		do(`UPDATE conversation SET messages = $2, turns = $3, branches = $4, entries = 0 WHERE num = $1 AND {project}`, b.num, end, turns, branch))
}

// Fork implements store.Forker.
func (s *Store) Fork(ctx context.Context, id string, turns int, key store.Key) (rec store.Record, err error) {
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		b, err := one(rowsOf(ctx, tx, scanBody, `SELECT `+bodyColumns+` FROM conversation c WHERE c.id = $1 AND {c.project} FOR NO KEY UPDATE`, id))
		if errors.Is(err, pgdb.ErrNoRows) {
			return unknown(id)
		}
		if err != nil {
			return err
		}
		rec, err = s.fork(ctx, tx, b, turns, key)
		return err
	})
	return rec, s.failed("fork "+id, err)
}

func (s *Store) fork(ctx context.Context, tx pgdb.Tx, b body, turns int, key store.Key) (store.Record, error) {
	end, err := b.end(ctx, tx, turns)
	if err != nil {
		return store.Record{}, err
	}
	fork := body{first: b.first, next: end, archived: b.archived, turns: int64(turns)}
	return s.beginWith(ctx, tx, fork, key, nil, func(num int64) error {
		return all(ctx, tx,
			do(`INSERT INTO message (conversation, seq, turn, body) SELECT $1, seq, turn, body FROM message m WHERE conversation = $2 AND seq < $3 AND {of m.conversation}`, num, b.num, end),
			do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body)
				SELECT $1, 0, pos, seq, turn, summary, body FROM archive a WHERE conversation = $2 AND branch = 0 AND {of a.conversation}`, num, b.num),
			do(`INSERT INTO state (conversation, name, data) SELECT $1, name, data FROM state s WHERE conversation = $2 AND {of s.conversation}`, num, b.num))
	})
}

const beginFilled = `INSERT INTO conversation AS c (id, project, agent, sender, version, turns, messages, first, archived, created, updated)
	SELECT $2, $3::bytea, $4::bytea, $5::bytea, 1, $6, $7, $8, $9, coalesce($10::bigint, n), greatest($10::bigint, n) FROM (SELECT ` + statement.Now + ` AS n) x
	WHERE {$3::bytea} ON CONFLICT (project, agent, sender) DO NOTHING RETURNING c.num`

// beginWith makes a conversation of the key; fill writes its messages. Created is now if it is nil.
func (s *Store) beginWith(ctx context.Context, tx pgdb.Tx, b body, key store.Key, created *int64, fill func(num int64) error) (store.Record, error) {
	if err := key.Check(); err != nil {
		return store.Record{}, err
	}
	num, err := one(rowsOf(ctx, tx, scanNumber, beginFilled, s.clock(), s.newID(), []byte(key.Project), []byte(key.Agent), []byte(key.Sender),
		b.turns, b.next, b.first, b.archived, created))
	if errors.Is(err, pgdb.ErrNoRows) {
		return store.Record{}, fmt.Errorf("%w: of %q with %q", store.ErrExists, key.Agent, key.Sender)
	}
	if err == nil {
		err = fill(num)
	}
	if err == nil {
		err = fillIndex(ctx, tx, num, b)
	}
	if err != nil {
		return store.Record{}, err
	}
	return one(rowsOf(ctx, tx, scanRecord, byKey, s.clock(), []byte(key.Project), []byte(key.Agent), []byte(key.Sender)))
}

// fillIndex puts the words of all messages into the index that can be searched: the archived ones but
// earlier summaries, and the others, of which the first is a summary if there is an archive.
func fillIndex(ctx context.Context, tx pgdb.Tx, num int64, b body) error {
	type text struct {
		seq   int64
		texts search.Texts
	}
	texts, err := rowsOf(ctx, tx, func(row pgdb.Row) (t text, err error) {
		var data []byte
		if err := row.Scan(&t.seq, &data); err != nil {
			return t, err
		}
		m, err := codec.Decode(data)
		switch {
		case err != nil: // a damaged message has no text
		case t.seq == index.SummarySeq:
			t.texts = search.OfSummary(m)
		case t.seq == 0:
			t.texts = search.OfFirst(m)
		default:
			t.texts = search.Of(m)
		}
		return t, nil
	}, `SELECT seq, body FROM archive a WHERE conversation = $1 AND branch = 0 AND NOT summary AND {of a.conversation} UNION ALL
		SELECT CASE WHEN $2 AND seq = $3 THEN $4 ELSE seq END, body FROM message m WHERE conversation = $1 AND {of m.conversation}`, num, b.archived > 0, b.first, int64(index.SummarySeq))
	if err != nil {
		return err
	}
	var steps []step
	for _, t := range texts {
		if t.texts.IsZero() {
			continue
		}
		words, length := index.Vector(t.texts)
		steps = append(steps, do(insertWords, num, t.seq, length, words))
		if len(steps) == 64 { // the transaction may not be idle for long
			if err := all(ctx, tx, steps...); err != nil {
				return err
			}
			steps = nil
		}
	}
	return all(ctx, tx, steps...)
}

// Restore implements store.Porter.
func (s *Store) Restore(ctx context.Context, d store.Dump) (rec store.Record, err error) {
	if err := d.Check(); err != nil {
		return rec, s.failed("restore a conversation", err)
	}
	archive, live, b, err := encodeDump(d)
	if err != nil {
		return rec, s.failed("restore a conversation", err)
	}
	created := d.Created.UnixNano()
	err = s.db.Write(ctx, func(tx pgdb.Tx) error {
		rec, err = s.beginWith(ctx, tx, b, d.Key, &created, func(num int64) error {
			return all(ctx, tx,
				do(`INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) SELECT $1::bigint, 0, o - 1, seq, turn, summary, body
					FROM unnest($2::bigint[], $3::int[], $4::boolean[], $5::bytea[]) WITH ORDINALITY x (seq, turn, summary, body, o) WHERE {of $1::bigint}`,
					num, archive.seqs, archive.turns, archive.summaries, archive.bodies),
				do(`INSERT INTO message (conversation, seq, turn, body) SELECT $1::bigint, seq, turn, body
					FROM unnest($2::bigint[], $3::int[], $4::bytea[]) x (seq, turn, body) WHERE {of $1::bigint}`, num, live.seqs, live.turns, live.bodies))
		})
		return err
	})
	return rec, s.failed("restore a conversation", err)
}

// kept are messages, one slice for each column.
type kept struct {
	seqs      []int64
	turns     []int32
	summaries []bool
	bodies    [][]byte
}

// encodeDump encodes archive and messages, with sequences as before: a summary has the seq of the
// message before it.
func encodeDump(d store.Dump) (archive, live kept, b body, err error) {
	b = body{archived: int64(len(d.Archive)), turns: int64(d.Turns)}
	for i, part := range [][]store.Kept{d.Archive, d.Messages} {
		var out kept
		for _, k := range part {
			if k.Summary {
				b.next--
			}
			if i == 1 && len(out.seqs) == 0 {
				b.first = b.next
			}
			text, err := codec.Encode(k.Message)
			if err != nil {
				return archive, live, b, err
			}
			out.seqs, out.turns = append(out.seqs, b.next), append(out.turns, int32(k.Turn)) //nolint:gosec // Dump.Check bounds it
			out.summaries, out.bodies = append(out.summaries, k.Summary), append(out.bodies, []byte(text))
			b.next++
		}
		if i == 0 {
			archive = out
		} else {
			live = out
		}
	}
	return archive, live, b, nil
}
