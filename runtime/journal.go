package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The runtime journals a turn as it goes, unless its store ends with the process: that
// it begins, with its input, before anybody hears of it; the reply and the calls that
// are about to run, before the first of them does; each result as it comes; how the
// turn ends, with its last message or when it is cancelled. The step's append then has
// reply and results as messages and takes their entries away. So at any moment the
// store has what another process needs to end the turn or to go on with it.

// turnData is what the entry of a turn says.
type turnData struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
	// From is the position of the turn's first message in the history.
	From    int       `json:"from"`
	Started time.Time `json:"started"`
	// Resumed is how often the turn was gone on with.
	Resumed int    `json:"resumed,omitzero"`
	Guest   string `json:"guest,omitzero"`
	// Event is the sequence of the last event before the turn.
	Event uint64 `json:"event,omitzero"`
	// Project is the one in which the turn has begun, or was last asked to go on.
	Project string `json:"project,omitzero"`
}

// replyData is what the entry of a reply says beside its message.
type replyData struct {
	Step int `json:"step"`
	// Usage is the turn's so far, Cost what that costs, and Calls the number of its
	// calls.
	Usage message.Usage `json:"usage,omitzero"`
	Cost  hook.Cost     `json:"cost,omitzero"`
	Calls int           `json:"calls"`
}

// startData is what the entry of a call that is about to run says.
type startData struct {
	Tool string `json:"tool"`
	// Args is the SHA-256 of the canonical arguments, which the reply has.
	Args string `json:"args_sha256"`
	// Key is the idempotency key that the tool is given.
	Key string `json:"key"`
	// Again: the tool says that it may run twice.
	Again bool `json:"again,omitzero"`
}

// resultData is what the entry of a result says beside its message.
type resultData struct {
	Outcome  hook.Outcome  `json:"outcome"`
	Duration time.Duration `json:"duration,omitzero"`
}

// endData is what the entry of the end of a turn says.
type endData struct {
	// At is the length of the history with which the turn ends.
	At      int               `json:"at"`
	Signals []hook.StopSignal `json:"signals"`
	// Errors are the public texts of its errors.
	Errors []string `json:"errors,omitzero"`
}

// holds reports whether the turn ends like that although so many messages are stored:
// nothing overrules a cancellation, but a hook may have had any other turn go on.
func (e *endData) holds(stored int) bool {
	if e == nil || len(e.Signals) == 0 {
		return false
	}
	return e.At == stored || slices.ContainsFunc(e.Signals, func(s hook.StopSignal) bool { return cancels(s.Reason) })
}

// cancels reports whether the reason is that the turn's context has ended.
func cancels(r hook.StopReason) bool {
	return r == hook.StopCancelled || r == hook.StopUserRequested || r == hook.StopTimeLimit
}

// data encodes one of the types above, which always can be.
func data(v any) message.JSON {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("runtime: encode a journal entry: %v", err))
	}
	return message.JSON(text)
}

// begun is the entry of the turn itself.
func (t *turn) begun() store.Entry {
	return store.Entry{Kind: store.EntryTurn, Data: data(turnData{
		ID: t.id, Number: t.place.Number(), From: t.from, Started: t.started, Resumed: t.resumed, Guest: t.guest(),
		Event: t.before, Project: t.rt.o.Project,
	})}
}

// noteStart keeps what is about to happen: the reply, the calls that will run, and
// the results of those that will not. False if that failed: then nothing may run.
func (t *turn) noteStart(reply message.ModelReply, calls []call) bool {
	if !t.conv.journals() {
		return true
	}
	usage, cost := t.spent()
	entries := []store.Entry{{
		Kind: store.EntryReply, Message: t.said(withArgs(reply.Content, calls)),
		Data: data(replyData{Step: t.number, Usage: usage, Cost: cost, Calls: t.calls}),
	}}
	for i := range calls {
		if c := &calls[i]; c.settled() {
			entries = append(entries, c.resultEntry())
		} else {
			entries = append(entries, c.startEntry(t))
		}
	}
	return t.note(entries)
}

// noteResult keeps a result while other calls of the step still run.
func (t *turn) noteResult(c *call) {
	if t.conv.journals() {
		t.note([]store.Entry{c.resultEntry()})
	}
}

// note adds to the journal, with the events and states that have come up.
func (t *turn) note(entries []store.Entry) bool {
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.journal(store.Note{Entries: entries, Events: events, States: states})
		t.forget = append(t.forget, seqs...)
		return err
	})
}

// journal makes the note and returns the sequences of its entries.
func (t *turn) journal(n store.Note) ([]int64, error) {
	n.Epoch, n.Hold = t.conv.epoch, t.rt.o.Lease
	first, err := t.rt.o.Store.Note(t.durable, t.conv.ID(), n)
	if err != nil {
		return nil, fmt.Errorf("store what a turn of conversation %s is doing: %w", t.conv.ID(), err)
	}
	seqs := make([]int64, len(n.Entries))
	for i := range seqs {
		seqs[i] = first + int64(i)
	}
	return seqs, nil
}

// noteEnd journals how the turn ends as soon as that is certain, because hooks may still
// take their time before it has ended.
func (t *turn) noteEnd() {
	if !t.conv.journals() || t.ended || t.lost {
		return
	}
	t.write(func(events []store.Event, states []hook.StateValue) error {
		seqs, err := t.journal(store.Note{Entries: []store.Entry{t.endEntry()}, Events: events, States: states})
		t.entries = append(t.entries, seqs...)
		return err
	})
}

// endEntry is how the turn ends as things stand.
func (t *turn) endEntry() store.Entry {
	end := endData{At: t.history.stored.Len(), Signals: t.counting()}
	for _, err := range t.errs {
		end.Errors = append(end.Errors, publicText(err))
	}
	return store.Entry{Kind: store.EntryEnd, Data: data(end)}
}

func (c *call) startEntry(t *turn) store.Entry {
	sum := digest(c.at.Args())
	tool := c.at.Tool()
	return store.Entry{Kind: store.EntryStart, CallID: c.at.ID(), Data: data(startData{
		Tool: tool.Name, Args: sum, Key: t.key(c), Again: mayRunAgain(tool),
	})}
}

// digest is the SHA-256 of the arguments, which are not copied: they may be huge.
func digest(args message.JSON) string {
	sum := sha256.New()
	var buf [512]byte
	for rest := string(args); rest != ""; {
		n := copy(buf[:], rest)
		_, _ = sum.Write(buf[:n]) // never fails
		rest = rest[n:]
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// mayRunAgain reports whether a call of the tool that may have run can be run once
// more.
func mayRunAgain(t message.Tool) bool { return t.Annotations.ReadOnly || t.Annotations.Idempotent }

func (c *call) resultEntry() store.Entry {
	return store.Entry{
		Kind: store.EntryResult, CallID: c.at.ID(), Message: c.message(),
		Data: data(resultData{Outcome: c.end.Outcome, Duration: c.end.Duration}),
	}
}

// journals reports whether the conversation's turns are journaled.
func (c *Conversation) journals() bool { return !c.agent.rt.volatile }

// unstored notes that the store has failed. What could not be stored is tried
// again when the turn ends, unless the conversation is somebody else's by now.
func (t *turn) unstored(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", publicText(err))
	if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrConflict) {
		t.lost, t.conv.foreign = true, true
	}
	c := t.conv // a write may have been made although it seemed to fail: its events are not written again
	if rec, err := c.record(t.durable); err == nil && rec.Lease.Epoch == c.epoch {
		c.host.log.Follow(rec.Events, c.epoch)
	}
}
