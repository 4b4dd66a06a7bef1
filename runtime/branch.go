package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Fork makes a conversation of the same agent with another sender that has the
// first turns of this one, its archive included, and goes its own way from there.
// This one stays as it is and may be running: turns that have not ended are not
// counted.
//
// The errors: store.ErrNoTurn if there are fewer turns, store.ErrCompacted if a
// summary stands for later ones too, store.ErrExists if the sender has a
// conversation with the agent, ErrUnsupported if the store cannot do it.
func (c *Conversation) Fork(ctx context.Context, turns int, sender string) (*Conversation, error) {
	if err := c.agent.check(); err != nil {
		return nil, err
	}
	s, ok := c.agent.rt.o.Store.(store.Forker)
	if !ok {
		return nil, fmt.Errorf("%w: forking", ErrUnsupported)
	}
	rec, err := s.Fork(ctx, c.ID(), turns, c.agent.key(sender))
	if err != nil {
		return nil, fmt.Errorf("fork conversation %s: %w", c.ID(), err)
	}
	return c.agent.keep(ctx, rec, hook.SessionFork)
}

// Adopt gives a conversation of another project to this one, with the agent and the
// sender, and with the conversations of its children. A turn of it that was
// interrupted stays so: Resume goes on with it if it is asked to. What people have
// granted in it is not granted any more. The agent need not be registered.
//
// The errors: ErrBusy while a turn of it is running, store.ErrExists if the sender
// has a conversation with the agent here, store.ErrUnknown, ErrUnsupported if the
// store cannot do it.
func (r *Runtime) Adopt(ctx context.Context, id, agent, sender string) (store.Record, error) {
	if err := r.checkOpen(); err != nil {
		return store.Record{}, err
	}
	s, ok := r.o.Store.(store.Adopter)
	if !ok {
		return store.Record{}, fmt.Errorf("%w: adopting conversations", ErrUnsupported)
	}
	key := store.Key{Project: r.o.Project, Agent: agent, Sender: sender}
	rec, err := r.leases.Take(func(c store.Claim) (store.Record, error) { return s.Adopt(ctx, id, c, key) })
	if err = busy(err); err != nil {
		return rec, fmt.Errorf("adopt conversation %s: %w", id, err)
	}
	return rec, nil
}

// Rewind takes away everything behind the first turns, as if it had not been said;
// a turn that was interrupted goes with it. What it takes away stays in the store
// as a branch that nobody reads. What tools have done is not undone. It is not
// called from an event.
//
// The errors: ErrBusy while a turn is running, here or in another process, those
// of Fork but for store.ErrExists, and store.ErrFenced if another process has got
// the conversation meanwhile. Then nothing has changed.
func (c *Conversation) Rewind(ctx context.Context, turns int) error {
	s, ok := c.agent.rt.o.Store.(store.Forker)
	if !ok {
		return fmt.Errorf("%w: rewinding", ErrUnsupported)
	}
	ctx, leave, err := c.enterBriefly(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx = context.WithoutCancel(ctx)
	defer func() { _ = c.thread.Lease.Release(ctx) }() // the next turn finds out if that did not work
	tell := hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("the conversation was rewound to the end of turn %d", turns)}
	err = c.thread.Lease.Change(ctx, tell, func(at store.At) (int64, error) { return s.Rewind(ctx, c.ID(), at, turns) })
	if err != nil {
		return fmt.Errorf("rewind conversation %s: %w", c.ID(), err)
	}
	c.thread.Lease.ForgetJournal()
	if turns == 0 {
		c.thread.EndSession(ctx, hook.SessionClear)
	}
	return nil
}
