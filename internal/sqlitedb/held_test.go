package sqlitedb_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// used makes a file that holds something, and closes it.
func used(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, one)
	require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES ('kept')`))
	require.NoError(t, db.Close())
	return path
}

// killed makes a file as a process leaves it that was killed: with its log.
func killed(t *testing.T) string {
	t.Helper()
	live := filepath.Join(t.TempDir(), "x.db")
	db := open(t, live, one)
	require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES ('kept')`))
	return left(t, live)
}

// logged makes a file of a few pages whose log has the last note alone.
func logged(t *testing.T) string {
	t.Helper()
	live := filepath.Join(t.TempDir(), "x.db")
	db := open(t, live, one)
	for range 5 {
		require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES (?)`, strings.Repeat("y", 3000)))
	}
	require.NoError(t, db.Close())
	require.NoError(t, exec(t, open(t, live, one), `INSERT INTO note (body) VALUES ('kept')`))
	return left(t, live)
}

// left copies a file that is in use, as it would be after a kill.
func left(t *testing.T, live string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	for _, suffix := range []string{"", "-wal", "-held"} {
		data, err := os.ReadFile(live + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+suffix, data, 0o600))
	}
	return path
}

// snapshot returns all files of a directory with what is in them.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		out[e.Name()] = string(data)
	}
	return out
}

// TestALostFileIsNeverReplaced: the person decides what becomes of it.
func TestALostFileIsNeverReplaced(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(used(t))
	require.NoError(t, err)
	write := func(data []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, data, 0o600)) }
	}
	overwrite := func(from, to int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			copy(data[from:to], bytes.Repeat([]byte{0xa5}, to-from))
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
	}
	for name, c := range map[string]struct {
		make  func(t *testing.T) string
		spoil func(t *testing.T, path string)
		says  string
	}{
		"a damaged first page":                   {used, overwrite(100, 4096), "the file is damaged"},
		"a damaged first page beside a log":      {logged, overwrite(100, 4096), "the file is damaged"},
		"garbage beside a log":                   {logged, overwrite(0, 4096), "the file is no SQLite database, and was one"},
		"a text beside a log":                    {logged, write([]byte("<html>404</html>")), "the file is no SQLite database, and was one"},
		"cut off in the first page beside a log": {logged, func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 2000)) }, "the file is damaged"},
		"empty":                                  {used, write(nil), "its data is gone: the file is empty and was not; nothing was changed: to go on with a backup"},
		"empty beside a log":                     {killed, write(nil), "the file is empty, but its log "},
		"only a log":                             {killed, func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }, "the file is not there any more, but its log "},
		"a text":                                 {used, write([]byte("<html>404</html>")), "its data is gone: the file is no SQLite database, and was one"},
		"a byte":                                 {used, write([]byte("x")), "the file is no SQLite database, and was one"},
		"garbage":                                {used, write(bytes.Repeat([]byte{0xa5}, len(whole))), "the file is no SQLite database, and was one"},
		"zeros":                                  {used, write(make([]byte, len(whole))), "the file is no SQLite database, and was one"},
		"cut off":                                {used, write(whole[:5000]), "the file is damaged"},
		"cut off after a page":                   {used, write(whole[:4096]), "the file is damaged"},
		"a database without tables": {used, func(t *testing.T, path string) {
			db := open(t, path, one)
			require.NoError(t, exec(t, db, `PRAGMA application_id = 0`))
			require.NoError(t, exec(t, db, `DROP TABLE tag`))
			require.NoError(t, exec(t, db, `DROP TABLE note`))
			require.NoError(t, db.Close())
		}, "the file has no tables, and had"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.make(t)
			c.spoil(t, path)
			before := snapshot(t, filepath.Dir(path))
			for range 2 {
				_, err := sqlitedb.Open(t.Context(), path, one)
				require.ErrorContains(t, err, "note store "+path+": ")
				require.ErrorContains(t, err, c.says)
				require.ErrorContains(t, err, "run `sqlite3 '"+path+"' .recover | sqlite3 new.db`; to begin anew, move all files "+path+"* away")
			}
			after := snapshot(t, filepath.Dir(path))
			delete(after, "x.db-shm") // holds nothing
			assert.Equal(t, before, after)

			away, err := filepath.Glob(path + "*")
			require.NoError(t, err)
			for _, name := range away {
				require.NoError(t, os.Remove(name))
			}
			assert.Equal(t, "0", value(t, open(t, path, one), `SELECT count(*) FROM note`), "as it was told to do")
		})
	}
}

// TestAFileThatNeverHeldAnythingIsNoObstacle: a program was killed before it wrote.
func TestAFileThatNeverHeldAnythingIsNoObstacle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.WriteFile(path+suffix, nil, 0o600))
	}
	s := one
	s.Note = func(text string) { t.Error(text) }
	db := open(t, path, s)
	require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES ('x')`))
}

// TestAFileThatWasDeletedIsTold: who deletes it wants a new one, but perhaps it was
// somebody else.
func TestAFileThatWasDeletedIsTold(t *testing.T) {
	t.Parallel()
	path := used(t)
	require.NoError(t, os.Remove(path))
	s := one
	var notes []string
	s.Note = func(text string) { notes = append(notes, text) }
	for range 2 {
		require.NoError(t, open(t, path, s).Close())
	}
	assert.Equal(t, []string{"note store " + path + " is not there any more; a new one is made, and nothing of what it held is in it"}, notes)
}

// TestAKilledFileKeepsItsLog: what is in it is there.
func TestAKilledFileKeepsItsLog(t *testing.T) {
	t.Parallel()
	path := killed(t)
	assert.Equal(t, "kept", value(t, open(t, path, one), `SELECT body FROM note`))
	_, err := os.Stat(path + "-held")
	require.NotErrorIs(t, err, fs.ErrNotExist)
}

// TestAFileThatWasDeletedBeginsAnew, also if the program that begins it is interrupted, or
// another one does the same at that moment.
func TestAFileThatWasDeletedBeginsAnew(t *testing.T) {
	t.Parallel()
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		path := used(t)
		require.NoError(t, os.Remove(path))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := sqlitedb.Open(ctx, path, one)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, "0", value(t, open(t, path, one), `SELECT count(*) FROM note`))
	})
	t.Run("two at once", func(t *testing.T) {
		t.Parallel()
		for range 20 {
			path := used(t)
			require.NoError(t, os.Remove(path))
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					db, err := sqlitedb.Open(t.Context(), path, one)
					if assert.NoError(t, err) {
						assert.NoError(t, db.Close())
					}
				})
			}
			wg.Wait()
			require.NoError(t, os.Truncate(path, 0))
			_, err := sqlitedb.Open(t.Context(), path, one)
			require.ErrorIs(t, err, sqlitedb.ErrLost, "it holds data again")
		}
	})
}
