package main

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// BenchmarkLongConversation runs 10,000 turns of one conversation through the daemon's
// socket: a scripted model, all subsystems, the store on disk. It reports the time of a
// turn after 100, 1,000 and 10,000 turns, the median of some before, and the ratio to the
// first of these.
func BenchmarkLongConversation(b *testing.B) {
	for b.Loop() {
		conv := newLongConversation(b)
		first := 0.0
		for _, turns := range []int{100, 1_000, 10_000} {
			conv.reach(turns * 4 / 5)
			ms := conv.median(turns).Seconds() * 1000
			if first == 0 {
				first = ms
			}
			b.ReportMetric(ms, fmt.Sprintf("ms/turn@%d", turns))
			b.ReportMetric(ms/first, fmt.Sprintf("ratio@%d", turns))
		}
		conv.site.end()
	}
}

// TestATurnCostsTheSameHoweverLongTheConversation counts what a turn through the socket
// allocates, daemon and client together: reading, copying or encoding the history shows
// there. Not parallel: it counts the allocations of the whole process.
func TestATurnCostsTheSameHoweverLongTheConversation(t *testing.T) {
	needs.Time(t)
	conv := newLongConversation(t)
	conv.reach(100)
	count, bytes := conv.cost()
	conv.reach(2_000)
	laterCount, laterBytes := conv.cost()
	t.Logf("a turn allocates %.0f times, %.0f bytes at turn 100; %.0f times, %.0f bytes at turn 2,000", count, bytes, laterCount, laterBytes)
	if allocs.Counted {
		assert.Less(t, laterCount, 1.2*count)
		assert.Less(t, laterBytes, 1.2*bytes)
	}
}

// longConversation is one conversation of a daemon.
type longConversation struct {
	site  *site
	id    string
	turns int
}

func newLongConversation(t testing.TB) *longConversation {
	t.Helper()
	s := newSite(t)
	s.start()
	conv, err := s.client.Conversation(t.Context(), "", "long")
	require.NoError(t, err)
	return &longConversation{site: s, id: conv.ID}
}

// reach runs turns until there have been so many.
func (c *longConversation) reach(turns int) {
	t := c.site.t
	t.Helper()
	for ; c.turns < turns; c.turns++ {
		turn, err := c.site.client.Send(t.Context(), c.id, "Say something.")
		require.NoError(t, err)
		var last hook.Event
		for item, err := range c.site.client.Follow(t.Context(), turn) {
			require.NoError(t, err)
			last = item.Event
		}
		require.Equal(t, event.TurnEnd, last.Kind)
	}
}

// median runs turns until there have been so many and returns the median of their times.
func (c *longConversation) median(turns int) time.Duration {
	var took []time.Duration
	for c.turns < turns {
		began := time.Now()
		c.reach(c.turns + 1)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// cost runs some turns and returns the allocations and the bytes of one.
func (c *longConversation) cost() (count, bytes float64) {
	const turns = 50
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	c.reach(c.turns + turns)
	goruntime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / turns, float64(after.TotalAlloc-before.TotalAlloc) / turns
}
