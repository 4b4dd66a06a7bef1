package runtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/states"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The states that hooks have in a conversation are written with whatever a turn
// writes next, a note or an append, so that they are never ahead of what they tell
// of, nor behind it. They are read when the conversation is first looked at, and
// again when its lease is claimed: somebody else may have written them.

// findStates looks for the states of the hook.
func (r *Runtime) findStates(c *composite.Composite) error {
	keys, err := states.Of(c)
	if err != nil {
		return fmt.Errorf("states: %w", err)
	}
	r.states = keys
	if _, ok := r.o.Store.(store.States); !ok && !r.volatile && len(r.states) > 0 {
		return fmt.Errorf("the hook keeps a state of conversations, %s, and a store of type %T keeps none: it has to implement store.States", slices.Min(slices.Collect(maps.Keys(keys))), r.o.Store)
	}
	return nil
}

// write hands w what every write takes along: events and states that the store does
// not have yet. False if something could not be stored; then the turn fails.
func (t *turn) write(w func([]store.Event, []hook.StateValue) error) bool {
	unkept, err := t.conv.lease.Write(w)
	if unkept != nil {
		t.unkept(unkept)
	}
	if err != nil {
		t.unstored(err)
	}
	return errors.Join(unkept, err) == nil
}

// unkept notes that a state cannot be written, whatever the store does.
func (t *turn) unkept(err error) {
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", publicText(err))
	if t.concluded { // nobody asks for the errors any more
		t.emit(hook.Event{Kind: event.Diagnostic, Text: publicText(err)})
	}
}
