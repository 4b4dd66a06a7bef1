package loop

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Summary takes the place of the oldest messages of the history.
type Summary struct {
	// Cut is how many messages it replaces. They are older than the running turn.
	Cut     int
	Message message.Message
	// Store replaces them in the store after the turn, if the history still has the version.
	Store func(ctx context.Context, version int64) error
}

// FirstMessage is the index of the turn's first message in the history.
func (t *Turn) FirstMessage() int { return t.firstMessage }

// Charge adds the cost of model calls that the runtime has made for the turn. It is safe for
// concurrent use.
func (t *Turn) Charge(u message.Usage, cost hook.Cost) {
	if u == (message.Usage{}) {
		return
	}
	t.addOwn(u, cost)
	t.thread.emit(t.noCancel, hook.Event{Kind: event.Usage}.WithUsage(u, cost, ""))
}

// Summarize lets the next requests of the turn begin with the summary. It is safe for concurrent
// use.
func (t *Turn) Summarize(s Summary) { t.summary.Store(&s) }

// applySummary reports whether there was a summary that requests did not begin with yet.
func (t *Turn) applySummary() bool {
	s := t.summary.Swap(nil)
	if s == nil {
		return false
	}
	t.history.summarize(s.Cut, s.Message)
	t.summarized = s
	return true
}

// leaveSummary gives the summary to the thread, because the turn has ended.
func (t *Turn) leaveSummary() {
	t.applySummary()
	if t.summarized != nil && t.endStored && !t.leaseLost {
		t.thread.summary, t.thread.summaryVersion = t.summarized, t.thread.Lease.Version()
	}
}

// TakeSummary returns the function that stores the summary of the turn that has ended, and the
// version of the history that it is for; nil if there is none. The caller occupies the
// conversation.
func (th *Thread) TakeSummary() (write func(context.Context, int64) error, version int64) {
	if th.summary == nil {
		return nil, 0
	}
	write, version = th.summary.Store, th.summaryVersion
	th.summary = nil
	return write, version
}
