package loop

import (
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The states that hooks have in a conversation are written with whatever a turn
// writes next, a note or an append, so that they are never ahead of what they tell
// of, nor behind it. They are read when the conversation is first looked at, and
// again when its lease is claimed: somebody else may have written them.

// write hands w what every write takes along: events and states that the store does
// not have yet. False if something could not be stored; then the turn fails.
func (t *Turn) write(w func([]store.Event, []hook.StateValue) error) bool {
	unkept, err := t.thread.Lease.Write(w)
	if unkept != nil {
		t.failStates(unkept)
	}
	if err != nil {
		t.failStore(err)
	}
	return errors.Join(unkept, err) == nil
}

// failStates notes that a state cannot be written, whatever the store does.
func (t *Turn) failStates(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	if t.outcomeFixed { // nobody asks for the errors any more
		t.emit(hook.Event{Kind: event.Diagnostic, Text: PublicText(err)})
	}
}
