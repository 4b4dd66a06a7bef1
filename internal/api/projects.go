package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// owns reports whether the conversation belongs to this server's project.
func (s *Server) owns(rec store.Record) bool { return rec.Key.Project == s.o.Project }

// projectName returns the project's name in responses.
func (s *Server) projectName(project string) string {
	if project == "" && s.o.Project != "" {
		return wire.ProjectBefore
	}
	return project
}

// adoptable reports whether the project's conversations can be adopted: no other daemon can
// serve them.
func (s *Server) adoptable(project string) bool {
	return project == "" || s.o.Nodes == nil && s.o.Abandoned(project) // another node may have the directory
}

// elsewhere returns the error for a conversation of another project, with what to do next.
func (s *Server) elsewhere(rec store.Record) error {
	fix := fmt.Sprintf("cd %s && grapnel conversations", shellWord(rec.Key.Project))
	switch {
	case rec.Key.Project == "":
		fix = "it is older than projects; grapnel conversations adopt " + rec.ID + " moves it here"
	case s.adoptable(rec.Key.Project):
		fix = "which no longer exists; grapnel conversations adopt " + rec.ID + " moves it here"
	}
	return &failure{http.StatusConflict, wire.CodeProject,
		fmt.Sprintf("conversation %s belongs to the project %s: %s", rec.ID, s.projectName(rec.Key.Project), fix)}
}

// shellWord quotes a path for a shell.
func shellWord(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// adopt moves a conversation here whose project no longer exists.
func (s *Server) adopt(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.Adoption](w, r)
	if err != nil {
		return err
	}
	rec, err := s.anywhere(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case s.owns(rec):
		return &failure{http.StatusConflict, wire.CodeExists, fmt.Sprintf("conversation %s belongs to this project already", rec.ID)}
	case !s.adoptable(rec.Key.Project):
		return s.elsewhere(rec)
	}
	agent, sender := cmp.Or(in.Agent, rec.Key.Agent), cmp.Or(in.Sender, rec.Key.Sender)
	rec, err = s.o.Runtime.Adopt(r.Context(), rec.ID, agent, sender)
	switch {
	case errors.Is(err, store.ErrExists):
		return errSenderTaken(agent, sender)
	case errors.Is(err, runtime.ErrBusy):
		return &failure{http.StatusConflict, wire.CodeBusy, fmt.Sprintf("a turn of conversation %s is running; wait until it has ended", r.PathValue("id"))}
	case err != nil:
		return err
	}
	return s.show(r.Context(), w, rec.ID)
}

func errSenderTaken(agent, sender string) error {
	return &failure{http.StatusConflict, wire.CodeExists,
		fmt.Sprintf("the agent %q already has a conversation with %.80q; name another sender", agent, sender)}
}

// flagIn parses an optional parameter that is 1 or 0.
func flagIn(r *http.Request, name string) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, invalid("%s is %.20q; write 1, or leave it out", name, v)
	}
}
