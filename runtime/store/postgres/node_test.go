package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// A beat has three quarters of a second, in which it asks again and again. However long the server takes to say that it
// starts, up to that, the beat has heard it.
func TestADatabaseThatTakesTimeToSayThatItStartsIsDown(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	for _, after := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			l := newLossy(t)
			n := store.Node{ID: "one", URL: "unix:/x", TTL: 3 * time.Second}
			require.NoError(t, l.Beat(t.Context(), n))
			l.quiet(t)
			l.proxy.starting.Store(int64(after))
			l.proxy.left.Store(0)
			for range 8 {
				ctx, cancel := context.WithTimeout(t.Context(), 750*time.Millisecond)
				require.ErrorIs(t, l.Beat(ctx, n), store.ErrDown)
				cancel()
			}
		})
	}
}

// watched is a store that counts the statements with a word once it is armed, and holds up the first one until release is closed.
type watched struct {
	*postgres.Store
	armed          atomic.Bool
	n              atomic.Int64
	begun, release chan struct{}
}

func watch(t *testing.T, word string) *watched {
	t.Helper()
	w := &watched{begun: make(chan struct{}), release: make(chan struct{})}
	w.Store = open(t, migrated.Database(t), &postgres.Options{Database: pgdb.Options{Trace: func(sql string) {
		if w.armed.Load() && strings.Contains(sql, word) && w.n.Add(1) == 1 {
			close(w.begun)
			<-w.release
		}
	}}})
	return w
}

// together calls f for the tenants, of which all come while the call of the first one is under way.
func (w *watched) together(tenants int, f func(s *postgres.Store, i int)) {
	w.armed.Store(true)
	var calls sync.WaitGroup
	calls.Go(func() { f(w.Tenant("p0"), 0) })
	<-w.begun
	for i := 1; i < tenants; i++ {
		calls.Go(func() { f(w.Tenant(fmt.Sprint("p", i)), i) })
	}
	time.Sleep(200 * time.Millisecond) // most of them wait now
	close(w.release)
	calls.Wait()
}

// What each tenant of a daemon does once a second is no more for a hundred of them than for two.
func TestBeatsOfTenantsAreOneStatement(t *testing.T) {
	t.Parallel()
	const tenants = 100
	w := watch(t, "INSERT INTO node")
	w.together(tenants, func(s *postgres.Store, i int) {
		assert.NoError(t, s.Beat(t.Context(), store.Node{ID: fmt.Sprint("node", i), URL: "unix:/x", Version: fmt.Sprint(i), TTL: time.Hour}))
	})
	assert.Less(t, w.n.Load(), int64(20))
	all, err := w.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, all, tenants)
	for _, n := range all {
		assert.Equal(t, n.ID, "node"+n.Version, "each row has what its node says")
		assert.True(t, n.Alive)
	}
}

func TestListsOfTenantsAreOneStatement(t *testing.T) {
	t.Parallel()
	w := watch(t, "FROM node n WHERE n.ttl")
	w.together(100, func(s *postgres.Store, _ int) {
		_, err := s.Nodes(t.Context())
		assert.NoError(t, err)
	})
	assert.Less(t, w.n.Load(), int64(20))
}

// Of beats that are one statement each has its own answer, and one that is given up takes no other with it.
func TestBeatsOfOneStatementHaveTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	w := watch(t, "INSERT INTO node")
	beat := func(ctx context.Context, s *postgres.Store, id string) error {
		return s.Beat(ctx, store.Node{ID: id, URL: "unix:/x", TTL: time.Hour})
	}
	for _, id := range []string{"left", "lives"} {
		require.NoError(t, beat(t.Context(), w.Store, id))
	}
	require.NoError(t, w.Leave(t.Context(), "left"))
	given, giveUp := context.WithCancel(t.Context())
	w.together(5, func(s *postgres.Store, i int) {
		switch i {
		case 0:
			assert.NoError(t, beat(t.Context(), s, "first"))
		case 1:
			assert.ErrorIs(t, beat(t.Context(), s, "left"), store.ErrLate)
		case 2:
			assert.NoError(t, beat(t.Context(), s, "lives"))
		case 3:
			time.Sleep(50 * time.Millisecond) // the next statement has another first one
			if err := beat(given, s, "given up"); err != nil {
				assert.ErrorIs(t, err, context.Canceled)
			}
		case 4:
			time.Sleep(100 * time.Millisecond)
			giveUp()
		}
	})
}

// Rows of nodes that have left are read by nobody, and gone after two hours.
func TestNodesThatHaveLeftAreForgotten(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	s := open(t, dsn, nil)
	execute(t, dsn, `INSERT INTO node SELECT 'grapnel-' || i, '', 'v1', 0, '[]', (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint - 5400 * 1000000000::bigint, 0, false FROM generate_series(1, 1000) i`)
	execute(t, dsn, `INSERT INTO witness SELECT n.id, n.seen, n.seen FROM node n`)
	rows := func() (nodes, witnesses int) {
		t.Helper()
		require.NoError(t, s.DB().Read(t.Context(), func(q pgdb.Queryer) error {
			return q.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM node), (SELECT count(*) FROM witness)`).Scan(&nodes, &witnesses)
		}))
		return nodes, witnesses
	}
	come := func(id string) {
		t.Helper()
		require.NoError(t, s.Beat(t.Context(), store.Node{ID: id, URL: "unix:/x", TTL: time.Hour}))
	}
	come("one")
	all, err := s.Nodes(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
	n, _ := rows()
	assert.Equal(t, 1001, n, "none of them is two hours old, so no conversation is looked at")
	execute(t, dsn, `UPDATE node SET seen = seen - 3600 * 1000000000::bigint WHERE id = 'grapnel-7'`)
	come("two")
	n, witnesses := rows()
	assert.Equal(t, [2]int{2, 2}, [2]int{n, witnesses})
}
