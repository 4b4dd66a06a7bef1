package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/runtime"
)

// Inquire puts a request to people and returns their answer and the name of the person. ctx
// ends when another client has answered or the turn ends; then it returns the error of ctx.
// It is called from several goroutines.
type Inquire func(ctx context.Context, r term.Request) (answer hook.Response, by string, err error)

// inquirer puts the requests that events announce to people. Events must not wait for people,
// so each request has a goroutine until it ends.
type inquirer struct {
	hook.Nop
	app     *App
	inquire Inquire

	mu     sync.Mutex
	closed bool
	// asking are the ids of the requests that people are asked.
	asking  map[string]bool
	running sync.WaitGroup
}

var _ hook.OnClose = (*inquirer)(nil)

// OnEvent puts the request of the event to people, on a goroutine of its own.
func (i *inquirer) OnEvent(ctx context.Context, ev hook.Event) {
	if ev.Kind != event.QuestionAsked && ev.Kind != event.ApprovalAsked {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return
	}
	ctx = context.WithoutCancel(ctx)
	i.running.Go(func() {
		if r, ok := i.request(ctx, ev); ok && i.claim(r.ID) {
			defer i.leave(r.ID)
			i.put(ctx, r, ev.Host())
		}
	})
}

// OnClose waits until nobody is being asked. The turns, and so their requests, have ended
// before it is called. It returns an error if somebody is still being asked when ctx ends.
func (i *inquirer) OnClose(ctx context.Context) error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.running.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a person is still being asked: %w", context.Cause(ctx))
	}
}

// request waits for the request that the event announces. It returns false if the request
// needs no answer any more, or the turn ends.
func (i *inquirer) request(ctx context.Context, ev hook.Event) (runtime.Request, bool) {
	if ev.Kind == event.ApprovalAsked && i.app.Runtime.AwaitPending(ctx, ev.Conversation) != nil {
		return runtime.Request{}, false
	}
	all := i.app.Runtime.Pending()
	at := slices.IndexFunc(all, func(r runtime.Request) bool {
		if r.Approval != nil {
			return r.Turn == ev.Turn && r.Approval.CallID == ev.Detail().CallID
		}
		return r.Conversation == ev.Conversation && r.ID == ev.Detail().Inquiry.ID
	})
	if at < 0 {
		return runtime.Request{}, false
	}
	return all[at], true
}

// claim returns false if people are already asked that request: an event may be delivered so
// late that the call asks for the second time.
func (i *inquirer) claim(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asking[id] {
		return false
	}
	if i.asking == nil {
		i.asking = map[string]bool{}
	}
	i.asking[id] = true
	return true
}

func (i *inquirer) leave(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.asking, id)
}

// put asks and delivers the answer. If nobody can be asked, it delivers an answer that says so,
// so that the turn does not wait.
func (i *inquirer) put(ctx context.Context, r runtime.Request, host hook.Host) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i.running.Go(func() {
		defer cancel()
		select {
		case <-r.Done():
		case <-ctx.Done():
		}
	})
	answer, by, err := i.ask(ctx, r)
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled): // the turn is being cancelled
		return
	case err != nil:
		host.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "the question could not be asked: " + err.Error()})
		answer, by = term.Unasked(r.Inquiry), term.ByNobody
	}
	// A late answer is no error: the event shows the answer that counts.
	_ = i.app.Runtime.Answer(r.Conversation, r.ID, by, answer)
}

// ask calls inquire and returns its panic as an error.
func (i *inquirer) ask(ctx context.Context, r runtime.Request) (answer hook.Response, by string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("asking panicked: %v", v)
		}
	}()
	return i.inquire(ctx, term.Request{Inquiry: r.Inquiry, Agent: r.Agent, Depth: r.Depth, Expires: r.Expires()})
}
