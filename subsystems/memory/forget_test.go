package memory_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// found are the files below dir with one of the words, in any case.
func found(t *testing.T, dir string, words ...string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range words {
			if bytes.Contains(bytes.ToLower(data), []byte(word)) {
				out = append(out, filepath.Base(path)+" has "+word)
			}
		}
		return err
	}))
	return out
}

// Parts of words are looked for too: the index keeps what neighbouring words share once.
var secrets = []string{"kestrel", "estrel", "harrier", "arrier", "osprey", "sprey", "goshawk", "oshawk"}

func TestWhatIsForgottenIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := in(t, filepath.Join(dir, "memory.db"), "/one")
	c := as(t, m, "a", "")
	for i := range 200 {
		c.remember(fmt.Sprintf("note %d", i), strings.Repeat(fmt.Sprintf("An anchor holds in %d fathoms. ", i), 20), "kedge")
	}
	c.remember("the kestrel", "Its nest is with the harrier. "+strings.Repeat("Long enough for a page of its own. ", 400), "osprey")
	require.NotEmpty(t, found(t, dir, secrets...), "the test can see it")
	c.call("forget", map[string]any{"name": "the kestrel"})
	assert.Empty(t, found(t, dir, secrets...))
	assert.Equal(t, "no memories found", c.recall("kestrel harrier osprey ken*"))

	c.remember("bird", "A goshawk.")
	c.remember("bird", "Another one.")
	c.call("forget", map[string]any{"name": "bird"})
	assert.Empty(t, found(t, dir, secrets...), "nor what was replaced before")
	assert.Equal(t, []string{"note 7"}, c.names("7"), "the others are found")
	assert.Len(t, c.names("kedge"), 5)
}

func TestAnOlderFileHasNothingLeftOfWhatWasForgotten(t *testing.T) {
	t.Parallel()
	path := version1(t)
	step, err := os.ReadFile("schema/1.sql")
	require.NoError(t, err)
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Schema{Name: "memory file", ID: 0x4752416d, Steps: []string{string(step)}})
	require.NoError(t, err)
	for _, statement := range []string{
		`INSERT INTO memory VALUES ((1 << 40) + 2, 1, 'kestrel', 'kestrel', '[]', 'with the harrier', 1, 1)`,
		`INSERT INTO word (rowid, name, aliases, content) VALUES ((1 << 40) + 2, 'kestrel', 'osprey', 'with the harrier')`,
		`DELETE FROM memory WHERE key = 'kestrel'`,
		`DELETE FROM word WHERE rowid = (1 << 40) + 2`,
	} {
		require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error { _, err := tx.Exec(statement); return err }))
	}
	require.NoError(t, db.Close())
	require.NotEmpty(t, found(t, filepath.Dir(path), secrets...), "the version before has left it")
	m := in(t, path, "")
	assert.Equal(t, "## Boat\nGreen.", as(t, m, "a", "").recall("yacht"))
	as(t, m, "a", "").call("forget", map[string]any{"name": "boat"})
	assert.Empty(t, found(t, filepath.Dir(path), append(secrets, "yacht", "green")...))
	assert.Equal(t, "## port\nRed.", as(t, m, "b", `{"space":"crew"}`).recall("red"))
}
