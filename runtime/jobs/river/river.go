// Package river delivers the jobs of a PostgreSQL store by River, for several daemons over one
// database. Who does not import it does not link River.
//
// River delivers, and the row of the store decides. Each job that is queued in the store is
// inserted into River's table in the same transaction, by a trigger: also one that waits for its
// next attempt, which River schedules. A worker of River takes the row, under a new epoch, before
// it runs anything, and ends row and delivery in one transaction. So a delivery that comes twice,
// comes late or belongs to a worker that was taken for dead changes nothing.
//
// River has one kind of job, so that no leader meets one that it does not know, and one queue for
// each project and kind of the store, so that a job comes only to nodes that can run it. River's own attempts,
// timeouts and rescuer are off: those of the row count. Jobs of a node that has died are delivered
// again by the reaper of this package, which looks at the beats of nodes. So the runtime's owner has
// to be a node that beats, see store.Presence.
package river

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// Schema is the schema of River's tables, beside those of the store.
	Schema = "grapnel_river"
	// ttl is the default of Options.TTL.
	ttl = 3 * time.Second
	// poll is how often a node looks for deliveries that nobody has told it of.
	poll = time.Second
	// cooldown is how long a node waits between two looks.
	cooldown = 20 * time.Millisecond
	// kept is how long River keeps what was delivered; the row of the store stays.
	kept = time.Hour
)

// Store is what the engine uses of a store; that of package postgres is one.
type Store interface {
	TakeJob(ctx context.Context, t store.JobTake) (store.Job, error)
	// EndJobWith is EndJob of store.Jobs, and calls also in the same transaction.
	EndJobWith(ctx context.Context, id, epoch int64, e store.JobEnd, also func(ctx context.Context, tx pgdb.Tx) error) error
	Jobs(ctx context.Context, f store.JobFilter) ([]store.Job, error)
	// DB is the database with the tables job and node.
	DB() *pgdb.DB
}

// Options of the engine; the zero value but for Store is fine.
type Options struct {
	// Store has the jobs, and River's tables in its database. Required. The runtime may use it
	// wrapped. Its opener closes it after the runtime.
	Store Store
	// TTL is the TTL of this process's node; 0 is three seconds. Jobs of a node that has died are
	// delivered again within a third of it after its end.
	TTL time.Duration
	// PollOnly: the store's connections go through a pooler in transaction mode, which passes no
	// notifications on. Jobs begin up to a second later.
	PollOnly bool
	// Tenant: another engine of this process, opened without it, is over the same database, and Store is a part of
	// that one's. So this one needs no connection that listens: it polls, and leaves to the other one what nodes that
	// have died left.
	Tenant bool
	// Mask masks the reason for which a job failed before it is stored; nil masks nothing.
	Mask func(string) string
	// Log gets what River logs; nil is nothing.
	Log *slog.Logger
}

// Open makes or upgrades River's tables and the trigger, as Migrate does, and delivers what is queued already. It
// returns the value of runtime.JobOptions.Engine. The store must not be used by programs that deliver
// its jobs in another way at the same time; if one does all the same, no job runs twice.
func Open(ctx context.Context, o Options) (func(*job.Work) job.Engine, error) {
	if o.Store == nil {
		return nil, errors.New("river: Options.Store is nil: give the store of the runtime, as postgres.Open returned it")
	}
	if o.TTL <= 0 {
		o.TTL = ttl
	}
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := Migrate(ctx, o.Store.DB()); err != nil {
		return nil, err
	}
	if err := deliverQueued(ctx, o.Store.DB()); err != nil {
		return nil, fmt.Errorf("river: deliver what is queued already: %w", err)
	}
	return func(w *job.Work) job.Engine { return newEngine(o, w) }, nil
}

// engine is a job.Engine.
type engine struct {
	o    Options
	work *job.Work
	// queues are those of the kinds that this process runs.
	queues []string
	// slots bounds the attempts of all queues together.
	slots chan struct{}
	wake  chan struct{}
	// stop ends running, which has the goroutines of the engine.
	stop    context.CancelFunc
	ctx     context.Context
	running sync.WaitGroup

	// alive: the database has seen this node alive at the last look.
	alive atomic.Bool
	// client is nil until River has started. It belongs to start, and to Close once running is over.
	client *river.Client[pgdb.Tx]
}

func newEngine(o Options, w *job.Work) *engine {
	e := &engine{o: o, work: w, slots: make(chan struct{}, w.Workers()), wake: make(chan struct{}, 1)}
	for _, kind := range w.Kinds() {
		e.queues = append(e.queues, queueOf(w.Project(), kind))
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// queueOf is the queue of a project and a kind, whose name has 64 bytes at most; the trigger makes the
// same one.
func queueOf(project, kind string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + kind))
	return "p" + hex.EncodeToString(sum[:16])
}

// Start implements job.Engine. If the database is away, the engine starts when it is back.
func (e *engine) Start() {
	e.running.Go(e.start)
	e.running.Go(e.tell)
	e.running.Go(e.reap)
}

func (e *engine) start() {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, poll) {
		err := e.startClient()
		if err == nil {
			return
		}
		e.o.Log.Warn("jobs are not delivered yet", "error", err)
		select {
		case <-time.After(wait):
		case <-e.ctx.Done():
			return
		}
	}
}

func (e *engine) startClient() error {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{engine: e}); err != nil {
		return err
	}
	queues := map[string]river.QueueConfig{}
	for _, q := range e.queues {
		queues[q] = river.QueueConfig{MaxWorkers: e.work.Workers()}
	}
	c, err := river.NewClient(riverpgxv5.New(e.o.Store.DB().Pool()), &river.Config{
		ID: e.work.Owner(), Schema: Schema, Workers: workers, Logger: e.o.Log,
		Queues: queues, FetchOnlyKnownKinds: true, FetchCooldown: cooldown, FetchPollInterval: poll,
		PollOnly: e.o.PollOnly || e.o.Tenant, JobTimeout: -1, MaxAttempts: maxAttempts,
		CompletedJobRetentionPeriod: kept, CancelledJobRetentionPeriod: kept, DiscardedJobRetentionPeriod: kept,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background()) // attempts go on when the engine begins to close
	started := context.AfterFunc(e.ctx, cancel)
	defer started()
	if err := c.Start(ctx); err != nil {
		cancel()
		return err
	}
	e.client = c
	return nil
}

// Wake implements job.Engine. The other nodes that run the same kinds hear of it too.
func (e *engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// tell tells all nodes with these queues that jobs were queued. A notification within a turn's write
// would halve what the database can commit; one that is lost costs the time of a poll.
func (e *engine) tell() {
	for {
		select {
		case <-e.wake:
		case <-e.ctx.Done():
			return
		}
		for _, q := range e.queues {
			_ = e.o.Store.DB().Notify(e.ctx, Schema+".river_insert", `{"queue":"`+q+`"}`)
		}
		select {
		case <-time.After(cooldown):
		case <-e.ctx.Done():
			return
		}
	}
}

// Close implements job.Engine.
func (e *engine) Close(ctx context.Context) {
	e.stop()
	e.running.Wait()
	if c := e.client; c != nil && c.Stop(ctx) != nil {
		_ = c.StopAndCancel(context.Background()) // a running attempt ends when its handler does
	}
}
