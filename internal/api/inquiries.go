package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api/internal/waiting"
	"github.com/grapnel-go/grapnel/runtime"
)

const (
	// byClient is the default name of the person who answers.
	byClient = "api"
	// maxBy is the longest such name in bytes.
	maxBy = 64
)

func (s *Server) listInquiries(w http.ResponseWriter, r *http.Request) error {
	others, silent := gather[wire.Inquiries](s, r, r.URL.RequestURI())
	open := waiting.Inquiries(s.o.Runtime.Pending(), r.URL.Query().Get("conversation"), others)
	writeJSON(w, http.StatusOK, wire.Inquiries{Inquiries: open, Unanswered: silent})
	return nil
}

func (s *Server) answerInquiry(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Reply](w, r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if len(in.By) > maxBy {
		return invalid("by has %d bytes; write a name of at most %d bytes", len(in.By), maxBy)
	}
	err = s.o.Runtime.Answer(in.Conversation, id, cmp.Or(visitOf(r).caller.Says(in.By), byClient), in.Response())
	switch {
	case errors.Is(err, runtime.ErrRequestUnknown):
		return noInquiry(id)
	case errors.Is(err, runtime.ErrAnswered):
		return &failure{http.StatusConflict, wire.CodeAnswered, strings.TrimPrefix(err.Error(), "runtime: ") + "; the event question_given shows the answer that counts"}
	case err != nil:
		return invalid("%v", err)
	}
	writeJSON(w, http.StatusOK, in)
	return nil
}

func noInquiry(id string) error {
	return notFound("no inquiry %.80q waits for an answer: it was answered, or its turn has ended; GET /v1/inquiries lists those that wait. "+
		"To answer before the agent asks, name the conversation", id)
}
