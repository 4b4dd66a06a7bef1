package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/runtime"
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
	before runtime.Position
	once   sync.Once
	// told: a client was told that the turn has ended.
	told atomic.Bool
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
		if t.told.Load() || t.hasEnded() {
			return nil
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
	input := message.TextInput(in.Text)
	begin := func(when runtime.Busy) (*turn, error) {
		return s.begin(r.Context(), rec, when, func(ctx context.Context, conv *runtime.Conversation, o *runtime.SendOptions) (hook.TurnOutcome, error) {
			return s.o.Send(ctx, conv, input, o)
		})
	}
	var at answered
	switch in.WhenBusy {
	case "", wire.BusyRefuse:
		at.turn, err = begin(runtime.Refuse)
	case wire.BusyQueue:
		at.turn, err = begin(runtime.Queue)
	case wire.BusySteer:
		at, err = s.steer(r.Context(), rec, input, begin)
	default:
		return invalid("when_busy is %.20q; it is refuse, queue or steer", in.WhenBusy)
	}
	if err != nil {
		return err
	}
	return s.tell(w, r, at, streamed)
}

// answered is the turn that a message has begun, or has been told to.
type answered struct {
	*turn
	// steered is where the turn was when it was told; nil if it has begun with the
	// message.
	steered *runtime.Position
}

// tell answers with the turn, or with its events.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, a answered, streamed bool) error {
	out := wire.Turn{ID: a.id, Conversation: a.conversation}
	at := a.before
	if a.steered != nil {
		at, out.Steered = *a.steered, true
	}
	if streamed {
		return s.stream(w, r, a.conversation, at, a.turn)
	}
	out.LastEventID = at.String()
	w.Header().Set("Location", "/v1/conversations/"+a.conversation+"/events")
	writeJSON(w, http.StatusAccepted, out)
	return nil
}

// wantsStream reports whether the answer is to be the events of the turn. What is
// wrong about those is found before the turn begins.
func wantsStream(r *http.Request) (bool, error) {
	if _, err := hookLevel(r); err != nil {
		return false, err
	}
	return flagIn(r, "stream")
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

// resume goes on with an interrupted turn.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) error {
	streamed, err := wantsStream(r)
	if err != nil {
		return err
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	t, err := s.begin(r.Context(), rec, runtime.Refuse, s.o.Resume)
	if err != nil {
		return err
	}
	return s.tell(w, r, answered{turn: t}, streamed)
}
