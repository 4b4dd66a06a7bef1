package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func (s *Server) activity(w http.ResponseWriter, r *http.Request) error {
	a := s.Activity(r.Context())
	others, silent := gather[wire.Activity](s, r, "/v1/activity")
	for _, o := range others {
		a.Turns = append(a.Turns, o.Turns...)
		a.Abandoned = append(a.Abandoned, o.Abandoned...)
		a.Approvals, a.Questions, a.ClientCalls = a.Approvals+o.Approvals, a.Questions+o.Questions, a.ClientCalls+o.ClientCalls
		a.QueuedMessages, a.LateHooks = a.QueuedMessages+o.QueuedMessages, a.LateHooks+o.LateHooks
	}
	sortTurns(a.Turns)
	a.Unanswered = silent
	if s.o.Tenants.Active != nil && visitOf(r).caller.May(access.Administer) {
		a.Tenants = s.o.Tenants.Active(r.Context())
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

func sortTurns(turns []wire.ActiveTurn) {
	slices.SortFunc(turns, func(x, y wire.ActiveTurn) int { return x.Since.Compare(y.Since) })
}

// Activity returns what the daemon does right now. Turns, requests and spending are those of its project: of others it knows nothing. With
// nodes, it is this one's alone.
func (s *Server) Activity(ctx context.Context) wire.Activity {
	a := s.o.Monitor.Activity(ctx)
	a.LateHooks = s.o.Runtime.LateHooks()
	for _, one := range s.o.Runtime.Abandoned() {
		a.Abandoned = append(a.Abandoned, wire.Abandoned(one))
	}
	waiting := map[string]string{}
	for _, q := range s.o.Runtime.Pending() {
		switch {
		case q.Approval != nil:
			a.Approvals++
			waiting[q.Conversation] = "approval"
		case q.Call != nil:
			a.ClientCalls++
			waiting[q.Conversation] = "client"
		default:
			a.Questions++
			waiting[q.Conversation] = "question"
		}
	}
	if n, err := s.o.Runtime.CountJobs(ctx, store.JobFilter{Statuses: []store.JobStatus{store.JobQueued}}); err == nil {
		a.QueuedJobs = &n
	}
	for _, t := range s.o.Runtime.Running() {
		a.Turns = append(a.Turns, s.activeTurn(t, waiting))
	}
	sortTurns(a.Turns)
	return a
}

// activeTurn describes a running turn. waiting says which conversations wait for people or clients.
func (s *Server) activeTurn(t *runtime.Turn, waiting map[string]string) wire.ActiveTurn {
	conv := t.Conversation()
	a := wire.ActiveTurn{ID: t.ID(), Conversation: conv.ID(), Agent: conv.Agent().Name(), Sender: conv.Sender(), Project: s.o.Project}
	if s.o.Nodes != nil {
		a.Node = s.o.Nodes.Members.Self().ID
	}
	s.o.Monitor.Describe(&a)
	switch {
	case a.ID == "":
		a.State = "starting"
	case t.Ending():
		a.State = "ending"
	case waiting[a.Conversation] != "":
		a.State = waiting[a.Conversation]
	case len(a.Calls) > 0:
		a.State = "tool"
	default:
		a.State = "model"
	}
	return a
}
