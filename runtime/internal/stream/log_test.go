package stream_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// place is a conversation without a runtime: it owns a log, hears its events and stores
// them.
type place struct {
	hook.Nop
	log   *stream.Log
	hooks *composite.Composite
	// heard is called with each event.
	heard func(context.Context, hook.Event)

	mu     sync.Mutex
	events []hook.Event
	stored []uint64
	fails  error
	// failed counts WriteFailed.
	failed int
}

var _ stream.Owner = (*place)(nil)

// newPlace returns a conversation with the id whose events are kept. The parent may be nil.
func newPlace(t *testing.T, id string, parent *place) *place {
	t.Helper()
	p := &place{heard: func(context.Context, hook.Event) {}}
	var err error
	p.hooks, err = composite.From(p)
	require.NoError(t, err)
	o := stream.LogOptions{Conversation: id, Agent: "a", Keep: parent == nil, Owner: p, Hub: stream.NewHub(stream.Options{})}
	if parent != nil {
		o.Parent = parent.log
	}
	p.log = stream.NewLog(o)
	return p
}

func (p *place) OnEvent(ctx context.Context, ev hook.Event) {
	p.mu.Lock()
	p.events = append(p.events, ev)
	p.mu.Unlock()
	p.heard(ctx, ev)
}

func (p *place) Listeners() (*composite.Composite, func()) { return p.hooks, func() {} }
func (p *place) EventHost() hook.Host                      { return inside{p: p} }
func (p *place) Now() time.Time                            { return time.Now() }

func (p *place) WriteFailed(error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed++
}

func (p *place) WriteEvents(_ context.Context, _ int64, events []store.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails == nil {
		p.store(events)
	}
	return p.fails
}

func (p *place) store(events []store.Event) {
	for _, ev := range events {
		p.stored = append(p.stored, ev.Seq)
	}
}

// texts are those of the events that the hook has heard.
func (p *place) texts() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ev := range p.events {
		out = append(out, ev.Text)
	}
	return out
}

func (p *place) say(text string) { p.emit(text, stream.How{}) }

func (p *place) emit(text string, how stream.How) {
	p.log.Emit(context.Background(), &hook.Event{Kind: event.Diagnostic, Text: text}, how)
}

// inside is the host of an event.
type inside struct {
	hook.NoHost
	p *place
}

func (h inside) Emit(ctx context.Context, ev hook.Event) {
	h.p.log.Emit(ctx, &ev, stream.How{Inside: true})
}

// loop is the loop of a turn.
type loop struct{ left atomic.Bool }

func (l *loop) Abandoned() bool { return l.left.Load() }

func TestEventsAreNumberedInTheOrderInWhichTheyAreTold(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.log.Follow(7, 3)
	p.log.Begin(stream.Place{Turn: "t"}, nil, nil)
	p.log.SetStep(2)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { p.say(fmt.Sprint(i)) })
	}
	all.Wait()
	p.say("last")
	require.Len(t, p.events, 51)
	for i, ev := range p.events {
		assert.EqualValues(t, 8+i, ev.Seq)
		assert.Equal(t, []any{"c", "a", "t", 2, int64(3)}, []any{ev.Conversation, ev.Agent, ev.Turn, ev.Step, ev.Epoch})
	}
	assert.EqualValues(t, 58, p.log.Last())
}

func TestWhatAListenerEmitsComesAfterTheEvent(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.heard = func(ctx context.Context, ev hook.Event) {
		if ev.Text == "one" {
			ev.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "because of one"})
			assert.Equal(t, []string{"one"}, p.texts())
		}
	}
	p.say("one")
	p.say("two")
	assert.Equal(t, []string{"one", "because of one", "two"}, p.texts())
}

func TestNothingIsToldWhileTheDeliveryIsHeld(t *testing.T) {
	p := newPlace(t, "c", nil)
	d, ok := p.log.Hold(t.Context(), nil)
	require.True(t, ok)
	p.say("held")
	assert.Empty(t, p.texts())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ok = p.log.Hold(ctx, nil)
	assert.False(t, ok, "a second holder waits with its context")
	d.Release()
	assert.Equal(t, []string{"held"}, p.texts())
}

func TestAnnouncedEventsAreWrittenBeforeTheyAreTold(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.say("before")
	require.NoError(t, p.log.Announce(t.Context(), hook.Event{Kind: event.Compacted, Text: "done"}, "not done", func(events []store.Event) error {
		p.store(events)
		assert.Equal(t, []string{"before"}, p.texts())
		return nil
	}))
	assert.Equal(t, []uint64{1, 2}, p.stored)
	boom := errors.New("boom")
	err := p.log.Announce(t.Context(), hook.Event{Kind: event.Compacted, Text: "done"}, "not done", func([]store.Event) error { return boom })
	assert.ErrorIs(t, err, boom)
	assert.Equal(t, []string{"before", "done", "not done"}, p.texts())
	assert.Equal(t, event.Diagnostic, p.events[2].Kind)
}

func TestEventsWaitForTheNextWrite(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.say("one")
	p.log.Emit(t.Context(), &hook.Event{Kind: event.TextDelta, Text: "not kept"}, stream.How{})
	assert.Error(t, p.log.Write(func([]store.Event) error { return errors.New("full") }))
	p.say("two")
	require.NoError(t, p.log.Flush(t.Context(), 3))
	assert.Equal(t, []uint64{1, 3}, p.stored)
	require.NoError(t, p.log.Flush(t.Context(), 3))
	assert.Len(t, p.stored, 2, "they are written once")
}

func TestAStoreThatDoesNotWorkStopsTheTurnAndCostsNothing(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.fails = errors.New("gone")
	for range 4 * stream.MaxPending {
		p.say("x")
	}
	assert.NotZero(t, p.failed, "the turn is stopped at the first failure")
	assert.Less(t, p.failed, 20, "and a broken store is not asked for every event")
	assert.Error(t, p.log.Flush(t.Context(), p.log.Last()))
	p.fails = nil
	require.NoError(t, p.log.Flush(t.Context(), p.log.Last()))
	assert.Len(t, p.stored, 4*stream.MaxPending, "nothing is lost")
}

func TestAStoreThatDoesNotWorkForLongCostsOldEventsAndReadersAreTold(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.fails = errors.New("gone")
	for range 20 * stream.MaxPending {
		p.say("x")
	}
	p.fails = nil
	assert.ErrorContains(t, p.log.Flush(t.Context(), p.log.Last()), "not all events could be kept")
	assert.NotEmpty(t, p.stored)
	assert.Equal(t, p.log.Last(), slices.Max(p.stored))
}

func TestAnotherEpochGivesUpWhatWasNotWritten(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.say("ours")
	p.log.Follow(9, 2)
	p.say("next")
	require.NoError(t, p.log.Flush(t.Context(), 10))
	assert.Equal(t, []uint64{10}, p.stored)
}

func TestAFullQueueHoldsEmittersUntilThereIsRoomOrTheirContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, "c", nil)
		release := make(chan struct{})
		p.heard = func(_ context.Context, ev hook.Event) {
			if ev.Text == "slow" {
				<-release
			}
		}
		go p.say("slow")
		synctest.Wait()
		for range 1024 {
			p.say("queued")
		}
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp, waited := make(chan struct{}), make(chan struct{})
		go func() {
			p.log.Emit(ctx, &hook.Event{Kind: event.Diagnostic, Text: "gave up"}, stream.How{})
			close(gaveUp)
		}()
		go func() {
			p.say("waited")
			close(waited)
		}()
		synctest.Wait()
		p.emit("inside", stream.How{Inside: true}) // waits for nothing
		cancel()
		<-gaveUp
		select {
		case <-waited:
			t.Error("there is no room yet")
		default:
		}
		close(release)
		<-waited
		synctest.Wait()
		assert.Len(t, p.texts(), 1+1024+3)
	})
}

func TestAnAbandonedLoopLosesTheDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, "c", nil)
		release := make(chan struct{})
		p.heard = func(_ context.Context, ev hook.Event) {
			if ev.Text == "hangs" {
				<-release
			}
		}
		var observed []string
		l := new(loop)
		p.log.Begin(stream.Place{Turn: "t"}, nil, func(ev hook.Event) { observed = append(observed, ev.Text) })
		go p.emit("hangs", stream.How{Loop: l, Own: true})
		synctest.Wait()
		p.say("queued")
		l.left.Store(true)
		d := p.log.Seize(l, time.Second)
		p.emit("from the grave", stream.How{Loop: l, Own: true})
		d.DeliverAll()
		assert.Equal(t, []string{"hangs", "queued"}, p.texts())
		close(release)
		synctest.Wait()
		d.Release()
		p.say("next")
		assert.Equal(t, []string{"hangs", "queued", "next"}, p.texts())
		assert.Equal(t, []string{"queued", "next"}, observed, "who comes back tells nobody")
	})
}

func TestAChildTakesTheDeliveryFromItsOwnLoopOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := newPlace(t, "c", nil)
		child := newPlace(t, "d", parent)
		release := make(chan struct{})
		parent.heard = func(_ context.Context, ev hook.Event) { <-release }
		mine, other := new(loop), new(loop)
		go parent.emit("of the parent", stream.How{Loop: other, Own: true})
		synctest.Wait()
		_, ok := child.log.ClaimFor(mine).Withdraw()
		assert.False(t, ok)
		c := child.log.ClaimFor(other)
		d, ok := c.Withdraw()
		assert.True(t, ok)
		close(release)
		synctest.Wait()
		d.Release()
	})
}

func TestAChildsEventsAreThoseOfItsParent(t *testing.T) {
	parent := newPlace(t, "c", nil)
	child := newPlace(t, "d", parent)
	parent.log.Begin(stream.Place{Turn: "t"}, nil, nil)
	child.log.Begin(stream.Place{Turn: "u", Depth: 1}, nil, nil)
	parent.say("one")
	child.say("two")
	require.Len(t, child.events, 1, "the child's hooks hear them")
	ev := child.events[0]
	assert.Equal(t, []any{"c", "u", 1, uint64(2)}, []any{ev.Conversation, ev.Turn, ev.Depth, ev.Seq})
}

func TestListenersThatPanicOrExit(t *testing.T) {
	p := newPlace(t, "c", nil)
	p.heard = func(_ context.Context, ev hook.Event) {
		if ev.Kind == event.HookFailed || ev.Text == "panics" {
			panic("boom")
		}
	}
	var observed []string
	p.log.Begin(stream.Place{Turn: "t"}, nil, func(ev hook.Event) {
		observed = append(observed, ev.Text)
		if ev.Text == "exits" {
			runtime.Goexit()
		}
		if ev.Text == "observer panics" {
			panic("boom")
		}
	})
	p.say("panics")
	require.Len(t, p.events, 2, "a panic about a panic is not told")
	assert.Equal(t, event.HookFailed, p.events[1].Kind)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.say("exits")
	}()
	<-gone
	p.say("observer panics")
	p.say("later")
	assert.Contains(t, observed, "observer panics")
	assert.NotContains(t, observed, "later")
	assert.Contains(t, p.texts(), "later")
}

func TestTheLastEventEndsTheTurn(t *testing.T) {
	p := newPlace(t, "c", nil)
	n := 0
	p.log.Begin(stream.Place{Turn: "t"}, nil, func(hook.Event) { n++ })
	p.emit("end", stream.How{Last: true})
	p.say("outside")
	assert.Equal(t, 1, n)
	assert.Equal(t, "t", p.events[0].Turn)
	assert.Empty(t, p.events[1].Turn)
}

func TestABackgroundRunIsOfItsTurnAsLongAsThatRuns(t *testing.T) {
	p := newPlace(t, "c", nil)
	say := func(turn string) {
		p.log.Emit(t.Context(), &hook.Event{Kind: event.Diagnostic, Turn: turn}, stream.How{Background: true})
	}
	n := 0
	p.log.Begin(stream.Place{Turn: "t"}, nil, func(hook.Event) { n++ })
	say("t")
	say("s")
	assert.Equal(t, 1, n, "the observer hears of its own turn")
	assert.Equal(t, []string{"t", ""}, []string{p.events[0].Turn, p.events[1].Turn})
}

func TestEndTellsEverythingBeforeTheTurnIsOver(t *testing.T) {
	p := newPlace(t, "c", nil)
	n := 0
	p.log.Begin(stream.Place{Turn: "t"}, nil, func(hook.Event) { n++ })
	d, ok := p.log.Hold(t.Context(), nil)
	require.True(t, ok)
	p.say("queued")
	done := make(chan struct{})
	go func() {
		p.log.End(t.Context(), new(loop))
		close(done)
	}()
	d.Release()
	<-done
	p.say("outside")
	assert.Equal(t, 1, n)
	assert.Equal(t, "t", p.events[0].Turn)
}
