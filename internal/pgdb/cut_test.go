package pgdb_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// wire stands between a DB and the server.
type wire struct {
	dsn     string
	address string
	ended   chan struct{} // closed at the end of the test
	mu      sync.Mutex
	open    []*link
}

// link is a connection on a wire. Once it is cut nothing passes, and the server is not told.
type link struct {
	client, server net.Conn
	cut            atomic.Bool
}

func newWire(t *testing.T, dsn, network string) *wire {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	require.NoError(t, err)
	dir := t.TempDir()
	at, host := filepath.Join(dir, ".s.PGSQL.5432"), "host="+dir+" port=5432"
	if network == "tcp" {
		at = "127.0.0.1:0"
	}
	l, err := net.Listen(network, at)
	require.NoError(t, err)
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		host = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", a.Port)
	}
	w := &wire{dsn: host + " dbname=" + config.Database + " user=" + config.User, address: l.Addr().String(), ended: make(chan struct{})}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				client.Close()
				continue
			}
			c := &link{client: client, server: server}
			w.mu.Lock()
			w.open = append(w.open, c)
			w.mu.Unlock()
			serving.Go(func() { w.pass(c, server, client) })
			serving.Go(func() { w.pass(c, client, server) })
		}
	})
	t.Cleanup(func() { l.Close(); close(w.ended); w.cut(true); serving.Wait() })
	return w
}

func (w *wire) pass(c *link, to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if c.cut.Load() {
			<-w.ended
			return
		}
		if _, writing := to.Write(buffer[:n]); err != nil || writing != nil {
			return
		}
	}
}

// cut cuts all connections there are; later ones work. If the client is told, it knows that they are lost.
func (w *wire) cut(tell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		c.cut.Store(true)
		if tell {
			if tcp, ok := c.client.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // so that the client hears of a reset
			}
			c.client.Close()
		}
	}
}

// A machine that is cut off within a transaction has locks for which others wait: the server ends it.
func TestATransactionThatIsCutOffHoldsOthersUpForSeconds(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	w := newWire(t, dsn, "unix")
	cutOff, other := open(t, w.dsn, nil), open(t, dsn, &pgdb.Options{Patience: time.Minute})
	require.NoError(t, add(t.Context(), other, 1))
	ctx, end := context.WithCancel(t.Context())
	locked := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		_ = cutOff.Write(ctx, func(tx pgdb.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE note SET n = n + 1 WHERE id = 1`); !assert.NoError(t, err) {
				return err
			}
			w.cut(false)
			close(locked)
			_, err := tx.Exec(ctx, `SELECT 1`)
			return err
		})
	})
	<-locked
	_, err := pgdb.Apply(t.Context(), other, pgdb.Statement{SQL: `UPDATE note SET n = 10 WHERE id = 1 RETURNING n`}, scanInt)
	require.NoError(t, err)
	assert.Equal(t, 1, count(t, other, "n = 10"), "the transaction that was cut off was undone")
	end()
	w.cut(true) // else the driver waits for its answer to the end
	writing.Wait()
}

// A machine that only paused loses its transaction, and begins it again.
func TestATransactionThatPausesBeginsAgain(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	db, other := open(t, dsn, &pgdb.Options{Patience: time.Minute}), open(t, dsn, nil)
	calls := 0
	require.NoError(t, db.Write(t.Context(), func(tx pgdb.Tx) error {
		if calls++; calls == 1 {
			var pid int
			require.NoError(t, tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
			_, err := tx.Exec(t.Context(), `SET LOCAL idle_in_transaction_session_timeout = '10ms'`) // instead of the real pause
			require.NoError(t, err)
			require.Eventually(t, func() bool { return ended(t, other, pid) }, time.Minute, 10*time.Millisecond)
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO note (id) VALUES (1)`)
		return err
	}))
	assert.Equal(t, 2, calls)
	assert.Equal(t, 1, count(t, db, "true"))
}

// ended reports whether the server has ended the process of a connection.
func ended(t *testing.T, db *pgdb.DB, pid int) bool {
	t.Helper()
	var n int
	require.NoError(t, db.Read(t.Context(), func(q pgdb.Queryer) error {
		return q.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, pid).Scan(&n)
	}))
	return n == 0
}

// Nobody waits for a lock for ever, however lively its holder is.
func TestATransactionWaitsForALockNoLongerThanThePatience(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	db := open(t, dsn, &pgdb.Options{Patience: time.Second})
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	_, err = conn.Exec(t.Context(), `BEGIN; LOCK TABLE note`)
	require.NoError(t, err)
	insert := func(tx pgdb.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO note (id) VALUES (1)`)
		return err
	}
	require.ErrorContains(t, db.Write(t.Context(), insert), "55P03")

	// An upgrade or a copy takes its time.
	var writing sync.WaitGroup
	writing.Go(func() {
		assert.NoError(t, db.Write(t.Context(), func(tx pgdb.Tx) error {
			if err := pgdb.Slow(t.Context(), tx); err != nil {
				return err
			}
			return insert(tx)
		}))
	})
	time.Sleep(3 * time.Second) // longer than the patience
	_, err = conn.Exec(t.Context(), `COMMIT`)
	require.NoError(t, err)
	writing.Wait()
	assert.Equal(t, 1, count(t, db, "true"))
}

// The server probes the machines at the other end of its connections. A write whose second half never
// arrives keeps its locks until then: no other bound of the server counts within it.
func TestTheServerNoticesMachinesThatAreCutOff(t *testing.T) {
	c := pgtest.Start(t, &pgtest.Options{TCP: true})
	t.Setenv("PGPASSWORD", c.Password())
	db := open(t, "postgres://postgres@"+c.Address()+"/postgres?sslmode=disable", nil)
	for name, f := range map[string]func(context.Context, func(pgdb.Queryer) error) error{"reads": db.Read, "writes": db.Urgent} {
		var idle, interval, times, unacknowledged int
		require.NoError(t, f(t.Context(), func(q pgdb.Queryer) error {
			return q.QueryRow(t.Context(), `SELECT current_setting('tcp_keepalives_idle')::int, current_setting('tcp_keepalives_interval')::int,
				current_setting('tcp_keepalives_count')::int, current_setting('tcp_user_timeout')::int`).Scan(&idle, &interval, &times, &unacknowledged)
		}))
		assert.Equal(t, []int{5, 1, 5, 10_000}, []int{idle, interval, times, unacknowledged}, name)
	}
}

// The answer of a commit is lost, and the server still works on it when the patience is over.
func TestACommitThatDoesNotEndIsUnknown(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	w := newWire(t, dsn, "unix")
	db := open(t, w.dsn, &pgdb.Options{Patience: time.Second})
	exec(t, dsn, `CREATE TABLE slow (id int); CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN LOOP BEGIN PERFORM pg_sleep(600); EXCEPTION WHEN query_canceled THEN END; END LOOP; END $$;
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sleep()`)
	ended := make(chan error)
	go func() {
		ended <- db.Write(context.WithoutCancel(t.Context()), func(tx pgdb.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO slow VALUES (1)`)
			return err
		})
	}()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	committing := `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
	require.Eventually(t, func() bool {
		var is bool
		err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT `+committing+`)`).Scan(&is)
		return assert.NoError(t, err) && is
	}, time.Minute, 5*time.Millisecond)
	w.cut(true)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, pgdb.ErrUnknownOutcome)
	case <-time.After(time.Minute):
		t.Error("Write has not returned")
	}
	_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) `+committing)
	require.NoError(t, err)
}
