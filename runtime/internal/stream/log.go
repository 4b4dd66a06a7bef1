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
	// Parent is the log of the conversation whose turn runs this one's turns, or nil. The
	// parent numbers, delivers and stores the events; this log adds their place.
	Parent *Log
	// Keep: the store keeps the events.
	Keep bool
	// Ephemeral: nothing of the conversation is stored. It is that of the outermost log.
	Ephemeral bool
	Owner     Owner
	// Hub delivers the events to followers.
	Hub *Hub
	// Mask masks the events for all their listeners; nil masks nothing.
	Mask Masker
}

// Owner is the conversation of a Log. The log calls the methods under no lock but that of
// a write.
type Owner interface {
	// Listeners returns the hooks that get events between turns. The caller calls done when they
	// have got the event.
	Listeners() (hooks *composite.Composite, done func())
	// EventHost returns the host that OnEvent finds in an event. Its Emit sets How.Inside.
	EventHost() hook.Host
	// WriteEvents stores events, and nothing else, under the epoch.
	WriteEvents(ctx context.Context, epoch int64, events []store.Event) error
	// WriteFailed is called when WriteEvents has failed while events are delivered. The events
	// wait for the next write. It stops the turn, and does not wait for its end.
	WriteFailed(err error)
	// Now is the clock.
	Now() time.Time
}

// Log numbers the events of one conversation and delivers them one at a time, in the order
// of their numbers. It holds them until they are stored. It is safe for concurrent use.
//
// Lock writing before mu. No lock is held while a hook, an observer or the store is
// called, except that writing is held during a write.
type Log struct {
	o LogOptions

	// writing serialises writes to the store.
	writing sync.Mutex

	// turnHooks get the events of the running turn; nil between turns.
	turnHooks atomic.Pointer[composite.Composite]

	mu sync.Mutex
	// seq is the number of the last event.
	seq uint64
	// epoch is the epoch of the lease for new events.
	epoch int64
	// clock is the time of the last event.
	clock time.Time
	place Place
	// observer gets the events of the running turn; nil for none.
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

// Loop is the loop of a turn. Abandoned reports whether its owner has abandoned it: then it
// emits no more events and loses the delivery.
type Loop interface{ Abandoned() bool }

// How describes an emission. A running tool emits with the zero How.
type How struct {
	// Loop is the loop that emits, or that called the hook or tool that emits; nil is none.
	Loop Loop
	// Own: the loop itself emits.
	Own bool
	// Inside: the emitter runs inside OnEvent, or holds the delivery. It does not wait for
	// room in the queue.
	Inside bool
	// Last: the event is the last one of the turn. Later events are outside the turn, and
	// its observer does not get them.
	Last bool
	// Background: a background run emits, and Event.Turn is the turn that started it. If
	// that turn is over, the event is outside any turn.
	Background bool
}

// abandoned reports whether the emission comes from an abandoned loop.
func (h How) abandoned() bool { return h.Loop != nil && h.Loop.Abandoned() }

// owner is the loop that holds the delivery if this emission takes it.
func (h How) owner() Loop {
	if h.Own {
		return h.Loop
	}
	return nil
}

// NewLog returns a log outside any turn.
func NewLog(o LogOptions) *Log { return &Log{o: o} }

// Top returns the log that delivers: this one, or its outermost parent.
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

// Mask returns what masks the events; nil if nothing does.
func (l *Log) Mask() Masker { return l.o.Mask }

// Keeps reports whether the store keeps the events.
func (l *Log) Keeps() bool { return l.o.Keep }

// Place returns where events happen now.
func (l *Log) Place() Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.place
}

// Begin places later events in the turn. The hooks and the observer get them; nil hooks
// stand for Owner.Listeners, and a nil observer for none.
func (l *Log) Begin(at Place, hooks *composite.Composite, observer func(hook.Event)) {
	l.turnHooks.Store(hooks)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place, l.observer = at, observer
}

// SetStep places later events in a step of the turn; 0 is between steps.
func (l *Log) SetStep(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place.Step = n
}

// EndTurn places later events outside any turn. The caller holds the delivery, or knows
// that it is free.
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

// Emit numbers the event and delivers it, and the events that others queue meanwhile. If
// another goroutine holds the delivery, Emit queues the event. If the queue is full, Emit
// first waits for room or for the end of ctx. Emit drops a failure of OnEvent while
// another failure is being delivered.
func (l *Log) Emit(ctx context.Context, ev *hook.Event, how How) {
	if l.echoes(ev) {
		return
	}
	l.Prepare(ev, how)
	l.EmitPrepared(ctx, ev, how)
}

// Prepare is the first part of Emit. A loop calls it before it enters foreign code, because
// from then on its owner may read the event.
func (l *Log) Prepare(ev *hook.Event, how How) {
	if l.o.Mask != nil {
		*ev = l.o.Mask.Event(*ev)
	}
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

// Numbered reports whether the event has its number. Another goroutine may be emitting it.
func (l *Log) Numbered(ev *hook.Event) bool {
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return ev.Conversation != ""
}

// echoes reports whether the event is a failure of OnEvent during the delivery of another
// failure. A hook that fails on such events would cause endless events.
func (l *Log) echoes(ev *hook.Event) bool {
	if ev.Kind != event.HookFailed || ev.Detail().Point != point.OnEvent {
		return false
	}
	top := l.Top()
	top.mu.Lock()
	defer top.mu.Unlock()
	return top.delivery.busy && top.delivery.aboutFailure
}

// placeLocked adds the place to the event.
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

// stampLocked adds number, time and place to the event. It returns the observer to call, or
// nil.
func (l *Log) stampLocked(from *Log, ev *hook.Event, how How) (observer func(hook.Event)) {
	l.timeLocked(ev)
	if l.o.Conversation == "" {
		return l.observer
	}
	observer = l.observer
	ev.Conversation, ev.Epoch, ev.Ephemeral = l.o.Conversation, l.epoch, l.o.Ephemeral
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

// timeLocked adds the time to the event: its own if it has one, else now, but never before
// the time of an earlier event.
func (l *Log) timeLocked(ev *hook.Event) {
	if ev.Time.IsZero() {
		ev.Time = l.o.Owner.Now()
	}
	if ev.Time.After(l.clock) {
		l.clock = ev.Time
	}
	ev.Time = l.clock
}

func (l *Log) listeners() (hooks *composite.Composite, done func()) {
	if h := l.turnHooks.Load(); h != nil {
		return h, func() {}
	}
	return l.o.Owner.Listeners()
}

// kept reports whether the store keeps events of the kind. The history has the text of
// deltas, and old progress is of no use.
func kept(kind hook.EventKind) bool {
	switch kind {
	case event.TextDelta, event.ReasoningDelta, event.CallProgress:
		return false
	}
	return true
}
