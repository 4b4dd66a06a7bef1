package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
)

// HookOptions are the options of a [Hook].
type HookOptions struct {
	// AskTimeout is how long an ask waits for its answer; then the call is refused.
	// Zero waits as long as the turn goes on.
	AskTimeout time.Duration
	// Now is the clock of what asks say; nil is time.Now.
	Now func() time.Time
}

// asks are the calls that wait for an answer.
//
// An ask is opened by whichever comes first, the event that tells of it or the
// call of Approve: the event usually does, so that a client that has seen it
// finds the ask.
type asks struct {
	timeout time.Duration
	now     func() time.Time

	mu     sync.Mutex
	open   map[askKey]*ask
	opened int
}

// askKey names an ask: a turn asks about one call at a time.
type askKey struct{ turn, call string }

// ask is one call that waits.
type ask struct {
	wire.Ask
	number int
	// waiting: Approve is there and will take the ask away.
	waiting bool
	// done: it has its answer.
	done     bool
	answered chan hook.ApprovalDecision // capacity 1
}

func newAsks(o HookOptions) *asks {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &asks{timeout: o.AskTimeout, now: o.Now, open: map[askKey]*ask{}}
}

// observe opens the ask that an event tells of, and takes away one that nobody
// came to wait for.
func (a *asks) observe(ev hook.Event) {
	switch ev.Kind {
	case hook.EventApprovalAsked:
		d := ev.Detail()
		a.mu.Lock()
		k := a.openLocked(wire.Ask{
			Agent: ev.Agent, Conversation: ev.Conversation, Turn: ev.Turn,
			CallID: d.CallID, Tool: d.Tool, Args: d.Args, Reason: ev.Text,
		})
		k.Conversation = ev.Conversation // a child's call is asked about where people see it
		a.mu.Unlock()
	case hook.EventApprovalGiven, hook.EventTurnEnd:
		a.mu.Lock()
		for key, k := range a.open {
			if key.turn == ev.Turn && !k.waiting {
				delete(a.open, key)
			}
		}
		a.mu.Unlock()
	}
}

// openLocked returns the ask about exactly this call. One about other arguments,
// of which an event told late, is replaced: what was answered there is no answer
// here.
func (a *asks) openLocked(w wire.Ask) *ask {
	key := askKey{w.Turn, w.CallID}
	k := a.open[key]
	if k == nil || !k.waiting && (k.Tool != w.Tool || k.Args != w.Args) {
		a.opened++
		w.ID, w.Asked = rand.Text(), a.now()
		if a.timeout > 0 {
			w.Expires = w.Asked.Add(a.timeout)
		}
		k = &ask{Ask: w, number: a.opened, answered: make(chan hook.ApprovalDecision, 1)}
		a.open[key] = k
	}
	return k
}

// Approve waits for a client's answer. It refuses when the time for it is over
// and when ctx ends.
func (h *Hook) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	a, turn := h.asks, call.Step().Turn()
	w := wire.Ask{
		Agent: turn.Agent().Name, Conversation: turn.Conversation().ID(), Turn: turn.ID(),
		CallID: call.ID(), Tool: call.Name(), Args: call.Args(), Reason: asked.Verdict().Reason,
	}
	a.mu.Lock()
	k := a.openLocked(w)
	k.waiting = true
	a.mu.Unlock()
	reason := a.wait(ctx, k)
	a.mu.Lock()
	delete(a.open, askKey{w.Turn, w.CallID})
	a.mu.Unlock()
	select {
	case d := <-k.answered: // also if ctx has ended: somebody was told that it counts
		return d, nil
	default:
		return hook.RefuseCall(reason), nil
	}
}

// wait waits for the answer, which stays where it is, or returns why there is
// none.
func (a *asks) wait(ctx context.Context, k *ask) string {
	var late <-chan time.Time
	if a.timeout > 0 {
		timer := time.NewTimer(a.timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case d := <-k.answered:
		k.answered <- d
		return ""
	case <-ctx.Done():
		return "The turn ended before anybody answered."
	case <-late:
		return "Nobody answered within " + a.timeout.String() + "."
	}
}

// answer gives the answer to an ask; false if there is none of that id that waits
// for one.
func (a *asks) answer(id string, d hook.ApprovalDecision) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.open {
		if k.ID == id && !k.done {
			k.done = true
			k.answered <- d
			return true
		}
	}
	return false
}

// list returns what waits, the oldest first; conversation "" is all.
func (a *asks) list(conversation string) []wire.Ask {
	a.mu.Lock()
	open := make([]*ask, 0, len(a.open))
	for _, k := range a.open {
		if !k.done && (conversation == "" || k.Conversation == conversation) {
			open = append(open, k)
		}
	}
	a.mu.Unlock()
	slices.SortFunc(open, func(x, y *ask) int { return cmp.Compare(x.number, y.number) })
	out := make([]wire.Ask, len(open))
	for i, k := range open {
		out[i] = k.Ask
	}
	return out
}
