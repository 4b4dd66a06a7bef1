package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Fork makes a new conversation of the same agent with another sender. It has the first
// turns of this one, with its archive. This conversation does not change. It may have a
// running turn: only turns that have ended count.
//
// The errors are store.ErrNoTurn if there are fewer turns, store.ErrCompacted if a
// summary stands for later turns too, store.ErrExists if the sender already has a
// conversation with the agent, and ErrUnsupported if the store cannot fork or this
// conversation is ephemeral.
func (c *Conversation) Fork(ctx context.Context, turns int, sender string) (*Conversation, error) {
	if err := c.agent.check(); err != nil {
		return nil, err
	}
	s, ok := c.store().(store.Forker)
	if !ok || c.home.ephemeral {
		return nil, fmt.Errorf("%w: forking", ErrUnsupported)
	}
	rec, err := s.Fork(ctx, c.ID(), turns, c.agent.key(sender))
	if err != nil {
		return nil, fmt.Errorf("fork conversation %s: %w", c.ID(), err)
	}
	return c.agent.keep(ctx, rec, hook.SessionFork)
}

// Adopt moves a conversation of another project, with those of its children, into the
// project of this runtime, as the conversation of the agent with the sender. An
// interrupted turn stays interrupted: [Conversation.Resume] continues it. The approvals
// that people gave for the conversation end. The agent need not be registered.
//
// The errors are ErrBusy while a turn of the conversation runs, store.ErrExists if the
// sender already has a conversation with the agent here, store.ErrUnknown if there is no
// conversation with the id, and ErrUnsupported if the store cannot adopt.
func (r *Runtime) Adopt(ctx context.Context, id, agent, sender string) (store.Record, error) {
	if err := r.checkOpen(); err != nil {
		return store.Record{}, err
	}
	s, ok := r.o.Store.(store.Adopter)
	if !ok {
		return store.Record{}, fmt.Errorf("%w: adopting conversations", ErrUnsupported)
	}
	key := store.Key{Project: r.o.Project, Agent: agent, Sender: sender}
	rec, err := r.home.leases.Take(func(c store.Claim) (store.Record, error) { return s.Adopt(ctx, id, c, key) })
	if err = busy(err); err != nil {
		return rec, fmt.Errorf("adopt conversation %s: %w", id, err)
	}
	return rec, nil
}

// Rewind keeps the first turns of the conversation and removes everything after them, an
// interrupted turn included; 0 removes all. The removed part stays in the store as a
// branch that no turn reads. Effects of tools are not undone. It must not be called while
// an event is delivered.
//
// The errors are ErrBusy while a turn runs, here or in another process, those of
// [Conversation.Fork] except store.ErrExists, and store.ErrFenced if another process has
// taken the conversation over. After an error nothing has changed.
func (c *Conversation) Rewind(ctx context.Context, turns int) error {
	s, ok := c.store().(store.Forker)
	if !ok {
		return fmt.Errorf("%w: rewinding", ErrUnsupported)
	}
	ctx, leave, err := c.enterBriefly(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx = context.WithoutCancel(ctx)
	defer func() { _ = c.thread.Lease.Release(ctx) }() // if that fails, the next turn notices it
	rewound := hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("the conversation was rewound to the end of turn %d", turns)}
	err = c.thread.Lease.Change(ctx, rewound, func(at store.At) (int64, error) { return s.Rewind(ctx, c.ID(), at, turns) })
	if err != nil {
		return fmt.Errorf("rewind conversation %s: %w", c.ID(), err)
	}
	c.thread.Lease.ForgetJournal()
	if turns == 0 {
		c.thread.EndSession(ctx, hook.SessionClear)
	}
	return nil
}
