package runtime

import (
	"context"
	"sync"
)

// keyed is one lock for each key. The zero keyed is ready.
type keyed struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

// keyLock is free while its channel is empty; it goes when nobody wants it.
type keyLock struct {
	taken chan struct{}
	users int
	// holder is who has the lock.
	holder string
}

// lock waits for the key until ctx ends; "" is no key. If somebody else has it, waits
// is told who; nil is told nothing. The caller calls unlock.
func (k *keyed) lock(ctx context.Context, key, holder string, waits func(holder string)) (unlock func(), err error) {
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

// hold notes who has got the lock.
func (k *keyed) hold(key string, l *keyLock, holder string) (unlock func()) {
	k.mu.Lock()
	l.holder = holder
	k.mu.Unlock()
	return func() {
		<-l.taken
		k.leave(key, l)
	}
}

func (k *keyed) holder(l *keyLock) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return l.holder
}

func (k *keyed) use(key string) *keyLock {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.held[key]
	if l == nil {
		if k.held == nil {
			k.held = map[string]*keyLock{}
		}
		l = &keyLock{taken: make(chan struct{}, 1)}
		k.held[key] = l
	}
	l.users++
	return l
}

func (k *keyed) leave(key string, l *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.users--
	if l.users == 0 {
		delete(k.held, key)
	}
}
