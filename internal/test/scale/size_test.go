package scale_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// few are the conversations of the database that the large one is compared with.
const few = 10

// TestSize: a turn beside many stored conversations costs about what it costs beside ten. Turns of the two databases alternate. A
// database without an index is found.
func TestSize(t *testing.T) {
	needsAll(t)
	c := pgtest.Start(t, &pgtest.Options{Sync: true, Settings: []string{"shared_buffers = '256MB'", "max_wal_size = '2GB'"}})
	small, large := newFilled(t, c, few), newFilled(t, c, *storedFlag)
	beside, ratio := large.cost(t, small, 60**roundsFlag)
	figure(t, "stored", *storedFlag, fmt.Sprintf("conversations, %s on disk", large.size(t)))
	figure(t, "turn", fmt.Sprintf("%.1f", beside), "ms for a turn with a tool call beside all of them")
	figure(t, "cost", fmt.Sprintf("%.2f", ratio), fmt.Sprintf("times that of a turn beside %d", few))
	assert.LessOrEqual(t, ratio, *costFlag)
	large.exec(t, `ALTER TABLE conversation DROP CONSTRAINT conversation_id_key`)
	_, without := large.cost(t, small, 10)
	figure(t, "bad.no-index", fmt.Sprintf("%.1f", without), "times as long")
	assert.Greater(t, without, *costFlag)
}

// cost returns how many milliseconds the middle one of so many turns takes, and how many times that is of a turn over the other
// database.
func (f *filled) cost(t *testing.T, other *filled, turns int) (ms, ratio float64) {
	t.Helper()
	var here, there []float64
	for i := range turns {
		if i%2 == 0 {
			here, there = append(here, f.turn(t)), append(there, other.turn(t))
		} else {
			there, here = append(there, other.turn(t)), append(here, f.turn(t))
		}
	}
	return median(here), median(here) / median(there)
}

// filled is a database with conversations, and a runtime over it.
type filled struct {
	conn *pgx.Conn
	rt   *runtime.Runtime
	// turns is how many it has run.
	turns int
}

// newFilled runs one turn, and copies its conversation with all that is stored of it.
func newFilled(t *testing.T, c *pgtest.Cluster, n int) *filled {
	t.Helper()
	ctx := t.Context()
	dsn := c.Database(t)
	s, err := postgres.Open(ctx, dsn, nil)
	require.NoError(t, err)
	f := new(filled)
	f.rt, err = agentOver(ctx, s)
	require.NoError(t, err)
	f.conn, err = pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		_ = f.rt.Close(ctx)
		_ = s.Close()
		_ = f.conn.Close(ctx)
	})
	f.turn(t)
	const batch = 100_000
	for done := 1; done < n; done += batch {
		f.copies(t, done, min(done+batch, n))
	}
	f.exec(t, `VACUUM ANALYZE`)
	var stored int
	require.NoError(t, f.conn.QueryRow(ctx, `SELECT count(*) FROM conversation`).Scan(&stored))
	require.Equal(t, n, stored)
	return f
}

func (f *filled) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := f.conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// copies makes the copies with these numbers, all but until, of the first conversation.
func (f *filled) copies(t *testing.T, from, until int) {
	t.Helper()
	f.exec(t, fmt.Sprintf(`INSERT INTO conversation (id, sender, %[1]s)
		SELECT 'copy-' || i, convert_to('copy-' || i, 'UTF8'), %[1]s FROM conversation, generate_series($1::int, $2::int) i WHERE id NOT LIKE 'copy-%%'`,
		f.columns(t, "conversation", "num", "id", "sender")), from, until-1)
	for _, table := range []string{"message", "event", "state", "word"} {
		f.exec(t, fmt.Sprintf(`INSERT INTO %[1]s (conversation, %[2]s)
			SELECT c.num, %[2]s FROM %[1]s x, conversation f, generate_series($1::int, $2::int) i JOIN conversation c ON c.id = 'copy-' || i
			WHERE x.conversation = f.num AND f.id NOT LIKE 'copy-%%'`, table, f.columns(t, table, "conversation")), from, until-1)
	}
}

// columns returns those of a table without some.
func (f *filled) columns(t *testing.T, table string, without ...string) string {
	t.Helper()
	query, err := f.conn.Query(t.Context(), `SELECT attname FROM pg_attribute
		WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($2) ORDER BY attnum`, table, without)
	require.NoError(t, err)
	names, err := pgx.CollectRows(query, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(names, ", ")
}

func (f *filled) size(t *testing.T) (size string) {
	t.Helper()
	require.NoError(t, f.conn.QueryRow(t.Context(), `SELECT pg_size_pretty(pg_database_size(current_database()))`).Scan(&size))
	return size
}

// turn runs a turn, every third one in a new conversation, and returns how many milliseconds that took.
func (f *filled) turn(t *testing.T) float64 {
	t.Helper()
	f.turns++
	began := time.Now()
	conv, err := dialog.Conversation(t.Context(), f.rt, "a", fmt.Sprint("real-", f.turns/3))
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
	require.NoError(t, err)
	return float64(time.Since(began).Microseconds()) / 1000
}
