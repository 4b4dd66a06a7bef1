package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/internal/waiting"
	"github.com/grapnel-go/grapnel/runtime"
)

// listAsks lists the calls that wait for approval, the oldest first. A client that
// has read the event approval_asked finds the call here.
func (s *Server) listAsks(w http.ResponseWriter, r *http.Request) error {
	conversation := r.URL.Query().Get("conversation")
	_ = s.o.Runtime.AwaitPending(r.Context(), conversation) // if the client has gone, nobody reads the answer
	others, silent := gather[wire.Asks](s, r, r.URL.RequestURI())
	writeJSON(w, http.StatusOK, wire.Asks{Asks: waiting.Asks(s.o.Runtime.Pending(), conversation, others, s.o.Confined), Unanswered: silent})
	return nil
}

func (s *Server) answerAsk(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Answer](w, r)
	if err != nil {
		return err
	}
	if len(in.By) > maxBy {
		return invalid("by has %d bytes; write a name of at most %d bytes", len(in.By), maxBy)
	}
	reply := hook.ApprovalReply{
		Answer: hook.Answer(in.Answer), Args: in.Args, Reason: in.Reason, Remember: in.Remember, By: cmp.Or(visitOf(r).caller.Says(in.By), byClient),
	}
	if in.Remember == "" { // check what does not depend on the ask
		if err := (hook.ApprovalRequest{}).Check(reply); err != nil {
			return invalid("%v", err)
		}
	}
	id := r.PathValue("id")
	err = s.o.Runtime.Answer("", id, reply.By, hook.Response{Approval: &reply})
	switch {
	case errors.Is(err, runtime.ErrRequestUnknown):
		return notFound("no ask %.80q waits for an answer; GET /v1/asks lists those that wait", id)
	case errors.Is(err, runtime.ErrAnswered):
		return &failure{http.StatusConflict, wire.CodeAnswered, strings.TrimPrefix(err.Error(), "runtime: ") + "; the event approval_given shows the answer that counts"}
	case err != nil:
		return invalid("%v", err)
	}
	writeJSON(w, http.StatusOK, in)
	return nil
}
