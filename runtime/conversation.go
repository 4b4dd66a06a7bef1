package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Conversation is the history of one agent and one sender. It runs one turn at a
// time and is safe for concurrent use.
type Conversation struct {
	agent *Agent
	host  *host
	// thread is the conversation as its turns use it.
	thread loop.Thread
	// parent is the id of the conversation whose turn this one's is a child of; ""
	// for one that people see.
	parent string

	mu sync.Mutex
	// running is the handle on who has the conversation; nil if nobody has. brief: it is no
	// turn but a change that takes a moment.
	running *Turn
	brief   bool
	// waiting are those who queue for it, the first in front.
	waiting []waiter
	// cancelAside ends what goes on beside turns; nil if nothing does.
	cancelAside context.CancelCauseFunc
}

// TurnOptions say how a turn is to run; nil is all zero values.
type TurnOptions struct {
	// Observe is handed the turn's events, in order. Nil is handed none. If it or a hook
	// hangs at an event and the turn is cancelled, no further one is handed to it.
	Observe func(hook.Event)
	// WhenBusy says what to do while another turn of the conversation runs.
	WhenBusy Busy
	// Guest is the name of another registered agent that answers in this
	// conversation: with text only, under its own instructions, and what it says is
	// kept with its name. "" is the conversation's own agent.
	Guest string
	// Layers are laid over the hooks for this turn and the turns of its children. They
	// do not reach what lasts longer: sessions, compaction and the registration of
	// agents. A turn that another process goes on with goes on without them.
	Layers []plan.Layer
	// Unasked is for Resume where nobody has asked for it: a turn that began in
	// another project is left as it is, with ErrNotInterrupted.
	Unasked bool
}

// Busy says what to do while another turn of the conversation runs.
type Busy int

const (
	// Refuse answers ErrBusy at once.
	Refuse Busy = iota
	// Queue waits for its turn: those who wait get the conversation in the order in
	// which they came. A turn in another process is waited for too, but then the
	// order is that in which its end is noticed. An observer, a hook or a tool of
	// the turn that runs would wait for itself: it uses Refuse, or Steer.
	Queue
	// briefly is Refuse for what takes a moment: turns that come meanwhile wait for
	// it and are not refused.
	briefly
)

// Conversation returns the conversation of the agent with the sender, which the
// store creates if there is none. The same value is returned until the agent is
// unregistered: then ErrAgentClosing or ErrAgentUnknown, and ErrClosed after
// [Runtime.Close]. Its messages are read at the first turn, and again at one that
// finds them changed by another process.
func (a *Agent) Conversation(ctx context.Context, sender string) (*Conversation, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if c := a.conversation(sender); c != nil {
		return c, nil
	}
	rec, err := a.rt.o.Store.Conversation(ctx, a.key(sender))
	if err != nil {
		return nil, fmt.Errorf("conversation of %q with %q: %w", a.core.Name, sender, err)
	}
	if rec.Parent != "" {
		return nil, fmt.Errorf("%w: %s", ErrChild, rec.ID)
	}
	return a.keep(ctx, rec, "")
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

// keep makes the conversation unless somebody else just has. Its first session
// begins with the source.
func (a *Agent) keep(ctx context.Context, rec store.Record, source hook.SessionSource) (*Conversation, error) {
	c := a.newConversation(rec, nil)
	c.thread.SetSource(source)
	if _, err := c.thread.Lease.ReadStates(ctx, rec); err != nil { // what cannot be read is told when a turn begins
		return nil, fmt.Errorf("states of conversation %s: %w", rec.ID, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i, ok := a.searchLocked(rec.Key.Sender)
	if ok {
		return a.conversations[i], nil
	}
	a.conversations = slices.Insert(a.conversations, i, c)
	return c, nil
}

// drop forgets the conversation: the next who asks for its key gets another one.
func (a *Agent) drop(c *Conversation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conversations = slices.DeleteFunc(a.conversations, func(o *Conversation) bool { return o == c })
}

// newConversation returns the conversation. Its turns are children of turns of the parent,
// if that is not nil.
func (a *Agent) newConversation(rec store.Record, parent *host) *Conversation {
	c := &Conversation{agent: a, parent: rec.Parent}
	c.host = c.newHost(rec.ID, parent)
	states := hook.NewStates(a.rt.states)
	th := &c.thread
	th.Env, th.Agent, th.Host, th.Log = a.rt.env, &a.core, c.host, c.host.log
	th.Place = hook.NewConversation(hook.ConversationData{ID: rec.ID, Sender: rec.Key.Sender, Agent: a.core.Config, Host: c.host, States: states})
	th.Lease = a.rt.leases.Lease(durable.LeaseOptions{
		Record: rec, Log: c.host.log, States: states, KeepsStates: len(a.rt.states) > 0, Owner: leaseOwner{c},
	})
	th.Loaded(message.Messages{})
	return c
}

// ID is the conversation's id in the store.
func (c *Conversation) ID() string { return c.thread.Place.ID() }

// Agent returns the agent.
func (c *Conversation) Agent() *Agent { return c.agent }

// Sender is who talks to the agent.
func (c *Conversation) Sender() string { return c.thread.Place.Sender() }

// Send runs one turn and returns how it ended: it is Start and Wait, but the end of ctx
// stops the turn. Events are handed to the observer, if there is one, on the goroutine of
// the turn's loop, except for what a running tool or a hook emits from elsewhere: never
// two at a time, and none after Send has returned. An observer that panics is not called
// again: the turn goes on, and a diagnostic tells the hook.
//
// A turn that another process has left unfinished is brought to its end first,
// without asking a model: see [Conversation.Resume].
//
// The error is non-nil only if no turn began: ErrBusy, ErrNoInput, ErrClosed,
// ErrAgentClosing, ErrAgentUnknown, or the store's. How a turn ended is in the outcome,
// whose Err is non-nil if it failed or was cancelled.
//
// When ctx ends, the turn is cancelled: what has been done is kept, and the next turn goes
// on from there. A hook, an observer or a model that ignores its context holds a cancelled
// turn for the grace period, and then it is abandoned: see [Runtime.Abandoned]. Whatever
// else the turn waits for, Send returns two grace periods after its cancellation at the
// latest.
func (c *Conversation) Send(ctx context.Context, in message.Input, o *TurnOptions) (hook.TurnOutcome, error) {
	if in.Messages.Len() == 0 {
		return loop.Refused(ErrNoInput), ErrNoInput
	}
	opts := orZero(o)
	t, ctx := c.newHandle(ctx)
	if _, err := c.enter(ctx, t, opts.WhenBusy); err != nil {
		return loop.Refused(err), err
	}
	out := c.answer(ctx, t, in, &opts)
	t.leave(out)
	return out, t.h.NotBegun(out)
}

// answer ends the turn that was interrupted, if there is one, and runs the next one.
func (c *Conversation) answer(ctx context.Context, t *Turn, in message.Input, o *TurnOptions) hook.TurnOutcome {
	if c.thread.Lease.Interrupted() {
		if err := errors.Join(c.thread.Settle(ctx, &t.h), c.thread.ReleaseIfCancelled(ctx)); err != nil {
			return loop.Refused(err)
		}
	}
	return c.thread.Run(ctx, &t.h, loop.Input{Message: in, Observe: o.Observe, Guest: o.Guest, Layers: o.Layers})
}

func orZero(o *TurnOptions) TurnOptions {
	if o == nil {
		return TurnOptions{}
	}
	return *o
}

// enter gets the conversation for the turn with that context: its place in this process,
// the agent's leave, the lease, and what the store has. Whoever got it calls Turn.leave.
// With ErrBusy comes the turn that runs here, if there is one.
func (c *Conversation) enter(ctx context.Context, t *Turn, when Busy) (other *Turn, err error) {
	defer func() {
		if err != nil { // somebody who was refused may wait for the turn
			t.h.End(loop.Refused(err))
		}
	}()
	if other, err = c.reserve(ctx, t, when); err != nil {
		t.h.Cancel(nil)
		return other, err
	}
	if err := c.open(ctx, when == Queue); err != nil {
		err = fmt.Errorf("load conversation %s: %w", c.ID(), err)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		c.leave(t)
		return nil, err
	}
	return nil, nil
}

// enterBriefly is enter for a change that takes a moment and is no turn. Whoever got the
// conversation calls the function.
func (c *Conversation) enterBriefly(ctx context.Context) (context.Context, func(), error) {
	t, ctx := c.newHandle(ctx)
	_, err := c.enter(ctx, t, briefly)
	return ctx, func() { c.leave(t) }, err
}

func (c *Conversation) reserve(ctx context.Context, t *Turn, when Busy) (other *Turn, err error) {
	if err := c.agent.check(); err != nil {
		return nil, err
	}
	if other, err := c.occupy(ctx, t, when); err != nil {
		return other, err
	}
	if err := c.agent.enter(); err != nil {
		c.vacate()
		return nil, err
	}
	if cause := c.agent.cancelCause(); cause != nil {
		t.h.Cancel(cause)
	}
	return nil, nil
}

// leave gives back what enter got.
func (c *Conversation) leave(t *Turn) {
	t.h.Cancel(nil)
	c.agent.leave()
	c.vacate()
}

// stop cancels whoever has the conversation.
func (c *Conversation) stop(cause error) {
	c.mu.Lock()
	t := c.running
	c.mu.Unlock()
	if t != nil {
		t.h.Cancel(cause)
	}
}

// waiter waits for the conversation.
type waiter struct {
	turn  *Turn
	brief bool
	// ready is closed when the waiter has the conversation.
	ready chan struct{}
}

// occupy takes the conversation, or waits for it. With ErrBusy comes the turn that has it.
func (c *Conversation) occupy(ctx context.Context, t *Turn, when Busy) (other *Turn, err error) {
	w := waiter{turn: t, brief: when == briefly}
	c.mu.Lock()
	if c.running == nil {
		c.running, c.brief = t, w.brief
		c.mu.Unlock()
		return nil, nil
	}
	if when != Queue && !(c.brief && len(c.waiting) == 0) { // one turn can follow what is brief
		other = c.runningLocked()
		c.mu.Unlock()
		return other, fmt.Errorf("%w: %s", ErrBusy, c.ID())
	}
	w.ready = make(chan struct{})
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case <-w.ready:
		return nil, nil
	case <-ctx.Done():
	}
	if !c.giveUp(t) { // it came in the same moment
		c.vacate()
	}
	return nil, context.Cause(ctx)
}

// giveUp takes the turn out of the queue; false if it is not in there.
func (c *Conversation) giveUp(t *Turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.waiting, func(w waiter) bool { return w.turn == t })
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// vacate hands the conversation to the first waiter.
func (c *Conversation) vacate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.brief = nil, false
	if len(c.waiting) > 0 {
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.running, c.brief = next.turn, next.brief
		close(next.ready)
	}
}
