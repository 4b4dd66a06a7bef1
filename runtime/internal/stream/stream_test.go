package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPosition(t *testing.T) {
	t.Parallel()
	for _, p := range []stream.Position{{}, {Epoch: 3, Seq: 12}, {Epoch: 1 << 62, Seq: 1<<64 - 1}} {
		back, err := stream.ParsePosition(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, back)
	}
	for _, s := range []string{"", "1", "1-", "-1", "1--1", "1-1.5", "01-1", "1-01", "1-99999999999999999999", "x-1", "1-x", " 1-1", strings.Repeat("1", 64) + "-1"} {
		_, err := stream.ParsePosition(s)
		assert.Error(t, err, s)
	}
}

// teller tells the events of one conversation as a runtime does, and keeps some of
// them.
type teller struct {
	hub *stream.Hub
	// log has what is written, pending what is not yet.
	log, pending []store.Event
	epoch        int64
	seq          uint64
	// broken: nothing can be written.
	broken error
}

func (w *teller) Events(_ context.Context, _ string, after uint64, limit int) ([]store.Event, error) {
	i, _ := slices.BinarySearchFunc(w.log, after+1, func(e store.Event, seq uint64) int { return int(e.Seq) - int(seq) })
	return w.log[i:min(len(w.log), i+limit)], nil
}

func (w *teller) Epoch() int64 { return w.epoch }

func (w *teller) Flush(_ context.Context, seq uint64) error {
	if len(w.pending) > 0 && w.pending[0].Seq <= seq {
		w.write()
	}
	return w.broken
}

func (w *teller) write() {
	if w.broken == nil {
		w.log, w.pending = append(w.log, w.pending...), nil
	}
}

// open makes the hub of a process.
func (w *teller) open(recent int, kept bool) {
	o := stream.Options{Recent: recent, Source: func(string) stream.Source { return w }}
	if kept {
		o.Log = w
	}
	w.hub = stream.NewHub(o)
}

func (w *teller) tell(kind hook.EventKind) {
	w.seq++
	ev := hook.Event{Kind: kind, Seq: w.seq, Epoch: w.epoch, Conversation: "c", Text: fmt.Sprint(w.epoch, " ", w.seq)}
	if kind != event.TextDelta {
		w.pending = append(w.pending, store.Event{Seq: ev.Seq, Data: message.JSON(stream.Encode(ev))})
	}
	w.hub.Put(&ev)
}

// die ends the process: what is not written is gone, and the next one goes on
// behind what is.
func (w *teller) die() {
	w.pending, w.epoch, w.seq = nil, w.epoch+1, 0
	if n := len(w.log); n > 0 {
		w.seq = w.log[n-1].Seq
	}
}

// client reads and accounts for everything.
type client struct {
	t interface {
		require.TestingT
		Helper()
	}
	w  *teller
	r  *stream.Reader
	at stream.Position
	// have are the texts of what was kept, or may be.
	have []string
	seqs []uint64
	// missed counts what is said to be lost, deltas aside.
	missed uint64
}

func (c *client) connect() {
	if c.r != nil {
		c.r.Close()
	}
	c.r = c.w.hub.Subscribe(&stream.SubscribeOptions{Conversation: "c", After: &c.at, Buffer: 1})
}

// read takes a page and reports whether there was one.
func (c *client) read() bool {
	p, err := c.r.Read(context.Background())
	require.NoError(c.t, err)
	require.Equal(c.t, p.More == nil, len(p.Items) > 0)
	for _, item := range p.Items {
		c.take(item)
	}
	return p.More == nil
}

func (c *client) take(item stream.Item) {
	switch {
	case item.Restarted && !item.Kept:
		c.have, c.seqs, c.missed = nil, nil, 0
	case item.Restarted:
		require.LessOrEqual(c.t, item.At.Seq, c.at.Seq)
		n, _ := slices.BinarySearch(c.seqs, item.At.Seq+1)
		c.have, c.seqs = c.have[:n], c.seqs[:n]
	case item.Missed > 0:
		require.Equal(c.t, c.at.Seq+item.Missed, item.At.Seq, "what is missed ends where the reader is")
		if !item.Kept {
			c.missed += item.Missed
		}
	default:
		ev := item.Event()
		require.Equal(c.t, c.at.Seq+1, ev.Seq, "in order, each once")
		require.Equal(c.t, item.At, stream.Position{Epoch: ev.Epoch, Seq: ev.Seq})
		var written hook.Event
		require.NoError(c.t, json.Unmarshal(item.JSON(), &written))
		require.Equal(c.t, ev.Text, written.Text)
		if ev.Kind != event.TextDelta {
			c.have, c.seqs = append(c.have, ev.Text), append(c.seqs, ev.Seq)
		}
	}
	c.at = item.At
}

// TestADurableReaderHasEveryKeptEventOnce: whatever a process tells, keeps and
// loses when it dies, and however slow a reader is and however often it comes back,
// in the end it has what was kept, each event once and in order, and no more.
func TestADurableReaderHasEveryKeptEventOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		recent := rapid.IntRange(0, 8).Draw(t, "recent")
		w := &teller{epoch: 1}
		w.open(recent, true)
		c := &client{t: t, w: w}
		c.connect()
		ops := rapid.SliceOfN(rapid.SampledFrom([]string{"tell", "tell", "delta", "delta", "write", "read", "read", "connect", "die"}), 0, 150).Draw(t, "operations")
		for _, op := range ops {
			switch op {
			case "tell":
				w.tell(event.Diagnostic)
			case "delta":
				w.tell(event.TextDelta)
			case "write":
				w.write()
			case "read":
				c.read()
			case "connect":
				c.connect()
			case "die":
				c.r.Close()
				c.r = nil
				w.die()
				w.open(recent, true)
				c.connect()
			}
		}
		w.write()
		for c.read() {
		}
		kept := []string{}
		for _, e := range w.log {
			var ev hook.Event
			require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
			kept = append(kept, ev.Text)
		}
		require.Equal(t, kept, append([]string{}, c.have...))
		require.Zero(t, c.missed)
	})
}

// TestAReaderAccounts: where nothing is kept a reader has or has missed every event
// of the process that is there, whatever came before.
func TestAReaderAccounts(t *testing.T) {
	t.Parallel()
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		recent := rapid.IntRange(1, 8).Draw(t, "recent")
		w := &teller{epoch: 1}
		w.open(recent, false)
		c := &client{t: t, w: w}
		c.connect()
		told := false // by this process
		for _, op := range rapid.SliceOfN(rapid.SampledFrom([]string{"tell", "tell", "tell", "lose", "read", "connect", "die"}), 0, 150).Draw(t, "operations") {
			switch op {
			case "tell":
				w.tell(event.Diagnostic)
				told = true
			case "lose": // a hook that hangs was told of it, and nobody else
				if told {
					w.seq++
					w.tell(event.Diagnostic)
				}
			case "read":
				c.read()
			case "connect":
				c.connect()
			case "die":
				w.die()
				w.open(recent, false)
				c.connect()
				told = false
			}
		}
		for c.read() {
		}
		if w.seq > 0 {
			require.Equal(t, w.seq, uint64(len(c.have))+c.missed)
		}
	})
}

// TestWhatCouldNotBeKept: a reader is not told that nothing is lost where events
// were dropped.
func TestWhatCouldNotBeKept(t *testing.T) {
	t.Parallel()
	w := &teller{epoch: 1, broken: stream.ErrNotKept}
	w.open(2, true)
	c := &client{t: t, w: w}
	c.connect()
	for range 5 {
		w.tell(event.Diagnostic)
	}
	for c.read() {
	}
	assert.Equal(t, []string{"1 4", "1 5"}, c.have)
	assert.Equal(t, uint64(3), c.missed)
}

// TestAStoreThatFailsLosesNothing: a reader that needs the store while it fails gets the error and keeps its position. What waits
// is stored later, so it is not told that the events are lost.
func TestAStoreThatFailsLosesNothing(t *testing.T) {
	t.Parallel()
	noSpace := errors.New("no space")
	w := &teller{epoch: 1, broken: noSpace}
	w.open(2, true)
	c := &client{t: t, w: w}
	c.connect()
	for range 5 {
		w.tell(event.CallStart)
	}
	before := c.r.Position()
	_, err := c.r.Read(t.Context())
	require.ErrorIs(t, err, noSpace)
	assert.Equal(t, before, c.r.Position())
	w.broken = nil
	for c.read() {
	}
	assert.Equal(t, []string{"1 1", "1 2", "1 3", "1 4", "1 5"}, c.have)
	assert.Zero(t, c.missed)
}

// TestAnotherProcessHasContinued: what a stale owner could not write is not lost: it never happened.
func TestAnotherProcessHasContinued(t *testing.T) {
	t.Parallel()
	w := &teller{epoch: 1, broken: store.ErrFenced}
	w.open(2, true)
	r := w.hub.Subscribe(&stream.SubscribeOptions{Conversation: "c"})
	defer r.Close()
	for range 5 {
		w.tell(event.Diagnostic)
	}
	page, err := r.Read(t.Context())
	require.NoError(t, err)
	assert.True(t, page.Items[0].Kept)
}

// TestNobodyPaysForNobody: without readers nothing is held, and an event costs no
// allocation.
func TestNobodyPaysForNobody(t *testing.T) {
	w := &teller{epoch: 1}
	w.open(0, true)
	ev := hook.Event{Kind: event.TextDelta, Seq: 1, Epoch: 1, Conversation: "c"}
	assert.Zero(t, allocs.PerRun(100, func() { w.hub.Put(&ev) }))
	r := w.hub.Subscribe(nil)
	w.hub.Put(&ev)
	p, err := r.Read(t.Context())
	require.NoError(t, err)
	assert.Len(t, p.Items, 1)
	r.Close()
	r.Close()
	assert.Zero(t, allocs.PerRun(100, func() { w.hub.Put(&ev) }))
}

// TestReadersShareOneEncoding: an event is encoded when the first asks for it, and
// never again.
func TestReadersShareOneEncoding(t *testing.T) {
	t.Parallel()
	w := &teller{epoch: 1}
	w.open(10, false)
	first := w.hub.Subscribe(&stream.SubscribeOptions{Conversation: "c"})
	all := w.hub.Subscribe(nil)
	defer first.Close()
	defer all.Close()
	w.tell(event.Diagnostic)
	one, err := first.Read(t.Context())
	require.NoError(t, err)
	two, err := all.Read(t.Context())
	require.NoError(t, err)
	assert.Same(t, &one.Items[0].JSON()[0], &two.Items[0].JSON()[0])
	assert.Equal(t, stream.Position{Epoch: 1, Seq: 1}, two.Items[0].At)
}

// TestReadersAreWoken: everybody who waits is woken, by an event and by the end.
func TestReadersAreWoken(t *testing.T) {
	t.Parallel()
	w := &teller{epoch: 1}
	w.open(0, false)
	var wg sync.WaitGroup
	readers := make([]*stream.Reader, 100)
	for i := range readers {
		readers[i] = w.hub.Subscribe(&stream.SubscribeOptions{Conversation: "c"})
	}
	for _, r := range readers {
		wg.Go(func() {
			defer r.Close()
			n := 0
			for item, err := range r.Events(t.Context()) {
				if err != nil {
					assert.ErrorIs(t, err, stream.ErrClosed)
					break
				}
				assert.Equal(t, event.Diagnostic, item.Event().Kind)
				n++
			}
			assert.Equal(t, 2, n)
		})
	}
	w.tell(event.Diagnostic)
	w.tell(event.Diagnostic)
	w.hub.Close()
	wg.Wait()
}

// TestEventsGoOnWhereTheConsumerStopped: leaving the loop leaves the rest of the
// page.
func TestEventsGoOnWhereTheConsumerStopped(t *testing.T) {
	t.Parallel()
	w := &teller{epoch: 1}
	w.open(10, true)
	r := w.hub.Subscribe(&stream.SubscribeOptions{Conversation: "c"})
	defer r.Close()
	for range 5 {
		w.tell(event.Diagnostic)
	}
	for seq := range uint64(5) {
		for item, err := range r.Events(t.Context()) {
			require.NoError(t, err)
			assert.Equal(t, seq+1, item.Event().Seq)
			break
		}
	}
	assert.Equal(t, stream.Position{Epoch: 1, Seq: 5}, r.Position())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range r.Events(ctx) {
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// TestWhatIsHeldIsBounded: in events, in bytes, and in conversations; what it
// points to is not held.
func TestWhatIsHeldIsBounded(t *testing.T) {
	t.Parallel()
	h := stream.NewHub(stream.Options{Recent: 4096})
	put := func(conversation string, seq uint64, text string) {
		h.Put(&hook.Event{Kind: event.Diagnostic, Seq: seq, Epoch: 1, Conversation: conversation, Text: text})
	}
	kept := func(conversation string) (n int) {
		r := h.Subscribe(&stream.SubscribeOptions{Conversation: conversation, After: &stream.Position{Epoch: 1}})
		defer r.Close()
		for {
			p, err := r.Read(t.Context())
			require.NoError(t, err)
			if p.More != nil {
				return n
			}
			for _, item := range p.Items {
				if item.Missed == 0 {
					n++
				}
			}
		}
	}
	big := strings.Repeat("x", 1<<20)
	for seq := range uint64(10) {
		put("big", seq+1, big)
	}
	assert.Equal(t, 1, kept("big"), "twice a megabyte, and four are held")
	put("big", 11, big+big+big)
	assert.Equal(t, 1, kept("big"), "one event is always held")
	for i := range 64 {
		put(fmt.Sprint(i), 1, "")
	}
	assert.Zero(t, kept("big"), "others have been active since")
	assert.Equal(t, 1, kept("0"))
	assert.Equal(t, 1, kept("63"))

	call := hook.NewToolCall(hook.ToolCallData{ID: "k", Tool: message.Tool{Name: "x"}, Args: `{}`})
	r := h.Subscribe(&stream.SubscribeOptions{Conversation: "c"})
	defer r.Close()
	ev := hook.Event{Kind: event.CallStart, Seq: 1, Epoch: 1, Conversation: "c"}.WithCall(call)
	h.Put(&ev)
	p, err := r.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "k", p.Items[0].Event().Detail().CallID)
	assert.Equal(t, message.JSON(`{}`), p.Items[0].Event().Detail().Args)
}

// BenchmarkPut is what a turn pays for an event, by the number of readers.
func BenchmarkPut(b *testing.B) {
	for _, readers := range []int{0, 1, 100} {
		b.Run(fmt.Sprintf("%d readers", readers), func(b *testing.B) {
			h := stream.NewHub(stream.Options{})
			for range readers {
				defer h.Subscribe(&stream.SubscribeOptions{Conversation: "c"}).Close()
			}
			b.ReportAllocs()
			ev := hook.Event{Kind: event.TextDelta, Conversation: "c", Epoch: 1, Turn: "t", Agent: "a", Text: "some text "}
			for b.Loop() {
				ev.Seq++
				h.Put(&ev)
			}
		})
	}
}
