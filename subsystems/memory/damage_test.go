package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// change changes a file past the subsystem.
func change(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Schema{Name: "memory file", ID: 0x4752416d, Steps: make([]string, 5), Secure: true})
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error { _, err := tx.Exec(statement); return err }))
	require.NoError(t, db.Close())
}

// indexPages puts filling in the place of all pages of the index.
func indexPages(filling byte) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Schema{Name: "memory file", ID: 0x4752416d, Steps: make([]string, 5)})
		require.NoError(t, err)
		rows, err := db.Read().QueryContext(t.Context(), `SELECT pageno FROM dbstat WHERE name LIKE 'word%'`)
		require.NoError(t, err)
		var pages []int64
		for rows.Next() {
			var n int64
			require.NoError(t, rows.Scan(&n))
			pages = append(pages, n)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		require.NoError(t, db.Close())
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		page := make([]byte, 4096)
		for i := range page {
			page[i] = filling
		}
		for _, n := range pages {
			_, err := f.WriteAt(page, (n-1)*4096)
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
	}
}

func by(statement string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) { t.Helper(); change(t, path, statement) }
}

// TestADamagedIndexIsMadeAnew: all of it comes from the memories, and what was forgotten
// is in no file then either.
func TestADamagedIndexIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"pages zero":    indexPages(0),
		"pages garbage": indexPages(0xa5),
		"no table":      by(`DROP TABLE word`),
		"no rows":       by(`DELETE FROM word_data`),
		"no word_data":  by(`DROP TABLE word_data`),
		"no docsize":    by(`DROP TABLE word_docsize`),
		"no config":     by(`DROP TABLE word_config`),
		"odd aliases":   by(`UPDATE memory SET aliases = 'x' WHERE name = 'note 3'; DROP TABLE word_config`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "memory.db")
			old, err := memory.Open(t.Context(), path, nil)
			require.NoError(t, err)
			c := as(t, old, "a", "")
			for i := range 50 {
				c.remember(fmt.Sprintf("note %d", i), fmt.Sprintf("An anchor holds in %d fathoms.", i), "kedge")
			}
			require.NoError(t, old.OnClose(t.Context()))
			damage(t, path)

			var notes []string
			m, err := memory.Open(t.Context(), path, &memory.Options{Note: func(text string) { notes = append(notes, text) }})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, m.OnClose(t.Context())) })
			c = as(t, m, "a", "")
			c.remember("the kestrel", "Its nest is with the harrier.", "osprey")
			assert.Equal(t, []string{"note 7"}, c.names("7"))
			assert.Equal(t, []string{"the kestrel"}, c.names("osprey"))
			require.Len(t, notes, 1)
			assert.Contains(t, notes[0], "memory file "+path+": the search index was damaged (")
			c.call("forget", map[string]any{"name": "the kestrel"})
			c.call("forget", map[string]any{"name": "note 7"})
			assert.Empty(t, found(t, dir, secrets...))
			assert.Equal(t, "no memories found", c.recall("7 osprey"))
		})
	}
}

// TestAnIndexWithoutWordsIsWhole, also when there were some.
func TestAnIndexWithoutWordsIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	for range 3 {
		m, err := memory.Open(t.Context(), path, &memory.Options{Note: func(text string) { t.Error(text) }})
		require.NoError(t, err)
		c := as(t, m, "a", "")
		assert.Equal(t, "no memories found", c.recall("anchor"))
		c.remember("note", "An anchor.")
		c.call("forget", map[string]any{"name": "note"})
		require.NoError(t, m.OnClose(t.Context()))
	}
}
