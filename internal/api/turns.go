package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/runtime"
)

// errCancelled is the cause with which a client cancels a turn.
var errCancelled = errors.New("cancelled by a client")

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
	run := func(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error) {
		return s.o.Start(ctx, conv, input, o)
	}
	var at answered
	switch in.WhenBusy {
	case "", wire.BusyRefuse:
		at.Turn, err = s.begin(r.Context(), rec, runtime.TurnOptions{}, run)
	case wire.BusyQueue:
		at.Turn, err = s.begin(r.Context(), rec, runtime.TurnOptions{WhenBusy: runtime.Queue}, run)
	case wire.BusySteer:
		at, err = s.steer(r.Context(), rec, input, run)
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
	*runtime.Turn
	// steered is where the turn was when it was told; nil if it has begun with the
	// message.
	steered *runtime.Position
}

// tell answers with the turn, or with its events.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, a answered, streamed bool) error {
	conversation := a.Conversation().ID()
	out := wire.Turn{ID: a.ID(), Conversation: conversation}
	at := a.Before()
	if a.steered != nil {
		at, out.Steered = *a.steered, true
	}
	if streamed {
		return s.stream(w, r, conversation, at, a.Turn)
	}
	out.LastEventID = at.String()
	w.Header().Set("Location", "/v1/conversations/"+conversation+"/events")
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
		t.Stop(errCancelled)
		out = wire.Cancelled{Cancelled: true, Turn: t.ID()}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// resume continues an interrupted turn.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) error {
	streamed, err := wantsStream(r)
	if err != nil {
		return err
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	t, err := s.begin(r.Context(), rec, runtime.TurnOptions{}, s.o.Resume)
	if err != nil {
		return err
	}
	return s.tell(w, r, answered{Turn: t}, streamed)
}
