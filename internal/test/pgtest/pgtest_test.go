package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close(context.Background())) })
	return conn
}

func count(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM x`).Scan(&n))
	return n
}

func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	first, second := connect(t, pgtest.Database(t)), connect(t, pgtest.Database(t))
	_, err := first.Exec(t.Context(), `CREATE TABLE x ()`)
	require.NoError(t, err)
	_, err = second.Exec(t.Context(), `SELECT FROM x`)
	assert.ErrorContains(t, err, "does not exist")
}

func TestATemplateIsPreparedOnce(t *testing.T) {
	t.Parallel()
	prepared := 0
	template := &pgtest.Template{Prepare: func(ctx context.Context, dsn string) error {
		prepared++
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `CREATE TABLE x (a int); INSERT INTO x VALUES (1)`)
		return err
	}}
	first, second := connect(t, template.Database(t)), connect(t, template.Database(t))
	_, err := first.Exec(t.Context(), `INSERT INTO x VALUES (2)`)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 1}, []int{prepared, count(t, first), count(t, second)})
}

func TestACopyThatIsResetIsUsedAgain(t *testing.T) {
	t.Parallel()
	template := &pgtest.Template{Reset: `DELETE FROM x; DELETE FROM y`, Prepare: func(ctx context.Context, dsn string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `CREATE TABLE x (a int); CREATE TABLE y ()`)
		return err
	}}
	var used []string
	for range 2 {
		t.Run("", func(t *testing.T) {
			used = append(used, template.Database(t))
			conn := connect(t, used[len(used)-1])
			assert.Zero(t, count(t, conn))
			_, err := conn.Exec(t.Context(), `INSERT INTO x VALUES (1)`)
			require.NoError(t, err)
		})
	}
	assert.Equal(t, used[0], used[1])
}

// Containers run programs under a user id without a name, which initdb refuses.
func TestAUserWithoutANameHasNoCluster(t *testing.T) {
	dir := t.TempDir()
	initdb := "#!/bin/sh\necho 'initdb: could not look up effective user ID 54321: user does not exist' >&2; exit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "initdb"), []byte(initdb), 0o755)) //nolint:gosec // root runs it as nobody
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))                                //nolint:gosec // see above
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("CI", "")
	o := &outcome{TB: t}
	assert.PanicsWithValue(t, o, func() { pgtest.Start(o, nil) })
	assert.Contains(t, o.skipped, "this user id has no name")
}

// outcome is a test that only records that it is skipped.
type outcome struct {
	testing.TB
	skipped string
}

func (o *outcome) Skip(args ...any) {
	o.skipped = fmt.Sprint(args...)
	panic(o)
}

func TestAClusterRecoversFromACrash(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, &pgtest.Options{TCP: true, Settings: []string{"work_mem = '5MB'"}})
	conn, err := pgx.Connect(t.Context(), c.DSN(""))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `CREATE TABLE x (a int); INSERT INTO x VALUES (1)`)
	require.NoError(t, err)
	c.Restart(t, "immediate")
	require.Error(t, conn.Ping(t.Context()), "the crash has ended the session")
	assert.Equal(t, 1, count(t, connect(t, c.DSN(""))))

	conn = connect(t, "postgres://postgres:"+c.Password()+"@"+c.Address()+"/postgres?sslmode=disable")
	var memory string
	require.NoError(t, conn.QueryRow(t.Context(), `SHOW work_mem`).Scan(&memory))
	assert.Equal(t, "5MB", memory)
	_, err = pgx.Connect(t.Context(), "postgres://postgres:wrong@"+c.Address()+"/postgres?sslmode=disable")
	assert.ErrorContains(t, err, "password authentication failed")
}

// dies is set in a process that starts a cluster, prints its directory and waits to be killed.
const dies = "GRAPNEL_PGTEST_DIES"

func TestAClusterEndsWithAProcessThatIsKilled(t *testing.T) {
	if os.Getenv(dies) != "" {
		os.Stdout.WriteString("dir " + pgtest.Start(t, nil).Dir() + "\n")
		time.Sleep(time.Hour) // not select {}: with nothing else to do, the runtime would call it a deadlock and end the process
	}
	t.Parallel()
	pgtest.Programs(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), dies+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		dir, _ = strings.CutPrefix(lines.Text(), "dir ")
	}
	require.DirExists(t, dir)
	dsn := "postgres:///postgres?user=postgres&port=5432&host=" + dir
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.Eventually(t, func() bool { return !exists(dir) }, time.Minute, 20*time.Millisecond)
	_, err = pgx.Connect(t.Context(), dsn)
	assert.Error(t, err)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
