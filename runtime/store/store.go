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
	ErrCompacted = errors.New("store: that part of the conversation has been compacted into a summary and cannot be gone back to; name a later turn, or export the conversation, which has all of it")
	// ErrNoTurn: the conversation has not had that many turns, or messages.
	ErrNoTurn = errors.New("store: the conversation is not that long")
	// ErrDamaged: a part of what was asked for cannot be read; see [DamagedError].
	ErrDamaged = errors.New("store: a part of the conversation is damaged")
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

// DamagedError is ErrDamaged with the parts that cannot be read, because a disk or
// another program has changed them. It comes beside everything that can be read:
// the result of the call is valid, and only those parts are missing from it.
type DamagedError struct {
	// ID is the conversation's.
	ID string
	// Part says what the parts are: "message", "archived message", "journal entry",
	// "event", "state".
	Part string
	// At are the positions of messages and states, counted from 0 with the damaged
	// ones; the sequences of entries; of events that of the last one written with them.
	At []int64
	// Err is why the first of them cannot be read. It does not quote it.
	Err error
}

// Error says what is missing and why.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%v: %s: %s %d cannot be read and is left out: %v", ErrDamaged, e.ID, e.Part, e.At, e.Err)
}

// Is makes it ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns why.
func (e *DamagedError) Unwrap() error { return e.Err }

// Key names a conversation from outside: in one project, one agent and one sender
// have exactly one. All three are compared byte by byte; Project and Sender may be
// empty. What a project is, the owner of the store decides; for the others see Check.
type Key struct {
	Project string
	Agent   string
	Sender  string
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
	// Title is what the conversation began with, in short: see [Title]. Only Find sets it;
	// "" if nothing was said yet or the message is damaged.
	Title string
}

// maxTitle is in characters.
const maxTitle = 80

// TitleText is how many bytes of a text [Title] looks at.
const TitleText = 32 * maxTitle

// Title returns the beginning of the text of a conversation's first message as one line
// of at most 80 characters.
func Title(first message.Message) string {
	text := first.Text()
	text = strings.ToValidUTF8(text[:min(len(text), TitleText)], "")
	text, _ = character.Cut(strings.Join(strings.Fields(text), " "), maxTitle)
	return text
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

// Claim asks for a lease. It is refused while there is one that has not ended, also
// if it is the claimer's own: two turns of one process are two holders.
type Claim struct {
	// Owner names the claimer to others; not empty.
	Owner string
	// Hold is how long the lease lasts unless a write changes its end; positive.
	Hold time.Duration
	// Takes is the epoch of a holder that is known to be gone: its lease is taken
	// over before its end. 0 is none.
	Takes int64
}

// Check returns an error if the claim asks for what no lease can be. Stores call it.
func (c Claim) Check() error {
	switch {
	case c.Owner == "":
		return errors.New("store: a lease is claimed for nobody: set Claim.Owner")
	case c.Hold <= 0:
		return fmt.Errorf("store: a lease is claimed for %v: Claim.Hold has to be positive", c.Hold)
	}
	return nil
}

// EntryKind says what an entry of the journal is about.
type EntryKind string

// The kinds of entry.
const (
	EntryTurn   EntryKind = "turn"   // a turn has begun: Data
	EntryReply  EntryKind = "reply"  // the model has asked for calls: Message, Data
	EntryStart  EntryKind = "start"  // a call is about to run: CallID, Data
	EntryResult EntryKind = "result" // a call has ended: CallID, Message, Data
	EntryInput  EntryKind = "input"  // what the turn begins with, before hooks have judged it: Message, Data
	EntrySteer  EntryKind = "steer"  // a message has come while the turn runs: Message, Data
	EntryEnd    EntryKind = "end"    // how the turn ends: Data
)

// Entry is one entry of the journal of the turn that is running. What Data holds
// is the runtime's business.
type Entry struct {
	// Seq is given by the store: 1 for the first entry of the conversation, one more
	// with each. A sequence is never used again, also when its entry is gone.
	Seq     int64
	Kind    EntryKind
	CallID  string
	Message message.Message
	// Data is a JSON object, or "".
	Data message.JSON
}

// Event is one event as it is kept: its number in the conversation and its form
// on the wire. A write whose events are not in order, or not behind those that
// are kept, fails and writes nothing.
type Event struct {
	// Seq is from 1 to MaxEvent.
	Seq uint64
	// Data is one JSON text; what blanks there are outside of strings may change.
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
	// Version and Epoch are those that the conversation must have: ErrConflict,
	// ErrFenced. An Epoch of 0 is that of a conversation that was never leased.
	Version int64
	Epoch   int64
	// Hold makes the lease end that long from now; 0 frees it. A conversation that
	// was never leased has none to prolong.
	Hold time.Duration
	// Messages are added in order; none is allowed, and ephemeral ones are left
	// out. They belong to the turn behind those that have ended.
	Messages message.Messages
	// Entries are added to the journal behind what is there; their Seq is ignored.
	Entries []Entry
	// Forget are the sequences of entries that are not needed any more; one that is
	// not there is forgotten already.
	Forget []int64
	Events []Event
	// States take the place of what was kept under their names; a store that keeps
	// no states drops them. The store does not keep the slice.
	States []hook.StateValue
	// TurnEnds counts one more turn and empties the journal, Entries included.
	TurnEnds bool
}

// Note is one atomic addition to the journal, the events and the states of a
// conversation. It changes neither messages nor version.
type Note struct {
	// Epoch must be the conversation's: ErrFenced.
	Epoch int64
	// Hold is that of Append.
	Hold    time.Duration
	Entries []Entry
	Events  []Event
	// States are those of Append.
	States []hook.StateValue
}

// Reader is the half of a store that reads.
type Reader interface {
	// Conversation returns the conversation of the key, created if there is none.
	Conversation(ctx context.Context, key Key) (Record, error)
	// Find returns the conversation of the id, a child too, with its title. Damaged messages
	// do not concern it. ErrUnknown if there is none.
	Find(ctx context.Context, id string) (Record, error)
	// Messages returns all messages of the conversation, oldest first; the caller
	// owns the slice. ErrUnknown if there is no such conversation; beside a
	// [*DamagedError] are all messages but the damaged ones, so that the call of a
	// result or the results of a call may be missing.
	Messages(ctx context.Context, id string) ([]message.Message, error)
	// Journal returns the entries of the turn that has not ended, in the order of
	// their sequences. ErrUnknown if there is no such conversation; beside a
	// [*DamagedError] are the others.
	Journal(ctx context.Context, id string) ([]Entry, error)
	// List returns the conversations of all projects that are no child's, ordered by
	// project, agent, then sender. It reads no message: Find has the titles.
	List(ctx context.Context) ([]Record, error)
}

// Histories is implemented by stores that have the messages in memory anyway, so
// that whoever reads a conversation need not keep them a second time.
type Histories interface {
	// History returns what Messages returns, and copies nothing.
	History(ctx context.Context, id string) (message.Messages, error)
}

// Writer is the half of a store that writes. What a method has returned without
// an error is kept, also if the process ends or the power is lost, unless the
// store is volatile.
type Writer interface {
	// Claim takes the lease of the conversation with a new epoch and returns the
	// record as it is then. While there is a lease, the error is a [*LeasedError].
	// A lease that has ended is still its holder's until the next claim.
	Claim(ctx context.Context, id string, c Claim) (Record, error)
	// Append adds to the conversation and returns its new version. If version or
	// epoch are not the given ones, nothing is written: ErrConflict, ErrFenced, or
	// ErrUnknown if there is no such conversation.
	Append(ctx context.Context, id string, a Append) (int64, error)
	// Note adds to the journal and returns the sequence of the first entry; those
	// of the others follow without gaps. ErrFenced or ErrUnknown as in Append.
	Note(ctx context.Context, id string, n Note) (first int64, err error)
	// Volatile reports whether what is written ends with the process. Then no
	// journal is worth its cost, and no events are kept: entries and events that
	// are written are dropped, and sequences of entries mean nothing.
	Volatile() bool
}

// Store keeps conversations. Implementations are safe for concurrent use; each
// method may block on I/O and ends soon after ctx does. Opening and closing are
// the concrete type's.
type Store interface {
	Reader
	Writer
}

// At is the state that a conversation must have to be changed, and what becomes
// of its lease: what Append has besides its additions.
type At struct {
	// Version and Epoch are those that the conversation must have: ErrConflict,
	// ErrFenced.
	Version int64
	Epoch   int64
	// Hold is that of Append.
	Hold time.Duration
	// Events tell of the change.
	Events []Event
}

// Compacter is implemented by stores whose conversations can be compacted.
type Compacter interface {
	// Compact moves the oldest n messages to the archive and puts summary in their
	// place, in one step. ErrNoTurn if n is 0 or there are not so many. Journal and
	// turns stay as they are. It returns the new version. That no call is parted
	// from its result is the caller's concern.
	Compact(ctx context.Context, id string, at At, n int, summary message.Message) (int64, error)
	// Archive returns the messages that compaction has ever moved away, oldest
	// first. Summaries that were compacted again are among them, each in front of
	// what followed it. ErrUnknown, and [*DamagedError] as in Messages.
	Archive(ctx context.Context, id string) ([]message.Message, error)
}

// Forker is implemented by stores whose conversations can go two ways, and back.
// Both go by turns that have ended: ErrNoTurn if there are fewer, ErrCompacted if
// a summary stands for messages of a later turn.
type Forker interface {
	// Fork makes a conversation of the key with the first turns of another one, its
	// archive and its states included, the states as they are now, and without its
	// lease, journal and events. It starts at
	// version 1 and is nobody's child. ErrExists if there is one of that key;
	// ErrUnknown.
	Fork(ctx context.Context, id string, turns int, key Key) (Record, error)
	// Rewind takes away everything behind the first turns. What was there goes to
	// the archive as a branch that nobody reads any more, and the journal with it:
	// nothing is deleted. Events stay, and so do states, because what they count has
	// happened. It returns the new version.
	Rewind(ctx context.Context, id string, at At, turns int) (int64, error)
}

// Adopter is implemented by stores whose conversations can go to another project.
type Adopter interface {
	// Adopt gives the conversation and its children to the project of the key, under
	// the key's agent and sender, in one step. It ends the lease of whoever had it:
	// the epoch is a new one, and the lease is free. The states of hooks stay behind,
	// because a right that was granted in one project is none in another. The journal
	// goes along. A [*LeasedError] while somebody else holds the lease, unless
	// c.Takes says that the holder is gone; ErrExists if there is a conversation of
	// the key; ErrUnknown, also for a child.
	Adopt(ctx context.Context, id string, c Claim, key Key) (Record, error)
}

// Child is implemented by stores that know which conversation runs which.
type Child interface {
	// Child is Conversation for that of a child turn: Conversation with this key
	// finds it, but does not make one. ErrUnknown if there is no such parent,
	// ErrExists if the conversation of the key is not its child.
	Child(ctx context.Context, key Key, parent string) (Record, error)
	// Children returns the children of a conversation, oldest first. ErrUnknown.
	Children(ctx context.Context, parent string) ([]Record, error)
}

// Log is implemented by stores that keep events.
type Log interface {
	// Events returns up to limit events of the conversation behind the sequence
	// after, in order. Deltas are not kept, so sequences have gaps. ErrUnknown;
	// beside a [*DamagedError] are the others.
	Events(ctx context.Context, id string, after uint64, limit int) ([]Event, error)
}

// States is implemented by stores that keep the states of hooks.
type States interface {
	// States returns what was written last under each name, in the order of the
	// names; the caller owns the slice. ErrUnknown; beside a [*DamagedError] are the
	// others.
	States(ctx context.Context, id string) ([]hook.StateValue, error)
}

// Porter is implemented by stores whose conversations can be taken out as a whole
// and put into another store. Package jsonl writes and reads them.
type Porter interface {
	// Dump returns the conversation as it is at one moment. ErrUnknown; beside a
	// [*DamagedError] is the rest.
	Dump(ctx context.Context, id string) (Dump, error)
	// Restore makes a conversation of the dump in one step, at version 1, without
	// lease, journal and events. ErrExists if there is one of its key. The dump has
	// to pass [Dump.Check].
	Restore(ctx context.Context, d Dump) (Record, error)
}

// Dump is a conversation outside of its store. The states of hooks are not in it:
// what was granted or counted where it comes from says nothing where it goes to, and
// a file must not bring anybody a right. No file names a project either: whoever
// restores the dump sets Key.Project.
type Dump struct {
	Key     Key
	Created time.Time
	// Turns is the number of turns that have ended.
	Turns int
	// Archive and Messages are what Archive and Messages return.
	Archive, Messages []Kept
}

// Kept is a message with what its store knows of it.
type Kept struct {
	// Turn is the turn that it belongs to, from 1.
	Turn int
	// Summary: it took the place of what compaction had archived until then.
	Summary bool
	Message message.Message
}

// DumpError says which message of a dump cannot stand where it does, and why.
type DumpError struct {
	// Message counts the messages of the archive and then the others, from 0.
	Message int
	Err     error
}

// Error says both.
func (e *DumpError) Error() string { return fmt.Sprintf("store: message %d: %v", e.Message, e.Err) }

// Unwrap returns why.
func (e *DumpError) Unwrap() error { return e.Err }

// Check returns an error if no conversation can be like that: a [*DumpError] if a message
// is to blame. It does not look at the key, which [Key.Check] does, nor at who says what.
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
	// Search returns the messages that match best (BM25), the best first, and of
	// equal ones the later, in the newer conversation. It looks at what a person or a model said as text and at
	// the names of the tools that were called. A word of a person weighs 1.5, the
	// name of a tool 1.3, a word of a model 1. What tools were called with and what
	// they returned is never looked at and never shown, nor are reasoning,
	// metadata, media and labelled messages. Children and branches are not found;
	// compacted messages are.
	Search(ctx context.Context, q Query) ([]Match, error)
}

// Query says what to search for.
type Query struct {
	// Text is words of which any is enough; sail* is all words that begin so. What
	// is no letter or digit parts words. Without a word nothing is found.
	Text string
	// Project is the one that is searched, also if it is "". AllProjects searches
	// them all.
	Project     string
	AllProjects bool
	// Agent and Sender narrow it to their conversations; "" is all.
	Agent  string
	Sender string
	// Limit is how many matches to return at most, 1 to 20; 0 is 5, more is 20.
	Limit int
	// Before and After are how many messages around the match are shown, 0 to 8
	// each; more is 8.
	Before, After int
}

// Bounded returns the query with its numbers in their ranges. Stores call it.
func (q Query) Bounded() Query {
	const standard, most, beside = 5, 20, 8
	if q.Limit <= 0 {
		q.Limit = standard
	}
	q.Limit = min(q.Limit, most)
	q.Before, q.After = max(0, min(q.Before, beside)), max(0, min(q.After, beside))
	return q
}

// Match is one message that was found.
type Match struct {
	Record Record
	// Message is its position in the conversation, from 0: in what Messages
	// returns, or in what Archive returns if it is archived.
	Message  int
	Archived bool
	Role     message.Role
	// Snippet is the text around the words, at most 1,024 bytes.
	Snippet string
	// Around is the messages before and after, the match itself included, each as a
	// line of at most 1,024 bytes. Calls and results are shown by the names of their
	// tools, labelled messages by their label. An archived message has archived ones
	// around it.
	Around []Line
}

// Line is one message in the neighbourhood of a match.
type Line struct {
	Message int
	Role    message.Role
	Text    string
}
