package scale_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// impairment is a time in which a daemon, or with daemon < 0 the database, does not work as it should.
type impairment struct {
	daemon   int
	from, to time.Time
}

// death is the end of a daemon, as the others see it.
type death struct {
	daemon int
	at     time.Time
}

// faultLog is what was done.
type faultLog struct {
	mu     sync.Mutex
	counts map[string]int
	bad    []impairment
	deaths []death
}

func (l *faultLog) count(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[name]++
}

func (l *faultLog) died(d *daemon) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaths = append(l.deaths, death{d.n, time.Now()})
}

// impair notes that something is impaired from now on until what it returns is called.
func (l *faultLog) impair(daemon int) (over func()) {
	from := time.Now()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bad = append(l.bad, impairment{daemon, from, time.Now()})
	}
}

// fault is one kind of fault. It is over when do returns.
type fault struct {
	name string
	// share is how often it comes.
	share int
	// shared: the daemons share a database that it is about.
	shared bool
	do     func(ctx context.Context, w *world, d *daemon, rng *rand.Rand)
}

var faults = []fault{
	{"kill -9", 8, false, kill},
	{"SIGTERM", 1, false, terminate},
}

func upTo(rng *rand.Rand, d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }

// kill kills a daemon, which comes back.
func kill(ctx context.Context, w *world, d *daemon, rng *rand.Rand) {
	over := w.log.impair(d.n)
	w.log.died(d)
	d.signal(syscall.SIGKILL, 200*time.Millisecond+upTo(rng, 1500*time.Millisecond))
	d.awaitService(ctx)
	over()
}

// terminate ends a daemon in order, as an upgrade does.
func terminate(ctx context.Context, w *world, d *daemon, rng *rand.Rand) {
	over := w.log.impair(d.n)
	d.signal(syscall.SIGTERM, upTo(rng, time.Second))
	pause(ctx, 2*time.Second)
	d.awaitService(ctx)
	over()
}

// faults does so many faults as planned, each on its own time, and returns when all are over.
func (w *world) faults(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.plan.seed, 0))
	var drawn []fault
	for _, f := range faults {
		for range f.share {
			if !f.shared || w.cluster != nil {
				drawn = append(drawn, f)
			}
		}
	}
	var running sync.WaitGroup
	for range w.plan.faults {
		f, d := drawn[rng.IntN(len(drawn))], w.daemons[rng.IntN(len(w.daemons))]
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		w.log.count(f.name)
		running.Go(func() { f.do(ctx, w, d, own) })
		if !pause(ctx, time.Duration(rng.ExpFloat64()*float64(w.plan.gap))) {
			break
		}
	}
	running.Wait()
}

// heal returns when everything works again.
func (w *world) heal(ctx context.Context) {
	for _, d := range w.daemons {
		if d.relay != nil {
			d.relay.heal()
		}
		d.signal(syscall.SIGCONT, 0)
	}
	w.awaitAll(ctx)
}
