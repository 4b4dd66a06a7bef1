// Package store is where a runtime keeps its conversations: small interfaces and
// their errors. Implementations live below it; package storetest is the test
// that each of them passes.
//
// A store holds whole messages, and of the turn that is running a journal: what
// was begun and what has ended, so that a turn whose process is gone can be
// brought to an end. An append is atomic, so an assistant message and the results
// of its calls are there together or not at all.
//
// One turn at a time may write to a conversation: the one that holds its lease.
// Every claim of the lease raises its epoch, and a write with another epoch than
// the current one fails, however late it comes: a holder that was taken for gone
// cannot write any more.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrConflict: somebody else has appended since the given version. Nothing
	// was written; the caller reads the conversation again.
	ErrConflict = errors.New("store: the conversation has changed in the meantime")
	// ErrFenced: the lease has been claimed by another since; nothing was written.
	ErrFenced = errors.New("store: the lease of the conversation has gone to another")
	// ErrLeased: another holds the lease; see [LeasedError].
	ErrLeased = errors.New("store: another holds the lease of the conversation")
	// ErrUnknown: there is no conversation of that id.
	ErrUnknown = errors.New("store: no such conversation")
	// ErrExists: there is a conversation of that key already.
	ErrExists = errors.New("store: there is such a conversation already")
	// ErrCompacted: what was asked for lies in the archive, behind a summary.
	ErrCompacted = errors.New("store: that part of the conversation has been compacted")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("store: closed")
)

// LeasedError is ErrLeased with the lease that is in the way.
type LeasedError struct{ Lease Lease }

// Error says who holds the lease, and until when.
func (e *LeasedError) Error() string {
	return fmt.Sprintf("%v: %s, until %s", ErrLeased, e.Lease.Owner, e.Lease.Until.Format(time.RFC3339))
}

// Is makes it ErrLeased.
func (e *LeasedError) Is(target error) bool { return target == ErrLeased }

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
	// Parent is the id of the conversation whose turn ran this one as a child's;
	// "" for those that people see.
	Parent string
	// Version starts at 0 and grows with every append.
	Version int64
	// Turns is the number of turns that have ended.
	Turns   int
	Created time.Time
	// Updated is the time of the last append; Created if there was none.
	Updated time.Time
	Lease   Lease
	// Journaled: there are entries of a turn that has not ended.
	Journaled bool
	// Events is the sequence of the last event that was kept; 0 if none was.
	Events uint64
}

// Lease says who may write to a conversation.
type Lease struct {
	// Owner is who claimed it last, "" if nobody has.
	Owner string
	// Epoch grows with every claim; 0 if there was none.
	Epoch int64
	// Until is when it ends; zero if it is free. Nobody else claims it before.
	Until time.Time
}

// Claim asks for a lease.
type Claim struct {
	// Owner names the claimer to others; not empty.
	Owner string
	// Hold is how long the lease lasts unless a write prolongs it; positive.
	Hold time.Duration
	// Takes is the epoch of a holder that is known to be gone: its lease is taken
	// over before its end. 0 is none.
	Takes int64
}

// EntryKind says what an entry of the journal is about.
type EntryKind string

// The kinds of entry.
const (
	EntryTurn   EntryKind = "turn"   // a turn has begun: Data
	EntryReply  EntryKind = "reply"  // the model has asked for calls: Message, Data
	EntryStart  EntryKind = "start"  // a call is about to run: CallID, Data
	EntryResult EntryKind = "result" // a call has ended: CallID, Message, Data
	EntrySteer  EntryKind = "steer"  // a message has come while the turn runs: Message
)

// Entry is one entry of the journal of the turn that is running. What Data holds
// is the runtime's business.
type Entry struct {
	// Seq is given by the store: it grows with every entry of the conversation and
	// is never used again.
	Seq     int64
	Kind    EntryKind
	CallID  string
	Message hook.Message
	// Data is a JSON object, or "".
	Data hook.JSON
}

// Event is one event as it is kept: its number in the conversation and its form
// on the wire.
type Event struct {
	Seq  uint64
	Data hook.JSON
}

// Append is one atomic addition to a conversation.
type Append struct {
	// Version and Epoch are those that the conversation must have: ErrConflict,
	// ErrFenced. An Epoch of 0 is that of a conversation that was never leased.
	Version int64
	Epoch   int64
	// Hold prolongs the lease to that long from now; 0 frees it.
	Hold time.Duration
	// Messages are added in order; none is allowed. The store may keep the
	// values but not the slice.
	Messages []hook.Message
	// Entries are added to the journal behind what is there; their Seq is ignored.
	Entries []Entry
	// Forget are the sequences of entries that are not needed any more.
	Forget []int64
	Events []Event
	// TurnEnds counts one more turn and empties the journal.
	TurnEnds bool
}

// Note is one atomic addition to the journal and the events of a conversation. It
// changes neither messages nor version.
type Note struct {
	// Epoch must be the conversation's: ErrFenced.
	Epoch int64
	// Hold prolongs the lease to that long from now; 0 frees it.
	Hold    time.Duration
	Entries []Entry
	Events  []Event
}

// Reader is the half of a store that reads.
type Reader interface {
	// Conversation returns the conversation of the key, created if there is none.
	Conversation(ctx context.Context, key Key) (Record, error)
	// Messages returns all messages of the conversation, oldest first; the caller
	// owns the slice. ErrUnknown if there is no such conversation.
	Messages(ctx context.Context, id string) ([]hook.Message, error)
	// Journal returns the entries of the turn that has not ended, in the order of
	// their sequences. ErrUnknown if there is no such conversation.
	Journal(ctx context.Context, id string) ([]Entry, error)
	// List returns all conversations that are no child's, ordered by agent, then
	// sender.
	List(ctx context.Context) ([]Record, error)
}

// Writer is the half of a store that writes. What a method has returned without
// an error is kept, also if the process ends or the power is lost, unless the
// store is volatile.
type Writer interface {
	// Claim takes the lease of the conversation with a new epoch and returns the
	// record as it is then. While another holds it, the error is a [*LeasedError].
	Claim(ctx context.Context, id string, c Claim) (Record, error)
	// Append adds to the conversation and returns its new version. If version or
	// epoch are not the given ones, nothing is written: ErrConflict, ErrFenced, or
	// ErrUnknown if there is no such conversation.
	Append(ctx context.Context, id string, a Append) (int64, error)
	// Note adds to the journal and returns the sequence of the first entry; those
	// of the others follow without gaps. ErrFenced or ErrUnknown as in Append.
	Note(ctx context.Context, id string, n Note) (first int64, err error)
	// Volatile reports whether what is written ends with the process. Then no
	// journal is worth its cost, and no events are kept.
	Volatile() bool
}

// Store keeps conversations. Implementations are safe for concurrent use; each
// method may block on I/O and ends soon after ctx does. Opening and closing are
// the concrete type's.
type Store interface {
	Reader
	Writer
}

// Compacter is implemented by stores whose conversations can be compacted.
type Compacter interface {
	// Compact moves the oldest n messages to the archive and puts summary in their
	// place, in one step. The conditions are those of Append; n is at most the
	// number of messages. It returns the new version.
	Compact(ctx context.Context, id string, at Append, n int, summary hook.Message) (int64, error)
	// Archive returns the messages that were moved away, oldest first.
	Archive(ctx context.Context, id string) ([]hook.Message, error)
}

// Forker is implemented by stores whose conversations can go two ways, and back.
type Forker interface {
	// Fork makes a conversation of the key with the first turns of another one, its
	// archive included. ErrExists if there is one of that key; ErrUnknown.
	Fork(ctx context.Context, id string, turns int, key Key) (Record, error)
	// Rewind takes away everything behind the first turns. What was there goes to
	// the archive as a branch that nobody reads any more, and a journal with it.
	// The conditions are those of Append; ErrCompacted if the place lies behind a
	// summary. It returns the new version.
	Rewind(ctx context.Context, id string, at Append, turns int) (int64, error)
}

// Child is implemented by stores that know which conversation runs which.
type Child interface {
	// Child is Conversation for that of a child turn.
	Child(ctx context.Context, key Key, parent string) (Record, error)
	// Children returns the children of a conversation, oldest first.
	Children(ctx context.Context, parent string) ([]Record, error)
}

// Log is implemented by stores that keep events.
type Log interface {
	// Events returns up to limit events of the conversation behind the sequence
	// after, in order. Deltas are not kept, so sequences have gaps.
	Events(ctx context.Context, id string, after uint64, limit int) ([]Event, error)
}

// Searcher is implemented by stores that find words in conversations.
type Searcher interface {
	// Search returns the messages that match best, the best first. What tools were
	// called with and what they returned is never looked at.
	Search(ctx context.Context, q Query) ([]Match, error)
}

// Query says what to search for.
type Query struct {
	// Text is words of which any is enough; sail* is all words that begin so.
	Text string
	// Agent and Sender narrow it to their conversations; "" is all.
	Agent  string
	Sender string
	// Limit is how many matches to return at most, 1 to 20; 0 is 5.
	Limit int
	// Before and After are how many messages around the match are shown, 0 to 8
	// each.
	Before, After int
}

// Match is one message that was found.
type Match struct {
	Record Record
	// Message is its position in the conversation, from 0.
	Message int
	Role    hook.Role
	// Snippet is the text around the words, at most 1,024 bytes.
	Snippet string
	// Around is the messages before and after, the match itself included, each as a
	// line of at most 1,024 bytes. Calls are shown by the names of their tools.
	Around []Line
}

// Line is one message in the neighbourhood of a match.
type Line struct {
	Message int
	Role    hook.Role
	Text    string
}
