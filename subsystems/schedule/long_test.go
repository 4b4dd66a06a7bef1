package schedule

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// A reload registers the new configuration before the old one is unregistered (runtime/update.go).
func TestAnUpdateKeepsTheSection(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		cfg := func() *hook.AgentConfig {
			return hooktest.Agent(hook.AgentConfig{Name: "helper"}.WithSection("schedule", `{"per_hour":-1}`))
		}
		old, fresh := cfg(), cfg()
		require.NoError(t, s.OnRegisterAgent(t.Context(), old))
		w.add(s, Entry{Name: "often", Agent: "helper", Prompt: "Go.", Cron: "* * * * *"})
		w.pass(time.Minute)
		w.tick(s)
		require.Empty(t, w.ran)
		require.NoError(t, s.OnRegisterAgent(t.Context(), fresh))
		s.OnUnregisterAgent(t.Context(), old)
		w.pass(time.Minute)
		w.tick(s)
		assert.Empty(t, w.ran, "schedules never run this agent")
	})
}

// A machine that sleeps for more than a minute while a run goes on: the run is not begun again, and ends as it ends.
func TestARunOutlivesASleep(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		w.hold = make(chan struct{})
		s := w.process()
		w.add(s, Entry{Name: "often", Agent: "helper", Prompt: "Go.", Cron: "* * * * *"})
		w.pass(time.Minute)
		w.tick(s)
		began := func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.ran) }
		require.Eventually(t, func() bool { return began() == 1 }, time.Minute, time.Millisecond)
		w.pass(2 * time.Minute) // lid closed, lid open
		w.tick(s)
		other := w.process() // which has looked first
		w.pass(2 * time.Minute)
		require.NoError(t, other.table.db.Write(t.Context(), func(tx sqldb.Tx) error { return other.table.interrupt(tx, w.clock()) }))
		w.tick(s)
		assert.Equal(t, 1, began())
		close(w.hold)
		s.running.Wait()
		runs, err := s.Runs(t.Context(), "often")
		require.NoError(t, err)
		assert.Equal(t, Completed, runs[len(runs)-1].Status)
	})
}

// A clock that was wrong by a year for a moment, and then right again.
func TestAClockThatWasAheadSilencesNothing(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		w.add(s, morning())
		w.pass(365 * 24 * time.Hour)
		w.tick(s)
		w.pass(-365 * 24 * time.Hour)
		for range 2 * 24 * 60 { // minutes
			w.pass(time.Minute)
			w.tick(s)
		}
		assert.Len(t, w.ran, 2, "two mornings")
	})
}

// One row that this process cannot read (a zone that its tzdata does not have yet) stops all schedules.
func TestOneBadLineStopsNoOther(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		w.add(s, Entry{Name: "bad", Agent: "helper", Prompt: "bad", Cron: "* * * * *", Zone: "Europe/Berlin"})
		w.add(s, Entry{Name: "good", Agent: "helper", Prompt: "good", Cron: "* * * * *"})
		require.NoError(t, s.table.db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := tx.Exec(`UPDATE schedule SET zone = 'America/Newzone' WHERE name = 'bad'`)
			return err
		}))
		w.pass(time.Minute)
		for range 3 {
			s.look(t.Context(), t.Context())
		}
		s.running.Wait()
		assert.Equal(t, []string{"helper: good"}, w.ran)
		require.Len(t, w.notes, 1)
		assert.Contains(t, w.notes[0], "schedule bad runs no more")
	})
}

// A run that panics has failed, and is not going on.
func TestARunThatPanicsHasFailed(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		s.o.Run = func(context.Context, Task) (hook.StopReason, error) { panic("boo") }
		w.add(s, morning())
		w.pass(time.Minute)
		w.tick(s)
		s.running.Wait()
		assert.Equal(t, Failed, w.only(s).Last.Status)
		assert.Equal(t, "the run panicked: boo", w.only(s).Last.Note)
	})
}

// What the agent's file says of schedules counts although the agent is registered late, and waiting for a place takes no time of the run.
func TestASectionThatComesLateCounts(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		s.o.Ready = func(ctx context.Context, agent string) error {
			return s.OnRegisterAgent(ctx, hooktest.Agent(hook.AgentConfig{Name: agent}.WithSection("schedule", `{"per_hour":-1}`)))
		}
		w.add(s, morning())
		w.pass(time.Minute)
		w.tick(s)
		s.running.Wait()
		assert.Empty(t, w.ran)
		assert.Equal(t, Skipped, w.only(s).Last.Status)
		assert.Equal(t, "the agent's file says that schedules never run it", w.only(s).Last.Note)
		require.NoError(t, s.RunNow(t.Context(), "news", w.run))
		assert.Len(t, w.ran, 1, "a person may")
	})
}

// A conversation is a schedule's own as long as there is the schedule.
func TestARemovedScheduleOwnsNothing(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		w.add(s, Entry{Name: "gone", Agent: "helper", Prompt: "Go.", Cron: "* * * * *", Sender: "ann"})
		w.add(s, Entry{Name: "doctor", Agent: "doctor", Prompt: "Look.", On: On{Kind: event.TurnEnd}})
		w.pass(time.Minute)
		w.tick(s)
		s.running.Wait()
		ev := hook.Event{Kind: event.TurnEnd, Conversation: "conversation of ann", Seq: 1}
		s.OnEvent(t.Context(), ev)
		assert.Empty(t, s.events)
		require.NoError(t, s.Remove(t.Context(), "gone"))
		w.tick(s)
		s.OnEvent(t.Context(), ev)
		assert.Len(t, s.events, 1)
	})
}

// A daemon that starts within a minute of a time runs nothing that was added after that time, and leaves @every as it is.
func TestAStartRunsNothingThatWasAddedLater(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		s := w.process()
		w.pass(time.Minute + 20*time.Second) // it is 07:00:20
		w.add(s, morning())
		w.add(s, Entry{Name: "often", Agent: "helper", Prompt: "Go.", Cron: "@every 90m"})
		due := func() (out []time.Time) {
			all, err := s.List(t.Context())
			require.NoError(t, err)
			for _, one := range all {
				out = append(out, one.Next)
			}
			return out
		}
		before := due()
		w.pass(10 * time.Second)
		w.tick(w.process())
		assert.Empty(t, w.ran)
		assert.Equal(t, before, due())
	})
}
