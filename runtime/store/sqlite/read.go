package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

// The messages, entries and events of a conversation are those whose numbers begin
// with the conversation's. Each statement returns one row of nulls for a
// conversation that has none, and no row for one that is not there.
const (
	liveMessages = `SELECT c.messages - c.first, m.num - (c.num << 32) - c.first, m.turn, c.archived > 0 AND m.num = (c.num << 32) + c.first, m.body FROM conversation c
		LEFT JOIN message m ON m.num >= c.num << 32 AND m.num < (c.num + 1) << 32 WHERE c.id = ? ORDER BY m.num`
	archivedMessages = `SELECT c.archived, a.pos, a.turn, a.summary, a.body FROM conversation c
		LEFT JOIN archive a ON a.conversation = c.num AND a.branch = 0 WHERE c.id = ? ORDER BY a.pos`
	openJournal = `SELECT e.num - (c.num << 32), e.kind, e.call_id, e.message, e.data FROM conversation c
		LEFT JOIN entry e ON e.num >= c.num << 32 AND e.num < (c.num + 1) << 32 WHERE c.id = ? ORDER BY e.num`
	eventsAfter = `SELECT e.num - (c.num << 32), e.body FROM conversation c
		LEFT JOIN event e ON e.num > (c.num << 32) + ?2 AND e.num < (c.num + 1) << 32 WHERE c.id = ?1 ORDER BY e.num`
	keptStates = `SELECT s.name, s.data FROM conversation c LEFT JOIN state s ON s.conversation = c.num WHERE c.id = ? ORDER BY s.name`
)

// Messages implements store.Reader.
func (s *Store) Messages(ctx context.Context, id string) ([]message.Message, error) {
	ms, err := plain(s.read(ctx, s.reads[liveMessages], id, "message"))
	return ms, s.failed("read "+id, err)
}

// Archive implements store.Compacter.
func (s *Store) Archive(ctx context.Context, id string) ([]message.Message, error) {
	ms, err := plain(s.read(ctx, s.reads[archivedMessages], id, "archived message"))
	return ms, s.failed("read the archive of "+id, err)
}

func plain(lines []store.Kept, err error) ([]message.Message, error) {
	if lines == nil {
		return nil, err
	}
	out := make([]message.Message, len(lines))
	for i := range lines {
		out[i] = lines[i].Message
	}
	return out, err
}

// read returns the messages that the statement finds.
func (s *Store) read(ctx context.Context, stmt *sql.Stmt, id, part string) (out []store.Kept, err error) {
	rows, err := stmt.QueryContext(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var total int
	var pos, turn sql.NullInt64
	var summary sql.NullBool
	var body sql.RawBytes
	known, bad := false, codec.Damage{ID: id, Part: part}
	for rows.Next() {
		known = true
		if err := rows.Scan(&total, &pos, &turn, &summary, &body); err != nil {
			return nil, err
		}
		if !pos.Valid {
			continue
		}
		if out == nil {
			out = make([]store.Kept, 0, total)
		}
		m, err := codec.Decode(body)
		if err != nil {
			bad.Note(pos.Int64, err)
			continue
		}
		out = append(out, store.Kept{Turn: int(turn.Int64), Summary: summary.Bool, Message: m})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, unknown(id)
	}
	return out, bad.Err()
}

// Journal implements store.Reader.
func (s *Store) Journal(ctx context.Context, id string) ([]store.Entry, error) {
	es, err := s.journal(ctx, id)
	return es, s.failed("read the journal of "+id, err)
}

func (s *Store) journal(ctx context.Context, id string) (out []store.Entry, err error) {
	rows, err := s.reads[openJournal].QueryContext(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known, bad := false, codec.Damage{ID: id, Part: "journal entry"}
	for rows.Next() {
		known = true
		var seq sql.NullInt64
		var kind, call, said, data sql.NullString
		if err := rows.Scan(&seq, &kind, &call, &said, &data); err != nil {
			return nil, err
		}
		if !seq.Valid {
			continue
		}
		e := store.Entry{Seq: seq.Int64, Kind: store.EntryKind(kind.String), CallID: call.String, Data: message.JSON(data.String)}
		if err := complete(&e, said); err != nil {
			bad.Note(e.Seq, err)
			continue
		}
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, unknown(id)
	}
	return out, bad.Err()
}

// complete reads the parts of an entry that can be damaged.
func complete(e *store.Entry, message sql.NullString) (err error) {
	if message.Valid {
		if e.Message, err = codec.Decode([]byte(message.String)); err != nil {
			return err
		}
	}
	if e.Data != "" && !jsontext.Value(e.Data).IsValid() {
		return errors.New("its data is no JSON")
	}
	return nil
}

// States implements store.States.
func (s *Store) States(ctx context.Context, id string) ([]hook.StateValue, error) {
	vs, err := s.states(ctx, id)
	return vs, s.failed("read the states of "+id, err)
}

func (s *Store) states(ctx context.Context, id string) (out []hook.StateValue, err error) {
	rows, err := s.reads[keptStates].QueryContext(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known, bad := false, codec.Damage{ID: id, Part: "state"}
	for at := int64(0); rows.Next(); at++ {
		known = true
		var name, data sql.NullString
		if err := rows.Scan(&name, &data); err != nil {
			return nil, err
		}
		switch {
		case !name.Valid:
		case !jsontext.Value(data.String).IsValid():
			bad.Note(at, errors.New("it is no JSON"))
		default:
			out = append(out, hook.StateValue{Name: name.String, Data: message.JSON(data.String)})
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, unknown(id)
	}
	return out, bad.Err()
}

// Events implements store.Log.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	es, err := s.events(ctx, id, after, limit)
	return es, s.failed("read the events of "+id, err)
}

func (s *Store) events(ctx context.Context, id string, after uint64, limit int) (out []store.Event, err error) {
	rows, err := s.reads[eventsAfter].QueryContext(ctx, id, int64(min(after, store.MaxEvent)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known, bad := false, codec.Damage{ID: id, Part: "event"}
	for rows.Next() {
		known = true
		var last sql.NullInt64
		var body sql.RawBytes
		if err := rows.Scan(&last, &body); err != nil {
			return nil, err
		}
		if len(out) >= limit {
			break
		}
		if !last.Valid {
			continue
		}
		es, err := codec.SplitEvents(body)
		if err != nil {
			bad.Note(last.Int64, err)
		}
		for _, e := range es {
			if e.Seq > after && len(out) < limit {
				out = append(out, e)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, unknown(id)
	}
	return out, bad.Err()
}

// Dump implements store.Porter.
func (s *Store) Dump(ctx context.Context, id string) (store.Dump, error) {
	d, err := s.dump(ctx, id)
	return d, s.failed("take out "+id, err)
}

// dump reads in one transaction, so that it sees no half-made change.
func (s *Store) dump(ctx context.Context, id string) (d store.Dump, err error) {
	tx, err := s.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	rec, err := scan(tx.StmtContext(ctx, s.reads[byID]).QueryRowContext(ctx, id))
	if errors.Is(err, sql.ErrNoRows) {
		return d, unknown(id)
	}
	if err != nil {
		return d, err
	}
	d = store.Dump{Key: rec.Key, Created: rec.Created, Turns: rec.Turns}
	var damagedArchive, damaged error
	d.Archive, damagedArchive = s.read(ctx, tx.StmtContext(ctx, s.reads[archivedMessages]), id, "archived message")
	if damagedArchive != nil && !errors.Is(damagedArchive, store.ErrDamaged) {
		return d, damagedArchive
	}
	d.Messages, damaged = s.read(ctx, tx.StmtContext(ctx, s.reads[liveMessages]), id, "message")
	if len(d.Archive) == 0 && len(d.Messages) > 0 {
		d.Messages[0].Summary = false // no readable message is archived
	}
	return d, errors.Join(damagedArchive, damaged)
}
