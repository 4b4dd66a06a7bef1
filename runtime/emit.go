package runtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/stream"
)

// emitter delivers the events of one conversation, or those outside any. It is
// the [hook.Host] of its place.
type emitter struct {
	rt *Runtime
	// conv is the conversation; nil outside any.
	conv *Conversation
	// up is the stream of the conversation that people see, if this is that of a
	// child: then it delivers, and this one only says whose events they are.
	up *emitter

	// writing is held while what is pending is being written down. It is taken before
	// mu, and never waited for with the delivery under way but by who delivers.
	writing sync.Mutex

	// mu guards the rest, but for turns, gen and logs.
	mu  sync.Mutex
	seq uint64
	// epoch is that of the lease under which events are numbered.
	epoch int64
	// clock is the time of the last event.
	clock time.Time
	turn  string
	step  int
	depth int
	// turns are the hooks of the turn that is running, nil between turns.
	turns atomic.Pointer[hooks]
	// observer is the caller of Send, while its turn runs.
	observer func(hook.Event)
	// delivering: somebody is delivering and will take what is queued. aboutFailure:
	// what is being delivered tells of a hook's failure. lost: events could not be
	// written down and are not tried any more.
	delivering, aboutFailure, lost bool
	// by is the turn whose loop delivers; nil if it is anybody else.
	by *turn
	// gen counts how often the delivery was taken away from who had it.
	gen atomic.Uint32
	// logs: events are kept by the store. It never changes.
	logs bool
	// line is nil as long as nothing and nobody waits for the delivery.
	line *line
	// pending are the events that the store does not have yet.
	pending      []hook.Event
	pendingBytes int
}

var (
	_ hook.Host     = (*emitter)(nil)
	_ stream.Source = (*emitter)(nil)
)

// Emit implements hook.Host.
func (e *emitter) Emit(ctx context.Context, ev hook.Event) {
	if leftBehind(ctx) {
		return
	}
	var as posting
	if s := sideOf(ctx); s != nil {
		as, ev.Turn = aside, s.turn
	}
	e.admit(ctx, ev, as)
}

// agent is the name of the agent, and conversation the id of the conversation; ""
// outside any.
func (e *emitter) agent() string {
	if e.conv == nil {
		return ""
	}
	return e.conv.agent.name
}

func (e *emitter) conversation() string {
	if e.conv == nil {
		return ""
	}
	return e.conv.ID()
}

// within is the host of an event: who emits while it is delivered does not wait
// for the delivery.
type within struct{ *emitter }

// Emit implements hook.Host. It queues.
func (w within) Emit(ctx context.Context, ev hook.Event) { w.admit(ctx, ev, inside) }

// admit emits what comes from hooks and tools.
func (e *emitter) admit(ctx context.Context, ev hook.Event, as posting) {
	if ev.Kind == event.HookFailed && ev.Detail().Point == point.OnEvent && e.deliversFailure() {
		return // a hook that fails on the news of a failure would go on for ever
	}
	ev.Time, ev.Omitted = time.Time{}, 0
	if d := ev.Detail(); len(d.Args) > e.rt.o.MaxResult {
		d.Args, ev.Omitted = shortened(d.Args, e.rt.o.MaxResult)
		ev = ev.WithDetail(d)
	}
	e.post(ctx, &ev, as)
}

func (e *emitter) deliversFailure() bool {
	e = e.stream()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.delivering && e.aboutFailure
}

// posting says what is special about an event that is posted.
type posting uint8

const (
	// inside: the event comes from who is being told of another one, or holds the
	// delivery, and does not wait for room in the queue.
	inside posting = 1 << iota
	// own: it comes from the loop of a turn. If that was left behind meanwhile, its owner
	// posts the event.
	own
	// delta: the text is a piece of a reply, which is not cut.
	delta
	// last: it is the last event of a turn. What is emitted after it, or because
	// of it, is outside the turn and not for its observer.
	last
	// aside: it comes from beside the turn that its Turn names. If that is over it is
	// outside of any, whichever runs meanwhile.
	aside
)

// loop is the turn whose loop posts the event with that context; nil if it is anybody else.
func (as posting) loop(ctx context.Context) *turn {
	if as&own == 0 {
		return nil
	}
	t, _ := ctx.Value(scopeKey{}).(*turn)
	return t
}

// emit numbers and delivers the event, and what is queued meanwhile.
func (e *emitter) emit(ctx context.Context, ev hook.Event) { e.post(ctx, &ev, 0) }

// stream is the emitter that delivers: this one, or that of the conversation of
// which this is a child's.
func (e *emitter) stream() *emitter {
	if e.up != nil {
		return e.up
	}
	return e
}

// post is emit; it changes the event and keeps a copy at most. A text is cut to the
// size of a tool result, because readers and stores keep events beside the messages;
// the pieces of a reply are not. An event that has a time happened then: the clock is
// not read. If another event was told with a later time, the event has that one.
func (e *emitter) post(ctx context.Context, ev *hook.Event, as posting) {
	e.prepare(ev, as)
	e.stream().take(ctx, e, ev, as)
}

// prepare is what post does before anybody else can see the event.
func (e *emitter) prepare(ev *hook.Event, as posting) {
	ev.SetHost(within{e})
	if as&delta == 0 && len(ev.Text) > e.rt.o.MaxResult {
		text, omitted := withoutMiddle(ev.Text, e.rt.o.MaxResult)
		ev.Text, ev.Omitted = text, ev.Omitted+omitted
	}
	if e.up != nil {
		e.mu.Lock()
		e.placeLocked(ev, as)
		e.mu.Unlock()
	}
}

// placeLocked says where the event happens.
func (e *emitter) placeLocked(ev *hook.Event, as posting) {
	ev.Agent, ev.Depth = e.agent(), e.depth
	if as&aside != 0 && ev.Turn != e.turn {
		ev.Turn, ev.Step = "", 0
		return
	}
	ev.Turn, ev.Step = e.turn, e.step
	if as&last != 0 {
		e.turn, e.step = "", 0
	}
}

// stampLocked says when and where the event happens, and who observes it.
func (e *emitter) stampLocked(ev *hook.Event, as posting, own bool) (observer func(hook.Event)) {
	e.readLocked(ev)
	observer = e.observer
	if e.conv == nil {
		return observer
	}
	ev.Conversation, ev.Epoch = e.conv.ID(), e.epoch
	if ev.Internal() {
		if own {
			e.placeLocked(ev, as)
		}
		return nil
	}
	e.seq++
	ev.Seq = e.seq
	if own {
		e.placeLocked(ev, as)
		if as&last != 0 {
			e.observer = nil
		}
	}
	if e.logs && kept(ev.Kind) {
		e.pending = append(e.pending, *ev)
		e.pendingBytes += eventSize(ev)
	}
	if as&aside != 0 && ev.Turn == "" {
		return nil // it is not of the observer's turn
	}
	return observer
}

// readLocked gives the event its time, which is never before that of another event.
func (e *emitter) readLocked(ev *hook.Event) {
	if ev.Time.IsZero() {
		ev.Time = e.rt.o.Now()
	}
	if ev.Time.After(e.clock) {
		e.clock = ev.Time
	}
	ev.Time = e.clock
}

// begin and end bracket a turn.
func (e *emitter) begin(t *turn, observer func(hook.Event)) {
	e.turns.Store(t.hooks)
	e.mu.Lock()
	e.turn, e.depth, e.observer = t.id, t.depth, observer
	e.mu.Unlock()
}

// last is the sequence of the newest event.
func (e *emitter) last() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seq
}

func (e *emitter) atStep(n int) {
	e.mu.Lock()
	e.step = n
	e.mu.Unlock()
}

// end returns when everything that was emitted within the turn is delivered.
func (e *emitter) end(t *turn) {
	gen, ok := e.hold(context.Background(), t) // who leaves the loop behind wakes it
	if !ok {
		return
	}
	e.drain(e.queued(), gen)
	if e.gen.Load() == gen {
		e.leaveTurn()
		e.drain(whole, gen)
	}
}

// leaveTurn says that what is emitted from now on is outside of any turn. The caller
// has the delivery.
func (e *emitter) leaveTurn() {
	e.mu.Lock()
	e.turn, e.step, e.observer = "", 0, nil
	e.unobserveLocked()
	e.mu.Unlock()
	e.turns.Store(nil)
}

// emit tells observers, who may have something to finish although the turn was
// cancelled.
func (t *turn) emit(ev hook.Event) {
	t.event = ev
	t.post(&t.event, 0)
}

// post is emit for an event that stays as it is until the next one is posted.
func (t *turn) post(ev *hook.Event, as posting) { t.postWith(t.durable, ev, as) }

func (t *turn) postWith(ctx context.Context, ev *hook.Event, as posting) {
	as |= own
	if t.holding { // nobody makes room before this goroutine has come to an end
		as |= inside
	}
	e := &t.conv.events
	e.prepare(ev, as) // who leaves the loop behind reads it
	t.posted, t.postedAs = ev, as
	t.away(point.OnEvent)
	e.stream().take(ctx, e, ev, as)
	t.returned()
	t.posted = nil
}

// postLeft posts the event with which the loop of t was left behind, unless it has its
// number: then it is told, or queued.
func (n *turn) postLeft(t *turn) {
	e := n.conv.events.stream()
	e.mu.Lock()
	ev := t.posted
	lost := ev != nil && ev.Conversation == ""
	e.mu.Unlock()
	if !lost {
		return
	}
	if n.parent != nil {
		n.conv.events.begin(t, nil) // the loop may have said that its turn is over
	}
	n.event = *ev
	n.post(&n.event, t.postedAs)
	if ev == &t.end {
		n.end = n.event
	}
}
