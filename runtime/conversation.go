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
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Conversation is the history of one agent and one sender. It runs one turn at a
// time and is safe for concurrent use.
type Conversation struct {
	agent *Agent
	place *hook.Conversation
	host  *host
	lease *durable.Lease
	// parent is the id of the conversation whose turn this one's is a child of; ""
	// for one that people see.
	parent string

	mu sync.Mutex
	// busy: a turn has the conversation, or is about to get it; brief: it is no turn
	// but a change that takes a moment.
	busy, brief bool
	// visited says that a guest has spoken. It belongs to the running turn.
	visited bool
	// waiting are those who queue for it, the first in front.
	waiting []chan struct{}
	// cancel ends the turn that is running, and turn is that turn; nil if there is
	// none.
	cancel context.CancelCauseFunc
	turn   *turn
	// session is nil before the first turn, and next what it begins with then; "" is
	// what the history says.
	session *session
	next    hook.SessionSource
	// cancelAside ends what goes on beside turns; nil if nothing does.
	cancelAside context.CancelCauseFunc
	steers      mailbox

	// ids are the call ids of the history, because providers want them unique, and
	// those of replies, which are counted. They belong to the running turn.
	ids     map[string]int
	replies int
}

// SendOptions say how a turn is to run; nil is all zero values.
type SendOptions struct {
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
	rec, err := r.o.Store.Conversation(ctx, a.key(sender))
	if err != nil {
		return nil, fmt.Errorf("conversation of %q with %q: %w", agent, sender, err)
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
	c.next = source
	if _, err := c.lease.ReadStates(ctx, rec); err != nil { // what cannot be read is told when a turn begins
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
	c := &Conversation{agent: a, parent: rec.Parent, ids: map[string]int{}}
	states := hook.NewStates(a.rt.states)
	c.host = c.newHost(rec.ID, parent)
	c.place = hook.NewConversation(hook.ConversationData{ID: rec.ID, Sender: rec.Key.Sender, Agent: a.cfg, Host: c.host, States: states})
	c.lease = a.rt.leases.Lease(durable.LeaseOptions{
		Record: rec, Log: c.host.log, States: states, KeepsStates: len(a.rt.states) > 0, Owner: leaseOwner{c},
	})
	return c
}

// ID is the conversation's id in the store.
func (c *Conversation) ID() string { return c.place.ID() }

// Agent returns the agent.
func (c *Conversation) Agent() *Agent { return c.agent }

// Sender is who talks to the agent.
func (c *Conversation) Sender() string { return c.place.Sender() }

// Send runs one turn and returns how it ended. Events are handed to the observer,
// if there is one, on the goroutine of the turn's loop, except for what a running tool
// or a hook emits from elsewhere: never two at a time, and none after Send has returned.
// An observer that panics is not called again: the turn goes on, the hook is told
// by a diagnostic, and Send returns no error of it.
//
// A turn that another process has left unfinished is brought to its end first,
// without asking a model: see [Conversation.Resume].
//
// The error is the outcome's Err: nil unless the turn failed or was cancelled.
// If no turn began, it says why: ErrBusy, ErrNoInput, ErrClosed,
// ErrAgentClosing, ErrAgentUnknown, or the store's. When ctx ends, the turn is
// cancelled: what has been done is kept, and the next turn goes on from there. A hook,
// an observer or a model that ignores its context holds a cancelled turn for the grace
// period, and then it is left behind: see [Runtime.Abandoned]. Whatever else the turn
// waits for, Send returns two grace periods after its cancellation at the latest.
func (c *Conversation) Send(ctx context.Context, in message.Input, o *SendOptions) (hook.TurnOutcome, error) {
	if in.Messages.Len() == 0 {
		return refused(ErrNoInput)
	}
	var opts SendOptions
	if o != nil {
		opts = *o
	}
	ctx, err := c.enter(ctx, opts.WhenBusy)
	if err != nil {
		return refused(err)
	}
	defer c.leave()
	if c.lease.Interrupted() {
		if err := errors.Join(c.settle(ctx), c.givenUp(ctx)); err != nil {
			return refused(err)
		}
	}
	out := c.runTurn(ctx, in, &opts)
	return out, out.Err
}

// refused is the outcome where no turn began.
func refused(err error) (hook.TurnOutcome, error) {
	out := hook.TurnOutcome{Stop: hook.StopError, Err: err}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		out.Stop = hook.StopCancelled
	}
	return out, err
}

// enter gets the conversation for one turn: its place in this process, the
// agent's leave, the lease, and what the store has. The context is the turn's.
// Who got it calls leave.
func (c *Conversation) enter(ctx context.Context, when Busy) (context.Context, error) {
	turn, err := c.start(ctx, when)
	if err != nil {
		return nil, err
	}
	if err := c.open(turn, when == Queue); err != nil {
		err = fmt.Errorf("load conversation %s: %w", c.ID(), err)
		if turn.Err() != nil {
			err = context.Cause(turn)
		}
		c.leave()
		return nil, err
	}
	return turn, nil
}

func (c *Conversation) start(ctx context.Context, when Busy) (context.Context, error) {
	if err := c.agent.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx) // a nil one panics here, before anything is taken
	if err := c.occupy(ctx, when); err != nil {
		cancel(nil)
		return nil, err
	}
	if err := c.agent.enter(); err != nil {
		cancel(nil)
		c.vacate()
		return nil, err
	}
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	if cause := c.agent.cancelCause(); cause != nil {
		cancel(cause)
	}
	return ctx, nil
}

// leave gives back what enter got.
func (c *Conversation) leave() {
	c.stop(nil)
	c.agent.leave()
	c.vacate()
}

// occupy takes the conversation, or waits for it.
func (c *Conversation) occupy(ctx context.Context, when Busy) error {
	c.mu.Lock()
	if !c.busy {
		c.busy, c.brief = true, when == briefly
		c.mu.Unlock()
		return nil
	}
	if when != Queue && !(c.brief && len(c.waiting) == 0) { // one turn can follow what is brief
		c.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrBusy, c.ID())
	}
	mine := make(chan struct{})
	c.waiting = append(c.waiting, mine)
	c.mu.Unlock()
	select {
	case <-mine:
		c.mu.Lock()
		c.brief = when == briefly
		c.mu.Unlock()
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	i := slices.Index(c.waiting, mine)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	c.mu.Unlock()
	if i < 0 { // it came in the same moment
		c.vacate()
	}
	return context.Cause(ctx)
}

// vacate hands the conversation to who waits first.
func (c *Conversation) vacate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.busy = false
		return
	}
	c.brief = false
	close(c.waiting[0])
	c.waiting = c.waiting[1:]
}

// Stop ends the running turn because its user wants it to: what has been done is
// kept, and the stop reason is user_requested. It does not wait; it reports
// whether a turn was running.
func (c *Conversation) Stop() bool { return c.stop(ErrStopped) }

// stop cancels the running turn; a nil cause says that it has ended.
func (c *Conversation) stop(cause error) bool {
	c.mu.Lock()
	cancel := c.cancel
	if cause == nil {
		c.cancel = nil
	}
	c.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(cause)
	return true
}
