package stream

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
)

// listener is a kind of receiver of an event.
type listener int

const (
	theHook listener = iota
	theFollowers
	theObserver
	nobody
)

// deliver calls the hook, then the followers, then the observer. Each gets a copy. Only the
// hook gets internal events.
func (d Delivery) deliver(ctx context.Context, h hook.Hook, ev *hook.Event, observer func(hook.Event)) {
	for next := theHook; next != nobody; {
		d.tell(ctx, h, ev, observer, &next)
	}
}

// deliverFrom is deliver for the listeners of the log that the event comes from.
func (d Delivery) deliverFrom(ctx context.Context, from *Log, ev *hook.Event, observer func(hook.Event)) {
	hooks, done := from.listeners()
	defer done()
	d.deliver(ctx, hooks, ev, observer)
}

// tell calls the listeners from next on. If one of them panics, tell returns with next
// behind that one: so one deferred call serves all listeners.
func (d Delivery) tell(ctx context.Context, h hook.Hook, ev *hook.Event, observer func(hook.Event), next *listener) {
	defer d.recovered(ctx, next)
	if *next == theHook {
		h.OnEvent(ctx, *ev)
		*next = theFollowers
	}
	if !ev.Internal() && d.Held() {
		d.log.o.Hub.Put(ev)
		if observer != nil {
			*next = theObserver
			observer(*ev)
		}
	}
	*next = nobody
}

// recovered is deferred by tell. It does not call an observer again that has panicked. If a
// listener ends the goroutine, recovered gives the delivery back.
func (d Delivery) recovered(ctx context.Context, next *listener) {
	if *next == nobody {
		return
	}
	v := recover()
	switch {
	case v == nil:
		d.drop()
	case !d.Held(): // the new holder has reported it
		*next = nobody
	case *next == theHook:
		*next = theFollowers
		d.emit(ctx, panicFailure(v).Event())
	case *next == theObserver:
		*next = nobody
		d.log.forgetObserver()
		d.emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "the observer of the turn panicked and is not called again"})
	default:
		d.drop()
		panic(v)
	}
}

// emit queues an event about the delivery itself.
func (d Delivery) emit(ctx context.Context, ev hook.Event) { d.log.Emit(ctx, &ev, How{Inside: true}) }

// panicFailure is the failure of an OnEvent that panicked with v. A composite panics with
// the failure of its member.
func panicFailure(v any) *hook.Failure {
	if f, ok := v.(*hook.Failure); ok {
		return f
	}
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	return &hook.Failure{Point: point.OnEvent, Err: fmt.Errorf("panic: %w", err), Panic: true, Stack: debug.Stack()}
}

func (l *Log) forgetObserver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.observer = nil
	l.forgetObserversLocked()
}

// forgetObserversLocked removes the observers from the queue.
func (l *Log) forgetObserversLocked() {
	for i := range l.delivery.queue {
		l.delivery.queue[i].observer = nil
	}
}
