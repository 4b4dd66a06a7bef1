package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/internal/streams"
	"github.com/grapnel-go/grapnel/internal/attach"
	"github.com/grapnel-go/grapnel/internal/schema"
	"github.com/grapnel-go/grapnel/runtime"
)

// errCancelled is the cause of a turn that a client has cancelled.
var errCancelled = errors.New("cancelled by a client")

func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	streamed, err := wantsStream(r)
	if err != nil {
		return err
	}
	in, err := readJSONUpTo[wire.NewMessage](w, r, maxMessage)
	if err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(in.Text) == "":
		return invalid("text is empty; write what the agent is to do")
	case len(in.Text) > maxBody:
		return &failure{http.StatusRequestEntityTooLarge, wire.CodeTooLarge, fmt.Sprintf("text is longer than %d bytes; send a shorter one, or a file", maxBody)}
	}
	o, err := s.optionsOf(r.Context(), in)
	if err != nil {
		return err
	}
	rec, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	input, err := inputOf(in)
	if err != nil {
		return err
	}
	run := func(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error) {
		return s.o.Start(ctx, conv, input, o)
	}
	var at turnAnswer
	switch in.WhenBusy {
	case "", wire.BusyRefuse:
		at.Turn, err = s.begin(r.Context(), rec, o, run)
	case wire.BusyQueue:
		o.WhenBusy = runtime.Queue
		func() {
			defer s.o.Monitor.Queue()()
			at.Turn, err = s.begin(r.Context(), rec, o, run)
		}()
	case wire.BusySteer:
		at, err = s.steer(r.Context(), rec, input, run)
	default:
		return invalid("when_busy is %.20q; write refuse, queue or steer", in.WhenBusy)
	}
	if err != nil {
		return err
	}
	return s.writeTurn(w, r, at, streamed)
}

// optionsOf returns the options of the turn that the message begins.
func (s *Server) optionsOf(ctx context.Context, in wire.NewMessage) (o runtime.TurnOptions, err error) {
	for _, f := range []struct {
		field string
		given bool
	}{{"model", !in.Model.IsZero()}, {"format", in.Format != message.ResponseFormat{}}, {"guest", in.Guest != ""}, {"tools", len(in.Tools) > 0}} {
		if f.given && in.WhenBusy == wire.BusySteer {
			return o, invalid("%s is for a message that begins a turn; leave it out, or write refuse or queue for when_busy", f.field)
		}
	}
	if o.Model, err = modelOf(in); err != nil {
		return o, err
	}
	if err := scripted(ctx, o.Model.Name); err != nil {
		return o, err
	}
	if o.ClientTools, err = clientTools(in.Tools); err != nil || in.Guest == "" {
		return o, err
	}
	o.Guest = in.Guest
	guest, err := s.agent(ctx, in.Guest)
	if err == nil && s.o.Check != nil && o.Model.Name == "" {
		if err = s.o.Check(guest.Config()); err != nil {
			err = invalid("guest %q: %v", in.Guest, err)
		}
	}
	return o, err
}

// inputOf returns the message with its files.
func inputOf(in wire.NewMessage) (message.Input, error) {
	if len(in.Files) > attach.MaxFiles {
		return message.Input{}, invalid("files has %d files; a message has at most %d", len(in.Files), attach.MaxFiles)
	}
	files := make([]message.Block, len(in.Files))
	for i, f := range in.Files {
		var err error
		if f.Name == "" {
			return message.Input{}, invalid("files[%d] has no name", i)
		}
		if files[i], err = attach.Block(f.Name, f.Data); err != nil {
			return message.Input{}, invalid("files[%d]: %v", i, err)
		}
	}
	return attach.Input(in.Text, files), nil
}

// modelOf returns the model of the turn that a message begins.
func modelOf(in wire.NewMessage) (message.Model, error) {
	m := in.Model.Merge(message.Model{Format: in.Format})
	switch {
	case in.Format != message.ResponseFormat{} && in.Model.Format != message.ResponseFormat{}:
		return m, invalid("format is given twice, also in model; leave one out")
	case m.MaxTokens < 0 || m.ContextWindow < 0:
		return m, invalid("model: max_tokens is %d and context_window is %d; write numbers of tokens, or leave them out", m.MaxTokens, m.ContextWindow)
	case m.Temperature.Value < 0 || m.TopP.Value < 0 || m.TopP.Value > 1:
		return m, invalid("model: temperature is %v and top_p is %v; write a number from 0 on, and one from 0 to 1", m.Temperature.Value, m.TopP.Value)
	case m.Extra != "" && !strings.HasPrefix(string(m.Extra), "{"):
		return m, invalid("model.extra is no object; write the members to add to the request")
	}
	switch m.Choice.Mode {
	case "", message.ToolChoiceAuto, message.ToolChoiceNone, message.ToolChoiceRequired, message.ToolChoiceTool:
	default:
		return m, invalid("model.tool_choice.mode is %.20q; write auto, none, required or tool", m.Choice.Mode)
	}
	return m, checkFormat(m.Format)
}

// scripted refuses a model that is a script for who is not the user of the socket: it names a file where the daemon runs.
func scripted(ctx context.Context, model string) error {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(model)), "script:") && !visitIn(ctx).local {
		return forbidden("a script is a file where the daemon runs, so only its own user names one, over the socket; name a model")
	}
	return nil
}

// checkFormat returns an error for a format that no turn can have.
func checkFormat(f message.ResponseFormat) error {
	switch {
	case f == message.ResponseFormat{}:
		return nil
	case !f.JSON && f.Schema == "":
		return invalid("format asks for nothing; write json: true, a schema, or both")
	case f.Name != "" && !message.ValidToolName(f.Name):
		return invalid("format.name is %.70q; use 1 to 64 letters, digits, _ or -", f.Name)
	case f.Schema == "":
		return nil
	}
	if _, err := schema.Compile(f.Schema); err != nil {
		return invalid("format.schema: %v", err)
	}
	return nil
}

// turnAnswer is the answer to a request that begins, resumes or steers a turn.
type turnAnswer struct {
	*runtime.Turn
	// steered is the position of the stream when the running turn got the message; nil if
	// the request has begun or resumed the turn.
	steered *runtime.Position
}

// writeTurn writes the turn, or streams its events.
func (s *Server) writeTurn(w http.ResponseWriter, r *http.Request, a turnAnswer, streamed bool) error {
	conversation := a.Conversation().ID()
	out := wire.Turn{ID: a.ID(), Conversation: conversation}
	at := a.Before()
	if a.steered != nil {
		at, out.Steered = *a.steered, true
	}
	if streamed {
		return s.stream(w, r, streams.Request{Conversation: conversation, At: at, Turn: a.ID(), Over: a.Done()})
	}
	out.LastEventID = at.String()
	w.Header().Set("Location", "/v1/conversations/"+conversation+"/events")
	writeJSON(w, http.StatusAccepted, out)
	return nil
}

// wantsStream reports whether the client wants the events of the turn as the answer. It
// checks the parameters of the stream before the turn begins.
func wantsStream(r *http.Request) (bool, error) {
	if _, err := streams.ViewOf(r.URL.Query()); err != nil {
		return false, invalid("%v", err)
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
	return s.writeTurn(w, r, turnAnswer{Turn: t}, streamed)
}
