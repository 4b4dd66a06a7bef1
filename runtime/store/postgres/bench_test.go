package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
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
func BenchmarkTurns(b *testing.B) {
	s, err := postgres.Open(b.Context(), durable(b), nil)
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
