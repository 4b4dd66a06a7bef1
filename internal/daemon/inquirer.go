package daemon

import (
	"context"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/terminal"
)

// Inquire puts questions to people and returns their answer and who gave it, or
// the error of ctx, which ends when an answer has come from elsewhere or the turn
// ends. agent is who asks. It is called from several goroutines.
type Inquire func(ctx context.Context, agent string, q hook.Inquiry) (r hook.Response, by string, err error)

// inquirer puts the questions of agents to the people that the program knows.
// Events must not wait for them, so each inquiry has a goroutine, until it is
// answered or over.
type inquirer struct {
	hook.Nop
	app     *App
	inquire Inquire

	mu     sync.Mutex
	closed bool
	// open are the inquiries under way: what ends them.
	open    map[inquiryKey]context.CancelFunc
	running sync.WaitGroup
}

type inquiryKey struct{ conversation, id string }

var _ hook.OnClose = (*inquirer)(nil)

// OnEvent begins and ends inquiries.
func (i *inquirer) OnEvent(ctx context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.QuestionAsked:
		i.begin(ctx, ev)
	case event.QuestionGiven:
		i.end(inquiryKey{ev.Conversation, ev.Detail().Inquiry.ID})
	}
}

// OnClose returns when nothing is asked any more.
func (i *inquirer) OnClose(context.Context) error {
	i.mu.Lock()
	i.closed = true
	for _, cancel := range i.open {
		cancel()
	}
	i.mu.Unlock()
	i.running.Wait()
	return nil
}

func (i *inquirer) begin(ctx context.Context, ev hook.Event) {
	key := inquiryKey{ev.Conversation, ev.Detail().Inquiry.ID}
	ctx, cancel := context.WithCancel(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.open[key] != nil {
		cancel()
		return
	}
	if i.open == nil {
		i.open = map[inquiryKey]context.CancelFunc{}
	}
	i.open[key] = cancel
	i.running.Go(func() {
		defer i.end(key)
		i.put(ctx, ev)
	})
}

func (i *inquirer) end(key inquiryKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if cancel := i.open[key]; cancel != nil {
		cancel()
		delete(i.open, key)
	}
}

// put asks and hands the answer over. Where the people cannot be asked, nobody is
// to wait for them.
func (i *inquirer) put(ctx context.Context, ev hook.Event) {
	q := ev.Detail().Inquiry
	r, by, err := i.inquire(ctx, ev.Agent, q)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		ev.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "the question could not be asked: " + err.Error()})
		r, by = hook.Response{Given: message.Freeze(make([]hook.Given, q.Questions.Len()))}, terminal.ByNobody
	}
	// One that comes too late is no error: the event shows which answer holds.
	_ = i.app.Runtime.Answer(ev.Conversation, q.ID, by, r)
}
