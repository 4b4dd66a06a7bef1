package scale_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"
)

// impairment is a time in which a daemon, or with daemon < 0 the database, does not work as it should.
type impairment struct {
	daemon   int
	from, to time.Time
}

// theDatabase stands for it in the place of a daemon.
const theDatabase = -1

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

// kinds says how many there were of each kind.
func (l *faultLog) kinds() string {
	var out []string
	for _, f := range faults {
		if n := l.counts[f.name]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, f.name))
		}
	}
	return strings.Join(out, ", ")
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
	do    func(ctx context.Context, w *world, d *daemon, rng *rand.Rand)
}

// fullDisk is the fault that only root can make.
const fullDisk = "full disk"

var faults = []fault{
	{"kill -9", 8, kill},
	{"SIGTERM", 2, terminate},
	{"SIGSTOP past the lease", 4, stop},
	{"network cut", 3, cut(up, down)},
	{"network cut one way", 2, cut(up)},
	{"network cut the other way", 2, cut(down)},
	{"slow network", 2, slow},
	{"connections reset", 3, reset},
	{"answer of a commit lost", 4, loseAnswer},
	{"restart -m immediate", 2, restart},
	{"restart while the network is cut", 1, cutOverRestart},
	{fullDisk, 1, fillDisk},
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

// stop stops a daemon until its lease has ended for certain, and has it go on.
func stop(ctx context.Context, w *world, d *daemon, rng *rand.Rand) {
	over := w.log.impair(d.n)
	w.log.died(d)
	d.signal(syscall.SIGSTOP, 0)
	pause(ctx, ttl+beat+upTo(rng, 2*ttl))
	d.signal(syscall.SIGCONT, 0)
	d.awaitService(ctx)
	over()
}

// cut returns the fault that nothing passes in these directions for some time.
func cut(ds ...direction) func(context.Context, *world, *daemon, *rand.Rand) {
	return func(ctx context.Context, w *world, d *daemon, rng *rand.Rand) {
		over := w.log.impair(d.n)
		d.relay.hold(ds...)
		pause(ctx, upTo(rng, 3*ttl))
		d.relay.heal()
		d.awaitService(ctx)
		over()
	}
}

// slow delays what passes. A turn has some ten messages one after the other.
func slow(ctx context.Context, w *world, d *daemon, rng *rand.Rand) {
	over := w.log.impair(d.n)
	d.relay.slow(time.Millisecond + upTo(rng, 30*time.Millisecond))
	pause(ctx, 3*time.Second)
	d.relay.heal()
	over()
}

func reset(_ context.Context, w *world, d *daemon, _ *rand.Rand) {
	over := w.log.impair(d.n)
	d.relay.reset()
	over()
}

func loseAnswer(_ context.Context, w *world, d *daemon, _ *rand.Rand) {
	over := w.log.impair(d.n)
	d.relay.loseAnswer()
	over()
}

// restart crashes the database, which recovers from its log.
func restart(ctx context.Context, w *world, _ *daemon, rng *rand.Rand) {
	w.restarts.Lock()
	defer w.restarts.Unlock()
	over := w.log.impair(theDatabase)
	w.cluster.Stop(w.t, "immediate")
	pause(ctx, upTo(rng, 2*ttl))
	w.cluster.Continue(w.t)
	over()
}

// cutOverRestart crashes the database while a daemon is cut off, and longer than the TTL: when it is back nobody knows who lives.
func cutOverRestart(ctx context.Context, w *world, d *daemon, _ *rand.Rand) {
	w.restarts.Lock()
	defer w.restarts.Unlock()
	over, overAll := w.log.impair(d.n), w.log.impair(theDatabase)
	d.relay.hold(up, down)
	w.cluster.Stop(w.t, "immediate")
	pause(ctx, w.plan.ttl+beat)
	w.cluster.Continue(w.t)
	overAll()
	pause(ctx, w.plan.ttl+beat)
	d.relay.heal()
	d.awaitService(ctx)
	over()
}

// fillDisk leaves no room on the disk of the database for some time. The database may crash of it, and does not start before there is
// room again.
func fillDisk(ctx context.Context, w *world, _ *daemon, rng *rand.Rand) {
	w.restarts.Lock()
	defer w.restarts.Unlock()
	over := w.log.impair(theDatabase)
	w.disk.fill(w.t)
	pause(ctx, ttl+upTo(rng, ttl))
	w.disk.free(w.t)
	if !answers(ctx, w.cluster) {
		w.cluster.Continue(w.t)
	}
	over()
}

// faults does so many faults as planned, each on its own time, and returns when all are over.
func (w *world) faults(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.plan.seed, 0))
	var drawn []fault
	for _, f := range faults {
		for range f.share {
			if w.plan.only.MatchString(f.name) && (f.name != fullDisk || w.disk != nil) {
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
		d.relay.heal()
		d.signal(syscall.SIGCONT, 0)
	}
	w.awaitAll(ctx)
}
