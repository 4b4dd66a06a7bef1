package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/codec"
)

// The messages, entries and events of a conversation are those whose numbers begin
// with the conversation's. Each statement returns one row of nulls for a
// conversation that has none, and no row for one that is not there.
const (
	liveMessages = `SELECT c.messages - c.first, m.num - (c.num << 32) - c.first, m.turn, m.body FROM conversation c
		LEFT JOIN message m ON m.num >= c.num << 32 AND m.num < (c.num + 1) << 32 WHERE c.id = ? ORDER BY m.num`
	archivedMessages = `SELECT c.archived, a.pos, a.turn * 2 + a.summary, a.body FROM conversation c
		LEFT JOIN archive a ON a.conversation = c.num AND a.branch = 0 WHERE c.id = ? ORDER BY a.pos`
	openJournal = `SELECT e.num - (c.num << 32), e.kind, e.call_id, e.message, e.data FROM conversation c
		LEFT JOIN entry e ON e.num >= c.num << 32 AND e.num < (c.num + 1) << 32 WHERE c.id = ? ORDER BY e.num`
	eventsAfter = `SELECT e.num - (c.num << 32), e.body FROM conversation c
		LEFT JOIN event e ON e.num > (c.num << 32) + ?2 AND e.num < (c.num + 1) << 32 WHERE c.id = ?1 ORDER BY e.num`
)

// damage collects what cannot be read.
type damage struct {
	id, part string
	at       []int64
	err      error
}

func (d *damage) note(at int64, err error) {
	if d.err == nil {
		d.err = err
	}
	d.at = append(d.at, at)
}

// error returns a *store.DamagedError, or nil if everything could be read.
func (d *damage) error() error {
	if d.err == nil {
		return nil
	}
	return &store.DamagedError{ID: d.id, Part: d.part, At: d.at, Err: d.err}
}

// Messages implements store.Reader.
func (s *Store) Messages(ctx context.Context, id string) ([]hook.Message, error) {
	ms, err := plain(s.read(ctx, s.reads[liveMessages], id, "message"))
	return ms, s.failed("read "+id, err)
}

// Archive implements store.Compacter.
func (s *Store) Archive(ctx context.Context, id string) ([]hook.Message, error) {
	ms, err := plain(s.read(ctx, s.reads[archivedMessages], id, "archived message"))
	return ms, s.failed("read the archive of "+id, err)
}

// line is a row of message or archive.
type line struct {
	// turn is what the statement says of it besides.
	turn    int
	pos     int64
	message hook.Message
}

func plain(lines []line, err error) ([]hook.Message, error) {
	if lines == nil {
		return nil, err
	}
	out := make([]hook.Message, len(lines))
	for i := range lines {
		out[i] = lines[i].message
	}
	return out, err
}

// read returns the messages that the statement finds.
func (s *Store) read(ctx context.Context, stmt *sql.Stmt, id, part string) (out []line, err error) {
	rows, err := stmt.QueryContext(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var total int
	var pos, turn sql.NullInt64
	var body sql.RawBytes
	known, bad := false, damage{id: id, part: part}
	for rows.Next() {
		known = true
		if err := rows.Scan(&total, &pos, &turn, &body); err != nil {
			return nil, err
		}
		if !pos.Valid {
			continue
		}
		if out == nil {
			out = make([]line, 0, total)
		}
		m, err := codec.Decode(body)
		if err != nil {
			bad.note(pos.Int64, err)
			continue
		}
		out = append(out, line{turn: int(turn.Int64), pos: pos.Int64, message: m})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, unknown(id)
	}
	return out, bad.error()
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
	known, bad := false, damage{id: id, part: "journal entry"}
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
		if err := complete(&e, message); err != nil {
			bad.note(e.Seq, err)
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
	return out, bad.error()
}

// complete reads what of an entry can be damaged.
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
	known, bad := false, damage{id: id, part: "event"}
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
		es, err := splitEvents(body)
		if err != nil {
			bad.note(last.Int64, err)
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
	return out, bad.error()
}

// splitEvents returns the events of a row; the error is that of the first line
// that is none.
func splitEvents(body []byte) (out []store.Event, err error) {
	for line := range bytes.Lines(body) {
		number, data, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		seq, bad := strconv.ParseUint(string(number), 10, 32)
		if bad == nil && !jsontext.Value(data).IsValid() {
			bad = errors.New("its data is no JSON")
		}
		if bad != nil {
			err = cmp.Or(err, bad)
			continue
		}
		out = append(out, store.Event{Seq: seq, Data: hook.JSON(data)})
	}
	return out, err
}

// Dump implements store.Porter.
func (s *Store) Dump(ctx context.Context, id string) (store.Dump, error) {
	d, err := s.dump(ctx, id)
	return d, s.failed("take out "+id, err)
}

// dump reads in one transaction, so that nothing is seen half moved.
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
	old, errOld := s.read(ctx, tx.StmtContext(ctx, s.reads[archivedMessages]), id, "archived message")
	if errOld != nil && !errors.Is(errOld, store.ErrDamaged) {
		return d, errOld
	}
	for _, l := range old {
		d.Archive = append(d.Archive, store.Kept{Turn: l.turn / 2, Summary: l.turn%2 == 1, Message: l.message})
	}
	live, errLive := s.read(ctx, tx.StmtContext(ctx, s.reads[liveMessages]), id, "message")
	if errLive != nil && !errors.Is(errLive, store.ErrDamaged) {
		return d, errLive
	}
	for _, l := range live {
		d.Messages = append(d.Messages, store.Kept{Turn: l.turn, Summary: l.pos == 0 && len(old) > 0, Message: l.message})
	}
	return d, errors.Join(errOld, errLive)
}
