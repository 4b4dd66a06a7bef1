package sqlite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// damaged is a file with two conversations of two turns each, and a journal and
// events in both; the first is damaged by the statement.
func damaged(t *testing.T, statement string) (*sqlite.Store, store.Record, store.Record) {
	t.Helper()
	path := file(t)
	s := open(t, path)
	var recs []store.Record
	for _, sender := range []string{"1", "2"} {
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: sender})
		require.NoError(t, err)
		for v := range int64(2) {
			_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true,
				Messages: message.MessagesOf(message.UserText("question"), message.UserText("middle"), message.UserText("answer"))})
			require.NoError(t, err)
		}
		_, err = s.Note(t.Context(), rec.ID, store.Note{
			Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}, {Kind: store.EntryReply, Message: message.UserText("r"), Data: `{}`}, {Kind: store.EntryStart}},
			Events:  []store.Event{{Seq: 1, Data: `{}`}, {Seq: 2, Data: `{}`}, {Seq: 4, Data: `{}`}}})
		require.NoError(t, err)
		_, err = s.Note(t.Context(), rec.ID, store.Note{Events: []store.Event{{Seq: 5, Data: `{}`}},
			States: []hook.StateValue{{Name: "a", Data: `"question"`}, {Name: "b", Data: "2"}}})
		require.NoError(t, err)
		rec, err = s.Conversation(t.Context(), rec.Key)
		require.NoError(t, err)
		recs = append(recs, rec)
	}
	change(t, path, current(), statement)
	return s, recs[0], recs[1]
}

// parts reads everything of a conversation and returns how much there is, and the
// errors.
func parts(t *testing.T, s *sqlite.Store, id string) (counts [5]int, errs []error) {
	t.Helper()
	ms, err := s.Messages(t.Context(), id)
	counts[0], errs = len(ms), append(errs, err)
	js, err := s.Journal(t.Context(), id)
	counts[1], errs = len(js), append(errs, err)
	es, err := s.Events(t.Context(), id, 0, 100)
	counts[2], errs = len(es), append(errs, err)
	d, err := s.Dump(t.Context(), id)
	counts[3], errs = len(d.Messages), append(errs, err)
	vs, err := s.States(t.Context(), id)
	counts[4], errs = len(vs), append(errs, err)
	return counts, errs
}

func TestWhatCannotBeReadIsLeftOutAndTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		counts    [5]int
		which     int // of the errors of parts
		part      string
		at        []int64
	}{
		"the last message":        {`UPDATE message SET body = substr(body, 1, length(body) - 5) WHERE num = 1 << 32 | 5`, [5]int{5, 3, 4, 5, 2}, 0, "message", []int64{5}},
		"a message in the middle": {`UPDATE message SET body = 'x' WHERE num = 1 << 32 | 2`, [5]int{5, 3, 4, 5, 2}, 0, "message", []int64{2}},
		"all messages":            {`UPDATE message SET body = '' WHERE num >> 32 = 1`, [5]int{0, 3, 4, 0, 2}, 0, "message", []int64{0, 1, 2, 3, 4, 5}},
		"another kind of JSON":    {`UPDATE message SET body = '[1]' WHERE num = 1 << 32`, [5]int{5, 3, 4, 5, 2}, 0, "message", []int64{0}},
		"no UTF-8":                {`UPDATE message SET body = replace(body, 'question', CAST(x'ff' AS TEXT)) WHERE num = 1 << 32`, [5]int{5, 3, 4, 5, 2}, 0, "message", []int64{0}},
		"a journal entry":         {`UPDATE entry SET message = '{"role":' WHERE num = 1 << 32 | 2`, [5]int{6, 2, 4, 6, 2}, 1, "journal entry", []int64{2}},
		"data of a journal entry": {`UPDATE entry SET data = '{' WHERE num = 1 << 32 | 1`, [5]int{6, 2, 4, 6, 2}, 1, "journal entry", []int64{1}},
		"an event":                {`UPDATE event SET body = replace(body, '2 {}', '2 {') WHERE num = 1 << 32 | 4`, [5]int{6, 3, 3, 6, 2}, 2, "event", []int64{4}},
		"a state":                 {`UPDATE state SET data = '"question' WHERE conversation = 1 AND name = 'a'`, [5]int{6, 3, 4, 6, 1}, 4, "state", []int64{0}},
		"a sequence of an event":  {`UPDATE event SET body = replace(body, '2 ', 'x ') WHERE num = 1 << 32 | 4`, [5]int{6, 3, 3, 6, 2}, 2, "event", []int64{4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, rec, other := damaged(t, c.statement)
			counts, errs := parts(t, s, rec.ID)
			assert.Equal(t, c.counts, counts)
			for i, err := range errs {
				if i != c.which && (i != 3 || c.which != 0) {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, store.ErrDamaged)
				var d *store.DamagedError
				require.ErrorAs(t, err, &d)
				assert.Equal(t, store.DamagedError{ID: rec.ID, Part: c.part, At: c.at, Err: d.Err}, *d)
				assert.Error(t, d.Err)
				assert.ErrorContains(t, err, c.part)
				assert.NotContains(t, err.Error(), "question", "an error quotes nothing that was said")
			}
			counts, errs = parts(t, s, other.ID)
			assert.Equal(t, [5]int{6, 3, 4, 6, 2}, counts)
			assert.Equal(t, make([]error, 5), errs)
			goesOn(t, s, rec, other)
		})
	}
}

// goesOn uses a damaged conversation and the other one as if nothing had happened.
func goesOn(t *testing.T, s *sqlite.Store, rec, other store.Record) {
	t.Helper()
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []store.Record{rec, other}, all)
	found, err := s.Search(t.Context(), store.Query{Text: "question answer", Limit: 20, Before: 8, After: 8})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(found), 4)
	fork, err := s.Fork(t.Context(), rec.ID, 2, store.Key{Agent: "fork"})
	require.NoError(t, err)
	assert.Equal(t, 2, fork.Turns)
	before, _ := s.Messages(t.Context(), rec.ID)
	v, err := s.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Messages: message.MessagesOf(message.UserText("more")), TurnEnds: true})
	require.NoError(t, err)
	after, _ := s.Messages(t.Context(), rec.ID)
	assert.Len(t, after, len(before)+1, "what comes later is seen")
	v, err = s.Compact(t.Context(), rec.ID, store.At{Version: v}, 3, message.UserText("summary"))
	require.NoError(t, err)
	_, err = s.Rewind(t.Context(), rec.ID, store.At{Version: v}, 2)
	require.NoError(t, err)
}

func TestADamagedArchiveIsTold(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("1"), message.UserText("2"), message.UserText("3")), TurnEnds: true})
	require.NoError(t, err)
	_, err = s.Compact(t.Context(), rec.ID, store.At{Version: 1}, 2, message.UserText("summary"))
	require.NoError(t, err)
	change(t, path, current(), `UPDATE archive SET body = '{' WHERE pos = 1`)
	ms, err := s.Archive(t.Context(), rec.ID)
	var d *store.DamagedError
	require.ErrorAs(t, err, &d)
	assert.Equal(t, "archived message", d.Part)
	assert.Equal(t, []int64{1}, d.At)
	require.Len(t, ms, 1)
	assert.Equal(t, []string{"summary", "3"}, texts(t, s, rec.ID))
}

func TestEventsMayHaveLineBreaksBetweenTokens(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Events: []store.Event{{Seq: 1, Data: "{\n\t\"a\":\r\n1}\n"}, {Seq: 2, Data: `{}`}}})
	require.NoError(t, err)
	es, err := s.Events(t.Context(), rec.ID, 0, 9)
	require.NoError(t, err)
	require.Len(t, es, 2)
	assert.JSONEq(t, `{"a":1}`, string(es[0].Data))
}
