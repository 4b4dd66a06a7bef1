package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Defaults of Options.
const (
	DefaultTTL  = 3 * time.Second
	DefaultBeat = time.Second
)

// Options of Members. Presence and Node.ID are required.
type Options struct {
	Presence store.Presence
	// Node is this daemon. A TTL of 0 is DefaultTTL. All nodes of a store have the same TTL. Without a URL no other node
	// sends it requests.
	Node store.Node
	// Beat is the time between two beats; 0 is a third of the TTL.
	Beat time.Duration
	// Phase moves the moments of the beats. The nodes of a process have the same, and other processes have others, so that
	// one of them soon sees that another is dead.
	Phase time.Duration
	// Lost is called when no beat has reached the store for so long that others may soon take the leases of this node: once
	// until a beat succeeds again. It cancels the running turns, and must not block. Nil does nothing.
	Lost func()
	// Late is called when the store says that it had counted this node as dead: others may have taken some of its leases. Run
	// calls it on a goroutine of its own, one at a time, with a context that ends with Run's. Nil does nothing.
	Late func(ctx context.Context)
	// Died is called with each node that is found to have died, once for each death, and also with those that had died
	// before this node came. A node that leaves has no turn any more, so nobody is told. It must not block. Nil does
	// nothing.
	Died func(n store.Node)
	// Log gets a sentence about what an operator should know; nil drops it.
	Log func(text string)
}

// Members are the nodes of a store, as one of them knows them. It is safe for concurrent use.
type Members struct {
	o Options
	// limit is the age of the last successful beat from which the leases of the node count as lost.
	limit time.Duration
	// missed has an entry if Late is to be called.
	missed chan struct{}

	checking sync.Mutex // held during check

	readings readings

	mu   sync.Mutex
	self store.Node
	// last is when the last beat was sent that has succeeded, or that has shown that the store is down; zero before
	// the first.
	last time.Time
	// heard is when the last beat was sent that the store has got.
	heard time.Time
	// lost: Lost was called, and no beat has succeeded since.
	lost bool
	// all are the nodes when they were read last, by id.
	all []store.Node
	// buried are the ids of those whose death was told.
	buried map[string]bool
	// watchers are the contexts of While.
	watchers map[*watcher]struct{}
	// failure is why beats fail, and differences are those of projects, as they were logged last.
	failure     string
	differences map[string]bool
}

// readings are the readings of the nodes. There is one at a time: an older answer never replaces a newer one.
type readings struct {
	// one has a value during a reading. Lock it before Members.mu.
	one chan struct{}
	// begun is how many have begun, and read the number of the last one that has succeeded; under Members.mu.
	begun, read int
}

// New returns the members without a beat: call Join, then Run. It panics without a Presence.
func New(o Options) *Members {
	if o.Presence == nil {
		panic("nodes: New: Presence is required")
	}
	o.Node.TTL = cmp.Or(o.Node.TTL, DefaultTTL)
	if o.Beat <= 0 {
		o.Beat = o.Node.TTL / 3
	}
	if o.Lost == nil {
		o.Lost = func() {}
	}
	if o.Late == nil {
		o.Late = func(context.Context) {}
	}
	if o.Died == nil {
		o.Died = func(store.Node) {}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return &Members{o: o, limit: o.Node.TTL * 2 / 3, missed: make(chan struct{}, 1), readings: readings{one: make(chan struct{}, 1)}, self: o.Node, buried: map[string]bool{}, watchers: map[*watcher]struct{}{}}
}

// Join sends the first beat and reads the nodes. A store that does not answer in time is asked again, for ten TTLs at most. Claim no
// lease before it has returned nil.
func (m *Members) Join(ctx context.Context) error {
	if m.o.Beat >= m.o.Node.TTL/2 { // a store may take a longer gap for an outage
		return fmt.Errorf("nodes: a beat every %v is too seldom for a TTL of %v; choose at most a third of it", m.o.Beat, m.o.Node.TTL)
	}
	err := m.beat(ctx)
	for began := time.Now(); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && time.Since(began) < patience*m.o.Node.TTL; {
		err = m.beat(ctx)
	}
	if err != nil {
		return fmt.Errorf("nodes: join: %w", err)
	}
	return m.Refresh(ctx)
}

// Run sends beats until ctx ends, and then leaves: others may then take what this node still holds. So end ctx after the
// turns have ended. Call it once, after Join.
func (m *Members) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { m.watch(ctx) })
	running.Go(func() { m.beats(ctx) })
	running.Go(func() { m.answerLate(ctx) })
	running.Wait()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.o.Node.TTL)
	defer cancel()
	if err := m.o.Presence.Leave(leaving, m.self.ID); err != nil {
		m.o.Log(fmt.Sprintf("this node could not tell the others that it ends; they wait %v for it: %v", m.o.Node.TTL, err))
	}
}

// beats sends a beat in each interval, and one sooner after one that failed.
func (m *Members) beats(ctx context.Context) {
	at := m.next(time.Now())
	for sleep(ctx, time.Until(at)) {
		m.check() // the process may have been stopped
		sent := time.Now()
		at = m.next(sent)
		if err := m.beat(ctx); err != nil && ctx.Err() == nil {
			m.failed(err)
			at = time.Now().Add(m.o.Beat / 5)
		} else if err == nil {
			m.look(ctx, at)
		}
		m.check() // the answer may have come late
	}
}

// next returns when the beat behind one is sent: the nodes of a process beat at the same moments, so that a store can take
// their beats together. One that was late, after a failure, is at most a quarter of an interval further away.
func (m *Members) next(sent time.Time) time.Time {
	clock := sent.Round(0).Add(-m.o.Phase)
	return sent.Add(clock.Add(m.o.Beat / 4).Truncate(m.o.Beat).Add(m.o.Beat).Sub(clock))
}

// look reads the nodes, unless that would hold up the next beat.
func (m *Members) look(ctx context.Context, next time.Time) {
	ctx, cancel := context.WithDeadline(ctx, next)
	defer cancel()
	_ = m.Refresh(ctx) // without an answer what was read before stays
}

// watch looks at the age of the last beat while another one waits for the store.
func (m *Members) watch(ctx context.Context) {
	for sleep(ctx, m.left()) {
		m.check()
	}
}

// left returns the time until the leases count as lost.
func (m *Members) left() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost {
		return m.o.Beat
	}
	return max(m.limit-time.Since(m.last), time.Millisecond)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// answerLate calls Late for beats that came too late.
func (m *Members) answerLate(ctx context.Context) {
	for {
		select {
		case <-m.missed:
			m.o.Late(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// check calls Lost if the last successful beat is too old. When it returns, Lost has returned.
func (m *Members) check() {
	m.checking.Lock()
	defer m.checking.Unlock()
	m.mu.Lock()
	lost := !m.lost && time.Since(m.last) >= m.limit
	m.lost = m.lost || lost
	m.mu.Unlock()
	if lost {
		m.o.Log(fmt.Sprintf("the store has had no beat of this node for %v: its turns are cancelled, because others may take their conversations", m.limit))
		m.o.Lost()
	}
}

// patience is how many TTLs a store may be down before its node lets go. What looks like a store that is down may be a
// way to it that refuses this node alone: so long two nodes may run one turn then.
const patience = 10

// beat sends one beat. It has succeeded if the store has got it, late or not.
func (m *Members) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.o.Beat*3/4) // then there is time for another one
	defer cancel()
	self, sent := m.Self(), time.Now()
	err := m.o.Presence.Beat(ctx, self)
	missed := errors.Is(err, store.ErrLate)
	m.mu.Lock()
	switch {
	case err == nil, missed:
		m.last, m.heard = sent, sent
		m.lost, m.failure = false, ""
	case errors.Is(err, store.ErrDown) && !m.lost && sent.Sub(m.heard) < patience*m.o.Node.TTL:
		m.last = sent // a store that does not run gives nothing away
	}
	m.mu.Unlock()
	if err != nil && !missed {
		return err
	}
	if missed {
		m.o.Log("the store had counted this node as dead: others may have taken its conversations")
		select {
		case m.missed <- struct{}{}:
		default: // Late has not begun yet
		}
	}
	return nil
}

// Self returns this node as its next beat describes it.
func (m *Members) Self() store.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.self
	n.Projects = slices.Clone(n.Projects)
	return n
}

// Describe replaces the projects that this node says it has, from its next beat on.
func (m *Members) Describe(projects []store.NodeProject) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.self.Projects = slices.Clone(projects)
}

// Fresh reports whether the last beat is young enough that no other node can have taken a lease of this one since. It is also
// true while the store is down; if it only seems so from here, others may have.
func (m *Members) Fresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.lost && !m.last.IsZero() && time.Since(m.last) < m.limit
}

// Nodes returns all nodes that the store knew when they were read last, at most a beat ago if it answers, sorted by id.
// Only their Alive says whether they live.
func (m *Members) Nodes() []store.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// Others returns the other live nodes that can be reached, sorted by id. One without a URL, such as a command that uses the
// store, cannot.
func (m *Members) Others() []store.Node {
	return slices.DeleteFunc(m.Nodes(), func(n store.Node) bool { return !reachable(n) || n.ID == m.o.Node.ID })
}

// Other returns the node of that id, if it is one of Others.
func (m *Members) Other(id string) (store.Node, bool) {
	n := byID(m.Others(), id)
	return n, n.ID != ""
}

// Refresh reads the nodes now. Those who call it while the nodes are read share the next reading.
func (m *Members) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.o.Beat)
	defer cancel()
	m.mu.Lock()
	came := m.readings.begun
	m.mu.Unlock()
	select {
	case m.readings.one <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("nodes: wait for others that read them: %w", ctx.Err())
	}
	defer func() { <-m.readings.one }()
	m.mu.Lock()
	if m.readings.read > came {
		m.mu.Unlock()
		return nil
	}
	m.readings.begun++
	number := m.readings.begun
	m.mu.Unlock()
	all, err := m.o.Presence.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	slices.SortFunc(all, func(a, b store.Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range m.replace(all, number) {
		m.o.Died(n)
	}
	m.compare(all)
	return nil
}

// replace keeps the nodes of a reading and returns those that have died since the one before.
func (m *Members) replace(all []store.Node, number int) (died []store.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all, m.readings.read = all, number
	live, dead := map[string]bool{m.self.ID: true}, map[string]bool{}
	for _, n := range all {
		switch {
		case n.Alive:
			live[n.ID] = true
		case n.ID != m.self.ID:
			if !m.buried[n.ID] {
				died = append(died, n)
			}
			dead[n.ID] = true
		}
	}
	m.buried = dead
	for w := range m.watchers {
		if !live[w.id] {
			w.cancel(ErrDied)
		}
	}
	return died
}

// failed logs why beats fail, once for each reason until one succeeds.
func (m *Members) failed(err error) {
	m.mu.Lock()
	told := m.failure == err.Error()
	m.failure = err.Error()
	m.mu.Unlock()
	if !told {
		m.o.Log(fmt.Sprintf("a beat of this node failed and is sent again: %v", err))
	}
}

// Dead reports whether the node of that id has died or left. One that the store does not know any
// more is dead; a node that has just come is read first.
func (m *Members) Dead(id string) bool {
	if id == m.o.Node.ID {
		return false
	}
	n := byID(m.Nodes(), id)
	if n.ID == "" {
		if m.Refresh(context.Background()) != nil {
			return false
		}
		n = byID(m.Nodes(), id)
	}
	return !n.Alive
}

// Has reports whether this node has a project.
func (m *Members) Has(project string) bool {
	_, has := projectOf(m.Self(), project)
	return has
}

// ErrDied is the cause of a context of While.
var ErrDied = errors.New("the node has died or left")

// While returns a context that ends when ctx does, or, with ErrDied as its cause, when another node is not alive any more. The
// caller calls leave.
func (m *Members) While(ctx context.Context, id string) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &watcher{id, cancel}
	m.watchers[w] = struct{}{}
	if !byID(m.all, id).Alive {
		cancel(ErrDied)
	}
	return ctx, func() {
		cancel(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, w)
	}
}

// watcher ends the contexts of While.
type watcher struct {
	id     string
	cancel context.CancelCauseFunc
}
