package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// start begins a turn of the conversation with a message, or resumes one.
type start func(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error)

// open returns the conversation of the record. The error says why no turn can begin.
func (s *Server) open(ctx context.Context, rec store.Record, m message.Model) (*runtime.Conversation, error) {
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
		cfg := *agent.Config()
		if m.Name != "" {
			cfg.Model = cfg.Model.For(m.Name)
		}
		if err := s.o.Check(&cfg); err != nil {
			return nil, invalid("agent %q: %v", rec.Key.Agent, err)
		}
	}
	return agent.Conversation(ctx, rec.Key.Sender)
}

func errAgentGone(agent string) error {
	return &failure{http.StatusConflict, wire.CodeAgentGone,
		fmt.Sprintf("the conversation's agent %q is not registered; register it with POST /v1/agents", agent)}
}

// begin starts a turn and returns when it has begun, with its input stored. Until then the end
// of ctx cancels the turn. With CodeBusy it returns the running turn; nil if another process
// runs it.
//
// begin waits for a turn that is about to begin, so that a refused client finds that turn.
// It also waits for a turn whose end clients may have read, because they may send again. What the turn spends counts for the name of
// the caller's token.
func (s *Server) begin(ctx context.Context, rec store.Record, o runtime.TurnOptions, run start) (*runtime.Turn, error) {
	v := visitIn(ctx)
	revoked := func() error { // since the request began
		if !s.stays(v) {
			return &access.Refused{Status: http.StatusUnauthorized, Text: "the token does not count any more"}
		}
		return nil
	}
	if err := revoked(); err != nil {
		return nil, err
	}
	o.Token = v.caller.Name
	conv, err := s.open(ctx, rec, o.Model)
	if err != nil {
		return nil, err
	}
	admitted, err := s.admit(ctx, rec.ID)
	if err != nil {
		return nil, err
	}
	defer admitted()
	for {
		if s.isClosing() {
			return nil, errClosing()
		}
		t, err := run(ctx, conv, &o)
		if err == nil {
			if err := revoked(); err != nil { // while the message waited
				t.Stop(err)
				return nil, err
			}
		}
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

// runs reports whether the turn has begun and has not emitted its end.
func runs(t *runtime.Turn) bool { return t.ID() != "" && !t.Ending() }

// next waits until the turn has begun, or if it had begun already, until it has ended.
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

// maxSteers is how often steer tries again because the running turn ended meanwhile.
const maxSteers = 8

// steer sends the message to the running turn, or begins a turn if there is none.
func (s *Server) steer(ctx context.Context, rec store.Record, in message.Input, run start) (turnAnswer, error) {
	var err error
	for range maxSteers {
		var t *runtime.Turn
		t, err = s.begin(ctx, rec, runtime.TurnOptions{}, run)
		if codeOf(err) != wire.CodeBusy || t == nil {
			return turnAnswer{Turn: t}, err
		}
		at := s.lastEvent(rec)
		if err = t.Steer(ctx, in); !errors.Is(err, runtime.ErrIdle) {
			return turnAnswer{t, &at}, err
		}
		select {
		case <-t.Done():
		case <-ctx.Done():
			return turnAnswer{}, ctx.Err()
		}
	}
	return turnAnswer{}, err
}

func errClosing() error {
	return &failure{http.StatusServiceUnavailable, wire.CodeUnavailable, "the daemon is shutting down and starts no new turns; send again when it runs again"}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// turns returns the running turns by the id of their conversation.
func (s *Server) turns() map[string]*runtime.Turn {
	out := map[string]*runtime.Turn{}
	for _, t := range s.o.Runtime.Running() {
		out[t.Conversation().ID()] = t
	}
	return out
}

// turnOf returns the running turn of the conversation; nil if there is none.
func (s *Server) turnOf(conversation string) *runtime.Turn {
	if t := s.turns()[conversation]; t != nil && runs(t) {
		return t
	}
	return nil
}

// resumeAll begins to resume the interrupted turns of this project, each on a goroutine of all: an agent that waits for its
// servers does not delay the others. The daemon before this one, or another program, has begun them. With nodes, it leaves
// those that belong to another one.
func (s *Server) resumeAll(ctx context.Context, all *sync.WaitGroup) {
	recs, err := s.o.Unfinished(ctx)
	if err != nil {
		s.o.Log(fmt.Sprintf("interrupted turns are not resumed, because the conversations cannot be listed: %v", err))
		return
	}
	running := s.turns()
	for _, rec := range recs {
		here := s.o.Nodes == nil || s.o.Nodes.Members.Place(rec).Here
		if !here || !s.owns(rec) || !s.o.Interrupted(rec) || running[rec.ID] != nil {
			continue
		}
		if _, already := s.resuming.LoadOrStore(rec.ID, true); already {
			continue
		}
		all.Go(func() {
			defer s.resuming.Delete(rec.ID)
			s.resumeOne(ctx, rec)
		})
	}
}

// lookAfter is how often a node looks for turns that nobody runs. It looks at once when another one dies.
const lookAfter = 15 * time.Second

// TakeOver makes Run look soon for turns that nobody runs, because another node has died.
func (s *Server) TakeOver() {
	select {
	case s.died <- struct{}{}:
	default: // it will look anyway
	}
}

// takeOver resumes the turns of other nodes that have died, and those that this node has let go, until ctx ends.
func (s *Server) takeOver(ctx context.Context, all *sync.WaitGroup) {
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	for {
		select {
		case <-s.died:
		case <-look.C:
		case <-ctx.Done():
			return
		}
		s.resumeAll(ctx, all)
	}
}

// resumeOne resumes the turn of the conversation, unless it began in another project: an
// adopted conversation keeps such a turn as it is.
func (s *Server) resumeOne(ctx context.Context, rec store.Record) {
	about := fmt.Sprintf("conversation %s of %s: ", rec.ID, rec.Key.Agent)
	switch t, err := s.begin(ctx, rec, runtime.TurnOptions{SameProject: true}, s.o.Resume); {
	case err == nil:
		s.o.Log(about + "the interrupted turn " + t.ID() + " is resumed")
	case codeOf(err) == wire.CodeBusy, codeOf(err) == wire.CodeIdle:
		// A client or another process was faster.
	case codeOf(err) == wire.CodeUnavailable:
		// The daemon is shutting down: the next one resumes the turn.
	default:
		s.o.Log(about + "the interrupted turn is not resumed: " + err.Error())
	}
}

// codeOf returns the code of the error in a response; "" for nil.
func codeOf(err error) wire.Code {
	if err == nil {
		return ""
	}
	return failureOf(err).code
}
