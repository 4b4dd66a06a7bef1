package abandoned

import "sync"

// State says where a [Task] is.
type State uint8

// The states of a task. A task that waits or runs can be abandoned, one that has ended
// cannot.
const (
	Waiting State = iota
	Running
	Ended
	Abandoned
)

// Task is one piece of work that one goroutine does and that another may abandon. It is
// counted from when it is abandoned while it runs until it ends. The zero value waits. It
// is safe for concurrent use.
type Task struct {
	mu     sync.Mutex
	state  State
	counts *Counts
	work   Work
}

// Begin says that the work begins, which [Task.End] must follow, and where it is counted
// if it is abandoned. It returns false if the task was abandoned while it waited: then the
// caller must not begin.
func (t *Task) Begin(c *Counts, w Work) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != Waiting {
		return false
	}
	t.state, t.counts, t.work = Running, c, w
	return true
}

// End says that the work that had begun has ended.
func (t *Task) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == Abandoned {
		t.counts.Ended(t.work)
		return
	}
	t.state = Ended
}

// Abandon gives the task up, unless it has ended, and returns the state in which it was. A
// task that waited never begins.
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

// State returns where the task is now.
func (t *Task) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}
