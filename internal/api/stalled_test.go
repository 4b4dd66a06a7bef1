package api_test

import (
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// TestStalledReadersShareABigAnswer: readers that take nothing cost next to nothing
// beyond their connections, however much a model says: who follows the turn, and who
// comes when it is over.
func TestStalledReadersShareABigAnswer(t *testing.T) {
	needs.Proof(t)
	const readers, answer = 1000, 7 << 20
	w := newWorld(t, &worldOptions{api: api.Options{Stall: time.Minute}})
	conv := w.conversation("ann")
	for range readers {
		open(t, w.socket(), "/v1/conversations/"+conv.ID+"/events")
	}
	before := memory()
	c, err := dialog.Conversation(t.Context(), w.rt, "helper", "ann")
	require.NoError(t, err)
	out, err := dialog.Send(t.Context(), c, message.TextInput(strings.Repeat("a long story ", answer/13+1)), nil)
	require.NoError(t, err)
	require.Greater(t, len(out.Text()), answer)
	live := memory() - before
	for range readers {
		open(t, w.socket(), "/v1/conversations/"+conv.ID+"/events", "Last-Event-ID: 1-1\r\n")
	}
	late := memory() - before - live
	t.Logf("%d MiB with %d readers, %d MiB with those that came late", live>>20, readers, late>>20)
	if allocs.Counted {
		assert.Less(t, live, int64(6*answer), "the input, the answer and the ring, once for all")
		assert.Less(t, late, int64(readers*192<<10), "what a connection takes")
	}
	w.end() // before the connections are closed, so that nobody reads
}

// memory is what is live after a collection, stacks included.
func memory() int64 {
	time.Sleep(200 * time.Millisecond) // until everybody stalls: nothing says so
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestEndsCutTheAnswer: turn_start and turn_end carry the beginning and the end of a
// long text, and what is left out; deltas and messages have all of it.
func TestEndsCutTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	text := strings.Repeat("0123456789", 30_000)
	events := w.turn(conv.ID, text)
	want := "you said: " + text
	var said strings.Builder
	for _, ev := range only(events, event.TextDelta) {
		assert.LessOrEqual(t, len(ev.Text), 64<<10)
		said.WriteString(ev.Text)
	}
	assert.True(t, want == said.String(), "the deltas are the whole answer")
	end := last(t, events)
	assert.Equal(t, event.TurnEnd, end.Kind)
	assert.Less(t, len(end.Text), 101_000)
	assert.Equal(t, len(want)-100_000, end.Omitted)
	assert.True(t, strings.HasPrefix(end.Text, want[:50_000]+"\n[… 200010 bytes left out …]\n"))
	assert.Equal(t, len(text)-100_000, only(events, event.TurnStart)[0].Omitted)
	messages, err := client.New(w.socket(), nil).Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.True(t, want == messages[len(messages)-1].Text())
}
