package sqlite_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// version4 makes a file of version 4 with a row of every kind.
func version4(t *testing.T) (path string) {
	t.Helper()
	var steps []string
	for _, name := range []string{"schema/1.sql", "schema/2.sql", "schema/3.sql", "schema/4.sql"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		steps = append(steps, string(text))
	}
	rows, err := os.ReadFile("testdata/4.sql")
	require.NoError(t, err)
	steps[3] += "\n" + string(rows)
	path = file(t)
	require.NoError(t, raw(t, path, steps...).Close())
	return path
}

// everything returns the rows of the tables, a line each.
func everything(t *testing.T, path string, steps []string) (out []string) {
	t.Helper()
	for _, query := range []string{
		`SELECT concat_ws('|', num, id, agent, sender, version, turns, messages, created, updated, parent, owner, epoch, until, noted, entries,
			events, first, archived, branches, indexed) FROM conversation ORDER BY num`,
		`SELECT concat_ws('|', num, turn, body) FROM message ORDER BY num`,
		`SELECT concat_ws('|', conversation, branch, pos, seq, turn, summary, body) FROM archive ORDER BY conversation, branch, pos`,
		`SELECT concat_ws('|', num, kind, call_id, coalesce(message, 'null'), data) FROM entry ORDER BY num`,
		`SELECT concat_ws('|', conversation, branch, seq, kind, call_id, coalesce(message, 'null'), data) FROM archived_entry ORDER BY 1`,
		`SELECT concat_ws('|', num, body) FROM event ORDER BY num`,
		`SELECT concat_ws('|', conversation, name, data) FROM state ORDER BY 1`,
		`SELECT concat_ws('|', num, kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated) FROM job ORDER BY num`,
		`SELECT rowid FROM word WHERE word MATCH 'anchor OR answer' ORDER BY rowid`,
	} {
		rows := column(t, path, steps, query)
		require.NotEmpty(t, rows, query)
		out = append(out, rows...)
	}
	return out
}

func TestAFileOfVersion4LosesNothing(t *testing.T) {
	t.Parallel()
	path := version4(t)
	before := everything(t, path, make([]string, 4))
	s := open(t, path)
	assert.Equal(t, before, everything(t, path, current()))
	assert.Equal(t, []string{""}, column(t, path, current(), `SELECT DISTINCT project FROM conversation`))
	assert.Equal(t, []string{""}, column(t, path, current(), `SELECT DISTINCT project FROM job`))
	assert.Empty(t, column(t, path, current(), `SELECT "table" FROM pragma_foreign_key_check`))
	for _, line := range column(t, path, current(), `SELECT name || coalesce(sql, '') FROM sqlite_schema`) {
		assert.NotContains(t, line, "old_", "a table or a reference was left behind")
	}
	assert.Equal(t, []string{"sum", "anchor two", "answer two", "anchor open"}, texts(t, s, "01K00000000000000000000001"))
}

func TestWhatWasThereBeforeProjectsIsOfNoProject(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), open(t, version4(t))
	mine, err := s.Conversation(ctx, store.Key{Project: "/mine", Agent: "coder", Sender: "me"})
	require.NoError(t, err)
	assert.Zero(t, mine.Version, "a new one")
	found, err := s.Search(ctx, store.Query{Text: "anchor", Project: "/mine"})
	require.NoError(t, err)
	assert.Empty(t, found)
	_, err = s.TakeJob(ctx, store.JobTake{Owner: "me", Project: "/mine", Kinds: []string{"k"}, Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob)

	old, err := s.Conversation(ctx, store.Key{Agent: "coder", Sender: "me"})
	require.NoError(t, err)
	assert.True(t, old.Journaled)
	is, err := s.Adopt(ctx, old.ID, store.Claim{Owner: "me", Hold: time.Minute}, store.Key{Project: "/mine", Agent: "coder", Sender: "old"})
	require.NoError(t, err)
	children, err := s.Children(ctx, is.ID)
	require.NoError(t, err)
	require.Len(t, children, 1)
	assert.Equal(t, "/mine", children[0].Key.Project)
	found, err = s.Search(ctx, store.Query{Text: "anchor", Project: "/mine"})
	require.NoError(t, err)
	assert.Len(t, found, 3)
}

func TestTheStepToVersion5ThatStopsLeavesTheOldVersion(t *testing.T) {
	t.Parallel()
	path, old := version4(t), make([]string, 4)
	before := everything(t, path, old)
	change(t, path, old, `CREATE TABLE old_job (obstacle TEXT)`)
	_, err := sqlite.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, "schema step 5")
	assert.Equal(t, before, everything(t, path, old))
	assert.False(t, strings.Contains(strings.Join(column(t, path, old, `SELECT name FROM sqlite_schema`), " "), "old_conversation"))
}
