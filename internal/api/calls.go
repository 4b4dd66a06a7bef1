package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/internal/waiting"
	"github.com/grapnel-go/grapnel/runtime"
)

// clientTools returns the tools that the client of a message runs. The runtime checks the rest.
func clientTools(in []wire.ClientTool) ([]message.Tool, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]message.Tool, len(in))
	for i, t := range in {
		out[i] = message.Tool{Name: t.Name, Description: t.Description, Input: t.Input}
		if t.Timeout == "" {
			continue
		}
		d, err := time.ParseDuration(t.Timeout)
		if err != nil || d <= 0 {
			return nil, invalid("tools[%d].timeout is %.40q; write a time with its unit: 90s, 2m", i, t.Timeout)
		}
		out[i].Timeout = d
	}
	return out, nil
}

// listCalls lists the calls that wait for the result of a client, the oldest first.
func (s *Server) listCalls(w http.ResponseWriter, r *http.Request) error {
	others, silent := gather[wire.Calls](s, r, r.URL.RequestURI())
	open := waiting.Calls(s.o.Runtime.Pending(), r.URL.Query().Get("conversation"), others)
	writeJSON(w, http.StatusOK, wire.Calls{Calls: open, Unanswered: silent})
	return nil
}

// maxCallResult bounds the result of a call in bytes. The model gets less of it: it is cut to
// size as that of any tool.
const maxCallResult = 1 << 20

// answerCall brings the result of a call. It waits for nothing, so it also works while a client
// follows the turn.
func (s *Server) answerCall(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSONUpTo[wire.CallResult](w, r, maxCallResult)
	if err != nil {
		return err
	}
	result := message.TextResult(in.Text)
	if in.IsError {
		result = message.FailedResult(message.FailOperation, in.Text)
	}
	id := r.PathValue("call")
	switch err := s.o.Runtime.AnswerCall(r.PathValue("id"), id, result); {
	case errors.Is(err, runtime.ErrRequestUnknown):
		return notFound("no call %.80q of this conversation waits for a result: its turn has ended, or no client runs it; GET /v1/calls lists those that wait", id)
	case errors.Is(err, runtime.ErrAnswered):
		return &failure{http.StatusConflict, wire.CodeAnswered, fmt.Sprintf("the call %.80q has a result already, or its time is over; the event call_result shows it", id)}
	case err != nil:
		return invalid("%v", err)
	}
	writeJSON(w, http.StatusOK, in)
	return nil
}
