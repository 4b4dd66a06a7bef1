package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// LogOptions describe the conversation of a Log.
type LogOptions struct {
	// Conversation is its id, and Agent the name of the agent; "" outside any.
	Conversation, Agent string
	// Parent is the log of the conversation whose turn runs this one's turns, or nil.
	// It delivers, numbers and keeps the events; this log only places them.
	Parent *Log
	// Keep says that the store keeps the events.
	Keep  bool
	Owner Owner
	// Hub tells those who follow.
	Hub *Hub
}

// Owner is what a Log asks of the conversation. The methods are called under no lock but
// that of a write.
type Owner interface {
	// Listeners returns the hooks that hear of events between turns.
	Listeners() *composite.Composite
	// EventHost returns what events offer to OnEvent. Its Emit sets How.Inside.
	EventHost() hook.Host
	// WriteEvents stores events, and nothing else, under the epoch.
	WriteEvents(ctx context.Context, epoch int64, events []store.Event) error
	// Now is the clock.
	Now() time.Time
}

// Log numbers the events of one conversation, delivers them one at a time in the order
// of their numbers, and keeps them until the store has them. It is safe for concurrent
// use.
//
// Lock writing before mu. No lock is held while a hook, an observer or the store is
// called, except that writing is held during a write.
type Log struct {
	o LogOptions

	// writing serialises writes to the store.
	writing sync.Mutex

	// turnHooks hear of the events of the running turn; nil between turns.
	turnHooks atomic.Pointer[composite.Composite]

	mu sync.Mutex
	// seq is the number of the last event, epoch that of the lease under which events
	// are numbered, and clock the time of the last event.
	seq   uint64
	epoch int64
	clock time.Time
	place Place
	// observer is told of the running turn.
	observer func(hook.Event)
	delivery delivery
	unkept   unkept
}

// Place is where events happen. The zero Place is outside any turn.
type Place struct {
	// Turn is the id of the running turn, Step its running step (0 between steps), and
	// Depth how many turns run it (0 for a turn that a user has started).
	Turn  string
	Step  int
	Depth int
}

// Loop is the loop of a turn. A loop that hangs in foreign code is left behind: then it
// emits nothing any more and loses the delivery.
type Loop interface{ LeftBehind() bool }

// How says what is special about an emission. The zero How is that of a running tool.
type How struct {
	// Loop is the one that the emission comes from, itself or through a hook or a tool
	// that it has called; nil is none. Own says that the loop itself emits.
	Loop Loop
	Own  bool
	// Inside says that the emitter is being told of an event, or holds the delivery. It
	// does not wait for room in the queue.
	Inside bool
	// Last says that the event is the last one of the turn. What is emitted after it is
	// outside the turn and not for its observer.
	Last bool
	// Background says that the event comes from a background run that the turn in
	// Event.Turn has started. If that turn is over the event is outside any turn.
	Background bool
}

// leftBehind reports whether the emission comes from a loop that was left behind.
func (h How) leftBehind() bool { return h.Loop != nil && h.Loop.LeftBehind() }

// owner is the loop that gets the delivery with the emission.
func (h How) owner() Loop {
	if h.Own {
		return h.Loop
	}
	return nil
}

// NewLog returns a log outside any turn.
func NewLog(o LogOptions) *Log { return &Log{o: o} }

// Top returns the log that delivers: this one, or that of the outermost parent.
func (l *Log) Top() *Log {
	for l.o.Parent != nil {
		l = l.o.Parent
	}
	return l
}

// Conversation is the id of the conversation, and Agent the name of the agent; ""
// outside any.
func (l *Log) Conversation() string { return l.o.Conversation }

// Agent: see Conversation.
func (l *Log) Agent() string { return l.o.Agent }

// Keeps reports whether the store keeps the events.
func (l *Log) Keeps() bool { return l.o.Keep }

// Place returns where events happen now.
func (l *Log) Place() Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.place
}

// Begin says that events happen in the turn from now on. Its hooks and the observer hear
// of them; nil hooks are those of Owner.Listeners, and a nil observer is none.
func (l *Log) Begin(at Place, hooks *composite.Composite, observer func(hook.Event)) {
	l.turnHooks.Store(hooks)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place, l.observer = at, observer
}

// SetStep says in which step of the turn events happen from now on; 0 is in none.
func (l *Log) SetStep(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place.Step = n
}

// EndTurn says that events happen outside any turn from now on. The caller has the
// delivery, or knows that nobody delivers.
func (l *Log) EndTurn() {
	l.mu.Lock()
	l.place, l.observer = Place{}, nil
	l.forgetObserversLocked()
	l.mu.Unlock()
	l.turnHooks.Store(nil)
}

// Last is the number of the newest event.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Emit numbers the event and delivers it, and what is queued meanwhile. If somebody else
// delivers, the event is queued; if the queue is full, Emit waits for room or for the end
// of ctx, after which the event is queued all the same. A failure at OnEvent is not told
// while another failure is being told.
func (l *Log) Emit(ctx context.Context, ev *hook.Event, how How) {
	if l.echoes(ev) {
		return
	}
	l.Prepare(ev, how)
	l.EmitPrepared(ctx, ev, how)
}

// Prepare is the first part of Emit. A loop calls it before it says that it is away: the
// event must not change while somebody else may look at it.
func (l *Log) Prepare(ev *hook.Event, how How) {
	ev.SetHost(l.o.Owner.EventHost())
	if l.o.Parent == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placeLocked(ev, how)
}

// EmitPrepared is the second part of Emit.
func (l *Log) EmitPrepared(ctx context.Context, ev *hook.Event, how How) {
	l.Top().take(ctx, l, ev, how)
}

// Numbered reports whether the event, which another goroutine may be emitting, has its
// number.
func (l *Log) Numbered(ev *hook.Event) bool {
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return ev.Conversation != ""
}

// echoes reports whether the event tells of a failure at OnEvent while the news of another
// failure is being delivered: a hook that fails on such news would go on for ever.
func (l *Log) echoes(ev *hook.Event) bool {
	if ev.Kind != event.HookFailed || ev.Detail().Point != point.OnEvent {
		return false
	}
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return top.delivery.busy && top.delivery.aboutFailure
}

// placeLocked says where the event happens.
func (l *Log) placeLocked(ev *hook.Event, how How) {
	ev.Agent, ev.Depth = l.o.Agent, l.place.Depth
	if how.Background && ev.Turn != l.place.Turn {
		ev.Turn, ev.Step = "", 0
		return
	}
	ev.Turn, ev.Step = l.place.Turn, l.place.Step
	if how.Last {
		l.place.Turn, l.place.Step = "", 0
	}
}

// stampLocked says when and where the event happens. It returns who observes it.
func (l *Log) stampLocked(from *Log, ev *hook.Event, how How) (observer func(hook.Event)) {
	l.timeLocked(ev)
	if l.o.Conversation == "" {
		return l.observer
	}
	observer = l.observer
	ev.Conversation, ev.Epoch = l.o.Conversation, l.epoch
	if from == l {
		l.placeLocked(ev, how)
	}
	if ev.Internal() {
		return nil
	}
	l.seq++
	ev.Seq = l.seq
	if from == l && how.Last {
		l.observer = nil
	}
	if l.o.Keep && kept(ev.Kind) {
		l.unkept.add(*ev)
	}
	if how.Background && ev.Turn == "" {
		return nil
	}
	return observer
}

// timeLocked gives the event its time, which is never before that of another event. An
// event that has a time keeps it, unless another one was told with a later time.
func (l *Log) timeLocked(ev *hook.Event) {
	if ev.Time.IsZero() {
		ev.Time = l.o.Owner.Now()
	}
	if ev.Time.After(l.clock) {
		l.clock = ev.Time
	}
	ev.Time = l.clock
}

// listeners are the hooks that hear of an event of this log.
func (l *Log) listeners() *composite.Composite {
	if h := l.turnHooks.Load(); h != nil {
		return h
	}
	return l.o.Owner.Listeners()
}

// kept reports whether the store keeps events of the kind: the text of deltas is in the
// history, and progress is of no use to who reads of it later.
func kept(kind hook.EventKind) bool {
	switch kind {
	case event.TextDelta, event.ReasoningDelta, event.CallProgress:
		return false
	}
	return true
}
