package postgres

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

// Each statement returns one row of nulls for a conversation that has none of what is asked for,
// and no row for one that is not there.
const (
	liveMessages = `SELECT m.seq - c.first, m.turn, c.archived > 0 AND m.seq = c.first, m.body FROM conversation c
		LEFT JOIN message m ON m.conversation = c.num WHERE c.id = $1 AND {c.project} ORDER BY m.seq`
	archivedMessages = `SELECT a.pos, a.turn, a.summary, a.body FROM conversation c
		LEFT JOIN archive a ON a.conversation = c.num AND a.branch = 0 WHERE c.id = $1 AND {c.project} ORDER BY a.pos`
	openJournal = `SELECT e.seq, e.kind, e.call_id, e.message, e.data FROM conversation c
		LEFT JOIN entry e ON e.conversation = c.num WHERE c.id = $1 AND {c.project} ORDER BY e.seq`
	// A row has at least one event, so limit rows suffice.
	eventsAfter = `SELECT e.seq, e.body FROM conversation c LEFT JOIN LATERAL (
			SELECT e.seq, e.body FROM event e WHERE e.conversation = c.num AND e.seq > $2 ORDER BY e.seq LIMIT $3) e ON true
		WHERE c.id = $1 AND {c.project} ORDER BY e.seq`
	keptStates = `SELECT s.name, s.data FROM conversation c LEFT JOIN state s ON s.conversation = c.num WHERE c.id = $1 AND {c.project} ORDER BY s.name`
	// beginning is that of the first message, from the archive if a summary stands for it.
	beginning = `substring(coalesce(
			(SELECT a.body FROM archive a WHERE a.conversation = c.num AND a.branch = 0 AND a.pos = 0),
			(SELECT m.body FROM message m WHERE m.conversation = c.num ORDER BY m.seq LIMIT 1)) FROM 1 FOR $2::int)`
	titled = `SELECT ` + columns + `, ` + beginning + ` FROM conversation c WHERE c.id = $3 AND {c.project}`
	titles = `SELECT c.id, ` + beginning + ` FROM conversation c WHERE c.id = ANY($1::text[]) AND {c.project}`
)

// Find implements store.Reader.
func (s *Store) Find(ctx context.Context, id string) (store.Record, error) {
	rec, err := s.titled(ctx, id)
	return rec, s.failed("find "+id, err)
}

func (s *Store) titled(ctx context.Context, id string) (store.Record, error) {
	type found struct {
		store.Record
		body []byte
	}
	read := func(most int) (found, error) {
		return one(query(ctx, s, func(row pgdb.Row) (f found, err error) {
			f.Record, err = scan(row, &f.body)
			return f, err
		}, titled, s.clock(), most, id))
	}
	f, err := read(codec.Beginning)
	if errors.Is(err, pgdb.ErrNoRows) {
		return store.Record{}, unknown(id)
	}
	if err != nil || f.body == nil {
		return f.Record, err
	}
	m, whole := codec.DecodeBeginning(f.body)
	if !whole && len(f.body) == codec.Beginning {
		if f, err = read(1 << 30); err != nil {
			return store.Record{}, err
		}
		m, err = codec.Decode(f.body)
		if err != nil {
			return f.Record, nil //nolint:nilerr // Messages reports the damage
		}
	}
	f.Title = store.Title(m)
	return f.Record, nil
}

// Titles implements store.Titles. It makes one query, or two if a title needs more than the beginning of a message.
func (s *Store) Titles(ctx context.Context, ids []string) (map[string]string, error) {
	type title struct {
		id, text string
		cut      bool // it needs more
	}
	out := map[string]string{}
	for _, most := range []int{codec.Beginning, 1 << 30} {
		found, err := query(ctx, s, func(row pgdb.Row) (t title, err error) {
			var body []byte
			if err := row.Scan(&t.id, &body); err != nil {
				return t, err
			}
			m, whole := codec.DecodeBeginning(body)
			t.text, t.cut = store.Title(m), !whole && len(body) == most
			return t, nil
		}, titles, ids, most)
		if err != nil {
			return nil, s.failed("find titles", err)
		}
		ids = nil
		for _, t := range found {
			if t.cut {
				ids = append(ids, t.id)
			} else if t.text != "" {
				out[t.id] = t.text
			}
		}
		if len(ids) == 0 {
			break
		}
	}
	return out, nil
}

// reader reads a row: what is in it, its position, and why it, or a part of it, is damaged. The
// position is nil for the row of a conversation that has none.
type reader[T any] func(row pgdb.Row) (vs []T, at *int64, bad, err error)

// part reads the rows of a statement about one conversation.
func part[T any](ctx context.Context, q pgdb.Queryer, id, name string, read reader[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	known, damage := false, codec.Damage{ID: id, Part: name}
	for rows.Next() {
		known = true
		vs, at, bad, err := read(rows)
		if err != nil {
			return nil, err
		}
		if at != nil && bad != nil {
			damage.Note(*at, bad)
		}
		out = append(out, vs...)
	}
	switch {
	case rows.Err() != nil:
		return nil, rows.Err()
	case !known:
		return nil, unknown(id)
	}
	return out, damage.Err()
}

// reading is part in a reading connection.
func reading[T any](ctx context.Context, s *Store, id, name string, read reader[T], sql string, args ...any) (out []T, err error) {
	err = s.db.Read(ctx, func(q pgdb.Queryer) error {
		out, err = part(ctx, q, id, name, read, sql, append([]any{id}, args...)...)
		return err
	})
	return out, err
}

// Messages implements store.Reader.
func (s *Store) Messages(ctx context.Context, id string) ([]message.Message, error) {
	lines, err := reading(ctx, s, id, "message", readKept, liveMessages)
	return plain(lines), s.failed("read "+id, err)
}

// Archive implements store.Compacter.
func (s *Store) Archive(ctx context.Context, id string) ([]message.Message, error) {
	lines, err := reading(ctx, s, id, "archived message", readKept, archivedMessages)
	return plain(lines), s.failed("read the archive of "+id, err)
}

func plain(lines []store.Kept) []message.Message {
	if lines == nil {
		return nil
	}
	out := make([]message.Message, len(lines))
	for i := range lines {
		out[i] = lines[i].Message
	}
	return out
}

func readKept(row pgdb.Row) (ks []store.Kept, at *int64, bad, err error) {
	var turn *int64
	var summary *bool
	var body []byte
	if err := row.Scan(&at, &turn, &summary, &body); err != nil || at == nil {
		return nil, nil, nil, err
	}
	m, bad := codec.Decode(body)
	return intact(store.Kept{Turn: int(*turn), Summary: *summary, Message: m}, bad), at, bad, nil
}

// Journal implements store.Reader.
func (s *Store) Journal(ctx context.Context, id string) ([]store.Entry, error) {
	es, err := reading(ctx, s, id, "journal entry", readEntry, openJournal)
	return es, s.failed("read the journal of "+id, err)
}

// intact returns the value, unless it is bad.
func intact[T any](v T, bad error) []T {
	if bad != nil {
		return nil
	}
	return []T{v}
}

func readEntry(row pgdb.Row) (es []store.Entry, at *int64, bad, err error) {
	var kind *string
	var call, said, data []byte
	if err := row.Scan(&at, &kind, &call, &said, &data); err != nil || at == nil {
		return nil, nil, nil, err
	}
	e := store.Entry{Seq: *at, Kind: store.EntryKind(*kind), CallID: string(call), Data: message.JSON(data)}
	if said != nil {
		e.Message, bad = codec.Decode(said)
	}
	if bad == nil && len(data) > 0 {
		bad = valid(data)
	}
	return intact(e, bad), at, bad, nil
}

func valid(data []byte) error {
	if !jsontext.Value(data).IsValid() {
		return errors.New("its data is no JSON")
	}
	return nil
}

// States implements store.States.
func (s *Store) States(ctx context.Context, id string) ([]hook.StateValue, error) {
	at := int64(-1)
	vs, err := reading(ctx, s, id, "state", func(row pgdb.Row) (vs []hook.StateValue, _ *int64, bad, err error) {
		var name, data []byte
		if err := row.Scan(&name, &data); err != nil || data == nil {
			return nil, nil, nil, err
		}
		at++
		bad = valid(data)
		return intact(hook.StateValue{Name: string(name), Data: message.JSON(data)}, bad), &at, bad, nil
	}, keptStates)
	return vs, s.failed("read the states of "+id, err)
}

// Events implements store.Log.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	var out []store.Event
	all, err := reading(ctx, s, id, "event", func(row pgdb.Row) (es []store.Event, at *int64, bad, err error) {
		var body []byte
		if err := row.Scan(&at, &body); err != nil || at == nil {
			return nil, nil, nil, err
		}
		es, bad = codec.SplitEvents(body)
		return es, at, bad, nil
	}, eventsAfter, int64(min(after, store.MaxEvent)), max(0, limit)) //nolint:gosec // at most MaxEvent
	for _, e := range all {
		if e.Seq > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, s.failed("read the events of "+id, err)
}

// Dump implements store.Porter. It reads one state of the database, so that it sees no half-made
// change.
func (s *Store) Dump(ctx context.Context, id string) (d store.Dump, err error) {
	var damaged error
	err = s.db.Snapshot(ctx, func(q pgdb.Queryer) error {
		d, damaged, err = dump(ctx, q, s.clock(), id)
		return err
	})
	if err == nil {
		err = damaged
	}
	return d, s.failed("take out "+id, err)
}

func dump(ctx context.Context, q pgdb.Queryer, clock *int64, id string) (d store.Dump, damaged, err error) {
	rec, err := one(rowsOf(ctx, q, scanRecord, byID, clock, id))
	if errors.Is(err, pgdb.ErrNoRows) {
		return d, nil, unknown(id)
	}
	if err != nil {
		return d, nil, err
	}
	d = store.Dump{Key: rec.Key, Created: rec.Created, Turns: rec.Turns}
	var damagedArchive, damagedMessages error
	if d.Archive, damagedArchive = part(ctx, q, id, "archived message", readKept, archivedMessages, id); damagedArchive != nil && !errors.Is(damagedArchive, store.ErrDamaged) {
		return d, nil, damagedArchive
	}
	if d.Messages, damagedMessages = part(ctx, q, id, "message", readKept, liveMessages, id); damagedMessages != nil && !errors.Is(damagedMessages, store.ErrDamaged) {
		return d, nil, damagedMessages
	}
	if len(d.Archive) == 0 && len(d.Messages) > 0 {
		d.Messages[0].Summary = false // no readable message is archived
	}
	return d, errors.Join(damagedArchive, damagedMessages), nil
}
