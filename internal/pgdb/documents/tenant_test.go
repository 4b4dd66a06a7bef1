package documents_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/pgdb/documents"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/internal/test/statements"
)

var errTakenBack = errors.New("taken back")

// again runs statements over a connection of its own, and takes back what they did.
func again(t *testing.T, db *pgdb.DB) statements.Again {
	return func(sql string, args []any) (n int, err error) {
		failed := db.Write(t.Context(), func(tx pgdb.Tx) error {
			n, err = 0, nil
			rows, queried := tx.Query(t.Context(), sql, args...)
			if err = queried; err != nil {
				return errTakenBack
			}
			defer rows.Close()
			for rows.Next() {
				n++
			}
			if err = rows.Err(); err == nil {
				n = max(n, int(rows.CommandTag().RowsAffected()))
			}
			return errTakenBack
		})
		require.ErrorIs(t, failed, errTakenBack)
		return n, err
	}
}

// TestEveryStatementKnowsItsTenant, beside the documents of other tenants, and those of none.
func TestEveryStatementKnowsItsTenant(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	raw := databases.Open(t, dsn)
	check := statements.Check{
		Own: "alice", Other: "carol",
		AnyTenant: map[string]string{
			"SELECT kind, project, name, body FROM": "is of a copy",
			"WHERE kind = $1 ORDER BY":              "is for the user of the daemon, who answers for it",
		},
		Makes: map[string]string{
			"INSERT INTO document":  "writes a row of its own project",
			"pg_advisory_xact_lock": "locks the documents of its own project",
		},
	}
	watched := raw.Bound(func(sql string, args []any) (string, []any, error) {
		check.Watch("PostgreSQL", sql, args, again(t, raw))
		return sql, args, nil
	})
	write := func(db *pgdb.DB, project string) {
		require.NoError(t, documents.Answers{DB: db}.Write(project, "one.json", []byte(`{"of":1}`)))
		set := documents.Set[int]{DB: db, Kind: documents.Agents, Project: project}
		require.NoError(t, set.Change(func(docs map[string]int) error { docs["helper"]++; docs["gone"]++; return nil }))
		require.NoError(t, set.Change(func(docs map[string]int) error { docs["helper"]++; delete(docs, "gone"); return nil }))
		got, err := set.Read()
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"helper": 2}, got)
	}
	write(raw, "bob:/srv/harbour")
	write(raw, "/srv/harbour")
	write(watched, "alice:/srv/harbour")

	answers := documents.Answers{DB: watched, Owner: "alice"}
	body, err := answers.Read("alice:/srv/harbour", "one.json")
	require.NoError(t, err)
	assert.JSONEq(t, `{"of":1}`, string(body))
	assert.Equal(t, []string{"alice:/srv/harbour"}, projects(t, answers))
	assert.Len(t, projects(t, documents.Answers{DB: watched}), 3)
	all, err := documents.All(t.Context(), watched)
	require.NoError(t, err)
	assert.Len(t, all, 6)
	require.NoError(t, answers.Remove("alice:/srv/harbour", "one.json"))
	require.NoError(t, documents.Add(t.Context(), watched, []documents.Document{{Kind: documents.Agents, Project: "alice:/srv/old", Name: "helper", Body: []byte("1")}}))
	assert.Equal(t, []string{"/srv/harbour", "bob:/srv/harbour"}, projects(t, documents.Answers{DB: raw}))
	check.Report(t)
}

// projects returns those of the answers.
func projects(t *testing.T, answers documents.Answers) (out []string) {
	t.Helper()
	require.NoError(t, answers.Each(func(project, _ string, _ []byte, err error) {
		assert.NoError(t, err)
		out = append(out, project)
	}))
	return out
}
