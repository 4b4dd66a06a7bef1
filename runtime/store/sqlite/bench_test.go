package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// answers is a model that answers at once.
type answers struct{}

func (answers) Stream(context.Context, hook.ModelRequest) hook.ModelStream {
	return func(yield func(hook.Chunk, error) bool) {
		_ = yield(hook.Chunk{Kind: hook.ChunkText, Text: "answer"}, nil) &&
			yield(hook.Chunk{Kind: hook.ChunkFinish, Finish: hook.FinishStop}, nil)
	}
}

// BenchmarkDurableTurns is whole turns of conversations at the same time, each in
// two appends that are on disk when they return. The limit writes the same rows,
// by hand and for all conversations in one transaction, so it syncs twice for a
// turn of each.
func BenchmarkDurableTurns(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("conversations=%d", n), func(b *testing.B) { durableTurns(b, n) })
		b.Run(fmt.Sprintf("limit/conversations=%d", n), func(b *testing.B) { durableLimit(b, n) })
	}
}

func durableTurns(b *testing.B, n int) {
	st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "x.db"), nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, st.Close()) }()
	rt := runtime.New(nil, answers{}, &runtime.Options{Store: st})
	require.NoError(b, rt.Open(b.Context()))
	defer func() { require.NoError(b, rt.Close(b.Context())) }()
	_, err = rt.Register(b.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(b, err)
	convs := make([]*runtime.Conversation, n)
	for i := range convs {
		convs[i], err = rt.Conversation(b.Context(), "a", fmt.Sprint(i))
		require.NoError(b, err)
	}
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	for _, conv := range convs {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := conv.Send(b.Context(), hook.TextInput("question"), nil); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

func durableLimit(b *testing.B, n int) {
	path := filepath.Join(b.TempDir(), "x.db")
	st, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	for i := range n {
		_, err := st.Conversation(b.Context(), store.Key{Agent: "a", Sender: fmt.Sprint(i)})
		require.NoError(b, err)
	}
	require.NoError(b, st.Close())
	db, err := sqlitedb.Open(b.Context(), path, sqlitedb.Schema{Name: "conversation store", ID: 0x47524163, Steps: current()})
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += n {
		seq, writers := 2*(done/n), min(n, b.N-done)
		for _, body := range []string{
			`{"role":"user","content":[{"kind":"text","text":"question"}]}`, `{"role":"assistant","content":[{"kind":"text","text":"answer"}]}`,
		} {
			if err := db.Write(b.Context(), func(tx *sqlitedb.Tx) error { return addToEach(tx, writers, seq, body) }); err != nil {
				b.Fatal(err)
			}
			seq++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

func addToEach(tx *sqlitedb.Tx, n, seq int, body string) error {
	for c := 1; c <= n; c++ {
		var num sql.NullInt64
		if err := tx.QueryRow(`UPDATE conversation SET version = version + 1, messages = messages + 1 WHERE num = ? AND version = ?
			RETURNING num`, c, seq).Scan(&num); err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO message (conversation, seq, body) VALUES (?, ?, ?)`, c, seq, body); err != nil {
			return err
		}
	}
	return nil
}
