package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Ephemeral is a conversation of which nothing is stored: no messages, events, journal, jobs or
// states of hooks, and no children. Its turns are like all others: they pass the hooks, count
// against the limits on spending, and can be steered and stopped. Hooks learn of it by
// [hook.Conversation.Ephemeral]. Its events are delivered with [hook.Event.Ephemeral] set.
//
// It has an id of its own, which ends with it and which its events carry. A turn cannot be
// resumed, and Fork is ErrUnsupported. The caller calls End. It is safe for concurrent use.
type Ephemeral struct{ *Conversation }

// Ephemeral returns a new ephemeral conversation with the sender. The sender's stored
// conversation, if there is one, has no part in it: see [Conversation.Ephemeral]. The errors are
// those of [Agent.Conversation], but for the store's.
func (a *Agent) Ephemeral(ctx context.Context, sender string) (*Ephemeral, error) {
	return a.ephemeral(ctx, sender, nil, nil)
}

// Ephemeral returns an ephemeral conversation that begins with the stored history and the
// stored states of hooks of this one. It reads them and changes nothing. It may be called, and
// the new conversation used, while a turn of this one runs: what that has not stored is not in
// it. The errors are those of [Agent.Conversation].
func (c *Conversation) Ephemeral(ctx context.Context) (*Ephemeral, error) {
	past, err := c.store().Messages(ctx, c.ID())
	if err != nil && !errors.Is(err, store.ErrDamaged) { // what is left is repaired when it is read
		return nil, fmt.Errorf("conversation %s: %w", c.ID(), err)
	}
	var states []hook.StateValue
	if s, ok := c.store().(store.States); ok {
		if states, err = s.States(ctx, c.ID()); err != nil && !errors.Is(err, store.ErrDamaged) {
			return nil, fmt.Errorf("states of conversation %s: %w", c.ID(), err)
		}
	}
	return c.agent.ephemeral(ctx, c.Sender(), past, states)
}

// ephemeral returns an ephemeral conversation with that past, in a store of its own.
func (a *Agent) ephemeral(ctx context.Context, sender string, past []message.Message, states []hook.StateValue) (*Ephemeral, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	r := a.rt
	own := mem.New(&mem.Options{Now: r.o.Now, Prefix: stream.EphemeralID + r.o.NewID() + "-"})
	rec, err := own.Conversation(ctx, a.key(sender))
	if err == nil && len(past)+len(states) > 0 {
		_, err = own.Append(ctx, rec.ID, store.Append{Messages: message.MessagesOf(past...), States: states, TurnEnds: len(past) > 0})
	}
	if err != nil {
		return nil, fmt.Errorf("ephemeral conversation of %q with %q: %w", a.core.Name, sender, err)
	}
	env := *r.home.env
	env.Store = own
	at := &home{env: &env, ephemeral: true}
	at.leases = durable.NewLeases(durable.Options{Store: own, Owner: r.o.Owner, Hold: r.o.Lease, Now: r.o.Now})
	e := &Ephemeral{a.newConversation(rec, nil, at)}
	a.keepChild(e.Conversation)
	return e, nil
}

// Run runs a program: one turn for each input, in their order, over this history. It stops at
// the first turn that does not complete, and returns one outcome for each turn that it began or
// tried to begin. The error is that of the last one, if it did not begin; see
// [Conversation.Send]. The options hold for every turn.
func (e *Ephemeral) Run(ctx context.Context, inputs []message.Input, o *TurnOptions) ([]hook.TurnOutcome, error) {
	out := make([]hook.TurnOutcome, 0, len(inputs))
	for i, in := range inputs {
		got, err := e.Send(ctx, in, o)
		out = append(out, got)
		if err != nil {
			return out, fmt.Errorf("step %d of %d: %w", i+1, len(inputs), err)
		}
		if got.Stop != hook.StopCompleted {
			break
		}
	}
	return out, nil
}

// End ends the conversation: its session ends, no turn can begin any more, and its memory is
// freed. ErrBusy if a turn runs. A second call does nothing.
func (e *Ephemeral) End(ctx context.Context) error {
	c := e.Conversation
	c.mu.Lock()
	busy, ended := c.running != nil, c.ended
	c.ended = c.ended || !busy
	c.mu.Unlock()
	switch {
	case busy:
		return fmt.Errorf("%w: %s", ErrBusy, c.ID())
	case ended:
		return nil
	}
	c.thread.EndSession(ctx, "")
	c.home.leases.Close()
	c.agent.dropChild(c)
	c.agent.rt.streams.Drop(c.ID())
	return nil
}
