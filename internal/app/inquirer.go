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

// Inquire puts a request to people and returns their answer and the name of who gave
// it, or the error of ctx, which ends when an answer has come from elsewhere or the
// turn ends. It is called from several goroutines.
type Inquire func(ctx context.Context, r term.Request) (answer hook.Response, by string, err error)

// inquirer puts the requests that events tell of to the people that the program
// knows. Events must not wait for them, so each request has a goroutine, until it is
// answered or over.
type inquirer struct {
	hook.Nop
	app     *App
	inquire Inquire

	mu     sync.Mutex
	closed bool
	// asking are the ids of the requests under way.
	asking  map[string]bool
	running sync.WaitGroup
}

var _ hook.OnClose = (*inquirer)(nil)

// OnEvent begins to ask.
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

// OnClose returns when nobody is asked any more. The turns have ended by then, and
// what waited for an answer with them. The error says that somebody was still being
// asked when ctx ended.
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

// request waits for the request that an event has told of; false if nobody has to
// be asked. It ends with the turn.
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

// claim reports whether nobody is asked that already. The event of a call may be
// read so late that the call asks for the second time.
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

// put asks and hands the answer over. Where the people cannot be asked, nobody is
// to wait for them.
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
	// One that comes too late is no error: the event shows which answer holds.
	_ = i.app.Runtime.Answer(r.Conversation, r.ID, by, answer)
}

// ask is inquire, whose panic is an error.
func (i *inquirer) ask(ctx context.Context, r runtime.Request) (answer hook.Response, by string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("asking panicked: %v", v)
		}
	}()
	return i.inquire(ctx, term.Request{Inquiry: r.Inquiry, Agent: r.Agent, Depth: r.Depth, Expires: r.Expires()})
}
