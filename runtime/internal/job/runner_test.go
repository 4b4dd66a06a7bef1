package job_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a runner over a store, whose handlers write down what they did.
type shop struct {
	t *testing.T
	*job.Runner
	store *mem.Store
	work  *job.Work

	mu   sync.Mutex
	did  []string
	told []string
}

func (s *shop) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, text)
}

func (s *shop) done() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.did
}

// open runs a handler for the kind "k" over the store.
func open(t *testing.T, st *mem.Store, owner string, o job.Options, h job.Handler, gone func(string) bool) *shop {
	s := &shop{t: t, store: st}
	began := time.Now()
	o.Handlers = map[string]job.Handler{"k": func(ctx context.Context, j job.Run) error {
		s.note(fmt.Sprintf("%s %d at %s", j.Key, j.Attempt, time.Since(began)))
		return h(ctx, j)
	}}
	s.work = job.NewWork(job.Config{Store: st, Owner: owner, Now: time.Now, Gone: gone, Told: func(_ context.Context, d hook.Diagnostic) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, string(d.Code)+": "+d.Text)
	}}, o)
	s.Runner = job.NewRunner(s.work)
	return s
}

func (s *shop) queue(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		_, err := s.store.Enqueue(s.t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: k}})
		require.NoError(s.t, err)
	}
	s.Wake()
}

func (s *shop) jobs(statuses ...store.JobStatus) (keys []string) {
	s.t.Helper()
	all, err := s.store.Jobs(s.t.Context(), store.JobFilter{Statuses: statuses})
	require.NoError(s.t, err)
	for _, j := range slices.Backward(all) {
		keys = append(keys, fmt.Sprintf("%s %s %d %s", j.Key, j.Status, j.Attempts, j.Failure))
	}
	return keys
}

func works(context.Context, job.Run) error { return nil }

func TestJobsAreDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, mem.New(nil), "me", job.Options{}, works, nil)
		s.queue("before")
		s.Start()
		defer s.Close(t.Context())
		synctest.Wait()
		s.queue("after", "before", "after")
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"before 1 at 0s", "after 1 at 0s"}, s.done())
		assert.Equal(t, []string{"before succeeded 1 ", "after succeeded 1 "}, s.jobs())
	})
}

func TestWhatFailsIsTriedAgainLaterEachTimeAndThenGivenUp(t *testing.T) {
	for name, fail := range map[string]job.Handler{
		"error": func(context.Context, job.Run) error { return errors.New("secret") },
		"panic": func(context.Context, job.Run) error { panic("secret") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, mem.New(nil), "me", job.Options{Attempts: 4}, fail, nil)
				s.Start()
				defer s.Close(t.Context())
				s.queue("x")
				time.Sleep(time.Hour)
				assert.Equal(t, []string{"x 1 at 0s", "x 2 at 1s", "x 3 at 3s", "x 4 at 7s"}, s.done())
				assert.Equal(t, []string{"x failed 4 " + name}, s.jobs())
				assert.Equal(t, []string{"job.given_up: a job was given up after 4 attempts: the last one ended with " + name}, s.told, "without what the handler said")
			})
		})
	}
}

func TestBackoff(t *testing.T) {
	var got []time.Duration
	for n := range 9 {
		got = append(got, job.Backoff(n))
	}
	s := time.Second
	assert.Equal(t, []time.Duration{s, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, got)
	assert.Equal(t, time.Minute, job.Backoff(1_000))
}

func TestAnAttemptHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, mem.New(nil), "me", job.Options{Attempts: 1, Timeout: time.Minute}, func(ctx context.Context, _ job.Run) error {
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		s.Start()
		defer s.Close(t.Context())
		s.queue("x")
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"x failed 1 timeout"}, s.jobs())
	})
}

func TestNoMoreJobsAreDoneAtOnceThanThereAreWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		s := open(t, mem.New(nil), "me", job.Options{Workers: 3}, func(context.Context, job.Run) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		}, nil)
		s.Start()
		defer s.Close(t.Context())
		s.queue("1", "2", "3", "4", "5", "6", "7")
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, 3, most, "one that is slow keeps nobody else from working")
		assert.Len(t, s.done(), 7)
		assert.Equal(t, "7 1 at 2s", s.done()[6])
	})
}

func TestClosingWaitsForJobsAndBreaksThemOffWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mem.New(nil)
		slow := func(ctx context.Context, j job.Run) error {
			if j.Key == "slow" {
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(time.Second)
			return nil
		}
		s := open(t, st, "me", job.Options{Workers: 2}, slow, nil)
		s.Start()
		s.queue("quick", "slow")
		synctest.Wait()
		s.queue("late")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		s.Close(ctx)
		assert.Equal(t, 10*time.Second, time.Since(began))
		assert.Equal(t, []string{"quick succeeded 1 ", "slow queued 0 closed", "late queued 0 "}, s.jobs(), "what is broken off has not been tried")
	})
}

// A program that runs one turn closes right after the turn has queued its jobs.
func TestWhatWasQueuedJustBeforeCloseIsDone(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, mem.New(nil), "me", job.Options{Workers: 2}, works, nil)
			s.Start()
			synctest.Wait()
			s.queue("a", "b", "c")
			s.Close(t.Context())
			assert.Subset(t, s.done(), []string{"a 1 at 0s", "b 1 at 0s"}, "one for each worker; the rest stays queued")
			assert.Len(t, s.jobs(), 3)
		})
	}
}

func TestWhatTheDeadHaveLeftIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gone := range []func(string) bool{nil, func(owner string) bool { return owner == "dead" }} {
			st := mem.New(nil)
			s := open(t, st, "me", job.Options{}, works, gone)
			s.queue("x")
			_, err := st.TakeJob(t.Context(), store.JobTake{Owner: "dead", Kinds: []string{"k"}, Hold: 10 * time.Minute})
			require.NoError(t, err)
			s.Start()
			time.Sleep(time.Hour)
			want := "x 2 at 10m0s"
			if gone != nil {
				want = "x 2 at 0s"
			}
			assert.Equal(t, []string{want}, s.done())
			s.Close(t.Context())
		}
	})
}

func TestAJobThatKillsItsProcessIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mem.New(nil)
		s := open(t, st, "me", job.Options{Attempts: 3}, works, func(owner string) bool { return owner == "dead" })
		s.queue("x")
		for range 3 {
			_, err := st.TakeJob(t.Context(), store.JobTake{Owner: "dead", Kinds: []string{"k"}, Hold: time.Minute, Gone: []string{"dead"}})
			require.NoError(t, err)
		}
		s.Start()
		defer s.Close(t.Context())
		time.Sleep(time.Hour)
		assert.Empty(t, s.done())
		assert.Equal(t, []string{"x failed 4 interrupted"}, s.jobs())
	})
}

func TestAHandlerThatEndsItsGoroutineIsTriedAgainAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, mem.New(nil), "me", job.Options{Timeout: time.Minute, Workers: 1}, func(_ context.Context, j job.Run) error {
			if j.Attempt == 1 {
				runtime.Goexit()
			}
			return nil
		}, nil)
		s.Start()
		defer s.Close(t.Context())
		s.queue("x")
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"x 1 at 0s", "x 2 at 30s"}, s.done())
	})
}

func TestWithoutHandlersNothingIsDone(t *testing.T) {
	st := mem.New(nil)
	r := job.NewEngine(job.NewWork(job.Config{Store: st, Owner: "me", Now: time.Now}, job.Options{Engine: func(*job.Work) job.Engine { panic("without handlers") }}))
	r.Start()
	r.Wake()
	r.Close(t.Context())
}

// A job that takes longer than its lease stays its owner's, and one that somebody
// else has got all the same is broken off.
func TestTheLeaseIsProlongedWhileAJobIsBeingDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mem.New(nil)
		deaf := func(context.Context, job.Run) error {
			time.Sleep(10 * time.Minute) // longer than an attempt may take, too
			return nil
		}
		s, other := open(t, st, "me", job.Options{Timeout: time.Minute}, deaf, nil), open(t, st, "you", job.Options{}, works, nil)
		s.Start()
		s.queue("long")
		synctest.Wait()
		other.Start()
		time.Sleep(time.Hour)
		s.Close(t.Context())
		other.Close(t.Context())
		assert.Equal(t, []string{"long 1 at 0s"}, s.done())
		assert.Empty(t, other.done())
		assert.Equal(t, []string{"long succeeded 1 "}, s.jobs())
	})
}

func TestAJobThatSomebodyElseHasGotIsBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, ended := mem.New(nil), time.Duration(0)
		began := time.Now()
		s := open(t, st, "me", job.Options{Timeout: time.Hour}, func(ctx context.Context, _ job.Run) error {
			<-ctx.Done()
			ended = time.Since(began)
			return ctx.Err()
		}, nil)
		s.Start()
		s.queue("x")
		synctest.Wait()
		_, err := st.TakeJob(t.Context(), store.JobTake{Owner: "you", Kinds: []string{"k"}, Hold: time.Hour, Gone: []string{"me"}})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		s.Close(t.Context())
		assert.Equal(t, 5*time.Second, ended)
		assert.Equal(t, []string{"x running 2 "}, s.jobs())
	})
}

func TestWhatIsGivenUpIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, mem.New(nil), "me", job.Options{}, func(context.Context, job.Run) error {
			return fmt.Errorf("secret: %w", &job.GiveUp{Reason: "nobody can do it"})
		}, nil)
		s.Start()
		defer s.Close(t.Context())
		s.queue("x")
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"x failed 1 nobody can do it"}, s.jobs())
		assert.Equal(t, []string{"job.given_up: a job was given up after 1 attempts: the last one ended with nobody can do it"}, s.told)
	})
}

// A job that was cancelled ends: at once if its own process is told, and elsewhere with the next renewal.
func TestACancelledJobIsBrokenOff(t *testing.T) {
	for told, want := range map[bool]time.Duration{true: time.Second, false: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			st, ended := mem.New(nil), time.Duration(0)
			began := time.Now()
			s := open(t, st, "me", job.Options{Timeout: time.Hour}, func(ctx context.Context, _ job.Run) error {
				<-ctx.Done()
				ended = time.Since(began)
				return nil // it has succeeded, too late
			}, nil)
			s.Start()
			s.queue("x")
			time.Sleep(time.Second)
			j, err := st.ChangeJob(t.Context(), "", 1, store.JobCancel)
			require.NoError(t, err)
			if told {
				s.work.Cancel(j.ID)
			}
			time.Sleep(time.Minute)
			s.Close(t.Context())
			assert.Equal(t, want, ended)
			assert.Equal(t, []string{"x cancelled 1 cancelled"}, s.jobs())
			assert.Empty(t, s.told)
		})
	}
}

// An engine may deliver as it likes: the row decides.
func TestAnEngineOfTheProgramDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mem.New(nil)
		var did []string
		o := job.Options{Handlers: map[string]job.Handler{"k": func(_ context.Context, j job.Run) error {
			did = append(did, fmt.Sprint(j.Key, " ", j.Attempt))
			if j.Attempt == 1 {
				return errors.New("secret")
			}
			return nil
		}}, Engine: func(w *job.Work) job.Engine { return &eager{work: w} }}
		e := job.NewEngine(job.NewWork(job.Config{Store: st, Owner: "me", Now: time.Now}, o))
		for _, key := range []string{"a", "b"} {
			_, err := st.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: key}})
			require.NoError(t, err)
		}
		e.Start()
		e.Wake()
		time.Sleep(time.Minute)
		e.Wake()
		e.Close(t.Context())
		assert.Equal(t, []string{"a 1", "b 1", "a 2", "b 2"}, did)
		all, err := st.Jobs(t.Context(), store.JobFilter{Statuses: []store.JobStatus{store.JobSucceeded}})
		require.NoError(t, err)
		assert.Len(t, all, 2)
	})
}

// eager is an engine that runs what is due when it is woken.
type eager struct{ work *job.Work }

func (*eager) Start()                {}
func (*eager) Close(context.Context) {}

func (e *eager) Wake() {
	ctx := context.Background()
	for {
		j, err := e.work.Store().TakeJob(ctx, store.JobTake{Owner: e.work.Owner(), Project: e.work.Project(), Kinds: e.work.Kinds(), Hold: job.Lease})
		if err != nil {
			return
		}
		_ = e.work.Do(ctx, j, func(ctx context.Context, end store.JobEnd) error {
			return e.work.Store().EndJob(ctx, j.ID, j.Epoch, end)
		})
	}
}

// away is a store that does not store how attempts end for a while.
type away struct {
	*mem.Store
	until time.Time
}

func (s *away) EndJob(ctx context.Context, id, epoch int64, e store.JobEnd) error {
	if time.Now().Before(s.until) {
		return errors.New("the database is away")
	}
	return s.Store.EndJob(ctx, id, epoch, e)
}

// What has been done is not done again because its end could not be stored for a while.
func TestAnEndIsStoredWhenTheStoreIsBack(t *testing.T) {
	for outage, want := range map[time.Duration][]string{
		20 * time.Second: {"x succeeded 1 "},
		10 * time.Minute: {"x running 1 "}, // it is taken over at the end of its lease
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &away{mem.New(nil), time.Now().Add(outage)}
			done := 0
			var told []string
			r := job.NewRunner(job.NewWork(job.Config{Store: s, Owner: "me", Now: time.Now, Told: func(_ context.Context, d hook.Diagnostic) { told = append(told, string(d.Code)) }},
				job.Options{Handlers: map[string]job.Handler{"k": func(context.Context, job.Run) error { done++; return nil }}}))
			_, err := s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "x"}})
			require.NoError(t, err)
			r.Start()
			time.Sleep(35 * time.Second)
			all, err := s.Jobs(t.Context(), store.JobFilter{})
			require.NoError(t, err)
			got := []string{fmt.Sprintf("%s %s %d %s", all[0].Key, all[0].Status, all[0].Attempts, all[0].Failure)}
			assert.Equal(t, want, got)
			assert.Equal(t, 1, done)
			assert.Equal(t, outage > time.Minute, len(told) > 0)
			r.Close(t.Context())
		})
	}
}
