package nodes

import (
	"context"
	"sync"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Wakes tells who waits for a conversation that its store was written to. The zero value is ready, and tells nobody
// until Run is called. It is safe for concurrent use.
type Wakes struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]struct{}
}

// Of returns a channel that gets a value soon after the conversation was written to. Several writes may be one value, and
// some have none, so the caller also looks now and then without one. The caller calls leave.
func (w *Wakes) Of(conversation string) (wake <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = map[string]map[chan struct{}]struct{}{}
	}
	if w.waiting[conversation] == nil {
		w.waiting[conversation] = map[chan struct{}]struct{}{}
	}
	w.waiting[conversation][c] = struct{}{}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting[conversation], c)
		if len(w.waiting[conversation]) == 0 {
			delete(w.waiting, conversation)
		}
	}
}

// Run watches the store until ctx ends. Its error is that of the store.
func (w *Wakes) Run(ctx context.Context, s store.Waker) error { return s.Watch(ctx, w.wake) }

func (w *Wakes) wake(conversation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.waiting[conversation] {
		select {
		case c <- struct{}{}:
		default: // it has one already
		}
	}
}
