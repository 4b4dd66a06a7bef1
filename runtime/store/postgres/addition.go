package postgres

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
)

// addition is an Append or a Note, encoded.
type addition struct {
	// version is nil for a Note.
	version *int64
	epoch   int64
	hold    int64
	mark    int64
	ends    bool
	bodies  [][]byte
	words   index.Rows
	entries entries
	forget  []int64
	states  []hook.StateValue
	jobs    []store.Job

	events []store.Event
	lines  []byte
	// The events fit if the last stored one is before this sequence; without events any is. last
	// is the sequence of the last event.
	before, last int64
}

// entries are journal entries, one slice for each column.
type entries struct {
	kinds          []string
	calls          [][]byte
	messages, data [][]byte
}

func newAppend(a store.Append) (*addition, error) {
	w, err := newNote(store.Note{Epoch: a.Epoch, Hold: a.Hold, Entries: a.Entries, Events: a.Events, States: a.States, Jobs: a.Jobs})
	if err != nil {
		return nil, err
	}
	w.version, w.ends, w.forget = &a.Version, a.TurnEnds, a.Forget
	for _, m := range a.Messages.All() {
		if m.Ephemeral {
			continue
		}
		body, err := codec.Encode(m)
		if err != nil {
			return nil, err
		}
		w.words.Add(len(w.bodies), m)
		w.bodies = append(w.bodies, []byte(body))
	}
	return w, nil
}

func newNote(n store.Note) (*addition, error) {
	w := &addition{epoch: n.Epoch, hold: hold(n.Hold), mark: mark(), states: lastStates(n.States), events: n.Events, before: math.MaxInt64}
	for _, j := range n.Jobs {
		if err := store.CheckJob(j.Job); err != nil {
			return nil, err
		}
	}
	w.jobs = firstJobs(n.Jobs)
	for _, e := range n.Entries {
		if err := w.entries.add(e); err != nil {
			return nil, err
		}
	}
	if len(n.Events) == 0 {
		return w, nil
	}
	if err := store.CheckEvents(0, n.Events); err != nil {
		return nil, err
	}
	w.lines = []byte(codec.JoinEvents(n.Events))
	w.before, w.last = int64(n.Events[0].Seq), int64(n.Events[len(n.Events)-1].Seq) //nolint:gosec // at most MaxEvent
	return w, nil
}

func (es *entries) add(e store.Entry) error {
	var body []byte
	if e.Message.Role != "" {
		text, err := codec.Encode(e.Message)
		if err != nil {
			return err
		}
		body = []byte(text)
	}
	es.kinds, es.calls = append(es.kinds, string(e.Kind)), append(es.calls, []byte(e.CallID))
	es.messages, es.data = append(es.messages, body), append(es.data, []byte(e.Data))
	return nil
}

// lastStates returns the last value of each name: a statement sets each row once.
func lastStates(all []hook.StateValue) []hook.StateValue {
	var out []hook.StateValue
	for i, v := range all {
		if !slices.ContainsFunc(all[i+1:], func(o hook.StateValue) bool { return o.Name == v.Name }) {
			out = append(out, v)
		}
	}
	return out
}

// told reports whether the addition is news for others, and does not just prolong the lease.
func (w *addition) told() bool {
	return w.version != nil || w.last > 0 || len(w.entries.kinds) > 0
}

// builder builds a statement of several parts.
type builder struct {
	parts []string
	args  []any
}

// arg adds an argument and returns its place, with its type.
func (b *builder) arg(v any, kind string) string {
	b.args = append(b.args, v)
	return fmt.Sprintf("$%d::%s", len(b.args), kind)
}

func (b *builder) part(name, sql string) { b.parts = append(b.parts, name+" AS ("+sql+")") }

// with returns the statement behind the parts.
func (b *builder) with(sql string) string {
	return `WITH ` + strings.Join(b.parts, ",\n") + "\n" + sql
}

// statement returns the statement: the row of the conversation is changed if it meets the
// conditions, and what is added follows from that row. It has only the parts that the addition
// needs, so that there are few texts and each is small.
func (w *addition) statement(clock *int64, id string) (sql string, args []any) {
	b := &builder{args: []any{clock, w.mark, id}}
	b.part("head", w.head(b))
	w.addMessages(b)
	w.addEntries(b)
	w.addStates(b)
	if len(w.jobs) > 0 {
		b.part("queued", insertJobs(b, w.jobs, "head"))
	}
	if w.last > 0 {
		b.part("told", `INSERT INTO event (conversation, seq, body) SELECT num, `+b.arg(w.last, "bigint")+`, `+b.arg(w.lines, "bytea")+` FROM head`)
	}
	first := `noted - ` + b.arg(len(w.entries.kinds), "bigint") + ` + 1`
	return b.with(`SELECT ` + first + ` FROM head`), b.args
}

func (w *addition) head(b *builder) string {
	hold, added := b.arg(w.hold, "bigint"), b.arg(len(w.entries.kinds), "bigint")
	set := marking + `, until = CASE WHEN c.epoch > 0 AND ` + hold + ` > 0 THEN ` + now + ` + ` + hold + ` ELSE 0 END, noted = c.noted + ` + added
	where := `c.id = $3 AND c.epoch = ` + b.arg(w.epoch, "bigint") + ` AND ` + marked
	if w.last > 0 {
		set += `, events = ` + b.arg(w.last, "bigint")
		where += ` AND c.events < ` + b.arg(w.before, "bigint")
	}
	if w.version != nil {
		set += `, version = c.version + 1, updated = greatest(c.updated, ` + now + `), messages = c.messages + ` + b.arg(len(w.bodies), "bigint")
		where += ` AND c.version = ` + b.arg(*w.version, "bigint")
	}
	switch {
	case w.ends:
		set += `, turns = c.turns + 1, entries = 0`
	case len(w.forget) > 0:
		set += `, entries = c.entries + ` + added + ` - (SELECT count(*) FROM entry e WHERE e.conversation = c.num AND e.seq = ANY (` + b.arg(w.forget, "bigint[]") + `))`
	default:
		set += `, entries = c.entries + ` + added
	}
	return `UPDATE conversation c SET ` + set + ` WHERE ` + where + ` RETURNING c.num, c.parent, c.messages, c.turns, c.noted`
}

func (w *addition) addMessages(b *builder) {
	if len(w.bodies) == 0 {
		return
	}
	turn := `turns + 1`
	if w.ends { // head has counted it already
		turn = `turns`
	}
	next := `messages - ` + b.arg(len(w.bodies), "bigint") // the seq of the first one
	b.part("said", `INSERT INTO message (conversation, seq, turn, body) SELECT num, `+next+` + o - 1, `+turn+`, body
		FROM head, unnest(`+b.arg(w.bodies, "bytea[]")+`) WITH ORDINALITY x (body, o)`)
	if len(w.words.At) == 0 {
		return
	}
	// The first message of a conversation has its title.
	b.part("found", `INSERT INTO word (conversation, seq, length, tsv) SELECT num, `+next+` + at, length,
		CASE WHEN `+next+` + at = 0 THEN titled ELSE plain END::tsvector
		FROM head, unnest(`+b.arg(w.words.At, "bigint[]")+`, `+b.arg(w.words.Lengths, "int[]")+`, `+b.arg(w.words.Titled, "text[]")+`, `+b.arg(w.words.Plain, "text[]")+`)
			x (at, length, titled, plain) WHERE parent = ''`)
}

func (w *addition) addEntries(b *builder) {
	switch {
	case w.ends:
		b.part("gone", `DELETE FROM entry e USING head WHERE e.conversation = head.num`)
		return
	case len(w.forget) > 0:
		b.part("gone", `DELETE FROM entry e USING head WHERE e.conversation = head.num AND e.seq = ANY (`+b.arg(w.forget, "bigint[]")+`)`)
	}
	if es := w.entries; len(es.kinds) > 0 {
		b.part("noted", `INSERT INTO entry (conversation, seq, kind, call_id, message, data, mark)
			SELECT num, noted - `+b.arg(len(es.kinds), "bigint")+` + o, kind, call, message, data, $2::bigint
			FROM head, unnest(`+b.arg(es.kinds, "text[]")+`, `+b.arg(es.calls, "bytea[]")+`, `+b.arg(es.messages, "bytea[]")+`, `+b.arg(es.data, "bytea[]")+`)
				WITH ORDINALITY x (kind, call, message, data, o)`)
	}
}

func (w *addition) addStates(b *builder) {
	if len(w.states) == 0 {
		return
	}
	names, data := make([][]byte, len(w.states)), make([][]byte, len(w.states))
	for i, v := range w.states {
		names[i], data[i] = []byte(v.Name), []byte(v.Data)
	}
	b.part("kept", `INSERT INTO state (conversation, name, data) SELECT num, name, data
		FROM head, unnest(`+b.arg(names, "bytea[]")+`, `+b.arg(data, "bytea[]")+`) x (name, data)
		ON CONFLICT (conversation, name) DO UPDATE SET data = excluded.data`)
}
