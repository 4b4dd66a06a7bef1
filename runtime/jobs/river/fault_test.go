package river_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
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

// held is a handler whose attempts end when the test says so.
type held struct {
	began, end chan string
}

func newHeld() held { return held{make(chan string, 10), make(chan string)} }

func (h held) handle(_ context.Context, r job.Run) error {
	h.began <- fmt.Sprint(r.Key, " ", r.Attempt)
	<-h.end
	return nil
}

// next is what comes next from the channel.
func next[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		require.Fail(t, "nothing came for 40 seconds")
	}
	return v
}

// A worker that was taken for dead wakes and returns while another one runs its job.
func TestAStaleWorkerCompletesNothing(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	first, second := newHeld(), newHeld()
	a := boot(t, dsn, "a", map[string]job.Handler{"k": first.handle})
	a.queue("k", "1")
	assert.Equal(t, "1 1", next(t, first.began))
	a.dead.Store(true) // it is stopped, as by SIGSTOP
	b := boot(t, dsn, "b", map[string]job.Handler{"k": second.handle})
	assert.Equal(t, "1 2", next(t, second.began))
	a.dead.Store(false)
	first.end <- "" // it wakes, and knows nothing
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, 0, b.deliveries()["running"], "the return of the first worker has changed the delivery of the second one")
	}, time.Minute, 20*time.Millisecond)
	assert.Equal(t, 0, b.deliveries()["completed"], "nothing is complete while the second one works")
	assert.Equal(t, []string{"1 running 2"}, b.rows())
	close(second.end)
	b.await("1 succeeded 2")
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, map[string]int{"completed": 1}, b.deliveries()) }, time.Minute, 50*time.Millisecond)
	assert.Empty(t, second.began, "it ran no third time")
}

// naive is known to be wrong: it trusts River, and looks at no row.
type naive struct {
	riverqueue.WorkerDefaults[args]
	run func()
}

type args struct {
	Job int64 `json:"job"`
}

func (args) Kind() string { return "naive" }

func (n *naive) Work(context.Context, *riverqueue.Job[args]) error {
	n.run()
	return nil
}

// TestRiverAloneIsKnownToBeWrong shows what the test above would find: River completes what another
// worker runs.
func TestRiverAloneIsKnownToBeWrong(t *testing.T) {
	t.Parallel()
	n := boot(t, pgtest.Database(t), "a", nil)
	client := func(id string, run func()) *riverqueue.Client[pgdb.Tx] {
		workers := riverqueue.NewWorkers()
		riverqueue.AddWorker(workers, &naive{run: run})
		c, err := riverqueue.NewClient(riverpgxv5.New(n.store.DB().Pool()), &riverqueue.Config{
			ID: id, Schema: river.Schema, Workers: workers, JobTimeout: -1, Logger: slog.New(slog.DiscardHandler), FetchPollInterval: 50 * time.Millisecond, FetchCooldown: 50 * time.Millisecond,
			Queues: map[string]riverqueue.QueueConfig{"q": {MaxWorkers: 1}},
		})
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context()))
		t.Cleanup(func() { _ = c.StopAndCancel(context.Background()) })
		return c
	}
	began, end := make(chan string, 2), map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
	run := func(id string) func() { return func() { began <- id; <-end[id] } }
	a := client("a", run("a"))
	_, err := a.Insert(t.Context(), args{1}, &riverqueue.InsertOpts{Queue: "q"})
	require.NoError(t, err)
	assert.Equal(t, "a", next(t, began))
	client("b", run("b"))
	require.NoError(t, n.store.DB().Write(t.Context(), func(tx pgdb.Tx) error { // as a rescuer does
		_, err := tx.Exec(t.Context(), `UPDATE `+river.Schema+`.river_job SET state = 'available'`)
		return err
	}))
	assert.Equal(t, "b", next(t, began))
	close(end["a"])
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, 1, n.deliveries()["completed"]) }, time.Minute, 20*time.Millisecond,
		"completed, while b works")
	close(end["b"])
}

// childVariable makes the test's own binary a node that is killed: the DSN of its database.
const childVariable = "GRAPNEL_TEST_RIVER_CHILD"

// runChild runs a node whose jobs never end.
func runChild(dsn string) {
	ctx := context.Background()
	s, err := postgres.Open(ctx, dsn, nil)
	check(err)
	make, err := river.Open(ctx, river.Options{Store: s, TTL: ttl})
	check(err)
	row := store.Node{ID: "child", URL: "unix:/child", TTL: ttl}
	check(s.Beat(ctx, row))
	e := job.NewEngine(job.NewWork(job.Config{Store: s, Project: project, Owner: "child", Now: time.Now}, job.Options{Engine: make, Handlers: map[string]job.Handler{
		"k": func(context.Context, job.Run) error {
			fmt.Println("began")
			select {}
		},
	}}))
	e.Start()
	for range time.Tick(ttl / 6) {
		_ = s.Beat(ctx, row)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestTheJobOfAKilledNodeIsTakenOverWithinItsTTL(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	dsn := pgtest.Database(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dsn)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	s, err := postgres.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "1"}, Project: project})
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "began\n", line)
	began := make(chan time.Time, 10)
	n := boot(t, dsn, "other", map[string]job.Handler{"k": func(context.Context, job.Run) error { began <- time.Now(); return nil }})
	time.Sleep(2 * ttl) // it reaps by now, and the child lives
	assert.Empty(t, began)
	killed := time.Now()
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	took := next(t, began).Sub(killed)
	t.Logf("FIGURE taken-over=%d ms after the kill, with a TTL of %d ms", took.Milliseconds(), ttl.Milliseconds())
	n.await("1 succeeded 2")
}

// River's completer gives up after nine seconds without a database, and leaves what was done running.
func TestADatabaseThatIsAwayForLongLeavesNothingRunningAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	cluster := pgtest.Start(t, nil)
	h := newHeld()
	a := boot(t, cluster.Database(t), "a", map[string]job.Handler{"k": h.handle})
	b := boot(t, cluster.DSN(databaseOf(t, a)), "b", map[string]job.Handler{"k": h.handle})
	a.queue("k", "1", "2", "3")
	for range 3 {
		next(t, h.began)
	}
	cluster.Stop(t, "immediate")
	for range 3 { // their ends meet no database
		h.end <- ""
	}
	time.Sleep(12 * time.Second)
	cluster.Continue(t)
	b.await("1 succeeded 1", "2 succeeded 1", "3 succeeded 1")
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		got := b.deliveries()
		delete(got, "completed")
		assert.Empty(c, got)
	}, 40*time.Second, 50*time.Millisecond)
	assert.Empty(t, h.began, "nothing was done twice")
	b.queue("k", "4")
	assert.Equal(t, "4 1", next(t, h.began))
	close(h.end)
	b.await("1 succeeded 1", "2 succeeded 1", "3 succeeded 1", "4 succeeded 1")
}

func databaseOf(t *testing.T, n *node) (name string) {
	t.Helper()
	require.NoError(t, n.store.DB().Read(t.Context(), func(q pgdb.Queryer) error { return q.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name) }))
	return name
}
