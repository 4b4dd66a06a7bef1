package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A job that a turn queues is stored in the step that stores what caused it: a crash loses both or
// neither.

// cutStore is a store whose process dies at a write: before it, or just after it.
type cutStore struct {
	*mem.Store
	// apart is known to be wrong: it queues the jobs of a write in a step of their own.
	apart, after bool

	mu sync.Mutex
	// left is how many writes there are until the process dies; 0 is never.
	left int
	dead bool
}

func (s *cutStore) write(make func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return rig.ErrDead
	}
	if s.left--; s.left != 0 {
		return make()
	}
	s.dead = true
	if s.after {
		_ = make()
	}
	return rig.ErrDead
}

// split returns the jobs that are queued in a step of their own, and those that are not.
func (s *cutStore) split(jobs []store.Job) (apart, along []store.Job) {
	if s.apart {
		return jobs, nil
	}
	return nil, jobs
}

func (s *cutStore) queue(ctx context.Context, jobs []store.Job) error {
	for _, j := range jobs {
		if err := s.write(func() error { _, err := s.Store.Enqueue(ctx, j); return err }); err != nil {
			return err
		}
	}
	return nil
}

func (s *cutStore) Append(ctx context.Context, id string, a store.Append) (v int64, err error) {
	apart, along := s.split(a.Jobs)
	a.Jobs = along
	err = s.write(func() error { v, err = s.Store.Append(ctx, id, a); return err })
	return v, errors.Join(err, s.queue(ctx, apart))
}

func (s *cutStore) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	apart, along := s.split(n.Jobs)
	n.Jobs = along
	err = s.write(func() error { first, err = s.Store.Note(ctx, id, n); return err })
	return first, errors.Join(err, s.queue(ctx, apart))
}

func (s *cutStore) Claim(ctx context.Context, id string, c store.Claim) (rec store.Record, err error) {
	err = s.write(func() error { rec, err = s.Store.Claim(ctx, id, c); return err })
	return rec, err
}

func (s *cutStore) Enqueue(ctx context.Context, j store.Job) (queued bool, err error) {
	err = s.write(func() error { queued, err = s.Store.Enqueue(ctx, j); return err })
	return queued, err
}

// queuers are hooks that queue a job when a turn ends, and when a tool runs; another tool runs a child.
func queuers(t *testing.T) hook.Hook {
	t.Helper()
	later, ask := rig.Named("later"), rig.Named("ask")
	later.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		if err := env.Call.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: "tool"}); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult("queued")
	}
	ask.Waits = true
	ask.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("go"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(out.Text())
	}
	ends := point.AfterTurnFunc(func(ctx context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
		_ = turn.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: "end " + turn.Conversation().ID() + " " + turn.ID()}) // the process may have died
	})
	c, err := composite.New(&struct {
		Box, Ends hook.Hook
		Trail     *trail `hook:"AfterTurn: background"`
	}{rig.Box(later, ask), ends, new(trail)})
	require.NoError(t, err)
	return c
}

func queues(t *testing.T, s store.Store, m *rig.Model) *rig.World {
	t.Helper()
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s, Gone: func(string) bool { return true }}, queuers(t))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Tools: []string{}})
	require.NoError(t, err)
	return w
}

// unmatched says which jobs the store has without their causes, and which causes without their jobs.
func unmatched(t *testing.T, s *mem.Store) (out []string) {
	t.Helper()
	all, err := s.Jobs(t.Context(), store.JobFilter{})
	require.NoError(t, err)
	count := func(key string) (n int) {
		for _, j := range all {
			if strings.Contains(j.Key, key) {
				n++
			}
		}
		return n
	}
	same := func(job string, jobs, causes int) {
		if jobs != causes {
			out = append(out, fmt.Sprintf("%s: %d jobs of %d causes", job, jobs, causes))
		}
	}
	recs, err := s.List(t.Context())
	require.NoError(t, err)
	for _, rec := range recs {
		children, err := s.Children(t.Context(), rec.ID)
		require.NoError(t, err)
		for _, c := range append(children, rec) {
			same("end", count("end "+c.ID), c.Turns)
			same("background", count("AfterTurn "+c.ID+" "), c.Turns)
		}
		same("tool", count("tool"), toolResults(t, s, rec.ID))
	}
	return out
}

// toolResults counts the stored results that say that a job was queued.
func toolResults(t *testing.T, s *mem.Store, id string) (n int) {
	t.Helper()
	stored, err := s.Messages(t.Context(), id)
	require.NoError(t, err)
	journal, err := s.Journal(t.Context(), id)
	require.NoError(t, err)
	for _, e := range journal {
		stored = append(stored, e.Message)
	}
	for _, m := range stored {
		if m.Role == message.RoleTool && m.Result.Text() == "queued" {
			n++
		}
	}
	return n
}

// crashes runs a turn whose process dies at each write in turn, and says what was lost then. The next
// process ends the turn each time: it resumes it, or settles it before a further one.
func crashes(t *testing.T, apart, after, settle bool) (lost []string) {
	t.Helper()
	for n := 1; ; n++ {
		s := &cutStore{Store: mem.New(&mem.Options{Journal: true}), apart: apart, after: after, left: n}
		w := queues(t, s, rig.Plays(rig.Calls(rig.Call("c1", "later", `{}`)), rig.Calls(rig.Call("c2", "ask", `{}`)), rig.Says("child"), rig.Says("done")))
		_, _ = w.Try(t.Context(), "go")
		if !s.dead {
			assert.Empty(t, unmatched(t, s.Store))
			require.Greater(t, n, 8, "the turn has that many writes at least")
			return lost
		}
		for _, what := range unmatched(t, s.Store) {
			lost = append(lost, fmt.Sprintf("write %d: %s", n, what))
		}
		m := rig.Plays(rig.Says("1"), rig.Says("2"), rig.Says("3"), rig.Says("4"))
		next := queues(t, s.Store, m)
		if settle {
			next.Send("2")
		} else if was, err := next.Conv.Interrupted(t.Context()); err == nil && was {
			_, err = dialog.Resume(t.Context(), next.Conv, nil)
			require.NoError(t, err)
		}
		for _, what := range unmatched(t, s.Store) {
			lost = append(lost, fmt.Sprintf("write %d, ended by another process: %s", n, what))
		}
		require.NoError(t, next.Runtime.Close(t.Context()))
	}
}

func TestSpecACrashLosesAJobAndItsCauseOrNeither(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		assert.Empty(t, crashes(t, false, after, false))
		assert.Empty(t, crashes(t, false, after, true))
	}
	assert.NotEmpty(t, crashes(t, true, false, false), "a store that queues jobs in a step of their own loses some")
}

func TestSpecAJobOfAStaleOwnerIsRefusedWithItsWrite(t *testing.T) {
	t.Parallel()
	s := mem.New(&mem.Options{Journal: true})
	reached, open := make(chan struct{}), make(chan struct{})
	queued := make(chan error, 1)
	late := rig.Named("late")
	late.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		close(reached)
		<-open
		queued <- env.Call.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: "late"})
		return message.TextResult("queued")
	}
	o := &runtime.Options{Store: s, Gone: func(string) bool { return true }}
	stale := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "late", `{}`)), rig.Says("done")), hook.AgentConfig{Name: "a"}, o, rig.Box(late))
	ended := make(chan error, 1)
	go func() {
		_, err := stale.Try(context.Background(), "go")
		ended <- err
	}()
	<-reached
	next := rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"}, o, rig.Box(rig.Named("late")))
	_, err := dialog.Resume(t.Context(), next.Conv, nil)
	require.NoError(t, err)
	close(open)
	require.NoError(t, <-queued, "it does not know yet that it has lost the lease")
	require.Error(t, <-ended)
	assert.Empty(t, jobsOf(t, s))
	stale.Send("again") // under a lease of its own
	assert.Empty(t, jobsOf(t, s), "what waited is dropped")
}

// The process that queued a job goes on with the turn: under its epoch after a write that was refused,
// and under the next one after a write without an answer.
func TestSpecAJobOutlivesTheWritesThatFailed(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"refused": nil, "without an answer": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFullStore()
			s.cause = cause
			ends := 0
			w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s},
				point.AfterTurnFunc(func(ctx context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
					if ends++; ends == 1 {
						assert.NoError(t, turn.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: turn.ID()}))
						s.full.Store(true)
					}
				}))
			w.Send("1")
			assert.Empty(t, jobsOf(t, s.Store))
			s.full.Store(false)
			w.Send("2")
			assert.Equal(t, 3, ends, "the first turn, its settlement, and the second one")
			assert.Equal(t, []string{"queued 0"}, jobsOf(t, s.Store))
		})
	}
}

func TestSpecAJobBehindTheLastWriteOfItsTurnIsStoredAtOnce(t *testing.T) {
	t.Parallel()
	s := mem.New(&mem.Options{Journal: true})
	w := rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s}, rig.Observer{Do: func(ctx context.Context, ev hook.Event) {
		if ev.Kind == event.TurnEnd {
			assert.NoError(t, ev.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: "1"}))
			assert.Len(t, jobsOf(t, s), 1)
		}
	}})
	w.Send("go")
	assert.Equal(t, []string{"queued 0"}, jobsOf(t, s))
}

func TestSpecABackgroundRunQueuesAtOnceWhileTheTurnRuns(t *testing.T) {
	t.Parallel()
	s := mem.New(&mem.Options{Journal: true})
	later := rig.Named("later")
	later.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		stored := make(chan int, 1)
		err := env.Call.Host().Go(ctx, "Box", func(ctx context.Context) {
			assert.NoError(t, env.Call.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: "1"}))
			stored <- len(jobsOf(t, s))
		})
		assert.NoError(t, err)
		return message.TextResult(fmt.Sprint(<-stored))
	}
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "later", `{}`)), rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s}, rig.Box(later))
	w.Send("go")
	assert.Equal(t, []string{"1"}, w.Results())
}

func TestSpecAJobThatTheStoreRefusesSpoilsNoWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var errs []error
	later := rig.Named("later")
	later.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		for _, j := range []hook.Job{{Kind: "k"}, {Kind: "k", Key: "1", Payload: `{"token":"` + secretToken + `"}`}, {Kind: "k", Key: "2"}} {
			errs = append(errs, env.Call.Host().Enqueue(ctx, j))
		}
		return message.TextResult("ok")
	}
	p := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "later", `{}`)), rig.Says("done")), masks(), rig.Box(later))
	p.Send("go")
	require.Len(t, errs, 3)
	assert.ErrorContains(t, errs[0], "queue a job: store: a job has to have a kind and a key")
	assert.ErrorIs(t, errs[1], redact.ErrMasked)
	assert.NoError(t, errs[2])
	assert.Equal(t, []string{"queued 0"}, jobsOf(t, p.Dying.Store))
}

func TestSpecTheJobsThatWaitForAWriteAreBounded(t *testing.T) {
	t.Parallel()
	var errs []error
	later := rig.Named("later")
	later.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		for i := range durable.MaxJobs + 1 {
			errs = append(errs, env.Call.Host().Enqueue(ctx, hook.Job{Kind: "k", Key: fmt.Sprint(i)}))
		}
		return message.TextResult("ok")
	}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "later", `{}`)), rig.Says("done")), rig.Box(later))
	w.Send("go")
	assert.ErrorIs(t, errs[durable.MaxJobs], hook.ErrCrowded)
	assert.NoError(t, errors.Join(errs[:durable.MaxJobs]...))
	assert.Len(t, slices.DeleteFunc(jobsOf(t, w.Store), func(s string) bool { return s != "queued 0" }), durable.MaxJobs)
}
