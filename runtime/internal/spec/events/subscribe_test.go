package events_test

import (
	"context"
	"flag"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// figure is a line that internal/test/prove reads.
func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Logf("FIGURE %s=%v %s", name, value, unit)
}

var subscribedEvents = flag.Int("subscribed", 10_000, "events that TestASlowSubscriberSlowsNobody tells")

const (
	// deltasPerTurn are in each turn, besides a dozen events that are kept.
	deltasPerTurn = 500
	healthy       = 100
)

// streamed is a world whose turns have many deltas.
func streamed(t *testing.T, st store.Store, hooks ...hook.Hook) *rig.World {
	words := make([]string, deltasPerTurn)
	for i := range words {
		words[i] = "word "
	}
	replies := make([]message.ModelStream, 4**subscribedEvents/deltasPerTurn+100)
	reply := rig.Says(words...)
	for i := range replies {
		replies[i] = reply
	}
	return rig.StartWith(t, rig.Plays(replies...), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st}, hooks...)
}

// account is what a subscriber got of a conversation.
type account struct {
	events, kept, missed, lost uint64
	last                       uint64
}

func (a *account) take(t *testing.T, items []runtime.Item) {
	for _, item := range items {
		if item.Missed > 0 {
			a.missed += item.Missed
			if !item.Kept {
				a.lost += item.Missed
			}
		} else {
			a.events++
			if ev := item.Event(); ev.Kind != event.TextDelta {
				a.kept++
			}
		}
		assert.Greater(t, item.At.Seq, a.last)
		a.last = item.At.Seq
	}
}

// readAll reads until there is nothing.
func (a *account) readAll(t *testing.T, r *runtime.Reader) {
	for {
		p, err := r.Read(context.Background())
		require.NoError(t, err)
		a.take(t, p.Items)
		if p.More != nil {
			return
		}
	}
}

// TestASlowSubscriberSlowsNobody: besides a hundred subscribers that read along there
// is one that takes nothing. The turns take as long, what is held is bounded, and
// afterwards everybody knows exactly what it has missed; where events are kept
// nobody has missed any that is.
func TestASlowSubscriberSlowsNobody(t *testing.T) {
	needs.Proof(t)
	for name, kept := range map[string]bool{"kept": true, "volatile": false} {
		t.Run(name, func(t *testing.T) {
			st := mem.New(&mem.Options{Journal: kept})
			w := streamed(t, st)
			o := &runtime.SubscribeOptions{Conversation: w.Conv.ID()}
			var wg sync.WaitGroup
			accounts := make([]account, healthy)
			for i := range accounts {
				r := w.Runtime.Subscribe(o)
				wg.Go(func() {
					defer r.Close()
					for {
						p, err := r.Read(context.Background())
						if !assert.NoError(t, err) || p.Closed {
							return
						}
						accounts[i].take(t, p.Items)
						if p.More != nil {
							<-p.More
						}
					}
				})
			}
			told := uint64(0)
			run := func(events int) (took []time.Duration) {
				for end := told + uint64(events); told < end; {
					begun := time.Now()
					_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) { told = ev.Seq }})
					require.NoError(t, err)
					took = append(took, time.Since(begun))
				}
				return took
			}
			run(*subscribedEvents / 10)
			before := heap()
			stalled := w.Runtime.Subscribe(o)
			from := told
			run(*subscribedEvents)
			grown := int64(heap()) - int64(before)
			var slow account
			slow.last = from
			slow.readAll(t, stalled)
			stalled.Close()
			total := told - from
			assert.Less(t, grown, int64(32<<20), "what is held does not grow with what was told")
			assert.Equal(t, total, slow.events+slow.missed, "it knows exactly what it has missed")
			assert.Positive(t, slow.missed)
			// Turn by turn, so that what else the machine does is the same for both.
			var without, with []time.Duration
			for end := told + uint64(2**subscribedEvents); told < end; {
				without = append(without, run(1)...)
				stalled := w.Runtime.Subscribe(o)
				with = append(with, run(1)...)
				stalled.Close()
			}

			require.NoError(t, w.Runtime.Close(context.Background()))
			wg.Wait()
			for i := range accounts {
				assert.Equal(t, told, accounts[i].events+accounts[i].missed)
				if kept {
					assert.Zero(t, accounts[i].lost)
				}
			}
			if kept {
				assert.Zero(t, slow.lost, "nothing that is kept is lost")
				figure(t, "lost", slow.lost, "events that are kept and that it did not get")
				inLog := 0
				for _, ev := range rig.KeptEvents(t, st, w.Conv.ID()) {
					if ev.Seq > from && ev.Seq <= from+total {
						inLog++
					}
				}
				figure(t, "kept", inLog, "events that a store has of them")
			}
			// The history grows meanwhile, with what was said; a ring holds 1,024 events.
			figure(t, name+".events", total, "told while one subscriber took nothing and 100 read")
			figure(t, name+".missed", slow.missed, "events missed by it, as it was told")
			figure(t, name+".turn-p99-ratio", fmt.Sprintf("%.2f", float64(p99(with))/float64(p99(without))), "of turns with it to those without")
			figure(t, name+".turn-median-ratio", fmt.Sprintf("%.2f", float64(median(with))/float64(median(without))), "of turns with it to those without")
			figure(t, name+".heap", fmt.Sprintf("%.1f", float64(grown)/(1<<20)), "MiB grown meanwhile, the history included")
		})
	}
}

func heap() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

func p99(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)*99/100]
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// TestASubscriberCostsATurnNoTime: in virtual time a turn takes none, whoever takes
// nothing of it. A subscriber that is waited for is found by that, and one that
// drops events in silence by the account.
func TestASubscriberCostsATurnNoTime(t *testing.T) {
	turn := func(t *testing.T, w *rig.World) (ended bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = dialog.Send(ctx, w.Conv, message.TextInput("go"), nil)
		}()
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	t.Run("ours", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := streamed(t, mem.New(&mem.Options{Journal: true}))
			r := w.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: w.Conv.ID(), Buffer: 10})
			defer r.Close()
			for range 5 {
				assert.True(t, turn(t, w), "nobody waits for it")
			}
			var a account
			a.readAll(t, r)
			assert.Equal(t, a.last, a.events+a.missed)
			assert.Zero(t, a.lost)
		})
	})
	t.Run("one that is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			to := make(chan hook.Event, 32)
			w := streamed(t, mem.New(nil), rig.Observer{Do: func(_ context.Context, ev hook.Event) { to <- ev }})
			stalls := !turn(t, w)
			go func() {
				for range to {
				}
			}()
			synctest.Wait()
			require.NoError(t, w.Runtime.Close(context.Background()))
			close(to)
			assert.True(t, stalls)
			figure(t, "bad.blocking", 1, "turns that stand still because a subscriber is waited for")
		})
	})
	t.Run("one that drops", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			to := make(chan hook.Event, 32)
			told := uint64(0)
			w := streamed(t, mem.New(nil), rig.Observer{Do: func(_ context.Context, ev hook.Event) {
				told++
				select {
				case to <- ev:
				default:
				}
			}})
			assert.True(t, turn(t, w))
			unaccounted := told - uint64(len(to))
			assert.Positive(t, unaccounted)
			figure(t, "bad.dropping", unaccounted, "events that nobody was told of")
		})
	})
}

// TestSubscribersCostAnEventOneAllocation: whether one follows or a hundred do.
func TestSubscribersCostAnEventOneAllocation(t *testing.T) {
	count := func(subscribers, deltas int) float64 {
		rt := runtime.New(nil, rig.Same{Reply: rig.Says(slices.Repeat([]string{"word "}, deltas)...)}, nil)
		require.NoError(t, rt.Open(t.Context()))
		defer func() { _ = rt.Close(context.Background()) }()
		_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
		require.NoError(t, err)
		conv, err := dialog.Conversation(t.Context(), rt, "a", "s")
		require.NoError(t, err)
		for range subscribers {
			defer rt.Subscribe(&runtime.SubscribeOptions{Conversation: conv.ID()}).Close()
		}
		turn := func() {
			if _, err := dialog.Send(context.Background(), conv, message.TextInput("go"), nil); err != nil {
				panic(err)
			}
		}
		turn()
		return allocs.PerRun(5, turn)
	}
	per := func(subscribers int) float64 { return (count(subscribers, 3000) - count(subscribers, 1000)) / 2000 }
	assert.Less(t, per(0), 0.01)
	one, many := per(1), per(healthy)
	assert.Less(t, one, 1.1)
	assert.InDelta(t, one, many, 0.05)
	figure(t, "allocations", fmt.Sprintf("%.2f", many), "per event with 100 subscribers")
}
