// Package keyed has one lock for each key: for tool calls with an exclusive key, and for
// other work that runs once at a time for each name.
package keyed

import (
	"context"
	"sync"
)

// Locks is one lock for each key. The zero value is ready. It is safe for concurrent use.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is free while its channel is empty. It is deleted when it has no users.
type lock struct {
	taken chan struct{}
	// users hold the lock or wait for it.
	users int
	// holder describes the user that holds the lock.
	holder string
}

// Lock waits until the key is free. When ctx ends first, it returns the error of ctx. The key
// "" is always free. If another user holds the key, Lock calls waits once with that user's
// holder; waits may be nil. The caller calls unlock exactly once, from any goroutine.
func (k *Locks) Lock(ctx context.Context, key, holder string, waits func(holder string)) (unlock func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	l := k.use(key)
	select {
	case l.taken <- struct{}{}:
		return k.hold(key, l, holder), nil
	default:
	}
	if waits != nil {
		waits(k.holder(l))
	}
	select {
	case l.taken <- struct{}{}:
		return k.hold(key, l, holder), nil
	case <-ctx.Done():
		k.leave(key, l)
		return nil, ctx.Err()
	}
}

// hold records the holder of a lock that was just taken.
func (k *Locks) hold(key string, l *lock, holder string) (unlock func()) {
	k.mu.Lock()
	l.holder = holder
	k.mu.Unlock()
	return func() {
		<-l.taken
		k.leave(key, l)
	}
}

func (k *Locks) holder(l *lock) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return l.holder
}

func (k *Locks) use(key string) *lock {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.held[key]
	if l == nil {
		if k.held == nil {
			k.held = map[string]*lock{}
		}
		l = &lock{taken: make(chan struct{}, 1)}
		k.held[key] = l
	}
	l.users++
	return l
}

func (k *Locks) leave(key string, l *lock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.users--
	if l.users == 0 {
		delete(k.held, key)
	}
}
