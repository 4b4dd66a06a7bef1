package composite

import (
	"slices"
	"sync"

	"github.com/sourcegraph/conc"
)

// Defaults of Parallel.
const (
	DefaultParallelPoint   = 8
	DefaultParallelProcess = 64
)

// Parallel bounds how many contributors tagged parallel run at once. A contributor that waits
// for its turn has not started: the wait is no part of its timeout and its duration. A
// contributor that is abandoned after its timeout gives its place back.
type Parallel struct {
	// Point is how many run at once at one point of one turn; 0 and negative numbers are
	// DefaultParallelPoint, 1 runs one after the other.
	Point int
	// Process is how many run at once in all turns of the composite together, in addition
	// to one for each point of each turn: so no turn waits for another one to make
	// progress. 0 is DefaultParallelProcess, negative is none.
	Process int
}

// bounds are those of a [Parallel]. Copies of a composite and nested composites share them.
type bounds struct {
	point int
	// slots has one value for each contributor that runs beyond the first of its walk.
	slots chan struct{}
}

// Bounded returns the composite with bounds for its contributors tagged parallel, those of
// nested composites included. Results of Layered and Recorded share them. Without Bounded,
// each point of each turn has the default bound, and the process has none.
func (c *Composite) Bounded(p Parallel) *Composite {
	b := &bounds{point: p.Point}
	if b.point <= 0 {
		b.point = DefaultParallelPoint
	}
	if p.Process == 0 {
		p.Process = DefaultParallelProcess
	}
	b.slots = make(chan struct{}, max(0, p.Process))
	return c.bounded(b)
}

func (c *Composite) bounded(b *bounds) *Composite {
	out := *c
	out.parallel = b
	out.members = slices.Clone(c.members)
	for i := range out.members {
		if inner, ok := out.members[i].hook.(*Composite); ok {
			out.members[i].hook = inner.bounded(b)
		}
	}
	out.link()
	return &out
}

// crew runs the parallel members of one walk, each on a goroutine of its own. They start in the
// order of the calls.
type crew struct {
	bounds  *bounds
	running *conc.WaitGroup
	// places has one value for each member that runs or waits for a slot.
	places chan struct{}
	// first is the slot of the walk itself. So the members of a nested composite make
	// progress even if outer walks hold all slots of the process.
	first chan struct{}

	mu      sync.Mutex
	waiting []func()
}

func newCrew(b *bounds) *crew {
	if b == nil {
		b = &bounds{point: DefaultParallelPoint}
	}
	return &crew{bounds: b, running: conc.NewWaitGroup(), places: make(chan struct{}, b.point), first: make(chan struct{}, 1)}
}

// run starts the member as soon as the bounds allow it. It never waits.
func (w *crew) run(member func()) {
	w.mu.Lock()
	w.waiting = append(w.waiting, member)
	w.mu.Unlock()
	w.running.Go(func() {
		w.places <- struct{}{}
		defer func() { <-w.places }() // also if the member ends its goroutine
		if w.bounds.slots != nil {
			slot := w.slot()
			defer func() { <-slot }()
		}
		w.next()()
	})
}

// slot waits for a slot of the walk or of the process, and returns the channel that gives it
// back.
func (w *crew) slot() <-chan struct{} {
	select {
	case w.first <- struct{}{}:
		return w.first
	default:
	}
	select {
	case w.first <- struct{}{}:
		return w.first
	case w.bounds.slots <- struct{}{}:
		return w.bounds.slots
	}
}

// next returns the member that has waited longest. There is one for each goroutine.
func (w *crew) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	member := w.waiting[0]
	w.waiting = w.waiting[1:]
	return member
}
