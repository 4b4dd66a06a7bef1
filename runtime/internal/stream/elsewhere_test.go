package stream_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// two are two processes over one store. Only one at a time has the conversation.
type two struct {
	teller
	a, b *stream.Hub
}

func newTwo() *two {
	w := &two{teller: teller{epoch: 1}}
	w.open(64, true)
	w.a = w.hub
	w.open(64, true)
	w.b = w.hub
	return w
}

// turn emits events in the process of the hub under a new epoch, and stores those that are kept.
func (w *two) turn(hub *stream.Hub, n int) {
	w.hub = hub
	w.epoch++
	for range n {
		w.tell(event.TextDelta)
		w.tell(event.StepEnd)
	}
	w.write()
}

// readNow returns the texts of the events that there are now, and the notes as text.
func readNow(t *testing.T, r *stream.Reader) (out []string) {
	t.Helper()
	for {
		p, err := r.Read(t.Context())
		require.NoError(t, err)
		if p.More != nil {
			return out
		}
		for _, item := range p.Items {
			switch {
			case item.Restarted:
				out = append(out, "restarted")
			case item.Missed > 0:
				require.True(t, item.Kept)
			default:
				out = append(out, item.Event().Text)
			}
		}
	}
}

// TestReadsOfAnotherProcess: a reader gets what another process has stored once Wake says so, in order and once,
// whoever has the conversation in between.
func TestReadsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newTwo()
	r := w.b.Subscribe(&stream.SubscribeOptions{Conversation: "c", After: &stream.Position{}})
	defer r.Close()
	w.turn(w.b, 1)
	assert.Equal(t, []string{"2 1", "2 2"}, readNow(t, r))
	w.turn(w.a, 2)
	assert.Empty(t, readNow(t, r), "nobody has said that there is more")
	p, err := r.Read(t.Context())
	require.NoError(t, err)
	w.b.Wake("c", 3)
	select {
	case <-p.More:
	default:
		assert.Fail(t, "Wake wakes the readers")
	}
	assert.Equal(t, []string{"3 4", "3 6"}, readNow(t, r))
	w.turn(w.a, 1)
	w.b.Wake("c", 4)
	assert.Equal(t, []string{"4 8"}, readNow(t, r))
	w.turn(w.b, 1)
	w.b.Wake("c", 5) // of its own: nothing is dropped
	assert.Equal(t, []string{"5 9", "5 10"}, readNow(t, r))
}

// TestResumesBehindAnotherProcess: a position of a newer epoch than that of the ring is none that was lost, and a
// reader that begins there misses nothing of the next process.
func TestResumesBehindAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newTwo()
	keep := w.b.Subscribe(&stream.SubscribeOptions{Conversation: "c", After: &stream.Position{}})
	defer keep.Close()
	w.turn(w.b, 2) // 2 1 … 2 4
	w.turn(w.a, 2) // 3 5 … 3 8
	r := w.b.Subscribe(&stream.SubscribeOptions{Conversation: "c", After: &stream.Position{Epoch: 3, Seq: 6}})
	defer r.Close()
	assert.Equal(t, []string{"3 8"}, readNow(t, r))
	w.turn(w.b, 1)
	assert.Equal(t, []string{"4 9", "4 10"}, readNow(t, r))
	at, ok := w.b.End("c")
	assert.True(t, ok)
	assert.Equal(t, stream.Position{Epoch: 4, Seq: 10}, at)
}

// TestWhatAProcessHasToldAndLost: a process emits events that it does not store, and another one goes on from what is stored. A reader
// of the first one is told so, and gets what the other has stored under the same numbers.
func TestWhatAProcessHasToldAndLost(t *testing.T) {
	t.Parallel()
	w := newTwo()
	r := w.a.Subscribe(&stream.SubscribeOptions{Conversation: "c", After: &stream.Position{}})
	defer r.Close()
	w.turn(w.a, 1)
	w.hub = w.a
	w.tell(event.StepEnd) // 2 3 is not stored
	assert.Equal(t, []string{"2 1", "2 2", "2 3"}, readNow(t, r))
	mine := w.hub
	w.die()
	w.hub = w.b
	w.tell(event.StepEnd)
	w.tell(event.StepEnd)
	w.write()
	w.hub, w.broken = mine, errors.New("fenced") // what a still has to store
	mine.Wake("c", w.epoch)
	w.epoch-- // as a has it
	assert.Equal(t, []string{"restarted", "3 3", "3 4"}, readNow(t, r))
}
