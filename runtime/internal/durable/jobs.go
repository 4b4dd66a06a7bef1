package durable

import (
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// MaxJobs is how many jobs may wait for the next write of a turn.
const MaxJobs = 1000

// jobs are those that a turn has queued since its last write. It is safe for concurrent use.
type jobs struct {
	mu sync.Mutex
	// open: the turn writes at least once more.
	open bool
	// epoch is that of the lease under which they wait.
	epoch   int64
	waiting []store.Job
}

// begin lets jobs wait, for a turn under the epoch. Those of an earlier epoch stay if this process has
// claimed anew behind a write without an answer, which the next epoch says. If it is a later one, another
// process has continued the turn that queued them, and queues them itself.
func (q *jobs) begin(epoch int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if epoch > q.epoch+1 {
		q.waiting = nil
	}
	q.open, q.epoch = true, epoch
}

// end lets no further job wait; those that do are for the write that follows.
func (q *jobs) end() {
	q.mu.Lock()
	q.open = false
	q.mu.Unlock()
}

func (q *jobs) take() []store.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	return all
}

// putBack returns the jobs of a write that has failed.
func (q *jobs) putBack(all []store.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(all, q.waiting...)
}

// QueueJob lets the job, which the store would accept, wait for the next write of the turn, which
// queues it in the same step. False: no such write follows, because no turn holds the lease or
// because it has made its last one. The error is [hook.ErrCrowded]. Any goroutine may call it.
func (l *Lease) QueueJob(j store.Job) (waits bool, err error) {
	q := &l.jobs
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case !q.open:
		return false, nil
	case len(q.waiting) >= MaxJobs:
		return false, fmt.Errorf("%w: %d jobs wait for the next write of the turn", hook.ErrCrowded, MaxJobs)
	}
	q.waiting = append(q.waiting, j)
	return true, nil
}
