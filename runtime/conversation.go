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
	"github.com/grapnel-go/grapnel/runtime/internal/given"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Conversation is the conversation of one agent with one sender: its history and its
// turns, one at a time. It is safe for concurrent use.
type Conversation struct {
	agent *Agent
	host  *host
	// thread is the part that turns use.
	thread loop.Thread
	// home is where it is kept.
	home *home
	// parent is the id of the parent turn's conversation; "" if this is no child's.
	parent string

	mu sync.Mutex
	// running is the turn that occupies the conversation; nil if it is free. brief: a
	// short change occupies it, which is no turn.
	running *Turn
	brief   bool
	// waiting is the queue of turns, the next one first.
	waiting []waiter
	// ended: no turn can begin, because [Ephemeral.End] was called.
	ended bool
	// deleted: no turn can begin, because the conversation is being deleted, or was.
	deleted bool
	// cancelCompaction cancels the running compaction; nil if there is none.
	cancelCompaction context.CancelCauseFunc
	// compacting is the setup of the running or the last compaction.
	compacting *loop.Setup
}

// TurnOptions configure a turn; nil is all zero values.
type TurnOptions struct {
	// Observe gets the events of the turn, in order, one at a time; nil gets none. If it
	// or a hook hangs at an event and the turn is cancelled, it gets no further event.
	Observe func(hook.Event)
	// WhenBusy says what to do while another turn of the conversation runs; 0 is Refuse.
	WhenBusy Busy
	// Guest is the name of another registered agent that answers in this conversation:
	// with text only, and under its own instructions. Its messages are stored with its
	// name. "" is the conversation's own agent.
	Guest string
	// Model overrides the agent's model and its settings; see [message.Model.Merge]. The turns
	// of children and a turn after it do not have it; a turn that is resumed keeps it. The
	// runtime does not check an answer in a Format; subsystems/structured does.
	Model message.Model
	// Layers change the hooks for this turn and the turns of its children. They do not
	// apply to what outlasts the turn: sessions, compaction and the registration of
	// agents. A turn that another process resumes continues without them.
	Layers []plan.Layer
	// Token is the name of the credential that asks, never the credential itself: limits of
	// package spending count by it, and a turn that is resumed keeps it. "" is the local user.
	Token string
	// Tools are further tools for this turn, which run in this process: hook.Hook has the two
	// methods, so [tool.Set] makes one. Nil is none. Their calls pass all gates, as those of the
	// agent's own. They are added to the agent's tools whatever its configuration lists, unless
	// a rule keeps their name from the sender. They take no tool's place: a name that the
	// agent's hooks have, or a wrong name or schema, is ErrTurnTools. Later turns, children and
	// guests do not have them.
	Tools Toolset
	// ClientTools are further tools for this turn, which somebody else runs: a call emits the
	// event client_call and waits until [Runtime.AnswerCall] brings its result. Of a tool count
	// Name, Description, Input, Annotations and Timeout, the longest wait: 0 is five minutes, a
	// day the most. At most 128 tools and 256 KiB. Otherwise they are as Tools. A turn that is
	// resumed keeps them, and its calls wait again.
	ClientTools []message.Tool
	// SameProject makes Resume refuse a turn that began in another project, with
	// ErrNotInterrupted. It is for programs that resume turns without a user's request.
	SameProject bool
}

// Toolset has tools for one turn. Every hook.Hook is one; of its methods only these are called.
type Toolset = given.Toolset

// Busy says what to do while another turn of the conversation runs.
type Busy int

const (
	// Refuse returns ErrBusy at once.
	Refuse Busy = iota
	// Queue waits until the conversation is free, in the order of the calls. It waits for
	// a turn of another process too, but waiters of several processes have no order. An
	// observer, a hook or a tool of the running turn would wait for itself: it uses
	// Refuse, or [Turn.Steer].
	Queue
	// briefly is Refuse for a short change: turns that come meanwhile wait for its end
	// and are not refused.
	briefly
)

// Conversation returns the agent's conversation with the sender. The store creates it if
// there is none. All calls return the same value, which reads its messages at its first
// turn, and again at a turn that finds them changed by another process.
//
// The errors are ErrAgentClosing and ErrAgentUnknown once the agent is being unregistered,
// ErrClosed after [Runtime.Close], ErrChild if the conversation is a child's, and those of
// the store.
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

// keep returns the conversation of the record. It makes one unless another call just has.
// The first session of a new one begins with the source.
func (a *Agent) keep(ctx context.Context, rec store.Record, source hook.SessionSource) (*Conversation, error) {
	c := a.newConversation(rec, nil, &a.rt.home)
	c.thread.SetSource(source)
	if _, err := c.thread.Lease.ReadStates(ctx, rec); err != nil { // the next turn reports states that cannot be read
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

// drop forgets the conversation: the next call for its key makes another one.
func (a *Agent) drop(c *Conversation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conversations = slices.DeleteFunc(a.conversations, func(o *Conversation) bool { return o == c })
}

// home is where conversations are kept: in the runtime's store, or an ephemeral one in its own.
type home struct {
	// env has the store.
	env    *loop.Env
	leases *durable.Leases
	// ephemeral: nothing outlives the conversation.
	ephemeral bool
}

// store is the store of the conversation.
func (c *Conversation) store() store.Store { return c.home.env.Store }

// newConversation returns the conversation of the record. With a parent, its turns are
// children of the parent's turns.
func (a *Agent) newConversation(rec store.Record, parent *host, at *home) *Conversation {
	c := &Conversation{agent: a, parent: rec.Parent, home: at}
	c.host = c.newHost(rec.ID, parent)
	states := hook.NewStates(a.rt.states)
	th := &c.thread
	th.Env, th.Agent, th.Host, th.Log = at.env, &a.core, c.host, c.host.log
	th.Config.Store(a.Config())
	th.Place = hook.NewConversation(hook.ConversationData{
		ID: rec.ID, Sender: rec.Key.Sender, Current: &th.Config, Host: c.host, States: states, Ephemeral: at.ephemeral,
	})
	th.Lease = at.leases.Lease(durable.LeaseOptions{
		Record: rec, Log: c.host.log, States: states, KeepsStates: len(a.rt.states) > 0, Owner: leaseOwner{c},
	})
	th.Loaded(message.Messages{})
	return c
}

// ID returns the conversation's id in the store.
func (c *Conversation) ID() string { return c.thread.Place.ID() }

// Agent returns the agent of the conversation.
func (c *Conversation) Agent() *Agent { return c.agent }

// Sender returns the name of the party that talks to the agent.
func (c *Conversation) Sender() string { return c.thread.Place.Sender() }

// Send runs one turn and returns its outcome. It is Start and Wait, except that the end of
// ctx cancels the turn.
//
// The observer, if there is one, gets the events of the turn: one at a time, and none after
// Send has returned. It is called on the goroutine of the turn's loop, or on that of the
// hook or tool that emits the event. An observer that panics is not called again: the turn
// continues, and a diagnostic event reports the panic.
//
// If the last turn was interrupted, Send first ends that turn, without asking a model. To
// continue it instead, call [Conversation.Resume].
//
// The error is non-nil only if no turn began: ErrBusy, ErrNoInput, ErrClosed,
// ErrAgentClosing, ErrAgentUnknown, or the store's. If the turn failed or was cancelled,
// the Err of the outcome is non-nil.
//
// A cancelled turn keeps the messages and results so far, and the next turn continues from
// there. If a hook, an observer or a model ignores its context, the turn waits for the
// grace period and then abandons it: see [Runtime.Abandoned]. Send returns two grace
// periods after the cancellation at the latest.
func (c *Conversation) Send(ctx context.Context, in message.Input, o *TurnOptions) (hook.TurnOutcome, error) {
	if in.Messages.Len() == 0 {
		return loop.Refused(ErrNoInput), ErrNoInput
	}
	opts := orZero(o)
	t, ctx := c.newHandle(ctx)
	if _, err := c.enter(ctx, t, opts.WhenBusy); err != nil {
		return loop.Refused(err), err
	}
	out := loop.Refused(errBrokenOff)
	defer func() { t.leave(out) }()
	out = c.answer(ctx, t, in, &opts)
	return out, t.h.NotBegun(out)
}

// answer ends the interrupted turn, if there is one, and runs the next turn.
func (c *Conversation) answer(ctx context.Context, t *Turn, in message.Input, o *TurnOptions) hook.TurnOutcome {
	if c.thread.Lease.Interrupted() {
		if err := errors.Join(c.thread.Settle(ctx), c.thread.ReleaseIfCancelled(ctx)); err != nil {
			return loop.Refused(err)
		}
	}
	defer c.storeSummary(ctx)
	return c.thread.Run(ctx, &t.h, loop.Input{
		Message: in, Observe: o.Observe, Guest: o.Guest, Model: o.Model, Layers: o.Layers, Token: o.Token,
		Tools: o.Tools, ClientTools: o.ClientTools,
	})
}

func orZero(o *TurnOptions) TurnOptions {
	if o == nil {
		return TurnOptions{}
	}
	return *o
}

// enter gets the conversation for the turn with that context: in this process, at the
// agent, and by its lease. It reads changes from the store. If enter succeeds, the caller
// calls Turn.leave. With ErrBusy it returns the turn that runs here, if there is one.
func (c *Conversation) enter(ctx context.Context, t *Turn, when Busy) (other *Turn, err error) {
	defer func() {
		if err != nil { // other goroutines may wait for the turn
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

// enterBriefly is enter for a short change that is no turn. The caller calls the function
// at the end of the change.
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
	s, err := c.agent.enter()
	if err != nil {
		c.vacate()
		return nil, err
	}
	c.thread.Use(s)
	if cause := c.agent.cancelCause(); cause != nil {
		t.h.Cancel(cause)
	}
	return nil, nil
}

// leave undoes enter.
func (c *Conversation) leave(t *Turn) {
	t.h.Cancel(nil)
	c.agent.leave(c.thread.Setup())
	c.vacate()
}

// stop cancels the turn or the change that occupies the conversation.
func (c *Conversation) stop(cause error) {
	c.mu.Lock()
	t := c.running
	c.mu.Unlock()
	if t != nil {
		t.h.Cancel(cause)
	}
}

// waiter is a turn or a change that waits for the conversation.
type waiter struct {
	turn  *Turn
	brief bool
	// ready is closed when the conversation is the waiter's.
	ready chan struct{}
}

// occupy takes the conversation, or waits for it. With ErrBusy it returns the running turn.
func (c *Conversation) occupy(ctx context.Context, t *Turn, when Busy) (other *Turn, err error) {
	w := waiter{turn: t, brief: when == briefly}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ErrEnded
	}
	if c.deleted {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w any more: %s was deleted", store.ErrUnknown, c.ID())
	}
	if c.running == nil {
		c.running, c.brief = t, w.brief
		c.mu.Unlock()
		return nil, nil
	}
	if when != Queue && !(c.brief && len(c.waiting) == 0) { // one turn may wait for a short change
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
	if !c.giveUp(t) { // it got the conversation at the same moment
		c.vacate()
	}
	return nil, context.Cause(ctx)
}

// giveUp removes the turn from the queue. It returns false if the turn has left it.
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

// vacate frees the conversation, or gives it to the first waiter.
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
