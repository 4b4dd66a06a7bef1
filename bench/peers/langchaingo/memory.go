package langchaingo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/memory/sqlite3"
	"github.com/tmc/langchaingo/schema"
	_ "modernc.org/sqlite" // the driver

	"github.com/grapnel-go/grapnel/bench/work"
)

// memories returns the memories of n conversations and what closes them, which may be
// nil.
func memories(ctx context.Context, t work.Turn, n int) ([]schema.Memory, func() error, error) {
	if t.Dir != "" {
		return durable(ctx, t.Dir, n)
	}
	out := make([]schema.Memory, n)
	for i := range out {
		m, err := window(ctx, t.Messages)
		if err != nil {
			return nil, nil, err
		}
		out[i] = m
	}
	return out, nil, nil
}

// window returns a memory that has messages of old. It remembers that many, in pairs
// of what was said and what was answered, and forgets what is older: each turn formats
// all that a memory has, so one that only grew would be dearer the longer it is
// measured. Without messages of old it has five pairs, which is what a window has if
// nothing is said.
func window(ctx context.Context, messages int) (schema.Memory, error) {
	h := memory.NewChatMessageHistory()
	for i := range messages {
		add := h.AddAIMessage
		person, text := work.Old(i)
		if person {
			add = h.AddUserMessage
		}
		if err := add(ctx, text); err != nil {
			return nil, err
		}
	}
	return memory.NewConversationWindowBuffer((messages+1)/2, memory.WithChatHistory(h)), nil
}

// durable returns memories that keep every message as a row, with an INSERT of its own
// that is synced to disk. Its driver is the one that Grapnel and the code by hand have,
// and not the one that langchaingo opens if it is given none, which is SQLite in C.
func durable(ctx context.Context, dir string, n int) ([]schema.Memory, func() error, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "langchaingo.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer
	if err := db.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening the database: %w", err), db.Close())
	}
	out := make([]schema.Memory, n)
	for i := range out {
		h := sqlite3.NewSqliteChatMessageHistory(sqlite3.WithContext(ctx), sqlite3.WithDB(db), sqlite3.WithSession(strconv.Itoa(i)))
		out[i] = memory.NewConversationBuffer(memory.WithChatHistory(h))
	}
	return out, db.Close, nil
}
