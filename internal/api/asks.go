package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// maxSettled is of how many asks it is known what became of them.
const maxSettled = 1024

// asks are the calls that wait for an answer.
//
// The event that tells of an ask may come before the ask. So that a client that has
// seen it finds the ask, the event is noted as one that is coming, and who lists
// the asks waits until it has come, or was answered without anybody being asked.
type asks struct {
	mu     sync.Mutex
	open   map[askKey]*ask
	coming map[askKey]*coming
	// settled says, by the id of an ask, why it cannot be answered any more, for the
	// last maxSettled of them, whose ids are in order.
	settled map[string]string
	order   []string
	opened  int
}

// askKey names an ask: a turn asks about one call at a time.
type askKey struct{ turn, call string }

// ask is one call that waits.
type ask struct {
	wire.Ask
	request approval.Request
	number  int
	// given is closed when reply is set.
	given chan struct{}
	reply *approval.Reply
}

type coming struct {
	conversation string
	// come is closed when the ask is there, or will not come.
	come chan struct{}
}

func newAsks() *asks {
	return &asks{open: map[askKey]*ask{}, coming: map[askKey]*coming{}, settled: map[string]string{}}
}

// observe notes the ask that an event tells of, and forgets one that nobody is
// asked about.
func (a *asks) observe(ev hook.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev.Kind {
	case event.ApprovalAsked:
		key := askKey{ev.Turn, ev.Detail().CallID}
		if a.open[key] == nil && a.coming[key] == nil {
			a.coming[key] = &coming{ev.Conversation, make(chan struct{})}
		}
	case event.ApprovalGiven, event.TurnEnd:
		for key := range a.coming {
			if key.turn == ev.Turn {
				a.comeLocked(key)
			}
		}
	}
}

// forget says that no ask of the conversation is coming: its turn is over, which the
// hook is not told of if one that hangs was left behind.
func (a *asks) forget(conversation string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, c := range a.coming {
		if c.conversation == conversation {
			a.comeLocked(key)
		}
	}
}

// comeLocked lets those go on who wait for the ask.
func (a *asks) comeLocked(key askKey) {
	if c := a.coming[key]; c != nil {
		close(c.come)
		delete(a.coming, key)
	}
}

// Ask implements [approval.Channel]: it waits until a client answers.
func (h *Hook) Ask(ctx context.Context, r approval.Request) (approval.Reply, error) {
	a, key := h.asks, askKey{r.Turn, r.CallID}
	k := &ask{Ask: askOf(r), request: r, given: make(chan struct{})}
	a.mu.Lock()
	a.opened++
	k.number = a.opened
	a.open[key] = k
	a.comeLocked(key)
	a.mu.Unlock()
	select {
	case <-k.given:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[key] == k {
		delete(a.open, key)
	}
	if k.reply == nil {
		a.settleLocked(k.ID, whyOver(context.Cause(ctx)))
		return approval.Reply{}, context.Cause(ctx)
	}
	return *k.reply, nil // also if ctx has ended: somebody was told that it counts
}

// settleLocked notes why an ask cannot be answered any more.
func (a *asks) settleLocked(id, why string) {
	if len(a.order) == maxSettled {
		delete(a.settled, a.order[0])
		a.order = a.order[1:]
	}
	a.settled[id] = why
	a.order = append(a.order, id)
}

// whyOver says why an ask was ended that no client has answered.
func whyOver(cause error) string {
	switch {
	case errors.Is(cause, approval.ErrTimeout):
		return "its time is over"
	case errors.Is(cause, approval.ErrAnswered):
		return "an answer that was remembered meanwhile holds"
	}
	return "its turn is ending"
}

func askOf(r approval.Request) wire.Ask {
	w := wire.Ask{
		ID: rand.Text(), Agent: r.Agent, Conversation: r.Conversation, Turn: r.Turn, Depth: r.Depth, CallID: r.CallID,
		Tool: r.Tool, Args: r.Args, Reason: r.Reason, Asked: r.Asked.UTC(), ApprovedOnTimeout: r.ApprovedOnTimeout,
	}
	if !r.Expires.IsZero() {
		w.Expires = r.Expires.UTC()
	}
	for _, o := range r.Offers.All() {
		w.Offers = append(w.Offers, wire.Offer(o))
	}
	return w
}

// answer gives the answer to an ask. The error says why it does not count.
func (a *asks) answer(id string, reply approval.Reply) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why, ok := a.settled[id]; ok {
		return answeredAlready(why)
	}
	for _, k := range a.open {
		if k.ID != id {
			continue
		}
		if err := k.request.Check(reply); err != nil {
			return invalid("%v", err)
		}
		k.reply = &reply
		close(k.given)
		a.settleLocked(id, "it has its answer")
		return nil
	}
	return notFound("no ask %.80q waits for an answer; GET /v1/asks lists those that wait", id)
}

// list returns what waits, the oldest first; conversation "" is all.
func (a *asks) list(ctx context.Context, conversation string) []wire.Ask {
	a.arrive(ctx, conversation)
	a.mu.Lock()
	open := make([]*ask, 0, len(a.open))
	for _, k := range a.open {
		if k.reply == nil && (conversation == "" || k.Conversation == conversation) {
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

// arrive waits until the asks that are coming now are there, or will not come, or ctx
// ends.
func (a *asks) arrive(ctx context.Context, conversation string) {
	var all []*coming
	a.mu.Lock()
	for _, c := range a.coming {
		if conversation == "" || c.conversation == conversation {
			all = append(all, c)
		}
	}
	a.mu.Unlock()
	for _, c := range all {
		select {
		case <-c.come:
		case <-ctx.Done():
			return
		}
	}
}
