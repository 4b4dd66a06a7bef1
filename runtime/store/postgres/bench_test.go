package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
)

// durable is a cluster whose commits wait for the disk.
func durable(b *testing.B) string {
	b.Helper()
	return pgtest.Start(b, &pgtest.Options{Sync: true, Settings: []string{"shared_buffers = 128MB", "max_wal_size = 4GB"}}).DSN("")
}

// together runs f b.N times, n calls at a time.
func together(b *testing.B, n int, f func(caller int) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var callers sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range n {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_s")
}

// BenchmarkWrites is what a turn writes while it runs: entries and events of 32 or 256
// conversations at the same time. The limit is as many INSERTs of one row, each a commit, over as
// many connections as a store has.
func BenchmarkWrites(b *testing.B) {
	for _, n := range []int{1, 32, 256} {
		dsn := durable(b)
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) { noteTogether(b, dsn, n) })
		b.Run(fmt.Sprintf("limit/callers=%d", n), func(b *testing.B) { insertTogether(b, dsn, min(n, 32)) })
	}
}

func noteTogether(b *testing.B, dsn string, n int) {
	s, err := postgres.Open(b.Context(), dsn, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	type open struct {
		id    string
		event uint64
	}
	all := make([]open, n)
	for i := range all {
		rec, err := s.Conversation(b.Context(), store.Key{Agent: "a", Sender: fmt.Sprint(i)})
		require.NoError(b, err)
		all[i] = open{rec.ID, rec.Events}
	}
	entry := store.Entry{Kind: store.EntryResult, CallID: "call", Data: `{"a":1}`, Message: message.UserText("a result of a few words")}
	together(b, n, func(i int) error {
		o := &all[i]
		o.event++
		_, err := s.Note(b.Context(), o.id, store.Note{Entries: []store.Entry{entry}, Events: []store.Event{{Seq: o.event, Data: `{"kind":"tool_end"}`}}})
		return err
	})
}

func insertTogether(b *testing.B, dsn string, n int) {
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(b, err)
	config.MaxConns = int32(n)
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	defer pool.Close()
	_, err = pool.Exec(b.Context(), `CREATE TABLE IF NOT EXISTS history (caller int, body text, at timestamptz)`)
	require.NoError(b, err)
	together(b, n, func(i int) error {
		_, err := pool.Exec(b.Context(), `INSERT INTO history VALUES ($1, 'a result of a few words', now())`, i)
		return err
	})
}

// BenchmarkTurns is whole turns with one call, 256 conversations at the same time.
func BenchmarkTurns(b *testing.B) { turns(b, durable(b)) }

// BenchmarkStored is the same in a database that has others, of two messages each. What a turn
// costs must not depend on how many those are.
func BenchmarkStored(b *testing.B) {
	sizes := []int{10, 1_000_000}
	if testing.Short() {
		sizes = []int{10, 1_000}
	}
	dsns := make([]string, len(sizes))
	for i, others := range sizes {
		dsns[i] = durable(b)
		fillWith(b, dsns[i], others)
	}
	for range 3 { // in turn, because other programs share the machine
		for i, others := range sizes {
			b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) { turns(b, dsns[i]) })
		}
	}
}

// fillWith makes conversations of two messages each, which can be searched.
func fillWith(b *testing.B, dsn string, others int) {
	b.Helper()
	s, err := postgres.Open(b.Context(), dsn, nil)
	require.NoError(b, err)
	require.NoError(b, s.Close())
	conn, err := pgx.Connect(b.Context(), dsn)
	require.NoError(b, err)
	defer conn.Close(b.Context()) //nolint:errcheck // nothing is lost with it
	const body = `'{"role":"user","content":[{"kind":"text","text":"an old message"}]}'::bytea`
	for _, sql := range []string{
		`INSERT INTO conversation (id, project, agent, sender, version, turns, messages, created, updated)
			SELECT 'old' || n, '', 'old', n::text::bytea, 2, 1, 2, 0, 0 FROM generate_series(1, $1::int) n`,
		`INSERT INTO message SELECT num, seq, 1, ` + body + ` FROM conversation, generate_series(0, 1) seq LIMIT 2 * $1::bigint`,
		`INSERT INTO word SELECT num, seq, 3, ('''old'':1B ''w' || num % 50000 || ''':1B')::tsvector || ` + index.Owner("project") + ` FROM conversation, generate_series(0, 1) seq LIMIT 2 * $1::bigint`,
	} {
		_, err := conn.Exec(b.Context(), sql, others)
		require.NoError(b, err)
	}
	for _, sql := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err)
	}
}

func turns(b *testing.B, dsn string) {
	b.Helper()
	s, err := postgres.Open(b.Context(), dsn, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	rt := runtime.New(looks{}, &calls{}, &runtime.Options{Store: s})
	require.NoError(b, rt.Open(b.Context()))
	defer func() { require.NoError(b, rt.Close(b.Context())) }()
	agent, err := rt.Register(b.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(b, err)
	convs := make([]*runtime.Conversation, 256)
	for i := range convs {
		convs[i], err = agent.Conversation(b.Context(), fmt.Sprint(i))
		require.NoError(b, err)
	}
	together(b, len(convs), func(i int) error {
		_, err := convs[i].Send(b.Context(), message.TextInput("question"), nil)
		return err
	})
}

// BenchmarkSearch is a rare and a common word among a million messages.
func BenchmarkSearch(b *testing.B) {
	messages := 1_000_000
	if testing.Short() {
		messages = 100_000
	}
	dsn := durable(b)
	fillWith(b, dsn, messages/2)
	s, err := postgres.Open(b.Context(), dsn, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	for _, word := range []string{"w77", "old"} {
		b.Run(word, func(b *testing.B) {
			for b.Loop() {
				found, err := s.Search(b.Context(), store.Query{Text: word})
				require.NoError(b, err)
				require.NotEmpty(b, found)
			}
		})
	}
}
