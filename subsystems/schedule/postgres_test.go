package schedule

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/test/databases"
)

// TestManyDaemonsLookAtTheSameTime: one of them begins the run, and what was missed counts once.
func TestManyDaemonsLookAtTheSameTime(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, newWorld func(t *testing.T) *world) {
		w := newWorld(t)
		processes := []*Schedule{w.process(), w.process(), w.process()}
		e := morning()
		e.Late = LateRun
		w.add(processes[0], e)
		for day := 1; day <= 5; day++ {
			w.pass(24*time.Hour + time.Hour) // an hour too late
			var all sync.WaitGroup
			for _, s := range processes {
				all.Go(func() { assert.NoError(t, s.tick(t.Context(), t.Context())) })
			}
			all.Wait()
			for _, s := range processes {
				s.running.Wait()
			}
			w.mu.Lock()
			assert.Len(t, w.ran, day)
			w.mu.Unlock()
		}
		runs, err := processes[1].Runs(t.Context(), "news")
		require.NoError(t, err)
		assert.Len(t, runs, 5)
		// The first look is an hour after its morning, and the next ones a day and an hour later each.
		assert.Equal(t, 6, w.only(processes[2]).Missed)
	})
}

// TestTheClockIsTheDatabases: a daemon whose clock is wrong begins runs as the others do.
func TestTheClockIsTheDatabases(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	db := databases.Open(t, dsn).SQL()
	var mu sync.Mutex
	var ran []string
	daemon := func(name string) *Schedule {
		s := OpenIn(databases.Open(t, dsn).SQL(), &Options{Project: "/p", Run: func(_ context.Context, task Task) (hook.StopReason, error) {
			task.Begun("c", "t")
			mu.Lock()
			ran = append(ran, name)
			mu.Unlock()
			return hook.StopCompleted, nil
		}})
		t.Cleanup(func() { assert.NoError(t, s.OnClose(context.Background())) })
		return s
	}
	a, b := daemon("a"), daemon("b")
	_, err := a.Add(t.Context(), morning())
	require.NoError(t, err)
	now, err := db.Now(t.Context())
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE schedule SET due = $1`, now.UnixNano())
		return err
	}))
	for range 2 {
		for _, s := range []*Schedule{a, b} {
			require.NoError(t, s.tick(t.Context(), t.Context()))
			s.running.Wait()
		}
	}
	assert.Equal(t, []string{"a"}, ran)
	all, err := b.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, Completed, all[0].Last.Status)
	assert.False(t, all[0].Last.Began.Before(now), "it began by the database's clock")
}

func TestErasedSchedulesAreInNoTable(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	s := OpenIn(databases.Open(t, dsn).SQL(), &Options{Project: "/p"})
	for _, name := range []string{"mine", "theirs"} {
		_, err := s.Add(t.Context(), Entry{Name: name, Agent: "a", Sender: name, Prompt: "qzcanary " + name, Cron: "0 9 * * *"})
		require.NoError(t, err)
		require.NoError(t, s.RunNow(t.Context(), name, func(_ context.Context, task Task) (hook.StopReason, error) {
			task.Begun("conversation-of-"+name, "turn-of-"+name)
			return hook.StopCompleted, nil
		}))
	}
	deleted, named, err := s.Erase(t.Context(), Subject{Sender: "mine", Conversations: []string{"conversation-of-theirs"}}, false)
	require.NoError(t, err)
	assert.EqualValues(t, 1, deleted)
	assert.EqualValues(t, 1, named)
	all := databases.Texts(t, dsn)
	for _, gone := range []string{"qzcanary mine", "conversation-of-mine", "turn-of-mine", "conversation-of-theirs", "turn-of-theirs"} {
		assert.NotContains(t, all, gone)
	}
	assert.Contains(t, all, "qzcanary theirs", "the test can see it")
}
