// Package runlog writes the records of hook runs and jobs to a store. Putting a record never waits
// and never fails: a goroutine writes the records in batches. Records are lost if the process dies
// within the time that a batch is collected, if the store fails, or if it is too slow.
package runlog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// collect is how long records are collected for one write. So most runs are written once,
	// when they have ended.
	collect = 50 * time.Millisecond
	// maxWaiting is how many records wait at most; later ones are lost.
	maxWaiting = 4096
)

// The codes of the diagnostics.
const (
	CodeFailed hook.DiagnosticCode = "run.store_failed" // records could not be written
	CodeLost   hook.DiagnosticCode = "run.lost"         // records were lost, because too many waited
)

// Config is what a Log gets from the program that it is part of.
type Config struct {
	Store          store.Runs
	Project, Owner string
	// Now is the clock.
	Now func() time.Time
	// Gone reports whether an owner is known to have died; nil is never.
	Gone func(owner string) bool
	// Told is called about lost records; not nil.
	Told func(ctx context.Context, d hook.Diagnostic)
}

// Log writes records. A nil Log writes none. It is safe for concurrent use.
type Log struct {
	c Config
	// stop is closed by Close.
	stop    chan struct{}
	running sync.WaitGroup
	// failing: the last write failed. Only the writing goroutine uses it.
	failing bool

	mu      sync.Mutex
	waiting []store.Run
	// at has the index of a run in waiting.
	at   map[string]int
	lost int
	// started and closed are set once. writing: a goroutine writes.
	started, closed, writing bool
}

// New returns a log that is not started yet. It keeps the records that it gets until then.
func New(c Config) *Log {
	return &Log{c: c, stop: make(chan struct{}), at: map[string]int{}}
}

// Start starts to write, and marks the runs that dead processes have left. The caller closes the
// log. Call it once.
func (l *Log) Start() {
	if l == nil {
		return
	}
	if l.c.Gone != nil {
		l.running.Go(l.interrupt)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
	l.writeSoonLocked()
}

// Close returns when all records that the log has got are written, or lost because the store
// failed. Records that come later are dropped.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	l.running.Wait()
}

// Put adds a record, or merges it into the one of the same run that waits.
func (l *Log) Put(r store.Run) {
	if l == nil {
		return
	}
	r.Project, r.Owner = l.c.Project, l.c.Owner
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if i, ok := l.at[r.ID]; ok {
		l.waiting[i] = store.MergeRun(l.waiting[i], r)
		return
	}
	if len(l.waiting) >= maxWaiting {
		l.lost++
		return
	}
	l.at[r.ID] = len(l.waiting)
	l.waiting = append(l.waiting, r)
	l.writeSoonLocked()
}

// writeSoonLocked starts the goroutine that writes, if there is something to write.
func (l *Log) writeSoonLocked() {
	if l.started && !l.writing && len(l.waiting) > 0 {
		l.writing = true
		l.running.Go(l.writeAll)
	}
}

// writeAll collects and writes records until none wait.
func (l *Log) writeAll() {
	for more := true; more; {
		timer := time.NewTimer(collect)
		select {
		case <-timer.C:
		case <-l.stop:
		}
		timer.Stop()
		l.write()
		l.mu.Lock()
		more = len(l.waiting) > 0
		l.writing = more
		l.mu.Unlock()
	}
}

// write writes the records that wait. It tells of the first of several failures only.
func (l *Log) write() {
	l.mu.Lock()
	batch, lost := l.waiting, l.lost
	l.waiting, l.lost = nil, 0
	clear(l.at)
	l.mu.Unlock()
	if lost > 0 {
		l.tell(CodeLost, fmt.Sprintf("%d records of hook runs were lost, because the store was too slow", lost))
	}
	if len(batch) == 0 {
		return
	}
	err := l.c.Store.WriteRuns(context.Background(), batch)
	if err != nil && !l.failing {
		l.tell(CodeFailed, "records of hook runs could not be written; the runs themselves are not affected")
	}
	l.failing = err != nil
}

// interrupt marks the runs that processes have left behind that have died.
func (l *Log) interrupt() {
	if l.c.Gone == nil {
		return
	}
	running, err := l.c.Store.Runs(context.Background(), store.RunFilter{Project: l.c.Project, Status: event.RunRunning})
	if err != nil {
		return // they show as running until the next start
	}
	left := Interrupted(running, l.c.Gone)
	left = slices.DeleteFunc(left, func(r store.Run) bool { return r.Status != event.RunInterrupted })
	if len(left) > 0 {
		_ = l.c.Store.WriteRuns(context.Background(), left) // as above
	}
}

// Interrupted returns the runs; those that run in a process that has died are interrupted.
func Interrupted(runs []store.Run, gone func(owner string) bool) []store.Run {
	out := slices.Clone(runs)
	for i, r := range out {
		if r.Status != event.RunRunning || !gone(r.Owner) {
			continue
		}
		later := r
		later.Status, later.Error = event.RunInterrupted, "its process has died"
		out[i] = store.MergeRun(r, later)
	}
	return out
}

func (l *Log) tell(code hook.DiagnosticCode, text string) {
	l.c.Told(context.Background(), hook.Diagnostic{Code: code, Text: text})
}
