package sqlite

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// scans are the statements that have to look at every row of a table, and which.
// A search looks at every hit by its number, and at nothing else.
func scans() map[string]string {
	return map[string]string{
		listed:    "SCAN conversation USING INDEX sqlite_autoindex_conversation_2", // it returns all of them
		findWords: "SCAN word VIRTUAL TABLE INDEX 0:M5",                            // that is how FTS5 calls a search
		takeJob:   "SCAN job USING INDEX job_due",                                  // which has those that are open, in this order
		unindexed: "SCAN conversation USING INDEX unindexed",                       // which has those that are asked for
	}
}

// hot are the statements of a turn that write.
func hot() []string {
	return []string{updateClaim, updateAppend, updateNote, insertMessage, insertEntry, insertEvent, clearJournal, deleteEntry, fewerEntries, markIndexed, insertJob, nextJob, takeJob, endJob, writeState,
		spend, reserve, release, unfold, runByID, writeRun, dropRuns}
}

// sums are the statements that look whether a limit on spending is reached. What is reserved is a few rows.
func sums() (out []string) {
	project, token := "/p", "ci"
	for _, f := range []store.SpendingFilter{{}, {Project: &project}, {Token: &token}, {Project: &project, Token: &token}} {
		where, _ := matching(f)
		out = append(out, spentSum+where)
	}
	return out
}

// No statement that a turn or a reader waits for looks at more rows than it needs.
// This looks at the plans from inside, because nothing else shows them.
func TestNoStatementScansATable(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	unused := scans()
	for _, query := range slices.Concat(reads(), hot(), sums()) {
		rows, err := s.db.Read().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, arguments(query))...)
		require.NoError(t, err, query)
		for rows.Next() {
			var id, parent, unused0 int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &unused0, &detail))
			if strings.HasPrefix(detail, "SCAN") && detail != "SCAN CONSTANT ROW" && !strings.HasPrefix(detail, "SCAN json_each") { // a list in an argument
				assert.Equal(t, scans()[query], detail, query)
				delete(unused, query)
			}
			if query != findWords { // which sorts its hits
				assert.NotContains(t, detail, "TEMP B-TREE", query)
			}
		}
		require.NoError(t, rows.Close())
	}
	assert.Empty(t, slices.Collect(maps.Keys(unused)), "these do not scan")
}

// arguments is how many arguments the statement has.
func arguments(query string) int {
	for n := 20; n > 0; n-- {
		if strings.Contains(query, "?"+string(rune('0'+n%10))) && n < 10 || n == 10 && strings.Contains(query, "?10") {
			return n
		}
	}
	return strings.Count(query, "?")
}
