package scale_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// through starts a cluster with a table, and a relay to it.
func through(t *testing.T, rewrite *rewriting) (*relay, *pgx.Conn) {
	t.Helper()
	c := pgtest.Start(t, nil)
	direct, err := pgx.Connect(t.Context(), c.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() { _ = direct.Close(context.Background()) })
	_, err = direct.Exec(t.Context(), `CREATE TABLE x (a int)`)
	require.NoError(t, err)
	r, err := newRelay(socketOf(c), rewrite)
	require.NoError(t, err)
	t.Cleanup(r.close)
	return r, direct
}

func connect(t *testing.T, r *relay) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.dsn("test"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func rows(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM x`).Scan(&n))
	return n
}

// TestRelayLosesAnswers: the commit is made, its client gets an error, and other statements are not touched.
func TestRelayLosesAnswers(t *testing.T) {
	t.Parallel()
	r, direct := through(t, nil)
	for name, insert := range map[string]func(*pgx.Conn) error{
		"one statement": func(c *pgx.Conn) error {
			_, err := c.Exec(t.Context(), `INSERT INTO x VALUES ($1)`, 1)
			return err
		},
		"a transaction": func(c *pgx.Conn) error {
			return pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO x VALUES ($1)`, 2)
				return err
			})
		},
		"a pipeline": func(c *pgx.Conn) error {
			var b pgx.Batch
			b.Queue(`BEGIN`)
			b.Queue(`INSERT INTO x VALUES ($1)`, 3)
			b.Queue(`COMMIT`)
			return c.SendBatch(t.Context(), &b).Close()
		},
	} {
		conn := connect(t, r)
		before, lost := rows(t, direct), r.answersLost()
		require.NoError(t, insert(conn), name)
		r.loseAnswer()
		assert.Equal(t, before+1, rows(t, conn), name)
		assert.Error(t, insert(conn), name)
		assert.Equal(t, before+2, rows(t, direct), name)
		assert.Equal(t, lost+1, r.answersLost(), name)
	}
}

// TestRelayHolds: what is sent arrives later, or never if the connection breaks meanwhile.
func TestRelayHolds(t *testing.T) {
	t.Parallel()
	r, direct := through(t, nil)
	for _, d := range []direction{up, down} {
		conn := connect(t, r)
		before := rows(t, direct)
		r.hold(d)
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), `INSERT INTO x VALUES (1)`)
			done <- err
		}()
		if d == down {
			require.Eventually(t, func() bool { return rows(t, direct) == before+1 }, time.Minute, time.Millisecond)
		}
		select {
		case err := <-done:
			require.Fail(t, "nothing passes", "%v", err)
		case <-time.After(50 * time.Millisecond):
		}
		r.heal()
		require.NoError(t, <-done)
		assert.Equal(t, before+1, rows(t, direct))
	}
	conn := connect(t, r)
	r.reset()
	_, err := conn.Exec(t.Context(), `INSERT INTO x VALUES (1)`)
	require.Error(t, err)
	require.Equal(t, 2, rows(t, connect(t, r)))
	conn = connect(t, r)
	r.slow(20 * time.Millisecond)
	began := time.Now()
	require.Equal(t, 2, rows(t, conn))
	assert.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond)
}

func TestRelayRewrites(t *testing.T) {
	t.Parallel()
	w := &rewriting{find: regexp.MustCompile(`\$1`), put: "$$1 + 41"}
	r, direct := through(t, w)
	conn := connect(t, r)
	_, err := conn.Exec(t.Context(), `INSERT INTO x VALUES ($1)`, 1)
	require.NoError(t, err)
	var got int
	require.NoError(t, direct.QueryRow(t.Context(), `SELECT a FROM x`).Scan(&got))
	assert.Equal(t, 42, got)
	assert.Equal(t, int64(1), w.done.Load())
}
