package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// start begins a turn of the conversation, with a message or as one that is resumed.
type start func(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error)

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
	return agent.Conversation(ctx, rec.Key.Sender)
}

func errAgentGone(agent string) error {
	return &failure{http.StatusConflict, wire.CodeAgentGone,
		fmt.Sprintf("the conversation's agent %q is not registered; register it with POST /v1/agents", agent)}
}

// begin starts a turn and returns when it has begun, with its input stored. The end of ctx
// gives up a turn that has not begun. With a refusal comes the turn that is in the way; nil
// if another process runs it.
//
// A turn that is about to begin is waited for, so that whoever is refused finds it, and so is one
// whose end clients may have read, because they may go on.
func (s *Server) begin(ctx context.Context, rec store.Record, o runtime.TurnOptions, run start) (*runtime.Turn, error) {
	conv, err := s.open(ctx, rec)
	if err != nil {
		return nil, err
	}
	for {
		if s.isClosing() {
			return nil, errClosing()
		}
		t, err := run(ctx, conv, &o)
		if err == nil || t == nil {
			return t, err
		}
		if runs(t) {
			return t, &failure{http.StatusConflict, wire.CodeBusy, fmt.Sprintf(
				"conversation %[1]s: a turn is still running; wait for its end, or cancel it with POST /v1/conversations/%[1]s/cancel", rec.ID)}
		}
		if err := next(ctx, t); err != nil {
			return nil, err
		}
	}
}

// runs reports whether the turn has begun, and no client can know of its end.
func runs(t *runtime.Turn) bool { return t.ID() != "" && !t.Ending() }

// next returns when a turn that had not begun has begun, or when the turn has ended.
func next(ctx context.Context, t *runtime.Turn) error {
	begun := t.Begun()
	if t.ID() != "" {
		begun = nil
	}
	select {
	case <-begun:
	case <-t.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// maxSteers is how often a message follows turns that end just then.
const maxSteers = 8

// steer gives the message to the turn that runs, or begins one if there is none.
func (s *Server) steer(ctx context.Context, rec store.Record, in message.Input, run start) (answered, error) {
	var err error
	for range maxSteers {
		var t *runtime.Turn
		t, err = s.begin(ctx, rec, runtime.TurnOptions{}, run)
		if codeOf(err) != wire.CodeBusy || t == nil {
			return answered{Turn: t}, err
		}
		at := s.lastEvent(rec)
		if err = t.Steer(ctx, in); !errors.Is(err, runtime.ErrIdle) {
			return answered{t, &at}, err
		}
		select {
		case <-t.Done():
		case <-ctx.Done():
			return answered{}, ctx.Err()
		}
	}
	return answered{}, err
}

func errClosing() error {
	return &failure{http.StatusServiceUnavailable, wire.CodeUnavailable, "the daemon is ending and takes no new turns; send again when it is back"}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// turns returns the turns that have a conversation, by its id.
func (s *Server) turns() map[string]*runtime.Turn {
	out := map[string]*runtime.Turn{}
	for _, t := range s.o.Runtime.Running() {
		out[t.Conversation().ID()] = t
	}
	return out
}

// turnOf returns the turn of the conversation that runs; nil if there is none.
func (s *Server) turnOf(conversation string) *runtime.Turn {
	if t := s.turns()[conversation]; t != nil && runs(t) {
		return t
	}
	return nil
}

// goOn goes on with the turns of this project that the daemon before this one, or
// another program, has not brought to their ends.
func (s *Server) goOn(ctx context.Context) {
	recs, err := s.o.Store.List(ctx)
	if err != nil {
		s.o.Log(fmt.Sprintf("interrupted turns cannot be looked for: %v", err))
		return
	}
	running := s.turns()
	var all sync.WaitGroup // one agent may be waiting for its servers: the others do not wait for it
	for _, rec := range recs {
		if s.owns(rec) && s.o.Interrupted(rec) && running[rec.ID] == nil {
			all.Go(func() { s.goOnWith(ctx, rec) })
		}
	}
	all.Wait()
}

// goOnWith leaves a turn as it is that an adopted conversation has brought along.
func (s *Server) goOnWith(ctx context.Context, rec store.Record) {
	about := fmt.Sprintf("conversation %s of %s: ", rec.ID, rec.Key.Agent)
	switch t, err := s.begin(ctx, rec, runtime.TurnOptions{SameProject: true}, s.o.Resume); {
	case err == nil:
		s.o.Log(about + "turn " + t.ID() + " was interrupted and is resumed")
	case codeOf(err) == wire.CodeBusy, codeOf(err) == wire.CodeIdle:
		// Somebody else was faster.
	case codeOf(err) == wire.CodeUnavailable:
		// The daemon is ending: the next one resumes the turn.
	default:
		s.o.Log(about + "the turn that was interrupted is not resumed: " + err.Error())
	}
}

// codeOf is the code with which the error goes out; "" for none.
func codeOf(err error) wire.Code {
	if err == nil {
		return ""
	}
	return failureOf(err).code
}
