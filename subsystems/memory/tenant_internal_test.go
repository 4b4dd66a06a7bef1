package memory

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/internal/test/statements"
)

// TestEveryStatementKnowsItsTenant, in a database that has the same of two other tenants.
func TestEveryStatementKnowsItsTenant(t *testing.T) {
	t.Parallel()
	check := statements.Check{
		Own: "alice", Other: "carol",
		AnyTenant: map[string]string{
			"extracted": "has ids of turns, which programs draw and nobody chooses, and says only that they are done",
			"SELECT m.num, m.sources, m.conversation, s.project FROM":        "looks for conversations that are being deleted; what it finds is deleted by its project",
			"SELECT c.num, c.sources, '', s.project FROM":                    "does the same",
			"JOIN space s ON s.num = m.space ORDER BY s.project":             "is ListAll",
			"SELECT m.num, s.project, m.name, m.aliases, m.content FROM mem": "fills the index of a copy",
			"SELECT count(*) FROM (SELECT 1 FROM":                            "is of a copy",
			"SELECT num, project, key FROM space":                            "is of a copy",
			"SELECT num, space, key, name":                                   "is of a copy",
			"INSERT INTO word (word) VALUES ('flush')":                       "changes no row",
		},
		Makes: map[string]string{"INSERT INTO space (project, key) VALUES": "makes a row of its own project"},
	}
	dsn := databases.DSN(t)
	raw := databases.Open(t, dsn).SQL()
	watched := check.DB("PostgreSQL", raw)
	everything(t, func(project, user string) *Memory { return OpenIn(watched, &Options{Project: project, User: user}) },
		func(project, user string) *Memory { return OpenIn(raw, &Options{Project: project, User: user}) })

	file, err := openFile(t.Context(), filepath.Join(t.TempDir(), "memory.db"), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	in := func(db sqldb.DB) func(project, user string) *Memory {
		return func(project, user string) *Memory {
			return newMemory(db, fts{file, db}, nil, &Options{Project: project, User: user})
		}
	}
	everything(t, in(check.DB("SQLite", file.SQL())), in(file.SQL()))
	check.Report(t)
}

func always(version) bool { return true }

// everything calls everything that memories can do as alice, between what others have. watched and raw open the same database.
func everything(t *testing.T, watched, raw func(project, user string) *Memory) {
	t.Helper()
	ctx := t.Context()
	m := watched("alice:/srv/harbour", "alice")
	require.NoError(t, m.Load(ctx, func(context.Context, sqldb.Each) error { return nil }))
	for _, name := range []string{"bob", "dora"} {
		other := raw(name+":/srv/harbour", name)
		remembered(t, other)
		waiting(t, other)
	}
	remembered(t, m)
	for _, name := range []string{"mole", "buoy"} {
		recalledBy(t, m, name)
	}
	waiting(t, m)
	theirs, err := raw("bob:/srv/harbour", "bob").Candidates(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, m.Reject(ctx, theirs[0].Number), ErrNoCandidate)
	reviewed(t, m)

	all, err := m.List(ctx)
	require.NoError(t, err)
	for _, r := range all {
		assert.Contains(t, []string{"alice:/srv/harbour", "alice"}, r.Project)
	}
	for _, r := range all {
		now, err := m.Rewrite(ctx, r.ID, r.Content+" So says alice.")
		require.NoError(t, err)
		if r.Name == "tide" {
			require.NoError(t, m.table.write(ctx, []string{m.table.project}, func(tx sqldb.Tx) error {
				return m.table.wait(tx, m.own(""), entry{name: "tide", content: "At high tide nobody is there."})
			}))
			require.NoError(t, m.Discard(ctx, now.ID))
		}
	}
	everybodys, err := m.ListAll(ctx)
	require.NoError(t, err)
	assert.Greater(t, len(everybodys), len(all))

	old := raw("alice:/srv/old", "alice")
	put(t, old, old.own(""), entry{name: "adopted", content: "The dry dock is closed on Sundays."})
	moved, _, err := m.Adopt(ctx, "alice:/srv/old")
	require.NoError(t, err)
	assert.Equal(t, 1, moved)

	put(t, m, m.own(""), entry{name: "dropped", content: "The ferry leaves at nine from berth four."})
	require.NoError(t, m.table.write(ctx, []string{m.table.project}, func(tx sqldb.Tx) error {
		return m.table.wait(tx, m.own(""), entry{name: "dropped", content: "The ferry leaves at ten."})
	}))
	gone, err := m.Remove(ctx, Remembered{Project: m.table.project, Of: "agent a", Name: "dropped"})
	require.NoError(t, err)
	assert.True(t, gone)

	erased(t, m)
	require.NoError(t, m.Rows(ctx, func(string, []any) error { return nil }))
	for _, name := range []string{"bob", "dora"} {
		left, err := raw(name+":/srv/harbour", name).List(ctx)
		require.NoError(t, err)
		assert.Len(t, left, 3, "what others have stays")
	}
}

func (m *Memory) own(scope Scope) home { return m.fill(Section{Scope: scope}, "a").own() }

func put(t *testing.T, m *Memory, h home, e entry) {
	t.Helper()
	_, err := m.table.put(t.Context(), h, e, always)
	require.NoError(t, err)
}

// remembered leaves three memories: two of the project, and one of the user.
func remembered(t *testing.T, m *Memory) {
	t.Helper()
	mole := entry{name: "mole", content: "The harbour mole has a green lantern at its end.", conversation: "c1", turn: "t1", kind: KindFact}
	put(t, m, m.own(""), mole)
	put(t, m, m.own(""), mole) // replaced
	mole.name = "pier"
	put(t, m, m.own(""), mole) // merged
	put(t, m, m.own(""), entry{name: "buoy", content: "The buoy off the harbour rings in the fog.", conversation: "c2", turn: "t2"})
	put(t, m, m.own(ScopeUser), entry{name: "mole", content: "I call the long pier in the harbour the mole.", conversation: "c1", turn: "t1"})
}

func recalledBy(t *testing.T, m *Memory, name string) {
	t.Helper()
	homes := m.fill(Section{Scope: ScopeUser}, "a").homes
	_, found, err := m.table.get(t.Context(), homes, name)
	require.NoError(t, err)
	assert.True(t, found)
	hits, err := m.table.findEach(t.Context(), homes, search{query: "harbour " + name, limit: 5}, search{limit: 5})
	require.NoError(t, err)
	require.NotEmpty(t, hits)
	var nums []int64
	for _, h := range hits {
		nums = append(nums, h.num)
	}
	require.NoError(t, m.table.touch(t.Context(), nums))
}

// waiting lets as many candidates wait as there may be, and one more.
func waiting(t *testing.T, m *Memory) {
	t.Helper()
	of := task{Turn: "turn of " + m.table.project, Project: m.table.project, Key: m.own("").key}
	done, err := m.table.extracted(t.Context(), of.Turn)
	require.NoError(t, err)
	assert.False(t, done)
	user := label{OriginUser, message.TrustWorkspace}
	_, waits, err := m.table.keep(t.Context(), of, []entry{
		{name: "rope", content: "Old ropes lie in the shed by the crane.", conversation: "c1", turn: "t1", kind: KindFact, label: user},
		{name: "tide", content: "At spring tide nobody may use the slipway.", conversation: "c2", turn: "t2", kind: KindFact, label: user},
		{name: "tide", content: "At neap tide anybody may use the slipway.", conversation: "c2", turn: "t2", kind: KindFact, label: user},
		{name: "mole", content: "The lantern of the mole burns red since spring.", conversation: "c2", turn: "t2", kind: KindFact, label: user},
	})
	require.NoError(t, err)
	assert.Equal(t, 4, waits)
	require.NoError(t, m.table.db.Write(t.Context(), func(tx sqldb.Tx) error {
		in, err := spaceIn(tx, m.own(""))
		var rows [][]any
		for i := range maxCandidates - 1 {
			rows = append(rows, []any{in.num, fmt.Sprint(i), "x", "[]", "x", "fact", "user", "workspace", 1.0, "[]", int64(i)})
		}
		if err == nil {
			err = tx.Load("candidate", []string{"space", "key", "name", "aliases", "content", "kind", "origin", "trust", "confidence", "sources", "created"}, rows)
		}
		if err == nil {
			err = m.table.wait(tx, m.own(""), entry{name: "crane", content: "The crane lifts five tons."})
		}
		return err
	}))
}

// reviewed answers for candidates: one is new, one replaces a memory, and one is rejected.
func reviewed(t *testing.T, m *Memory) {
	t.Helper()
	all, err := m.Candidates(t.Context())
	require.NoError(t, err)
	require.Len(t, all, maxCandidates)
	for _, c := range all {
		switch c.Name {
		case "tide", "mole":
			_, err = m.Accept(t.Context(), c.Number)
		case "crane":
			err = m.Reject(t.Context(), c.Number)
		}
		require.NoError(t, err)
	}
}

// erased deletes the conversation of some memories, which keeps what another has confirmed, and then the project.
func erased(t *testing.T, m *Memory) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, m.table.db.Write(ctx, func(tx sqldb.Tx) error {
		in, err := spaceIn(tx, m.own(""))
		for _, query := range []string{"UPDATE memory SET conversation = 'c3',", "UPDATE candidate SET"} {
			if err == nil {
				_, err = tx.Exec(query+` sources = '[{"conversation":"c3"},{"conversation":"c4"}]' WHERE key IN ('buoy', 'rope') AND space = $1 AND`+ofSpace, in.num, in.project)
			}
		}
		return err
	}))
	_, kept, err := m.Erase(ctx, []string{"c3"}, false)
	require.NoError(t, err)
	assert.Equal(t, 2, kept)
	deleted, _, err := m.Erase(ctx, []string{"c4"}, false)
	require.NoError(t, err)
	assert.Equal(t, 2, deleted)
	_, err = m.EraseProject(ctx, m.table.project, false)
	require.NoError(t, err)
}
