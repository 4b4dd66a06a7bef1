package statements_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/internal/test/statements"
)

// notes are those of two tenants.
const notes = `CREATE TABLE note (num INTEGER PRIMARY KEY, project TEXT NOT NULL, text TEXT NOT NULL) STRICT;
INSERT INTO note (project, text) VALUES ('alice', 'one'), ('alice', 'two'), ('bob', 'three');`

// TestStatementsThatDoNotKnowTheirTenantAreFound: each is one as somebody would write it by mistake.
func TestStatementsThatDoNotKnowTheirTenantAreFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		query string
		args  []any
		want  string // the beginning of the problem; "" is none
	}{
		"good":                        {`UPDATE note SET text = $3 WHERE num = $1 AND project = $2`, []any{1, "alice", "x"}, ""},
		"good, and reads":             {`SELECT text FROM note WHERE project = $1`, []any{"alice"}, ""},
		"all tenants":                 {`SELECT text FROM note` + sqldb.AnyTenant, nil, ""},
		"all tenants, for no reason":  {`DELETE FROM note` + sqldb.AnyTenant, nil, "this statement is of all tenants, and no reason says why"},
		"a number alone":              {`DELETE FROM note WHERE num = $1`, []any{1}, "this statement does not carry the tenant"},
		"the tenant as a value":       {`UPDATE note SET text = $2 WHERE num = $1`, []any{1, "alice"}, "this statement finds 1 rows for another tenant"},
		"a condition that holds none": {`UPDATE note SET text = 'x' WHERE num = $1 OR project = $2`, []any{1, "alice"}, "this statement finds 1 rows for another tenant"},
		"only those of others":        {`SELECT text FROM note WHERE project <> $1`, []any{"alice"}, "this statement finds 3 rows for another tenant"},
		"nothing by chance":           {`SELECT text FROM note WHERE num = $1 AND project = $2`, []any{7, "alice"}, "this statement found nothing in the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "notes.db"), sqlitedb.Schema{Name: "notes", ID: 1, Steps: []string{notes}})
			require.NoError(t, err)
			defer func() { assert.NoError(t, file.Close()) }()
			check := statements.Check{Own: "alice", Other: "carol", AnyTenant: map[string]string{"SELECT text FROM note /*": "is a list for the operator"}}
			require.NoError(t, check.DB("the file", file.SQL()).Write(t.Context(), func(tx sqldb.Tx) error {
				none := func(sqldb.Row) error { return nil }
				if strings.HasPrefix(tt.query, "SELECT") {
					err = tx.Each(none, tt.query, tt.args...)
				} else {
					_, err = tx.Exec(tt.query, tt.args...)
				}
				return errors.Join(err, tx.Each(none, `SELECT text FROM note`+sqldb.AnyTenant))
			}))
			found := check.Problems(nil)
			if tt.want == "" {
				assert.Empty(t, found)
				return
			}
			assert.Contains(t, strings.Join(found, "\n"), tt.want)
		})
	}
}

// TestWhatNoCallRunsIsFound, and a reason for nothing.
func TestWhatNoCallRunsIsFound(t *testing.T) {
	t.Parallel()
	literals, err := statements.Literals("testdata")
	require.NoError(t, err)
	assert.Equal(t, []string{"SELECT text FROM note", "SELECT text FROM note WHERE project = $1 ORDER BY ", "DELETE FROM note WHERE project = $1"}, literals)
	check := statements.Check{Own: "alice", Other: "carol", Unfound: map[string]string{"UPDATE": "needs a day"}}
	check.Watch("a fake", "SELECT text FROM note WHERE project = $1 ORDER BY num", []any{[]byte("alice")}, func(sql string, args []any) (int, error) {
		if args[0].([]byte)[0] != 'c' {
			t.Errorf("it runs for %s", args[0])
		}
		if sql == "SELECT text FROM note WHERE (project = $1 OR true) ORDER BY num" {
			return 1, nil
		}
		return 0, nil
	})
	assert.Equal(t, []string{
		"no call has run this statement:\nDELETE FROM note WHERE project = $1",
		"no statement has this part, which was to be excused because it needs a day: UPDATE",
	}, check.Problems(literals))
}
