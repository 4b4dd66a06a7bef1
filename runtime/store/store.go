// Package store is where a runtime keeps its conversations: one small interface
// and its errors. Implementations live below it; package storetest is the test
// that each of them passes.
//
// A store holds whole messages and nothing else: no events, no partial text. An
// append is atomic, so an assistant message and the results of its calls are
// there together or not at all.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrConflict: somebody else has appended since the given version. Nothing
	// was written; the caller reads the conversation again.
	ErrConflict = errors.New("store: the conversation has changed in the meantime")
	// ErrUnknown: there is no conversation of that id.
	ErrUnknown = errors.New("store: no such conversation")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("store: closed")
)

// Key names a conversation from outside: one agent and one sender have exactly
// one. Both are compared byte by byte; Sender may be empty.
type Key struct {
	Agent  string
	Sender string
}

// Record is what a store knows of a conversation besides its messages.
type Record struct {
	// ID is unique in the store and never changes.
	ID  string
	Key Key
	// Version starts at 0 and grows with every append.
	Version int64
	// Turns is the number of turns that have ended.
	Turns   int
	Created time.Time
	// Updated is the time of the last append; Created if there was none.
	Updated time.Time
}

// Append is one atomic addition to a conversation.
type Append struct {
	// Messages are added in order; none is allowed. The store may keep the
	// values but not the slice.
	Messages []hook.Message
	// TurnEnds counts one more turn.
	TurnEnds bool
}

// Store keeps conversations. Implementations are safe for concurrent use; each
// method may block on I/O and ends soon after ctx does. Opening and closing are
// the concrete type's.
type Store interface {
	// Conversation returns the conversation of the key, created if there is none.
	Conversation(ctx context.Context, key Key) (Record, error)
	// Messages returns all messages of the conversation, oldest first; the caller
	// owns the slice. ErrUnknown if there is no such conversation.
	Messages(ctx context.Context, id string) ([]hook.Message, error)
	// Append adds to the conversation if its version is still the given one, and
	// returns the new version. Otherwise nothing is written and the error is
	// ErrConflict, or ErrUnknown if there is no such conversation.
	Append(ctx context.Context, id string, version int64, a Append) (int64, error)
	// List returns all conversations, ordered by agent, then sender.
	List(ctx context.Context) ([]Record, error)
}
