package river_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/jobs/river"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

const (
	project = "/p"
	// ttl is that of the nodes of these tests.
	ttl = 2 * time.Second
)

// node is a process with an engine, as far as the database knows.
type node struct {
	t     *testing.T
	id    string
	store *postgres.Store
	work  *job.Work
	job.Engine
	// dead: it beats no more.
	dead atomic.Bool

	mu   sync.Mutex
	told []hook.DiagnosticCode
}

// boot starts a node on the database, which runs jobs of the kinds that have handlers.
func boot(t *testing.T, dsn, id string, handlers map[string]job.Handler) *node {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Database: pgdb.Options{Connections: 6}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	make, err := river.Open(t.Context(), river.Options{Store: s, TTL: ttl})
	require.NoError(t, err)
	n := &node{t: t, id: id, store: s}
	n.work = job.NewWork(job.Config{Store: s, Project: project, Owner: id, Now: time.Now, Told: func(_ context.Context, d hook.Diagnostic) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.told = append(n.told, d.Code)
	}}, job.Options{Handlers: handlers, Engine: make})
	n.Engine = job.NewEngine(n.work)
	require.NoError(t, s.Beat(t.Context(), n.row()))
	ctx, stop := context.WithCancel(context.Background())
	var beating sync.WaitGroup
	beating.Go(func() {
		for tick := time.NewTicker(ttl / 6); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
				return
			}
			if !n.dead.Load() {
				_ = s.Beat(ctx, n.row()) // the database may be away
			}
		}
	})
	n.Start()
	t.Cleanup(func() {
		stop()
		beating.Wait()
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		n.Close(closing)
	})
	return n
}

func (n *node) row() store.Node { return store.Node{ID: n.id, URL: "unix:/" + n.id, TTL: ttl} }

func (n *node) queue(kind string, keys ...string) {
	n.t.Helper()
	for _, key := range keys {
		_, err := n.store.Enqueue(n.t.Context(), store.Job{Job: hook.Job{Kind: kind, Key: key, Payload: `{}`}, Project: project})
		require.NoError(n.t, err)
	}
	n.Wake()
}

// rows are the jobs of the store, the oldest first: "key status attempts".
func (n *node) rows() (out []string) {
	n.t.Helper()
	all, err := n.store.Jobs(context.Background(), store.JobFilter{Project: project})
	require.NoError(n.t, err)
	for _, j := range slices.Backward(all) {
		out = append(out, fmt.Sprintf("%s %s %d", j.Key, j.Status, j.Attempts))
	}
	return out
}

// deliveries counts River's jobs by their state.
func (n *node) deliveries() map[string]int {
	n.t.Helper()
	out := map[string]int{}
	err := n.store.DB().Read(context.Background(), func(q pgdb.Queryer) error {
		clear(out)
		rows, err := q.Query(context.Background(), `SELECT state::text, count(*) FROM `+river.Schema+`.river_job GROUP BY 1`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state string
			var count int
			if err := rows.Scan(&state, &count); err != nil {
				return err
			}
			out[state] = count
		}
		return rows.Err()
	})
	require.NoError(n.t, err)
	return out
}

// await waits until the jobs are as wanted.
func (n *node) await(want ...string) {
	n.t.Helper()
	assert.EventuallyWithT(n.t, func(c *assert.CollectT) { assert.Equal(c, want, n.rows()) }, time.Minute, 20*time.Millisecond)
}

// log is what handlers did, in order.
type log struct {
	mu   sync.Mutex
	done []string
}

func (l *log) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, what)
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.done)
}

func TestJobsRunOnceOnAnyNodeAndFailedOnesAreRetried(t *testing.T) {
	t.Parallel()
	var did log
	dsn := pgtest.Database(t)
	handlers := map[string]job.Handler{"k": func(_ context.Context, r job.Run) error {
		did.add(fmt.Sprint(r.Key, " ", r.Attempt))
		if r.Key == "00" && r.Attempt == 1 {
			return errors.New("not yet")
		}
		return nil
	}}
	a := boot(t, dsn, "a", handlers)
	boot(t, dsn, "b", handlers)
	var keys, want, runs []string
	for i := range 40 {
		key := fmt.Sprintf("%02d", i)
		keys, want, runs = append(keys, key), append(want, key+" succeeded 1"), append(runs, key+" 1")
	}
	want[0], runs = "00 succeeded 2", append(runs, "00 2")
	a.queue("k", keys...)
	a.queue("k", keys...)
	a.await(want...)
	got := did.all()
	slices.Sort(got)
	slices.Sort(runs)
	assert.Equal(t, runs, got)
	assert.Equal(t, map[string]int{"completed": 41}, a.deliveries(), "one for each attempt")
}

func TestAWriteDeliversItsJobsOrNothing(t *testing.T) {
	t.Parallel()
	n := boot(t, pgtest.Database(t), "a", nil) // without handlers nothing is delivered to it
	rec, err := n.store.Conversation(t.Context(), store.Key{Project: project, Agent: "a", Sender: "x"})
	require.NoError(t, err)
	rec, err = n.store.Claim(t.Context(), rec.ID, store.Claim{Owner: "a", Hold: time.Minute})
	require.NoError(t, err)
	jobs := []store.Job{{Job: hook.Job{Kind: "k", Key: "1"}, Project: project}}
	_, err = n.store.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch - 1, Jobs: jobs})
	require.ErrorIs(t, err, store.ErrFenced)
	assert.Empty(t, n.deliveries())
	for range 2 {
		_, err = n.store.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Minute, Jobs: jobs})
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"available": 1}, n.deliveries())
	}
}

func TestAJobThatIsDueLaterRunsThen(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	var did log
	a := boot(t, pgtest.Database(t), "a", map[string]job.Handler{"k": func(_ context.Context, r job.Run) error {
		if early := time.Until(mustTime(r.Key)); early > 0 {
			did.add(fmt.Sprint("early by ", early))
		}
		return nil
	}})
	var want []string
	for _, in := range []time.Duration{time.Second, 7 * time.Second} { // the second one is River's to schedule
		due := time.Now().Add(in)
		key := due.Format(time.RFC3339Nano)
		_, err := a.store.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: key}, Project: project, Due: due})
		require.NoError(t, err)
		want = append(want, key+" succeeded 1")
	}
	assert.Equal(t, map[string]int{"available": 1, "scheduled": 1}, a.deliveries())
	a.await(want...)
	assert.Empty(t, did.all())
}

func mustTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return at
}

// A node that does not handle a kind may lead River: its jobs wait for one that does, also if their
// node has died.
func TestAKindThatTheLeaderDoesNotKnowIsNotDiscarded(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	var did log
	handler := func(_ context.Context, r job.Run) error { did.add(fmt.Sprint(r.Key, " ", r.Attempt)); return nil }
	leader := boot(t, dsn, "leader", map[string]job.Handler{"old": handler})
	leader.queue("old", "1")
	leader.queue("new", "2")
	leader.await("1 succeeded 1", "2 queued 0")
	h := newHeld()
	dies := boot(t, dsn, "dies", map[string]job.Handler{"new": h.handle})
	assert.Equal(t, "2 1", next(t, h.began))
	dies.dead.Store(true)
	other := boot(t, dsn, "other", map[string]job.Handler{"new": handler})
	other.await("1 succeeded 1", "2 succeeded 2")
	assert.Equal(t, []string{"1 1", "2 2"}, did.all())
	assert.Zero(t, leader.deliveries()["discarded"])
	h.end <- ""
}

func TestACancelledJobEndsOnWhicheverNodeRunsIt(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	dsn := pgtest.Database(t)
	began, ended := make(chan struct{}), make(chan struct{})
	a := boot(t, dsn, "a", map[string]job.Handler{"k": func(ctx context.Context, _ job.Run) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil
	}})
	a.queue("k", "1")
	next(t, began)
	s, err := postgres.Open(t.Context(), dsn, nil) // another process
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	all, err := s.Jobs(t.Context(), store.JobFilter{Project: project})
	require.NoError(t, err)
	_, err = s.ChangeJob(t.Context(), project, all[0].ID, store.JobCancel)
	require.NoError(t, err)
	next(t, ended)
	a.await("1 cancelled 1")
	_, err = s.ChangeJob(t.Context(), project, all[0].ID, store.JobDrop)
	require.NoError(t, err)
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, map[string]int{"completed": 1}, a.deliveries()) }, time.Minute, 50*time.Millisecond)
}

// The engine of a tenant polls, and delivers none of another one's jobs, nor of the user's.
func TestTheEngineOfATenantDeliversItsOwnJobs(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	var did log
	of := func(id string) job.Handler {
		return func(_ context.Context, r job.Run) error { did.add(id + " " + r.Key); return nil }
	}
	user := boot(t, dsn, "user", map[string]job.Handler{"k": of("user")})
	for _, owner := range []string{"alice", "bob"} {
		part := user.store.Tenant(owner + ":" + project)
		make, err := river.Open(t.Context(), river.Options{Store: part, TTL: ttl, Tenant: true})
		require.NoError(t, err)
		require.NoError(t, user.store.Beat(t.Context(), store.Node{ID: owner, URL: "unix:/" + owner, TTL: time.Minute}))
		e := job.NewEngine(job.NewWork(job.Config{Store: part, Project: owner + ":" + project, Owner: owner, Now: time.Now}, job.Options{
			Engine: make, Handlers: map[string]job.Handler{"k": of(owner)},
		}))
		e.Start()
		t.Cleanup(func() { e.Close(context.Background()) })
		_, err = part.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "of " + owner}, Project: owner + ":" + project})
		require.NoError(t, err)
	}
	user.queue("k", "of user")
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		got := user.deliveries()
		assert.GreaterOrEqual(c, got["completed"], 3, "and one more for a job that was just about to begin when the next engine delivered what was queued")
		delete(got, "completed")
		assert.Empty(c, got)
	}, time.Minute, 20*time.Millisecond)
	assert.ElementsMatch(t, []string{"user of user", "alice of alice", "bob of bob"}, did.all())
}

// An engine that is closed while it starts leaves nothing behind; goleak looks.
func TestAnEngineThatIsClosedWhileItStarts(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), pgtest.Database(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	make, err := river.Open(t.Context(), river.Options{Store: s})
	require.NoError(t, err)
	for n := range 20 {
		e := job.NewEngine(job.NewWork(job.Config{Store: s, Project: project, Owner: "a", Now: time.Now}, job.Options{
			Engine: make, Handlers: map[string]job.Handler{"k": func(context.Context, job.Run) error { return nil }},
		}))
		e.Start()
		time.Sleep(time.Duration(n) * time.Millisecond)
		e.Close(t.Context())
	}
}
