package loop

import (
	"cmp"
	"context"
	"strconv"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// Thread is a conversation as its turns use it. One turn runs at a time; the fields without
// a lock belong to its loop.
type Thread struct {
	Env   *Env
	Agent *Agent
	Place *hook.Conversation
	Host  hook.Host
	Log   *stream.Log
	Lease *durable.Lease

	mu sync.Mutex
	// turn is the turn that runs; nil between turns.
	turn *Turn
	// session is nil before the first turn, and next is the source that it begins with then;
	// "" is what the history says.
	session    *session
	nextSource hook.SessionSource

	// ids are the call ids of the history, because providers want them unique, and those of
	// replies, which are counted.
	ids     map[string]int
	replies int
	// guestSpoke: a guest has spoken.
	guestSpoke bool
}

// ID is the conversation's id in the store.
func (th *Thread) ID() string { return th.Place.ID() }

// SetSource sets the source of the next session.
func (th *Thread) SetSource(source hook.SessionSource) { th.nextSource = source }

// Current returns the turn that runs, or nil.
func (th *Thread) Current() *Turn {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.turn
}

func (th *Thread) setTurn(t *Turn) {
	th.mu.Lock()
	th.turn = t
	th.mu.Unlock()
}

// Loaded takes over a history that was read anew.
func (th *Thread) Loaded(history message.Messages) {
	th.ids, th.guestSpoke = map[string]int{}, false
	for _, m := range history.All() {
		th.guestSpoke = th.guestSpoke || m.From != ""
		if m.Role == message.RoleTool {
			th.ids[m.CallID] = accepted
		}
	}
}

// accepted marks a call id as one of the history's; any other number is the reply that it came with, which may have been dropped
// since.
const accepted = 0

// hasID reports whether the id is one of the history or of the newest reply.
func (th *Thread) hasID(id string) bool {
	reply, known := th.ids[id]
	return known && (reply == accepted || reply == th.replies)
}

func (th *Thread) newID() string {
	for n := len(th.ids) + 1; ; n++ {
		if id := "call_" + strconv.Itoa(n); !th.hasID(id) {
			return id
		}
	}
}

// session is the one of a conversation. What is not the place belongs to the
// running turn.
type session struct {
	place  *hook.Session
	teller hook.SessionTeller
	// begun: OnSessionStart has let it begin.
	begun bool
	// context is what OnSessionStart has for the model, until a turn takes it.
	context message.List[string]
}

// ensureSession returns the session, which is made if there is none. A session begins
// with the source unless the conversation knows a better one.
func (th *Thread) ensureSession(source hook.SessionSource) *session {
	th.mu.Lock()
	s, next := th.session, th.nextSource
	th.mu.Unlock()
	if s != nil {
		return s
	}
	made := new(session)
	made.place, made.teller = hook.NewSession(hook.SessionData{
		Conversation: th.Place, ID: th.Env.NewID(), Source: cmp.Or(next, source), Started: th.Env.Now(),
	})
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.session == nil {
		th.session = made
	}
	return th.session
}

// defaultSource is what a session begins with as the history stands.
func (th *Thread) defaultSource() hook.SessionSource {
	if th.Lease.History().Len() == 0 && th.Lease.Turns() == 0 {
		return hook.SessionStartup
	}
	return hook.SessionResume
}

// EndSession ends the session if one has begun. The next one begins with the
// source; "" is what the history says then. No turn is running.
func (th *Thread) EndSession(ctx context.Context, next hook.SessionSource) {
	th.endSession(ctx, nil, next)
}

func (th *Thread) endSession(ctx context.Context, t *Turn, next hook.SessionSource) {
	if s := th.takeSession(next); s != nil {
		th.callSessionEnd(ctx, t, s)
	}
}

// takeSession takes the session away from the conversation and returns it if hooks have to
// be told of its end.
func (th *Thread) takeSession(next hook.SessionSource) *session {
	th.mu.Lock()
	defer th.mu.Unlock()
	s := th.session
	th.session, th.nextSource = nil, next
	if s == nil || !s.begun || !th.Agent.Hooks.Has(point.OnSessionEnd) {
		return nil
	}
	return s
}

// callSessionEnd tells the hooks that the session has ended. t is the turn whose loop does
// so, nil outside of a loop.
func (th *Thread) callSessionEnd(ctx context.Context, t *Turn, s *session) {
	ctx = context.WithoutCancel(ctx)
	t.enterForeign(point.OnSessionEnd)
	th.Agent.Hooks.OnSessionEnd(ctx, s.place)
	t.exitForeign()
	_ = th.Lease.Flush(ctx) // what is not written now is with the next turn, if there is one
}
