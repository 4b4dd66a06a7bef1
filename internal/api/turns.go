package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// errCancelled is the cause with which a client cancels a turn.
var errCancelled = errors.New("cancelled by a client")

// turn is one that a client has started. It does not depend on the client's
// connection.
type turn struct {
	conversation string
	cancel       context.CancelCauseFunc
	// begun is closed when id and before are set.
	begun  chan struct{}
	id     string
	before wire.EventID
	once   sync.Once
	// done is closed when the turn is over and the next one may begin; err is then
	// why it did not even begin, if it did not.
	done chan struct{}
	err  error
}

// turnOf returns the turn of the conversation that is in flight and has begun.
func (s *Server) turnOf(conversation string) *turn {
	s.mu.Lock()
	t := s.turns[conversation]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.begun:
		if s.hub.ring(conversation).endedTurn() == t.id {
			return nil // everybody knows that it has ended
		}
		return t
	default:
		return nil
	}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	streamed, err := wantsStream(r)
	if err != nil {
		return err
	}
	in, err := readJSON[wire.NewMessage](w, r)
	if err != nil {
		return err
	}
	if strings.TrimSpace(in.Text) == "" {
		return invalid("text is empty; write what the agent is to do")
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	t, err := s.begin(r.Context(), rec, in.Text)
	if err != nil {
		return err
	}
	if streamed {
		return s.stream(w, r, &reader{ring: s.hub.ring(rec.ID), at: t.before, turn: t})
	}
	w.Header().Set("Location", "/v1/conversations/"+rec.ID+"/events")
	writeJSON(w, http.StatusAccepted, wire.Turn{ID: t.id, Conversation: rec.ID, LastEventID: t.before.String()})
	return nil
}

func wantsStream(r *http.Request) (bool, error) {
	switch v := r.URL.Query().Get("stream"); v {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, invalid("stream is %.20q; it is 1 for the events of the turn as the answer, or left out", v)
	}
}

// begin starts a turn and returns when it has begun.
func (s *Server) begin(ctx context.Context, rec store.Record, text string) (*turn, error) {
	agent, err := s.o.Runtime.Agent(rec.Key.Agent)
	if errors.Is(err, runtime.ErrAgentUnknown) {
		return nil, &failure{http.StatusConflict, wire.CodeAgentGone,
			fmt.Sprintf("the conversation's agent %q is not registered; register it with POST /v1/agents", rec.Key.Agent)}
	}
	if err != nil {
		return nil, err
	}
	if s.o.Check != nil {
		if err := s.o.Check(agent.Config()); err != nil {
			return nil, invalid("agent %q: %v", rec.Key.Agent, err)
		}
	}
	conv, err := s.o.Runtime.Conversation(ctx, rec.Key.Agent, rec.Key.Sender)
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &turn{conversation: rec.ID, cancel: cancel, begun: make(chan struct{}), done: make(chan struct{})}
	if err := s.enter(ctx, t); err != nil {
		cancel(nil)
		return nil, err
	}
	go func() {
		defer s.leave(t)
		_, t.err = s.o.Send(run, conv, hook.TextInput(text), &runtime.SendOptions{Observe: func(ev hook.Event) {
			t.once.Do(func() {
				t.id, t.before = ev.Turn, s.hub.ring(rec.ID).end()
				t.before.Seq = ev.Seq - 1
				close(t.begun)
			})
		}})
	}()
	select {
	case <-t.begun:
		return t, nil
	case <-t.done:
	}
	select {
	case <-t.begun:
		return t, nil
	default:
		return nil, t.err
	}
}

// enter makes t the turn of its conversation. It waits for one that has ended as
// far as clients know: who has seen the end may go on.
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
			return &failure{http.StatusServiceUnavailable, wire.CodeUnavailable, "the daemon is ending and takes no new turns; send again when it is back"}
		case other == nil:
			return nil
		case s.turnOf(t.conversation) != nil || !other.hasBegun():
			return &failure{http.StatusConflict, wire.CodeBusy, fmt.Sprintf(
				"conversation %[1]s: a turn is still running; wait for its end, or cancel it with POST /v1/conversations/%[1]s/cancel", t.conversation)}
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *turn) hasBegun() bool {
	select {
	case <-t.begun:
		return true
	default:
		return false
	}
}

func (s *Server) leave(t *turn) {
	s.mu.Lock()
	delete(s.turns, t.conversation)
	s.mu.Unlock()
	t.cancel(nil)
	close(t.done)
	s.running.Done()
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := wire.Cancelled{}
	if t := s.turnOf(rec.ID); t != nil {
		t.cancel(errCancelled)
		out = wire.Cancelled{Cancelled: true, Turn: t.id}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) listAsks(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, http.StatusOK, wire.Asks{Asks: s.asks.list(r.URL.Query().Get("conversation"))})
	return nil
}

func (s *Server) answerAsk(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Answer](w, r)
	if err != nil {
		return err
	}
	d, err := decisionOf(in)
	if err != nil {
		return err
	}
	if id := r.PathValue("id"); !s.asks.answer(id, d) {
		return notFound("no ask %.80q waits for an answer: it has one, or its turn has ended; GET /v1/asks lists those that wait", id)
	}
	writeJSON(w, http.StatusOK, in)
	return nil
}

func decisionOf(in wire.Answer) (hook.ApprovalDecision, error) {
	var none hook.ApprovalDecision
	switch {
	case in.Answer == wire.AnswerModify && !strings.HasPrefix(string(in.Args), "{"):
		return none, invalid("args is no object; modify needs the arguments to run the tool with")
	case in.Answer != wire.AnswerModify && in.Args != "":
		return none, invalid("args goes with the answer modify only; leave it out")
	case in.Answer != wire.AnswerRefuse && in.Reason != "":
		return none, invalid("reason goes with the answer refuse only; leave it out")
	}
	switch in.Answer {
	case wire.AnswerApprove:
		return hook.ApproveCall(), nil
	case wire.AnswerModify:
		return hook.ModifyCall(in.Args), nil
	case wire.AnswerRefuse:
		if in.Reason == "" {
			in.Reason = "The user said no."
		}
		return hook.RefuseCall(in.Reason), nil
	}
	return none, invalid("answer is %.20q; it is approve, refuse or modify", in.Answer)
}
