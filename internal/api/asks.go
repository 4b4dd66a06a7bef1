package api

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/runtime"
)

// listAsks lists the calls that wait for approval, the oldest first. A client that
// has read the event approval_asked finds the call here.
func (s *Server) listAsks(w http.ResponseWriter, r *http.Request) error {
	conversation := r.URL.Query().Get("conversation")
	_ = s.o.Runtime.AwaitPending(r.Context(), conversation) // if the client has gone, nobody reads the answer
	out := []wire.Ask{}
	for _, q := range s.o.Runtime.Pending() {
		if q.Approval != nil && (conversation == "" || q.Conversation == conversation) {
			out = append(out, askOf(q))
		}
	}
	writeJSON(w, http.StatusOK, wire.Asks{Asks: out})
	return nil
}

func askOf(q runtime.Request) wire.Ask {
	r := q.Approval
	w := wire.Ask{
		ID: q.ID, Agent: q.Agent, Conversation: q.Conversation, Turn: q.Turn, Depth: q.Depth, CallID: r.CallID,
		Tool: r.Tool, Args: r.Args,
		Shown: screen.Members(string(r.Args)).String(), Reason: r.Reason, Part: r.Part, Reaches: r.Reaches.Slice(), Remarks: r.Remarks.Slice(),
		Grant: r.Grant, Asked: q.Asked.UTC(), Expires: q.Expires().UTC(), ApprovedOnTimeout: r.ApprovedOnTimeout,
	}
	for _, o := range r.Offers.All() {
		w.Offers = append(w.Offers, wire.Offer(o))
	}
	return w
}

func (s *Server) answerAsk(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Answer](w, r)
	if err != nil {
		return err
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
		return &failure{http.StatusConflict, wire.CodeAnswered, err.Error() + "; the event approval_given shows the answer that counts"}
	case err != nil:
		return invalid("%v", err)
	}
	writeJSON(w, http.StatusOK, in)
	return nil
}
