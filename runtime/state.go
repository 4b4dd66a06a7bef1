package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/states"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The states that hooks have in a conversation are written with whatever a turn
// writes next, a note or an append, so that they are never ahead of what they tell
// of, nor behind it. They are read when the conversation is first looked at, and
// again when its lease is claimed: somebody else may have written them.

// findStates looks for the states of the hook.
func (r *Runtime) findStates(c *composite.Composite) error {
	fields, err := states.Of(c)
	if err != nil {
		return fmt.Errorf("states: %w", err)
	}
	r.states = nil
	for _, f := range fields {
		if f.Kept {
			r.states = append(r.states, f)
		}
	}
	if _, ok := r.o.Store.(store.States); !ok && !r.volatile && len(r.states) > 0 {
		return fmt.Errorf("the hook keeps a state of conversations, %s, and a store of type %T keeps none: it has to implement store.States", r.states[0].Key, r.o.Store)
	}
	return nil
}

// readStates reads the states of a conversation that somebody has written to. bad is
// what could not be read: that is as if it had never been set.
func (c *Conversation) readStates(ctx context.Context, rec store.Record) (bad, err error) {
	s, ok := c.agent.rt.o.Store.(store.States)
	if !ok || len(c.agent.rt.states) == 0 || rec.Version == 0 && rec.Lease.Epoch <= 1 {
		return nil, nil
	}
	values, err := s.States(ctx, rec.ID)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	return errors.Join(err, c.states.Load(values)), nil
}

// loadStates reads the states under the lease that was just claimed.
func (c *Conversation) loadStates(ctx context.Context, rec store.Record) error {
	if c.foreign {
		c.states.Discard()
	}
	bad, err := c.readStates(ctx, rec)
	if err != nil {
		return err
	}
	if bad != nil {
		c.host.emit(ctx, hook.Event{Kind: event.Diagnostic, Text: bad.Error()})
	}
	c.statesAt, c.foreign = c.epoch, false
	return nil
}

// flush writes the events and states that came up outside of a turn.
func (c *Conversation) flush(ctx context.Context) error {
	var unkept error
	err := c.host.log.Write(func(events []store.Event) (err error) {
		unkept, err = c.states.Write(func(states []hook.StateValue) error {
			if len(events) == 0 && len(states) == 0 {
				return nil
			}
			n := store.Note{Epoch: c.epoch, Events: events, States: states}
			if c.running() >= 0 {
				n.Hold = c.agent.rt.o.Lease
			}
			_, err := c.agent.rt.o.Store.Note(ctx, c.ID(), n)
			return err
		})
		return err
	})
	return errors.Join(unkept, err)
}

// write hands w what every write takes along: events and states that the store does
// not have yet. False if something could not be stored; then the turn fails.
func (t *turn) write(w func([]store.Event, []hook.StateValue) error) bool {
	var unkept error
	err := t.conv.host.log.Write(func(events []store.Event) (err error) {
		unkept, err = t.conv.states.Write(func(states []hook.StateValue) error { return w(events, states) })
		return err
	})
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
