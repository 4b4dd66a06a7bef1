package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Conversation is the history of one agent and one sender. It runs one turn at a
// time and is safe for concurrent use.
type Conversation struct {
	agent  *Agent
	place  *hook.Conversation
	events emitter

	mu sync.Mutex
	// cancel ends the turn that is running; nil if there is none.
	cancel context.CancelCauseFunc

	// What follows belongs to the running turn. version is that of the store when
	// the rest was read or written: 0 is a conversation without messages.
	version int64
	turns   int
	// history is what the store has. It is only appended to: every view of it
	// stays valid.
	history []hook.Message
	// ids are the call ids of the history, because providers want them unique, and
	// those of replies, which are counted.
	ids     map[string]int
	replies int
}

// Conversation returns the conversation of the agent with the sender, which the
// store creates if there is none. The same value is returned until the agent is
// unregistered. Its messages are read at the first turn, and again at one that
// finds them changed by another process.
func (r *Runtime) Conversation(ctx context.Context, agent, sender string) (*Conversation, error) {
	a, err := r.Agent(agent)
	if err != nil {
		return nil, err
	}
	if c := a.conversation(sender); c != nil {
		return c, nil
	}
	rec, err := r.o.Store.Conversation(ctx, store.Key{Agent: agent, Sender: sender})
	if err != nil {
		return nil, fmt.Errorf("conversation of %q with %q: %w", agent, sender, err)
	}
	return a.keep(sender, rec), nil
}

func (a *Agent) conversation(sender string) *Conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i, ok := a.searchLocked(sender); ok {
		return a.conversations[i]
	}
	return nil
}

func (a *Agent) searchLocked(sender string) (int, bool) {
	return slices.BinarySearchFunc(a.conversations, sender, func(c *Conversation, sender string) int {
		return strings.Compare(c.Sender(), sender)
	})
}

// keep makes the conversation unless somebody else just has.
func (a *Agent) keep(sender string, rec store.Record) *Conversation {
	c := &Conversation{agent: a}
	c.events.rt, c.events.agent, c.events.conversation = a.rt, a.Name(), rec.ID
	c.place = hook.NewConversation(hook.ConversationData{ID: rec.ID, Sender: sender, Agent: a.cfg, Host: &c.events})
	a.mu.Lock()
	defer a.mu.Unlock()
	i, ok := a.searchLocked(sender)
	if ok {
		return a.conversations[i]
	}
	a.conversations = slices.Insert(a.conversations, i, c)
	return c
}

// ID is the conversation's id in the store.
func (c *Conversation) ID() string { return c.place.ID() }

// Agent returns the agent.
func (c *Conversation) Agent() *Agent { return c.agent }

// Sender is who talks to the agent.
func (c *Conversation) Sender() string { return c.place.Sender() }

// Send runs one turn and returns how it ended. Events are handed to observe, if
// it is not nil, on this goroutine, except for what a running tool or a hook
// emits from elsewhere: never two at a time, and none after Send has returned.
// An observer that panics is not called again: the turn goes on, the hook is told
// by a diagnostic, and Send returns no error of it.
//
// The error is the outcome's Err: nil unless the turn failed or was cancelled.
// If no turn began, it says why: ErrBusy, ErrNoInput, ErrClosed,
// ErrAgentClosing, ErrAgentUnknown, or the store's. When ctx ends, the turn is
// cancelled: what has been done is kept, and the next turn goes on from there.
func (c *Conversation) Send(ctx context.Context, in hook.Input, observe func(hook.Event)) (hook.TurnOutcome, error) {
	if in.Messages.Len() == 0 {
		return refused(ErrNoInput)
	}
	if err := c.agent.enter(); err != nil {
		return refused(err)
	}
	defer c.agent.leave()
	ctx, err := c.start(ctx)
	if err != nil {
		return refused(err)
	}
	defer c.stop(nil)
	if err := c.load(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			return hook.TurnOutcome{Stop: hook.StopCancelled, Err: err}, err
		}
		return refused(fmt.Errorf("load conversation %s: %w", c.ID(), err))
	}
	out := c.runTurn(ctx, in, observe)
	return out, out.Err
}

// refused is the outcome where no turn began.
func refused(err error) (hook.TurnOutcome, error) {
	return hook.TurnOutcome{Stop: hook.StopError, Err: err}, err
}

func (c *Conversation) start(ctx context.Context) (context.Context, error) {
	c.mu.Lock()
	if c.cancel != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: %s", ErrBusy, c.ID())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.cancel = cancel
	c.mu.Unlock()
	if cause := c.agent.cancelCause(); cause != nil {
		cancel(cause)
	}
	return ctx, nil
}

// stop cancels the running turn; a nil cause says that it has ended.
func (c *Conversation) stop(cause error) {
	c.mu.Lock()
	cancel := c.cancel
	if cause == nil {
		c.cancel = nil
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// load reads the history if the store has another one: at the first turn, and
// after somebody else has written.
func (c *Conversation) load(ctx context.Context) error {
	rec, err := c.agent.rt.o.Store.Conversation(ctx, store.Key{Agent: c.agent.Name(), Sender: c.Sender()})
	if err != nil || rec.Version == c.version {
		return err
	}
	history, err := c.agent.rt.o.Store.Messages(ctx, rec.ID)
	if err != nil {
		return err
	}
	c.ids = nil
	for _, m := range history {
		if m.Role == hook.RoleTool {
			c.setID(m.CallID, accepted)
		}
	}
	c.version, c.turns, c.history = rec.Version, rec.Turns, history
	return nil
}

// commit stores what stands behind the history in messages and makes it part of
// the history. messages is the history, appended to.
func (c *Conversation) commit(ctx context.Context, messages []hook.Message, turnEnds bool) error {
	added := messages[len(c.history):]
	v, err := c.agent.rt.o.Store.Append(ctx, c.ID(), store.Append{Version: c.version, Messages: added, TurnEnds: turnEnds})
	if err != nil {
		return fmt.Errorf("store conversation %s: %w", c.ID(), err)
	}
	c.version, c.history = v, messages
	if turnEnds {
		c.turns++
	}
	return nil
}
