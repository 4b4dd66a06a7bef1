package sqlite_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// raw opens the file of a store as a database; steps are those that have made it.
func raw(t testing.TB, path string, steps ...string) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Schema{Name: "conversation store", ID: 0x47524163, Steps: steps})
	require.NoError(t, err)
	return db
}

// current are steps that a file of today does not need.
func current() []string { return make([]string, 8) }

// change changes the file of a store that is open elsewhere.
func change(t *testing.T, path string, steps []string, query string, args ...any) {
	t.Helper()
	db := raw(t, path, steps...)
	require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	}))
	require.NoError(t, db.Close())
}

func column(t *testing.T, path string, steps []string, query string) (out []string) {
	t.Helper()
	db := raw(t, path, steps...)
	rows, err := db.Read().QueryContext(t.Context(), query)
	require.NoError(t, err)
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	require.NoError(t, db.Close())
	return out
}

// version1 makes a file of version 1.
func version1(t *testing.T) string {
	t.Helper()
	dump, err := os.ReadFile("testdata/1.sql")
	require.NoError(t, err)
	path := file(t)
	require.NoError(t, raw(t, path, string(dump)).Close())
	return path
}

func TestAFileOfVersion1HasEverything(t *testing.T) {
	t.Parallel()
	path := version1(t)
	before := column(t, path, []string{""}, `SELECT body FROM message ORDER BY conversation, seq`)
	s := open(t, path)
	all, err := s.List(t.Context())
	require.NoError(t, err)
	for i := range all {
		all[i], err = s.Find(t.Context(), all[i].ID) // with its title
		require.NoError(t, err)
	}
	at := func(second int) time.Time {
		return time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC).Add(time.Duration(second) * time.Second).Local()
	}
	assert.Equal(t, []store.Record{
		{ID: "01K00000000000000000000001", Key: store.Key{Agent: "coder", Sender: "me"}, Version: 16, Turns: 5, Created: at(1), Updated: at(20), Title: "1 question"},
		{ID: "01K00000000000000000000002", Key: store.Key{Agent: "coder", Sender: "é"}, Version: 2, Turns: 1, Created: at(3), Updated: at(15), Title: "hello"},
		{ID: "01K00000000000000000000003", Key: store.Key{Agent: "none"}, Created: at(21), Updated: at(21)},
		{ID: "01K00000000000000000000004", Key: store.Key{Agent: "odd", Sender: "x"}, Version: 1, Turns: 1, Created: at(22), Updated: at(23), Title: "a"},
	}, all)
	id := all[0].ID
	assert.Equal(t, []string{"1 question", "1 answer", "2 question", "", "", "", "", "2 feedback", "2 answer", "3 skill", "3 question", "3 answer",
		"4 question without an answer", "5 question", "5 answer", "6 question"}, texts(t, s, id))
	ms, err := s.Messages(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, message.JSON(`{"a":1,"a":2}`), ms[5].Content.At(1).JSON)
	assert.Equal(t, "b", ms[6].CallID)
	assert.Equal(t, before, column(t, path, current(), `SELECT body FROM message ORDER BY num`), "byte by byte")
	d, err := s.Dump(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, d.Check())
	var turns []int
	for _, k := range d.Messages {
		turns = append(turns, k.Turn)
	}
	assert.Equal(t, []int{1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5}, turns, "4 had no answer and is one with 5; 6 follows it")
	d, err = s.Dump(t.Context(), all[3].ID)
	require.NoError(t, err)
	require.NoError(t, d.Check(), "no turn is behind the next one, whoever wrote it")
}

func TestAFileOfVersion1GoesOn(t *testing.T) {
	t.Parallel()
	s := open(t, version1(t))
	rec, err := s.Claim(t.Context(), "01K00000000000000000000001", store.Claim{Owner: "me", Hold: time.Minute})
	require.NoError(t, err)
	v, err := s.Rewind(t.Context(), rec.ID, store.At{Version: rec.Version, Epoch: 1}, 2)
	require.NoError(t, err)
	assert.Equal(t, "2 answer", texts(t, s, rec.ID)[8])
	v, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Epoch: 1, Messages: message.MessagesOf(message.UserText("3 again")), TurnEnds: true})
	require.NoError(t, err)
	_, err = s.Compact(t.Context(), rec.ID, store.At{Version: v, Epoch: 1}, 2, message.UserText("summary"))
	require.NoError(t, err)
	found, err := s.Search(t.Context(), store.Query{Text: "again hello"})
	require.NoError(t, err)
	assert.Len(t, found, 3)
	child, err := s.Child(t.Context(), store.Key{Agent: "c"}, rec.ID)
	require.NoError(t, err)
	assert.Equal(t, rec.ID, child.Parent)
}

func TestADamagedMessageOfVersion1DoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	path := version1(t)
	change(t, path, []string{""}, `UPDATE message SET body = substr(body, 1, 20) WHERE conversation = 1 AND seq IN (2, 8)`)
	s := open(t, path)
	got, err := s.Messages(t.Context(), "01K00000000000000000000001")
	var damaged *store.DamagedError
	require.ErrorAs(t, err, &damaged)
	assert.Equal(t, []int64{2, 8}, damaged.At)
	assert.Len(t, got, 14)
	assert.Equal(t, []string{"hello", "hello yourself"}, texts(t, s, "01K00000000000000000000002"))
}

func TestANewerFileIsRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	require.NoError(t, open(t, path).Close())
	newer := append(current(), "CREATE TABLE later (x)")
	require.NoError(t, raw(t, path, newer...).Close())
	_, err := sqlite.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, sqlitedb.ErrNewer)
	assert.ErrorContains(t, err, "use the newer program")
	assert.Equal(t, []string{strconv.Itoa(len(newer))}, column(t, path, newer, `PRAGMA user_version`), "it is as it was")
}

func TestAMigrationThatStopsLeavesTheOldVersion(t *testing.T) {
	t.Parallel()
	path := version1(t)
	change(t, path, []string{""}, `CREATE TABLE word (obstacle TEXT)`) // the last table that the migration makes
	old := []string{""}
	schema := `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name`
	tables, bodies := column(t, path, old, schema), column(t, path, old, `SELECT body FROM message ORDER BY conversation, seq`)
	_, err := sqlite.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, "schema step 2")
	assert.Equal(t, []string{"1"}, column(t, path, old, `PRAGMA user_version`))
	assert.Equal(t, tables, column(t, path, old, schema))
	assert.Equal(t, bodies, column(t, path, old, `SELECT body FROM message ORDER BY conversation, seq`))
	change(t, path, old, `DROP TABLE word`)
	assert.Len(t, texts(t, open(t, path), "01K00000000000000000000001"), 16)
}

// version2 makes a file of version 2 with one conversation within a turn, whose
// rows are those that its programs have written.
func version2(t *testing.T) string {
	t.Helper()
	var steps []string
	for _, name := range []string{"schema/1.sql", "schema/2.sql"} {
		step, err := os.ReadFile(name)
		require.NoError(t, err)
		steps = append(steps, string(step))
	}
	path := file(t)
	require.NoError(t, raw(t, path, steps...).Close())
	change(t, path, steps, `INSERT INTO conversation (id, agent, sender, version, turns, messages, created, updated, owner, epoch, until, noted, entries, events)
		VALUES ('01K0', 'coder', 'me', 2, 1, 2, 1, 2, 'pid 1', 3, 0, 5, 1, 7)`)
	change(t, path, steps, `INSERT INTO message VALUES (1 << 32, 1, '{"role":"user","content":[{"kind":"text","text":"q"}]}'),
		(1 << 32 | 1, 1, '{"role":"assistant","content":[{"kind":"text","text":"a"}]}')`)
	change(t, path, steps, `INSERT INTO entry VALUES (1 << 32 | 5, 'turn', '', NULL, '{"id":"t"}')`)
	change(t, path, steps, `INSERT INTO event VALUES (1 << 32 | 7, '7 {"kind":"turn_start"}' || char(10))`)
	return path
}

func TestAFileOfVersion2HasEverythingAndKeepsStates(t *testing.T) {
	t.Parallel()
	path := version2(t)
	s := open(t, path)
	want := store.Record{ID: "01K0", Key: store.Key{Agent: "coder", Sender: "me"}, Version: 2, Turns: 1, Created: time.Unix(0, 1), Updated: time.Unix(0, 2),
		Lease: store.Lease{Owner: "pid 1", Epoch: 3}, Journaled: true, Events: 7}
	rec, err := s.Conversation(t.Context(), want.Key)
	require.NoError(t, err)
	assert.Equal(t, want, rec)
	assert.Equal(t, []string{"q", "a"}, texts(t, s, rec.ID))
	entries, err := s.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, []store.Entry{{Seq: 5, Kind: store.EntryTurn, Data: `{"id":"t"}`}}, entries)
	events, err := s.Events(t.Context(), rec.ID, 0, 9)
	require.NoError(t, err)
	assert.Equal(t, []store.Event{{Seq: 7, Data: `{"kind":"turn_start"}`}}, events)
	values, err := s.States(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Empty(t, values)
	kept := []hook.StateValue{{Name: "Cost.total", Data: "1"}}
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: 2, Epoch: 3, States: kept})
	require.NoError(t, err)
	values, err = s.States(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, kept, values)
	assert.Equal(t, []string{strconv.Itoa(len(current()))}, column(t, path, current(), `PRAGMA user_version`))
}

func TestTheStepToVersion3ThatStopsLeavesTheOldVersion(t *testing.T) {
	t.Parallel()
	path, old := version2(t), make([]string, 2)
	change(t, path, old, `CREATE TABLE state (obstacle TEXT)`)
	_, err := sqlite.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, "schema step 3")
	assert.Equal(t, []string{"2"}, column(t, path, old, `PRAGMA user_version`))
	change(t, path, old, `DROP TABLE state`)
	assert.Equal(t, []string{"q", "a"}, texts(t, open(t, path), "01K0"))
}

// Words of the index that the tests of secrets must never find.
func indexTerms(t *testing.T, path string) []string {
	t.Helper()
	change(t, path, current(), `CREATE VIRTUAL TABLE IF NOT EXISTS term USING fts5vocab('word', 'row')`)
	return column(t, path, current(), `SELECT term FROM term`)
}

func isSecret(text string) bool { return strings.Contains(text, "canary") }
