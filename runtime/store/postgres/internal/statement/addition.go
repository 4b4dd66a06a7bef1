package statement

import (
	"math"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
)

// Addition is an Append or a Note, encoded.
type Addition struct {
	// Version is nil for a Note.
	Version *int64
	Epoch   int64
	Mark    int64
	Events  []store.Event
	// Lines are the events as they are stored. They fit if the last stored one is before Before;
	// without events any is. Last is the sequence of the last event.
	Lines        []byte
	Before, Last int64

	hold    int64
	ends    bool
	bodies  [][]byte
	words   index.Rows
	entries entries
	forget  []int64
	states  []hook.StateValue
	jobs    []store.Job
}

// entries are journal entries, one slice for each column.
type entries struct {
	kinds          []string
	calls          [][]byte
	messages, data [][]byte
}

// OfAppend encodes an Append. Its error is about what cannot be stored.
func OfAppend(a store.Append) (*Addition, error) {
	w, err := OfNote(store.Note{Epoch: a.Epoch, Hold: a.Hold, Entries: a.Entries, Events: a.Events, States: a.States, Jobs: a.Jobs})
	if err != nil {
		return nil, err
	}
	w.Version, w.ends, w.forget = &a.Version, a.TurnEnds, a.Forget
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

// OfNote encodes a Note. Its error is about what cannot be stored.
func OfNote(n store.Note) (*Addition, error) {
	w := &Addition{Epoch: n.Epoch, hold: Hold(n.Hold), Mark: Mark(), states: lastStates(n.States), Events: n.Events, Before: math.MaxInt64}
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
	w.Lines = []byte(codec.JoinEvents(n.Events))
	w.Before, w.Last = int64(n.Events[0].Seq), int64(n.Events[len(n.Events)-1].Seq) //nolint:gosec // at most MaxEvent
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

// Told reports whether the addition is news for others, and does not just prolong the lease.
func (w *Addition) Told() bool {
	return w.Version != nil || w.Last > 0 || len(w.entries.kinds) > 0
}

// Statement returns the statement: the row of the conversation is changed if it meets the
// conditions, and what is added follows from that row. It has only the parts that the addition
// needs, so that there are few texts and each is small.
func (w *Addition) Statement(clock *int64, id string) (sql string, args []any) {
	b := &Builder{Args: []any{clock, w.Mark, id}}
	b.Part("head", w.head(b))
	w.addMessages(b)
	w.addEntries(b)
	w.addStates(b)
	if len(w.jobs) > 0 {
		b.Part("queued", InsertJobs(b, w.jobs, "head"))
	}
	if w.Last > 0 {
		b.Part("told", `INSERT INTO event (conversation, seq, body) SELECT num, `+b.Arg(w.Last, "bigint")+`, `+b.Arg(w.Lines, "bytea")+` FROM head`)
	}
	first := `noted - ` + b.Arg(len(w.entries.kinds), "bigint") + ` + 1`
	return b.With(`SELECT ` + first + ` FROM head`), b.Args
}

func (w *Addition) head(b *Builder) string {
	hold, added := b.Arg(w.hold, "bigint"), b.Arg(len(w.entries.kinds), "bigint")
	set := Marking + `, until = CASE WHEN c.epoch > 0 AND ` + hold + ` > 0 THEN ` + Now + ` + ` + hold + ` ELSE 0 END, noted = c.noted + ` + added
	where := `c.id = $3 AND c.epoch = ` + b.Arg(w.Epoch, "bigint") + ` AND ` + Marked
	if w.Last > 0 {
		set += `, events = ` + b.Arg(w.Last, "bigint")
		where += ` AND c.events < ` + b.Arg(w.Before, "bigint")
	}
	if w.Version != nil {
		set += `, version = c.version + 1, updated = greatest(c.updated, ` + Now + `), messages = c.messages + ` + b.Arg(len(w.bodies), "bigint")
		where += ` AND c.version = ` + b.Arg(*w.Version, "bigint")
	}
	switch {
	case w.ends:
		set += `, turns = c.turns + 1, entries = 0`
	case len(w.forget) > 0:
		set += `, entries = c.entries + ` + added + ` - (SELECT count(*) FROM entry e WHERE e.conversation = c.num AND e.seq = ANY (` + b.Arg(w.forget, "bigint[]") + `))`
	default:
		set += `, entries = c.entries + ` + added
	}
	return `UPDATE conversation c SET ` + set + ` WHERE {c.project} AND ` + where + ` RETURNING c.num, c.project, c.parent, c.messages, c.turns, c.noted`
}

func (w *Addition) addMessages(b *Builder) {
	if len(w.bodies) == 0 {
		return
	}
	turn := `turns + 1`
	if w.ends { // head has counted it already
		turn = `turns`
	}
	next := `messages - ` + b.Arg(len(w.bodies), "bigint") // the seq of the first one
	b.Part("said", `INSERT INTO message (conversation, seq, turn, body) SELECT num, `+next+` + o - 1, `+turn+`, body
		FROM head, unnest(`+b.Arg(w.bodies, "bytea[]")+`) WITH ORDINALITY x (body, o)`)
	if len(w.words.At) == 0 {
		return
	}
	// The first message of a conversation has its title.
	b.Part("found", `INSERT INTO word (conversation, seq, length, tsv) SELECT num, `+next+` + at, length,
		CASE WHEN `+next+` + at = 0 THEN titled ELSE plain END::tsvector || `+index.Owner("project")+`
		FROM head, unnest(`+b.Arg(w.words.At, "bigint[]")+`, `+b.Arg(w.words.Lengths, "int[]")+`, `+b.Arg(w.words.Titled, "text[]")+`, `+b.Arg(w.words.Plain, "text[]")+`)
			x (at, length, titled, plain) WHERE parent = ''`)
}

func (w *Addition) addEntries(b *Builder) {
	switch {
	case w.ends:
		b.Part("gone", `DELETE FROM entry e USING head WHERE e.conversation = head.num`)
		return
	case len(w.forget) > 0:
		b.Part("gone", `DELETE FROM entry e USING head WHERE e.conversation = head.num AND e.seq = ANY (`+b.Arg(w.forget, "bigint[]")+`)`)
	}
	if es := w.entries; len(es.kinds) > 0 {
		b.Part("noted", `INSERT INTO entry (conversation, seq, kind, call_id, message, data, mark)
			SELECT num, noted - `+b.Arg(len(es.kinds), "bigint")+` + o, kind, call, message, data, $2::bigint
			FROM head, unnest(`+b.Arg(es.kinds, "text[]")+`, `+b.Arg(es.calls, "bytea[]")+`, `+b.Arg(es.messages, "bytea[]")+`, `+b.Arg(es.data, "bytea[]")+`)
				WITH ORDINALITY x (kind, call, message, data, o)`)
	}
}

func (w *Addition) addStates(b *Builder) {
	if len(w.states) == 0 {
		return
	}
	names, data := make([][]byte, len(w.states)), make([][]byte, len(w.states))
	for i, v := range w.states {
		names[i], data[i] = []byte(v.Name), []byte(v.Data)
	}
	b.Part("kept", `INSERT INTO state (conversation, name, data) SELECT num, name, data
		FROM head, unnest(`+b.Arg(names, "bytea[]")+`, `+b.Arg(data, "bytea[]")+`) x (name, data)
		ON CONFLICT (conversation, name) DO UPDATE SET data = excluded.data`)
}
