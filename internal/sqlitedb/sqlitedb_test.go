package sqlitedb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	one = sqlitedb.Schema{Name: "note store", ID: 0x6e6f7465, Steps: []string{
		`CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
		 CREATE TABLE tag (note INTEGER NOT NULL REFERENCES note, name TEXT NOT NULL) STRICT`,
	}}
	two = sqlitedb.Schema{Name: one.Name, ID: one.ID, Steps: append(one.Steps[:1:1],
		`ALTER TABLE note ADD COLUMN title TEXT NOT NULL DEFAULT 'none'`)}
)

func open(t *testing.T, path string, s sqlitedb.Schema) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, s)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

func exec(t *testing.T, db *sqlitedb.DB, query string, args ...any) error {
	t.Helper()
	return db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

func value(t *testing.T, db *sqlitedb.DB, query string) (v string) {
	t.Helper()
	require.NoError(t, db.Read().QueryRowContext(t.Context(), query).Scan(&v))
	return v
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // modes mean nothing there
	}
	dir := filepath.Join(t.TempDir(), "a", "b c?d%20#e")
	db := open(t, filepath.Join(dir, "x.db"), one)
	require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES ('x')`))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{"x.db", "x.db-held", "x.db-shm", "x.db-wal"}, names)
	for _, d := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(d)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), d)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), one)
	assert.Equal(t, "wal", value(t, db, "PRAGMA journal_mode"))
	require.NoError(t, db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		for pragma, want := range map[string]int{"synchronous": 2, "foreign_keys": 1, "busy_timeout": 100} {
			var got int
			require.NoError(t, tx.QueryRow("PRAGMA "+pragma).Scan(&got))
			assert.Equal(t, want, got, pragma)
		}
		return nil
	}))
	require.Error(t, exec(t, db, `INSERT INTO tag VALUES (7, 'of no note')`))
	_, err := db.Read().ExecContext(t.Context(), `INSERT INTO note (body) VALUES ('x')`)
	require.Error(t, err, "a reader writes")
}

func TestOldFilesAreMigrated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	old := open(t, path, one)
	require.NoError(t, exec(t, old, `INSERT INTO note (body) VALUES ('kept')`))
	require.NoError(t, old.Close())

	db := open(t, path, two)
	assert.Equal(t, "kept none", value(t, db, `SELECT body || ' ' || title FROM note`))
	assert.Equal(t, "2", value(t, db, `PRAGMA user_version`))

	_, err := sqlitedb.Open(t.Context(), path, one)
	require.ErrorIs(t, err, sqlitedb.ErrNewer)
	assert.EqualError(t, err, "note store "+path+": the file has a newer schema: version 2, this program knows 1; use the newer program, or name another file")
}

func TestAFailedStepChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	require.NoError(t, open(t, path, one).Close())
	broken := sqlitedb.Schema{Name: one.Name, ID: one.ID, Steps: append(two.Steps[:2:2], `CREATE TABLE more (x); NONSENSE`)}
	_, err := sqlitedb.Open(t.Context(), path, broken)
	require.ErrorContains(t, err, "schema step 3")
	assert.Equal(t, "1", value(t, open(t, path, one), `PRAGMA user_version`))
}

// plain makes a database with SQLite alone. live leaves it open, so that its log stays.
func plain(t *testing.T, path, script string, live bool) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), script)
	require.NoError(t, err)
	if live {
		t.Cleanup(func() { assert.NoError(t, db.Close()) })
		return
	}
	require.NoError(t, db.Close())
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	const move, other = "move it away or name another one", "it is the database of something else; name another one"
	const tables = `CREATE TABLE x (a); INSERT INTO x VALUES (1);`
	write := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
	}
	by := func(script string, live bool) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { plain(t, path, script, live) }
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"a text": {write("these are my notes, and there are more than a hundred bytes of them, so that a header could be read from them"), move},
		"a byte": {write("x"), move},
		"of another kind": {func(t *testing.T, path string) {
			require.NoError(t, open(t, path, sqlitedb.Schema{Name: "other", ID: 1, Steps: one.Steps}).Close())
		}, other},
		"with a rollback journal":   {by(`PRAGMA application_id = 77;`+tables, false), other},
		"without an id":             {by(tables, false), other},
		"of many tables":            {by(tables+manyTables(), false), other},
		"an id and no tables":       {by(`PRAGMA application_id = 77; CREATE TABLE x (a); DROP TABLE x`, false), other},
		"with a log":                {by(`PRAGMA journal_mode = WAL; PRAGMA application_id = 77;`+tables, true), other},
		"with a log and without id": {by(`PRAGMA journal_mode = WAL;`+tables, true), other},
		"a directory":               {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "it is a directory; name a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			c.make(t, path)
			_ = os.Remove(path + "-held")
			before := files(t, path)
			_, err := sqlitedb.Open(t.Context(), path, one)
			require.ErrorIs(t, err, sqlitedb.ErrForeign)
			assert.ErrorContains(t, err, "note store "+path+": not a file of this kind: ")
			assert.ErrorContains(t, err, c.want)
			assert.Equal(t, before, files(t, path))
		})
	}
}

// TestANewerFileIsLeftAlone, with its log.
func TestANewerFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	live := filepath.Join(t.TempDir(), "x.db")
	require.NoError(t, exec(t, open(t, live, two), `INSERT INTO note (body) VALUES ('kept')`))
	path := left(t, live)
	before := files(t, path)
	_, err := sqlitedb.Open(t.Context(), path, one)
	require.ErrorIs(t, err, sqlitedb.ErrNewer)
	after := files(t, path)
	delete(after, "x.db-shm")
	assert.Equal(t, before, after)
}

// manyTables are more than one page lists.
func manyTables() string {
	script := "BEGIN;"
	for i := range 200 {
		script += fmt.Sprintf("CREATE TABLE t%d (a);", i)
	}
	return script + "COMMIT"
}

// files returns what is in the file and in those beside it but the memory that its users
// share, which says who reads.
func files(t *testing.T, path string) map[string]string {
	t.Helper()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	out := snapshot(t, filepath.Dir(path))
	if _, ok := out["x.db-shm"]; ok {
		out["x.db-shm"] = ""
	}
	return out
}

func TestAFileThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.db")
	require.NoError(t, open(t, cut, one).Close())
	require.NoError(t, os.Truncate(cut, 5000))
	blocked := filepath.Join(dir, "blocked.db")
	require.NoError(t, open(t, blocked, one).Close())
	require.NoError(t, os.Mkdir(blocked+"-wal", 0o700)) // whoever runs the test, SQLite cannot write here
	for path, want := range map[string]string{
		cut:     "the file is damaged; nothing was changed: to go on with a backup, put it in the place of " + cut,
		blocked: "this user has to be able to read and write the file and its directory",
	} {
		_, err := sqlitedb.Open(t.Context(), path, one)
		require.ErrorContains(t, err, "note store "+path+": ")
		assert.ErrorContains(t, err, want)
	}
}

func TestManyOpenOneNewFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			db, err := sqlitedb.Open(t.Context(), path, two)
			if err == nil {
				err = errors.Join(exec(t, db, `INSERT INTO note (body) VALUES ('x')`), db.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	assert.Equal(t, "8", value(t, open(t, path, two), `SELECT count(*) FROM note`))
}

func TestAFailedWriteIsUndone(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), one)
	cause := errors.New("changed my mind")
	err := db.Write(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO note (body) VALUES ('x')`)
		require.NoError(t, err)
		return cause
	})
	require.ErrorIs(t, err, cause)
	assert.Equal(t, "0", value(t, db, `SELECT count(*) FROM note`))
	require.NoError(t, db.Close())
	require.NoError(t, db.Close(), "a second Close")
}

// A power cut while a file is switched to write-ahead mode can leave a log beside the
// journal of that switch. Only a connection that writes can play the journal back.
func TestAJournalBesideALogIsPlayedBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sqlitedb.Open(t.Context(), path, one)
	require.NoError(t, err)
	require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES ('kept')`))
	require.NoError(t, db.Close())
	cut := cutWithin(t, path)
	require.NoError(t, os.WriteFile(cut+"-wal", []byte("what a disk had of a log"), 0o600))
	files := []string{cut, cut + "-journal", cut + "-wal"}
	var before []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		before = append(before, string(data))
	}
	other := one
	other.ID++
	_, err = sqlitedb.Open(t.Context(), cut, other)
	require.ErrorIs(t, err, sqlitedb.ErrForeign)
	for i, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.True(t, before[i] == string(data), "%s of another program has changed", file)
	}
	assert.Equal(t, "kept 1", value(t, open(t, cut, one), `SELECT min(body) || ' ' || count(*) FROM note`))
}

// cutWithin returns a copy of the file as it is within a transaction that has a journal.
func cutWithin(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(DELETE)&_pragma=cache_size(1)")
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.Begin()
	require.NoError(t, err)
	for range 500 {
		_, err := tx.Exec(`INSERT INTO note (body) VALUES (hex(randomblob(500)))`)
		require.NoError(t, err)
	}
	for _, end := range []string{"", "-journal"} {
		data, err := os.ReadFile(path + end)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".cut"+end, data, 0o600))
	}
	require.NoError(t, tx.Rollback())
	return path + ".cut"
}
