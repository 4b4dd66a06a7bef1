package loop

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// Thread is the part of a conversation that its turns use. One turn runs at a time. The fields
// without a lock belong to its loop.
type Thread struct {
	Env   *Env
	Agent *Agent
	Place *hook.Conversation
	Host  hook.Host
	Log   *stream.Log
	Lease *durable.Lease

	// setup is that of the running turn, or of the last one.
	setup atomic.Pointer[Setup]
	// Config is the configuration that Place shows.
	Config atomic.Pointer[hook.AgentConfig]

	mu sync.Mutex
	// turn is the running turn; nil between turns.
	turn *Turn
	// session is nil between sessions. nextSource is the source of the next one; "" lets the
	// history decide.
	session    *session
	nextSource hook.SessionSource

	// ids has the call ids in use, because providers want them unique. The value is accepted, or
	// the number of the reply that the id came with. replies counts these.
	ids     map[string]int
	replies int
	// summary is that of the last turn, until it is stored for that version of the history.
	summary        *Summary
	summaryVersion int64
	// guestSpoke: a guest has spoken.
	guestSpoke bool
}

// ID is the conversation's id in the store.
func (th *Thread) ID() string { return th.Place.ID() }

// Setup is that of the running turn, or of the last one; before the first it is that of now.
func (th *Thread) Setup() *Setup {
	if s := th.setup.Load(); s != nil {
		return s
	}
	return th.Agent.Now()
}

// Use sets the setup of the turn that begins. The caller occupies the conversation.
func (th *Thread) Use(s *Setup) {
	th.setup.Store(s)
	th.Config.Store(s.Config)
}

// SetSource sets the source of the next session; "" lets the history decide.
func (th *Thread) SetSource(source hook.SessionSource) { th.nextSource = source }

// Current returns the running turn, or nil. It is safe for concurrent use.
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

// Loaded is called after the history was read from the store.
func (th *Thread) Loaded(history message.Messages) {
	th.ids, th.guestSpoke = map[string]int{}, false
	for _, m := range history.All() {
		th.guestSpoke = th.guestSpoke || m.From != ""
		if m.Role == message.RoleTool {
			th.ids[m.CallID] = accepted
		}
	}
}

// accepted marks a call id of the history. An id of another reply may be from a dropped one.
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

// session is the session of a conversation. All but place belongs to the running turn.
type session struct {
	place  *hook.Session
	teller hook.SessionTeller
	// begun: OnSessionStart has accepted it.
	begun bool
	// context is for the model, from OnSessionStart, until a turn adds it.
	context message.List[string]
}

// ensureSession returns the session. If there is none it makes one, with nextSource or else
// with the source.
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

// defaultSource is the source of a session that follows from the history.
func (th *Thread) defaultSource() hook.SessionSource {
	if th.Lease.History().Len() == 0 && th.Lease.Turns() == 0 {
		return hook.SessionStartup
	}
	return hook.SessionResume
}

// EndSession ends the session if one has begun, and calls OnSessionEnd. The next session has the
// source; "" lets the history decide. No turn may be running.
func (th *Thread) EndSession(ctx context.Context, next hook.SessionSource) {
	th.endSession(ctx, nil, next)
}

func (th *Thread) endSession(ctx context.Context, t *Turn, next hook.SessionSource) {
	if s := th.takeSession(next); s != nil {
		th.callSessionEnd(ctx, t, s)
	}
}

// takeSession removes the session from the thread. It returns the session if OnSessionEnd has
// to be called.
func (th *Thread) takeSession(next hook.SessionSource) *session {
	th.mu.Lock()
	defer th.mu.Unlock()
	s := th.session
	th.session, th.nextSource = nil, next
	if s == nil || !s.begun || !th.Agent.Now().Hooks.Has(point.OnSessionEnd) {
		return nil
	}
	return s
}

// hooksOf returns the hooks of the agent in the turn; outside of turns they are those of now.
func (th *Thread) hooksOf(t *Turn) *scope.Hooks {
	if t == nil {
		return th.Agent.Now().Hooks
	}
	return t.base.Hooks
}

// callSessionEnd calls OnSessionEnd. t is the turn whose loop does so; nil outside of a loop.
func (th *Thread) callSessionEnd(ctx context.Context, t *Turn, s *session) {
	ctx = context.WithoutCancel(ctx)
	t.enterForeign(point.OnSessionEnd)
	th.hooksOf(t).OnSessionEnd(ctx, s.place)
	t.exitForeign()
	_ = th.Lease.Flush(ctx) // the next turn writes what this fails to write
}
