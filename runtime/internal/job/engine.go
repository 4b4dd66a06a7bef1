package job

import (
	"context"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Engine delivers jobs to a [Work]: it decides when this process tries which job. The rows of the
// store decide who may: an engine takes a job with [store.Jobs.TakeJob] before it passes it on, and
// what another engine delivers twice is taken once. The methods are safe for concurrent use.
type Engine interface {
	// Start starts to deliver. It is called once, before Close, and does not wait.
	Start()
	// Wake says that a job may be due, because this process has queued one. It is called often,
	// also before Start and after Close, and does not wait.
	Wake()
	// Close delivers no more jobs, but may begin what is due now, and returns when the running attempts
	// have ended. When ctx ends it cancels the contexts of their [Work.Do]. It is called once; Start may
	// not have been.
	Close(ctx context.Context)
}

// NewEngine returns the engine of the options, which is a [Runner] if they have none, for the work.
func NewEngine(w *Work) Engine {
	if w.o.Engine == nil || len(w.kinds) == 0 {
		return NewRunner(w)
	}
	return w.o.Engine(w)
}

// Store has the jobs. Project and Owner are those of the jobs that this process takes, and Kinds what it
// can run, sorted; without kinds there is nothing to deliver. Workers is how many attempts may run at
// once, and Attempts how many a job has.
func (w *Work) Store() store.Jobs { return w.c.Store }

// Project: see Store.
func (w *Work) Project() string { return w.c.Project }

// Owner: see Store.
func (w *Work) Owner() string { return w.c.Owner }

// Kinds: see Store. The caller does not change the slice.
func (w *Work) Kinds() []string { return w.kinds }

// Workers: see Store.
func (w *Work) Workers() int { return w.o.Workers }

// Attempts: see Store.
func (w *Work) Attempts() int { return w.o.Attempts }
