package documents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/pgdb/documents"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ approval.Store = documents.Answers{}

func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	sets := []documents.Set[int]{{DB: databases.Open(t, dsn), Kind: documents.Agents, Project: "/p"}, {DB: databases.Open(t, dsn), Kind: documents.Agents, Project: "/p"}}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			assert.NoError(t, sets[i%2].Change(func(docs map[string]int) error {
				docs["sum"]++ // what another has just counted
				docs[fmt.Sprint(i)] = i
				return nil
			}))
		})
	}
	all.Wait()
	got, err := sets[0].Read()
	require.NoError(t, err)
	assert.Len(t, got, 21)
	assert.Equal(t, 20, got["sum"])

	no := errors.New("no")
	require.ErrorIs(t, sets[0].Change(func(docs map[string]int) error { clear(docs); return no }), no)
	require.NoError(t, sets[1].Change(func(docs map[string]int) error { delete(docs, "sum"); return nil }))
	got, err = sets[0].Read()
	require.NoError(t, err)
	assert.Len(t, got, 20)
}

// TestSetsAreApart by kind and by project, also by one whose name is no text.
func TestSetsAreApart(t *testing.T) {
	t.Parallel()
	db := databases.Postgres(t)
	for i, at := range [][2]string{{documents.Agents, "/p"}, {documents.Agents, "/q"}, {documents.Deletions, "/p"}, {documents.Agents, "/p\xff"}, {documents.Agents, "/p\xfe"}, {documents.Agents, ""}} {
		set := documents.Set[int]{DB: db, Kind: at[0], Project: at[1]}
		got, err := set.Read()
		require.NoError(t, err)
		assert.Empty(t, got, at)
		require.NoError(t, set.Change(func(docs map[string]int) error { docs["x\x00"] = i; return nil }))
		got, err = set.Read()
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"x\x00": i}, got)
	}
}

func TestADamagedDocumentIsTold(t *testing.T) {
	t.Parallel()
	db := databases.Postgres(t)
	require.NoError(t, documents.Answers{DB: db}.Write("/p", "bad.json", []byte("{")))
	_, err := documents.Set[int]{DB: db, Kind: documents.Approvals, Project: "/p"}.Read()
	assert.ErrorContains(t, err, `the approval "bad.json" in the database: unexpected end of JSON input`)
}

// TestTokensAreReadOnceASecond, however many requests come with or without one, and one that was just made counts.
func TestTokensAreReadOnceASecond(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	var queries atomic.Int64
	counted, err := pgdb.Open(t.Context(), dsn, &pgdb.Options{Trace: func(sql string) {
		if strings.Contains(sql, "FROM document") {
			queries.Add(1)
		}
	}})
	require.NoError(t, err)
	t.Cleanup(counted.Close)
	set, other := documents.NewTokens(counted), documents.NewTokens(databases.Open(t, dsn))
	tokens := access.NewTokens(other)
	text, err := tokens.Create(access.Token{Name: "one", Scopes: access.All()})
	require.NoError(t, err)
	_, err = access.NewTokens(set).Caller(text)
	require.NoError(t, err)
	began := time.Now()
	for range 10_000 {
		_, err := access.NewTokens(set).Caller(text)
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, queries.Load(), 2+int64(time.Since(began)/documents.Stale))
	assert.NotZero(t, queries.Load(), "the test can see them")
	second, err := tokens.Create(access.Token{Name: "two", Scopes: access.All()})
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := access.NewTokens(set).Caller(second); return err == nil }, time.Minute, time.Millisecond)
}

// TestUnknownTokensHoldUpNoKnownOnes: a database that takes its time is asked by one of many requests at a time.
func TestUnknownTokensHoldUpNoKnownOnes(t *testing.T) {
	t.Parallel()
	var queries atomic.Int64
	dsn := databases.DSN(t)
	db := databases.Open(t, dsn)
	counted, err := pgdb.Open(t.Context(), dsn, &pgdb.Options{Trace: func(sql string) {
		if strings.Contains(sql, "FROM document") {
			queries.Add(1)
		}
	}})
	require.NoError(t, err)
	t.Cleanup(counted.Close)
	tokens := access.NewTokens(documents.NewTokens(counted))
	text, err := tokens.Create(access.Token{Name: "ann", Scopes: access.All()})
	require.NoError(t, err)
	require.NoError(t, db.Exec(t.Context(), `ALTER TABLE document RENAME TO kept`))
	t.Cleanup(func() {
		assert.NoError(t, db.Exec(context.Background(), `DROP VIEW document; ALTER TABLE kept RENAME TO document`))
	})
	require.NoError(t, db.Exec(t.Context(), `CREATE VIEW document AS SELECT kept.* FROM kept, (SELECT pg_sleep(0.3)) s`))
	var reads sync.WaitGroup
	for range 100 {
		reads.Go(func() {
			_, err := tokens.Caller("grapnel_aaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbb")
			assert.ErrorContains(t, err, "not one of this daemon's")
		})
		reads.Go(func() { _, err := tokens.Caller(text); assert.NoError(t, err) })
	}
	reads.Wait()
	assert.Less(t, queries.Load(), int64(50), "requests share a read")
}
