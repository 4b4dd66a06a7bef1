package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// course runs a turn to its end and tells the options' observer of it.
type course func(ctx context.Context, conv *runtime.Conversation, o *runtime.SendOptions) (hook.TurnOutcome, error)

// open returns the conversation of the record, if a turn of it could begin.
func (s *Server) open(ctx context.Context, rec store.Record) (*runtime.Conversation, error) {
	agent, err := s.registered(ctx, rec.Key.Agent)
	if why := (unregistered{}); errors.As(err, &why) {
		return nil, &failure{http.StatusConflict, wire.CodeAgentGone, fmt.Sprintf("the conversation's agent %q is not registered: %v", rec.Key.Agent, why)}
	}
	if errors.Is(err, runtime.ErrAgentUnknown) {
		return nil, errAgentGone(rec.Key.Agent)
	}
	if err != nil {
		return nil, err
	}
	if s.o.Check != nil {
		if err := s.o.Check(agent.Config()); err != nil {
			return nil, invalid("agent %q: %v", rec.Key.Agent, err)
		}
	}
	return s.o.Runtime.Conversation(ctx, rec.Key.Agent, rec.Key.Sender)
}

func errAgentGone(agent string) error {
	return &failure{http.StatusConflict, wire.CodeAgentGone,
		fmt.Sprintf("the conversation's agent %q is not registered; register it with POST /v1/agents", agent)}
}

// begin starts a turn and returns when it has begun, with its input stored. One that
// queues is given up when ctx ends before.
func (s *Server) begin(ctx context.Context, rec store.Record, when runtime.Busy, run course) (*turn, error) {
	conv, err := s.open(ctx, rec)
	if err != nil {
		return nil, err
	}
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &turn{conversation: rec.ID, cancel: cancel, begun: make(chan struct{}), done: make(chan struct{})}
	if when == runtime.Queue {
		err = s.count()
	} else {
		err = s.enter(ctx, t)
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go func() {
		defer s.leave(t)
		out, err := run(lasting, conv, &runtime.SendOptions{WhenBusy: when, Observe: func(ev hook.Event) {
			if ev.Kind == event.TurnStart && ev.Depth == 0 {
				t.once.Do(func() { s.begun(t, ev) })
			}
		}})
		if t.err = err; err == nil && !t.hasBegun() {
			t.err = fmt.Errorf("the turn ended (%s) before its start could be told, which a hook or an observer held up", out.Stop)
		}
	}()
	select {
	case <-t.begun:
		return t, nil
	case <-t.done:
	case <-ctx.Done():
		t.once.Do(func() { cancel(ctx.Err()) }) // nobody waits for it any more
		select {
		case <-t.begun:
		case <-t.done:
		}
	}
	if t.hasBegun() {
		return t, nil
	}
	return nil, t.err
}

// begun takes the event by which the turn begins: its input is stored by then.
func (s *Server) begun(t *turn, ev hook.Event) {
	t.id, t.before = ev.Turn, runtime.Position{Epoch: ev.Epoch, Seq: ev.Seq - 1}
	s.mu.Lock()
	s.turns[t.conversation] = t // one that has queued was not there yet
	s.mu.Unlock()
	close(t.begun)
}

// maxSteers is how often a message follows turns that end just then.
const maxSteers = 8

// steer tells the running turn, or begins one if there is none.
func (s *Server) steer(ctx context.Context, rec store.Record, in message.Input, begin func(runtime.Busy) (*turn, error)) (answered, error) {
	conv, err := s.open(ctx, rec)
	if err != nil {
		return answered{}, err
	}
	for range maxSteers {
		at := s.lastEvent(rec)
		running := s.turnOf(rec.ID)
		if running != nil {
			err = conv.Steer(ctx, in)
			if !errors.Is(err, runtime.ErrIdle) {
				return answered{running, &at}, err
			}
		} else {
			var t *turn
			t, err = begin(runtime.Refuse)
			if codeOf(err) != wire.CodeBusy {
				return answered{turn: t}, err
			}
			if running = s.last(rec.ID); running == nil {
				return answered{}, err // another process has it
			}
		}
		if err := running.next(ctx); err != nil {
			return answered{}, err
		}
	}
	return answered{}, err
}

// last is the turn of the conversation that was started last, begun or not; nil if
// there is none.
func (s *Server) last(conversation string) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns[conversation]
}

// count counts a turn in flight.
func (s *Server) count() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errClosing()
	}
	s.running.Add(1)
	return nil
}

func errClosing() error {
	return &failure{http.StatusServiceUnavailable, wire.CodeUnavailable, "the daemon is ending and takes no new turns; send again when it is back"}
}

// enter makes t the turn of its conversation. It waits for one that has ended as
// far as clients know, because who has seen the end may go on, and for one that is
// about to begin, so that who is refused finds the turn that is in the way.
func (s *Server) enter(ctx context.Context, t *turn) error {
	for {
		s.mu.Lock()
		other := s.turns[t.conversation]
		closing := s.closing
		if other == nil && !closing {
			s.turns[t.conversation] = t
			s.running.Add(1)
		}
		s.mu.Unlock()
		switch {
		case closing:
			return errClosing()
		case other == nil:
			return nil
		case s.turnOf(t.conversation) != nil:
			return &failure{http.StatusConflict, wire.CodeBusy, fmt.Sprintf(
				"conversation %[1]s: a turn is still running; wait for its end, or cancel it with POST /v1/conversations/%[1]s/cancel", t.conversation)}
		}
		if err := other.next(ctx); err != nil {
			return err
		}
	}
}

// next returns when a turn has begun that had not, or when it is over.
func (t *turn) next(ctx context.Context) error {
	begun := t.begun
	if t.hasBegun() {
		begun = nil
	}
	select {
	case <-begun:
	case <-t.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (t *turn) hasBegun() bool {
	select {
	case <-t.begun:
		return true
	default:
		return false
	}
}

func (t *turn) hasEnded() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (s *Server) leave(t *turn) {
	s.mu.Lock()
	if s.turns[t.conversation] == t {
		delete(s.turns, t.conversation)
	}
	s.mu.Unlock()
	t.cancel(nil)
	close(t.done)
	s.running.Done()
}

// goOn goes on with the turns of this project that the daemon before this one, or
// another program, has not brought to their ends.
func (s *Server) goOn(ctx context.Context) {
	recs, err := s.o.Store.List(ctx)
	if err != nil {
		s.o.Log(fmt.Sprintf("interrupted turns cannot be looked for: %v", err))
		return
	}
	var all sync.WaitGroup // one agent may be waiting for its servers: the others do not wait for it
	for _, rec := range recs {
		if s.owns(rec) && s.o.Interrupted(rec) && s.last(rec.ID) == nil {
			all.Go(func() { s.goOnWith(ctx, rec) })
		}
	}
	all.Wait()
}

func (s *Server) goOnWith(ctx context.Context, rec store.Record) {
	about := fmt.Sprintf("conversation %s of %s: ", rec.ID, rec.Key.Agent)
	switch t, err := s.begin(ctx, rec, runtime.Refuse, s.resumeUnasked); {
	case err == nil:
		s.o.Log(about + "turn " + t.id + " was interrupted and is gone on with")
	case codeOf(err) == wire.CodeBusy, codeOf(err) == wire.CodeIdle:
		// Somebody else was faster.
	default:
		s.o.Log(about + "the turn that was interrupted is not gone on with: " + err.Error())
	}
}

// resumeUnasked goes on with a turn, but not with one that an adopted conversation
// has brought along.
func (s *Server) resumeUnasked(ctx context.Context, conv *runtime.Conversation, o *runtime.SendOptions) (hook.TurnOutcome, error) {
	o.Unasked = true
	return s.o.Resume(ctx, conv, o)
}

// codeOf is the code with which the error goes out; "" for none.
func codeOf(err error) wire.Code {
	if err == nil {
		return ""
	}
	return failureOf(err).code
}
