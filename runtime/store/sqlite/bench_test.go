package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// answers is a model that answers at once.
type answers struct{}

func (answers) Stream(context.Context, message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkText, Text: "answer"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
	}
}

// calls is a model that calls a tool and answers when it has the result.
type calls struct{ n atomic.Int64 }

func (m *calls) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	if req.Messages.At(req.Messages.Len()-1).Role == message.RoleTool {
		return answers{}.Stream(ctx, req)
	}
	id := fmt.Sprint(m.n.Add(1))
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkCallStart, CallID: id, Tool: "look"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Text: `{}`}, nil) && yield(message.Chunk{Kind: message.ChunkCallEnd}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools}, nil)
	}
}

// looks has the tool.
type looks struct{ hook.Nop }

func (looks) Schema() []message.Tool {
	return []message.Tool{{Name: "look", Input: `{"type":"object"}`}}
}

func (looks) Dispatch(context.Context, *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound("{}", looks{}), true
}

func (looks) Run(context.Context, *hook.Env) message.ToolResult { return message.TextResult("seen") }

// BenchmarkDurableCalls is turns with one call: five writes, each on disk before
// anything follows from it.
func BenchmarkDurableCalls(b *testing.B) {
	durableTurns(b, filepath.Join(b.TempDir(), "x.db"), 64, looks{}, &calls{})
}

// BenchmarkDurableTurns is whole turns of conversations at the same time, each in
// two appends and a note that are on disk when they return: the question with the
// entry of the turn, the answer, and the last events. The limit writes the same
// rows, by hand and for all conversations in one transaction, so it syncs three
// times for a turn of each.
func BenchmarkDurableTurns(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("conversations=%d", n), func(b *testing.B) { durableTurns(b, filepath.Join(b.TempDir(), "x.db"), n, nil, answers{}) })
		b.Run(fmt.Sprintf("limit/conversations=%d", n), func(b *testing.B) { durableLimit(b, n) })
	}
}

// BenchmarkStored is the turns of 64 conversations in a file that has others, of
// two messages each. What they cost must not depend on how many those are.
func BenchmarkStored(b *testing.B) {
	sizes := []int{10, 1_000_000}
	if testing.Short() {
		sizes = []int{10, 1_000}
	}
	for _, others := range sizes {
		path := filepath.Join(b.TempDir(), "x.db") // filled once for all sizes of b.N
		fillWith(b, path, others)
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) { durableTurns(b, path, 64, nil, answers{}) })
	}
}

// fillWith makes a file with conversations of two messages each.
func fillWith(b *testing.B, path string, others int) {
	st, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	require.NoError(b, st.Close())
	db := raw(b, path, current()...)
	defer func() { require.NoError(b, db.Close()) }()
	const body = `'{"role":"user","content":[{"kind":"text","text":"an old message"}]}'`
	for _, query := range []string{
		`INSERT INTO conversation (id, project, agent, sender, version, turns, messages, indexed, created, updated)
			WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ?)
			SELECT printf('old%09d', n), '', 'old', n, 2, 1, 2, 2, 0, 0 FROM i`,
		`INSERT INTO message SELECT num << 32, 1, ` + body + ` FROM conversation LIMIT ?`,
		`INSERT INTO message SELECT num << 32 | 1, 1, ` + body + ` FROM conversation LIMIT ?`,
	} {
		require.NoError(b, db.Write(b.Context(), func(tx *sqlitedb.Tx) error {
			_, err := tx.Exec(query, others)
			return err
		}))
	}
}

func durableTurns(b *testing.B, path string, n int, h hook.Hook, model provider.Provider) {
	st, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, st.Close()) }()
	rt := runtime.New(h, model, &runtime.Options{Store: st})
	require.NoError(b, rt.Open(b.Context()))
	defer func() { require.NoError(b, rt.Close(b.Context())) }()
	_, err = rt.Register(b.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(b, err)
	convs := make([]*runtime.Conversation, n)
	for i := range convs {
		convs[i], err = dialog.Conversation(b.Context(), rt, "a", fmt.Sprint(i))
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
				if _, err := dialog.Send(b.Context(), conv, message.TextInput("question"), nil); err != nil {
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
		turn, writers := done/n, min(n, b.N-done)
		for write := range 3 {
			if err := db.Write(b.Context(), func(tx *sqlitedb.Tx) error { return addToEach(tx, writers, turn, write) }); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// addToEach does write 0, 1 or 2 of a turn of conversations 1 to n.
func addToEach(tx *sqlitedb.Tx, n, turn, write int) error {
	events := strings.Repeat("x", []int{182, 517, 366}[write])
	for c := 1; c <= n; c++ {
		seq := 2*turn + write
		queries := []string{`INSERT INTO event (num, body) VALUES (?, ?)`}
		args := [][]any{{c<<32 | 3*turn + write + 1, events}}
		add := func(query string, a ...any) { queries, args = append(queries, query), append(args, a) }
		switch write {
		case 0:
			add(`INSERT INTO message (num, turn, body) VALUES (?, 1, ?)`, c<<32|seq, `{"role":"user","content":[{"kind":"text","text":"question"}]}`)
			add(`INSERT INTO entry (num, kind, call_id, data) VALUES (?, 'turn', '', ?)`, c<<32|turn+1, strings.Repeat("x", 110))
		case 1:
			add(`INSERT INTO message (num, turn, body) VALUES (?, 1, ?)`, c<<32|seq, `{"role":"assistant","content":[{"kind":"text","text":"answer"}]}`)
			add(`DELETE FROM entry WHERE num = ?`, c<<32|turn+1)
		}
		var num sql.NullInt64
		if err := tx.QueryRow(`UPDATE conversation SET version = version + 1, messages = messages + 1, noted = noted + 1, events = events + 1
			WHERE num = ? RETURNING num`, c).Scan(&num); err != nil {
			return err
		}
		for i, query := range queries {
			if _, err := tx.Exec(query, args[i]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// BenchmarkJournaledTurns is what a store does for a turn with two calls: a claim,
// the question, a note before the calls and one behind each, and the messages that
// end the turn. The limit writes the same bytes in as many transactions.
func BenchmarkJournaledTurns(b *testing.B) {
	b.Run("store", func(b *testing.B) {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "x.db"), nil)
		require.NoError(b, err)
		defer func() { require.NoError(b, s.Close()) }()
		rec, err := s.Conversation(b.Context(), store.Key{Agent: "a"})
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if rec, err = journaledTurn(b.Context(), s, rec); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
	b.Run("limit", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "x.db")
		db := raw(b, path, `CREATE TABLE record (num INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT`)
		defer func() { require.NoError(b, db.Close()) }()
		b.ReportAllocs()
		for b.Loop() {
			for _, size := range []int{60, 160, 460, 160, 160, 560} {
				body := strings.Repeat("x", size)
				if err := db.Write(b.Context(), func(tx *sqlitedb.Tx) error {
					_, err := tx.Exec(`INSERT INTO record (body) VALUES (?)`, body)
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
}

func journaledTurn(ctx context.Context, s *sqlite.Store, rec store.Record) (store.Record, error) {
	rec, err := s.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Minute})
	if err != nil {
		return rec, err
	}
	event := func() []store.Event {
		rec.Events++
		return []store.Event{{Seq: rec.Events, Data: `{"kind":"tool_call_start","call_id":"1","tool":"bash","args":{"command":"ls"}}`}}
	}
	at := store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Hold: time.Minute, Messages: message.MessagesOf(message.UserText("question")),
		Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"1"}`}}, Events: event()}
	if rec.Version, err = s.Append(ctx, rec.ID, at); err != nil {
		return rec, err
	}
	call := func(id string) message.Block {
		return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: "bash", JSON: `{"command":"ls"}`}
	}
	reply := message.Message{Role: message.RoleAssistant, Content: message.ListOf(call("1"), call("2"))}
	notes := [][]store.Entry{{{Kind: store.EntryReply, Message: reply}, {Kind: store.EntryStart, CallID: "1"}, {Kind: store.EntryStart, CallID: "2"}}}
	messages := []message.Message{reply}
	for _, id := range []string{"1", "2"} {
		m := message.Message{Role: message.RoleTool, CallID: id, Tool: "bash", Result: message.TextResult("a.go b.go")}
		notes = append(notes, []store.Entry{{Kind: store.EntryResult, CallID: id, Message: m}})
		messages = append(messages, m)
	}
	for _, entries := range notes {
		if _, err := s.Note(ctx, rec.ID, store.Note{Epoch: at.Epoch, Hold: time.Minute, Entries: entries, Events: event()}); err != nil {
			return rec, err
		}
	}
	messages = append(messages, message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("answer"))})
	rec.Version, err = s.Append(ctx, rec.ID, store.Append{Version: rec.Version, Epoch: at.Epoch, Messages: message.MessagesOf(messages...), TurnEnds: true, Events: event()})
	return rec, err
}
