package api

import (
	"context"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime"
)

// erase deletes a conversation, what a sender has, or a project. The deletion does not depend on
// the connection: it would only be finished later.
func (s *Server) erase(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Deletion](w, r)
	if err != nil {
		return err
	}
	set := 0
	for _, v := range []string{in.Conversation, in.Sender, in.Project} {
		if v != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return invalid("name exactly one of conversation, sender and project")
	case s.o.Delete == nil:
		return runtime.ErrUnsupported
	case in.Conversation != "":
		_, err = s.anywhere(r.Context(), in.Conversation)
	case in.Project == wire.ProjectBefore && s.o.Tenants.Owner != "", in.Project != "" && tenant.Parse(in.Project).Owner != s.o.Tenants.Owner:
		err = forbidden("this is a project of another owner; delete your own")
	case in.Project != s.o.Project && !visitOf(r).caller.Everywhere():
		err = forbidden("a sender, or another project, is deleted by callers who may see all projects, and this token is for some; delete conversations, or this project")
	}
	if err != nil {
		return err
	}
	out, err := s.o.Delete(context.WithoutCancel(r.Context()), in)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
