package abandoned

import "sync"

// State is the state of a [Task].
type State uint8

// The states of a task. A task that waits or runs can be abandoned, one that has ended
// cannot.
const (
	Waiting State = iota
	Running
	Ended
	Abandoned
)

// Task is one piece of work that one goroutine does and another may abandon. If it is
// abandoned while it runs, it is counted from then until it ends. The zero value waits. It
// is safe for concurrent use.
type Task struct {
	mu     sync.Mutex
	state  State
	counts *Counts
	work   Work
}

// Begin marks the begin of the work; c counts it if it is abandoned. The caller must call
// [Task.End] later. Begin returns false if the task was abandoned while it waited: then
// the caller must not begin.
func (t *Task) Begin(c *Counts, w Work) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Waiting {
		return false
	}
	t.state, t.counts, t.work = Running, c, w
	return true
}

// End marks the end of work that has begun.
func (t *Task) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == Abandoned {
		t.counts.Ended(t.work)
		return
	}
	t.state = Ended
}

// Abandon abandons the task, unless it has ended, and returns the state before. A task that
// waited never begins.
func (t *Task) Abandon() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.state
	switch was {
	case Running:
		t.counts.Add(t.work)
		t.state = Abandoned
	case Waiting:
		t.state = Abandoned
	case Ended, Abandoned:
	}
	return was
}

// State returns the current state.
func (t *Task) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}
