// Package store defines the stores of conversations: small interfaces and their errors.
// Implementations are below it; package storetest tests them.
//
// A store has whole messages, and a journal of the running turn. If the process of a turn
// dies, another one can end the turn by its journal. An append is atomic: an assistant
// message and the results of its calls are stored together or not at all.
//
// One turn at a time may write to a conversation: the holder of its lease. Every claim of
// the lease increases its epoch, and a write with an older epoch fails. So a holder that
// lost its lease cannot write any more, however late its write comes.
package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrConflict: another writer has appended since the given version. Nothing was
	// written; the caller reads the conversation again.
	ErrConflict = errors.New("store: the conversation has changed in the meantime")
	// ErrFenced: another holder has claimed the lease since; nothing was written.
	ErrFenced = errors.New("store: another process has taken the lease of the conversation")
	// ErrLeased: another holder has the lease; see [LeasedError].
	ErrLeased = errors.New("store: another process holds the lease of the conversation")
	// ErrUnknown: there is no conversation of that id.
	ErrUnknown = errors.New("store: no such conversation")
	// ErrExists: there is a conversation of that key already.
	ErrExists = errors.New("store: there is such a conversation already")
	// ErrCompacted: that part of the conversation is in the archive, behind a summary.
	ErrCompacted = errors.New("store: that turn of the conversation was compacted into a summary and cannot be restored; name a later turn, or export the conversation, which has all of it")
	// ErrNoTurn: the conversation does not have that many turns, or messages.
	ErrNoTurn = errors.New("store: the conversation is not that long")
	// ErrDamaged: a part of the conversation cannot be read; see [DamagedError].
	ErrDamaged = errors.New("store: a part of the conversation is damaged")
	// ErrFull: the file system of the store has no room. Nothing of the write is stored, and the
	// next one succeeds once there is room: the store need not be opened again.
	ErrFull = errors.New("store: there is no room left on the disk: free some where the state directory is, or the database, or delete conversations, and send again")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("store: closed")
)

// LeasedError is ErrLeased with the current lease.
type LeasedError struct{ Lease Lease }

// Error names the holder and the end of the lease.
func (e *LeasedError) Error() string {
	return fmt.Sprintf("%v: %s, until %s", ErrLeased, e.Lease.Owner, e.Lease.Until.Format(time.RFC3339))
}

// Is makes it ErrLeased.
func (e *LeasedError) Is(target error) bool { return target == ErrLeased }

// DamagedError is ErrDamaged with the parts that cannot be read, because a disk or another
// program has changed them. The result of the call is valid; only those parts are missing
// from it.
type DamagedError struct {
	// ID is the conversation's id.
	ID string
	// Part is the kind of the parts: "message", "archived message", "journal entry",
	// "event", "state".
	Part string
	// At has the positions of messages and states, counted from 0 with the damaged
	// ones; the sequences of entries; for events the last sequence of their write.
	At []int64
	// Err is why the first of them cannot be read. It does not quote the part.
	Err error
}

// Error names the missing parts and the reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: %s: %s %d cannot be read and is left out: %v", ErrDamaged, e.ID, e.Part, e.At, e.Err)
}

// Is makes it ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns why.
func (e *DamagedError) Unwrap() error { return e.Err }

// Key identifies a conversation: in one project, one agent and one sender have exactly one.
// All three are compared byte by byte; Project and Sender may be empty. The owner of the
// store defines projects; for the others see Check.
type Key struct {
	Project string
	Agent   string
	Sender  string
}

// Record describes a conversation, without its messages.
type Record struct {
	// ID is unique in the store and never changes.
	ID  string
	Key Key
	// Parent is the id of the conversation whose turn runs this one as a child; "" for
	// conversations that people see.
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
	// Events is the sequence of the last stored event; 0 if there is none.
	Events uint64
	// Title is the beginning of the first message: see [Title]. Only Find sets it; "" if
	// there is no message or it is damaged.
	Title string
}

// maxTitle is in characters.
const maxTitle = 80

// TitleText is how many bytes of a text [Title] reads.
const TitleText = 32 * maxTitle

// Title returns the beginning of the text of a conversation's first message as one line
// of at most 80 characters.
func Title(first message.Message) string {
	text := first.Text()
	text = strings.ToValidUTF8(text[:min(len(text), TitleText)], "")
	text, _ = character.Cut(strings.Join(strings.Fields(text), " "), maxTitle)
	return text
}

// Lease is the right to write to a conversation.
type Lease struct {
	// Owner claimed it last; "" if there was no claim.
	Owner string
	// Epoch increases with every claim; 0 if there was none.
	Epoch int64
	// Until is its end; zero if it is free. No other claim succeeds before.
	Until time.Time
}

// Claim asks for a lease. It is refused while another lease has not ended, even one of the
// same owner: two turns of one process are two holders.
type Claim struct {
	// Owner names the claimer to others; not empty.
	Owner string
	// Hold is how long the lease lasts unless a write changes its end; positive.
	Hold time.Duration
	// Takes is the epoch of a holder that is known to be gone: its lease can be claimed
	// before its end. 0 is none.
	Takes int64
}

// Check returns an error if the claim is not valid. Stores call it.
func (c Claim) Check() error {
	switch {
	case c.Owner == "":
		return errors.New("store: a lease is claimed for nobody: set Claim.Owner")
	case c.Hold <= 0:
		return fmt.Errorf("store: a lease is claimed for %v: Claim.Hold has to be positive", c.Hold)
	}
	return nil
}

// EntryKind is the kind of a journal entry.
type EntryKind string

// The kinds of entry.
const (
	EntryTurn   EntryKind = "turn"   // a turn has begun: Data
	EntryReply  EntryKind = "reply"  // the model has asked for calls: Message, Data
	EntryStart  EntryKind = "start"  // a call is about to run: CallID, Data
	EntryResult EntryKind = "result" // a call has ended: CallID, Message, Data
	EntryInput  EntryKind = "input"  // the turn's first input, before hooks have judged it: Message, Data
	EntrySteer  EntryKind = "steer"  // a message has come while the turn runs: Message, Data
	EntryEnd    EntryKind = "end"    // how the turn ends: Data
	EntryLoop   EntryKind = "loop"   // the state of the turn's loop, the last one counts: Data
)

// Entry is one entry of the journal of the running turn. The runtime defines Data.
type Entry struct {
	// Seq is set by the store: 1 for the first entry of the conversation, one more for
	// each further one. A sequence is never used again, even if its entry was deleted.
	Seq     int64
	Kind    EntryKind
	CallID  string
	Message message.Message
	// Data is a JSON object, or "".
	Data message.JSON
}

// Event is one stored event: its number in the conversation and its encoding. A write whose
// events are not in order, or not behind the stored ones, fails and writes nothing.
type Event struct {
	// Seq is from 1 to MaxEvent.
	Seq uint64
	// Data is one JSON text; blanks outside strings may change.
	Data message.JSON
}

// MaxEvent is the highest sequence of an event.
const MaxEvent = 1<<32 - 1

// CheckEvents returns an error unless the events are in order and behind the
// sequence last. Stores call it.
func CheckEvents(last uint64, events []Event) error {
	for _, e := range events {
		if e.Seq <= last || e.Seq > MaxEvent {
			return fmt.Errorf("store: event %d comes behind event %d: sequences have to grow, up to %d", e.Seq, last, uint64(MaxEvent))
		}
		last = e.Seq
	}
	return nil
}

// Append is one atomic addition to a conversation.
type Append struct {
	// Version and Epoch must be those of the conversation: else ErrConflict or
	// ErrFenced. A conversation that was never leased has the Epoch 0.
	Version int64
	Epoch   int64
	// Hold sets the end of the lease to that long from now; 0 frees it. It has no effect
	// on a conversation that was never leased.
	Hold time.Duration
	// Messages are added in order; there may be none. Ephemeral ones are left out. They
	// belong to the turn after those that have ended.
	Messages message.Messages
	// Entries are added to the end of the journal; their Seq is ignored.
	Entries []Entry
	// Forget has the sequences of entries to delete; missing ones are ignored.
	Forget []int64
	Events []Event
	// States replace the stored values of their names; a store without states drops
	// them. The store does not keep the slice.
	States []hook.StateValue
	// Jobs are queued in the same step, as [Jobs.Enqueue] says; a store without jobs refuses
	// them.
	Jobs []Job
	// TurnEnds counts one more turn and empties the journal, Entries included.
	TurnEnds bool
}

// Note is one atomic addition to the journal, the events and the states of a
// conversation. It changes neither messages nor version.
type Note struct {
	// Epoch must be that of the conversation: else ErrFenced.
	Epoch int64
	// Hold is that of Append.
	Hold    time.Duration
	Entries []Entry
	Events  []Event
	// States and Jobs are those of Append.
	States []hook.StateValue
	Jobs   []Job
}

// Reader is the half of a store that reads.
type Reader interface {
	// Conversation returns the conversation of the key, created if there is none.
	Conversation(ctx context.Context, key Key) (Record, error)
	// Find returns the conversation of the id, also a child, with its title. It ignores
	// damaged messages. ErrUnknown if there is none.
	Find(ctx context.Context, id string) (Record, error)
	// Messages returns all messages of the conversation, oldest first; the caller owns
	// the slice. ErrUnknown if there is no such conversation. With a [*DamagedError] it
	// returns the other messages: the call of a result, or the results of a call, may be
	// missing.
	Messages(ctx context.Context, id string) ([]message.Message, error)
	// Journal returns the entries of the turn that has not ended, in the order of their
	// sequences. ErrUnknown if there is no such conversation. With a [*DamagedError] it
	// returns the other entries.
	Journal(ctx context.Context, id string) ([]Entry, error)
	// List returns the conversations of all projects, without children, ordered by
	// project, agent, then sender. It reads no messages: Find has the titles.
	List(ctx context.Context) ([]Record, error)
}

// Titles is implemented by stores that find many titles at once.
type Titles interface {
	// Titles returns the titles of the conversations of the ids, by their ids, as Find has them. A conversation without a title has
	// none, nor has an id without a conversation.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
}

// Histories is implemented by stores with the messages in memory, so that readers need no
// second copy.
type Histories interface {
	// History returns what Messages returns, and copies nothing.
	History(ctx context.Context, id string) (message.Messages, error)
}

// Writer is the half of a store that writes. A write that returned without an error
// survives the end of the process and a loss of power, unless the store is volatile.
type Writer interface {
	// Claim takes the lease of the conversation with a new epoch, and returns the new
	// record. While there is a lease, the error is a [*LeasedError]. After the end of a
	// lease its holder can still write until the next claim.
	Claim(ctx context.Context, id string, c Claim) (Record, error)
	// Append adds to the conversation and returns its new version. If version or epoch
	// differ, it writes nothing: ErrConflict or ErrFenced. ErrUnknown if there is no
	// such conversation.
	Append(ctx context.Context, id string, a Append) (int64, error)
	// Note adds to the journal and returns the sequence of the first entry; those
	// of the others follow without gaps. ErrFenced or ErrUnknown as in Append.
	Note(ctx context.Context, id string, n Note) (first int64, err error)
	// Volatile reports whether the data ends with the process. Such a store drops
	// journal entries and events, and sequences of entries mean nothing.
	Volatile() bool
}

// Store keeps conversations. Implementations are safe for concurrent use; each
// method may block on I/O and ends soon after ctx does. The concrete types have methods
// to open and close.
type Store interface {
	Reader
	Writer
}

// At has the conditions of a change, and its effects on lease and events: the fields of
// Append without its additions.
type At struct {
	// Version and Epoch must be those of the conversation: else ErrConflict or
	// ErrFenced.
	Version int64
	Epoch   int64
	// Hold is that of Append.
	Hold time.Duration
	// Events report the change.
	Events []Event
}

// Compacter is implemented by stores whose conversations can be compacted.
type Compacter interface {
	// Compact moves the oldest n messages to the archive and replaces them by summary,
	// in one step. ErrNoTurn if n is 0 or there are fewer messages. Journal and turns
	// stay as they are. It returns the new version. The caller must not separate a call
	// from its result.
	Compact(ctx context.Context, id string, at At, n int, summary message.Message) (int64, error)
	// Archive returns all messages that compaction has moved, oldest first. It includes
	// summaries that were compacted again, each before the messages that followed it.
	// ErrUnknown, and [*DamagedError] as in Messages.
	Archive(ctx context.Context, id string) ([]message.Message, error)
}

// Forker is implemented by stores that can fork and rewind conversations. Both count turns
// that have ended: ErrNoTurn if there are fewer, ErrCompacted if a summary replaces
// messages of a later turn.
type Forker interface {
	// Fork makes a conversation of the key with the first turns of another one. It copies
	// the archive and the current states, but not lease, journal and events. The new
	// conversation has version 1 and no parent. ErrExists if the key is taken;
	// ErrUnknown.
	Fork(ctx context.Context, id string, turns int, key Key) (Record, error)
	// Rewind removes everything behind the first turns. The removed messages and the
	// journal go to the archive as a branch that no method reads: nothing is deleted.
	// Events and states stay, because they record the past. It returns the new version.
	Rewind(ctx context.Context, id string, at At, turns int) (int64, error)
}

// Adopter is implemented by stores that can move conversations to another project.
type Adopter interface {
	// Adopt moves the conversation and its children to the project of the key, under the
	// key's agent and sender, in one step. The conversation gets a new epoch, and its
	// lease is free. The journal stays. The states of hooks are dropped, because a right
	// that was granted in one project does not count in another. The error is a
	// [*LeasedError] while there is a lease, unless c.Takes says that the holder is
	// gone; ErrExists if the key is taken; ErrUnknown, also for a child.
	Adopt(ctx context.Context, id string, c Claim, key Key) (Record, error)
}

// Child is implemented by stores that record parents of conversations.
type Child interface {
	// Child is Conversation for the conversation of a child turn. ErrUnknown if there is
	// no such parent, ErrExists if the key is that of a conversation that is not its
	// child.
	Child(ctx context.Context, key Key, parent string) (Record, error)
	// Children returns the children of a conversation, oldest first. ErrUnknown.
	Children(ctx context.Context, parent string) ([]Record, error)
}

// Log is implemented by stores that keep events.
type Log interface {
	// Events returns up to limit events of the conversation behind the sequence after,
	// in order. Deltas are not stored, so sequences have gaps. ErrUnknown. With a
	// [*DamagedError] it returns the others.
	Events(ctx context.Context, id string, after uint64, limit int) ([]Event, error)
}

// States is implemented by stores that keep the states of hooks.
type States interface {
	// States returns the last value of each name, in the order of the names; the caller
	// owns the slice. ErrUnknown. With a [*DamagedError] it returns the others.
	States(ctx context.Context, id string) ([]hook.StateValue, error)
}

// Porter is implemented by stores that can export and import whole conversations. Package
// jsonl has their file format.
type Porter interface {
	// Dump returns a snapshot of the conversation. ErrUnknown. With a [*DamagedError] it
	// returns the rest.
	Dump(ctx context.Context, id string) (Dump, error)
	// Restore makes a conversation from the dump in one step, at version 1, without
	// lease, journal and events. ErrExists if the key is taken. The dump must pass
	// [Dump.Check].
	Restore(ctx context.Context, d Dump) (Record, error)
}

// Dump is a conversation outside its store. It has no states of hooks, because a file must
// not grant rights, and counts of another store mean nothing. No file names a project
// either: the caller of Restore sets Key.Project.
type Dump struct {
	Key     Key
	Created time.Time
	// Turns is the number of turns that have ended.
	Turns int
	// Archive and Messages are what Archive and Messages return.
	Archive, Messages []Kept
}

// Kept is a stored message with its place.
type Kept struct {
	// Turn is the turn that it belongs to, from 1.
	Turn int
	// Summary: it is the summary of the messages archived before it.
	Summary bool
	Message message.Message
}

// DumpError is an error in one message of a dump.
type DumpError struct {
	// Message counts the messages of the archive and then the others, from 0.
	Message int
	Err     error
}

// Error returns the message's number and the reason.
func (e *DumpError) Error() string { return fmt.Sprintf("store: message %d: %v", e.Message, e.Err) }

// Unwrap returns why.
func (e *DumpError) Unwrap() error { return e.Err }

// Check returns an error if the dump is not valid: a [*DumpError] if it is about a message.
// It checks neither the key, see [Key.Check], nor the order of roles.
func (d Dump) Check() error {
	if d.Turns < 0 || d.Turns >= math.MaxInt32 {
		return fmt.Errorf("store: %d turns: no conversation has so many", d.Turns)
	}
	last := 1
	for i, k := range slices.Concat(d.Archive, d.Messages) {
		live := i - len(d.Archive)
		switch {
		case k.Turn < last || k.Turn > d.Turns+1:
			return &DumpError{i, fmt.Errorf("it is of turn %d: turns go from %d, that of the message before, to %d", k.Turn, last, d.Turns+1)}
		case k.Message.Ephemeral:
			return &DumpError{i, errors.New("it is ephemeral and cannot be kept")}
		case k.Summary && i == 0, live >= 0 && k.Summary != (live == 0 && len(d.Archive) > 0):
			return &DumpError{i, errors.New("a summary stands behind what it sums up, and every archive has one behind it")}
		}
		last = k.Turn
	}
	if len(d.Archive) > 0 && len(d.Messages) == 0 {
		return errors.New("store: the archive has no summary behind it")
	}
	return nil
}

// Searcher is implemented by stores that find words in conversations.
type Searcher interface {
	// Search returns the messages that match best (BM25), the best first; of equal ones
	// first the later, in the newer conversation. It searches the present summary of a
	// conversation with weight 3, its title, which is the beginning of a person's first
	// message, with 2, the text of people with 1.5, the names of called tools with 1.3, and
	// the text of models with 1. It never searches or shows arguments, results, reasoning,
	// metadata, media and other labelled messages. It finds compacted messages, but no
	// children, no branches and no earlier summaries.
	Search(ctx context.Context, q Query) ([]Match, error)
}

// Query says what to search for.
type Query struct {
	// Text has words; a message matches if it has any of them. sail* is all words that
	// begin with sail. Characters other than letters and digits separate words. Without
	// a word no message matches.
	Text string
	// Project is the project to search, also if it is "". AllProjects searches all that have the same owner: NAME:/PATH is one of NAME,
	// if that has 1 to 64 small letters, digits, dots, dashes or _, and any other name is one of nobody.
	Project     string
	AllProjects bool
	// Agent and Sender limit the search to their conversations; "" is all.
	Agent  string
	Sender string
	// Except is the id of a conversation that is not searched; "" is none.
	Except string
	// Limit is how many matches to return at most, 1 to 20; 0 is 5, more is 20.
	Limit int
	// Before and After are how many messages around the match are shown, 0 to 8
	// each; more is 8.
	Before, After int
}

// Bounded returns the query with its numbers in their ranges. Stores call it.
func (q Query) Bounded() Query {
	const standard, most, neighbours = 5, 20, 8
	if q.Limit <= 0 {
		q.Limit = standard
	}
	q.Limit = min(q.Limit, most)
	q.Before, q.After = max(0, min(q.Before, neighbours)), max(0, min(q.After, neighbours))
	return q
}

// Match is one found message.
type Match struct {
	Record Record
	// Message is its position in the conversation, from 0: in what Messages
	// returns, or in what Archive returns if it is archived.
	Message  int
	Archived bool
	// Summary: it is the summary of the compacted messages.
	Summary bool
	Role    message.Role
	// Snippet is the text around the words, at most 1,024 bytes.
	Snippet string
	// Around has the messages before and after, and the match itself, each as a line of
	// at most 1,024 bytes. It shows calls and results by the names of their tools, and
	// labelled messages by their label. Around an archived message are archived ones.
	Around []Line
}

// Line is one message around a match.
type Line struct {
	Message int
	Role    message.Role
	Text    string
}
