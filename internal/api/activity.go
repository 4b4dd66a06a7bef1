package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/monitor"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func (s *Server) activity(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, http.StatusOK, s.Activity(r.Context()))
	return nil
}

// Activity returns what the daemon does right now. Turns, requests and spending are those of its project: of others it knows nothing.
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
	slices.SortFunc(a.Turns, func(x, y wire.ActiveTurn) int { return x.Since.Compare(y.Since) })
	return a
}

// activeTurn describes a running turn. waiting says which conversations wait for people or clients.
func (s *Server) activeTurn(t *runtime.Turn, waiting map[string]string) wire.ActiveTurn {
	conv := t.Conversation()
	a := wire.ActiveTurn{ID: t.ID(), Conversation: conv.ID(), Agent: conv.Agent().Name(), Sender: conv.Sender(), Project: s.o.Project}
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

// subscribe returns a reader of events that the monitor counts until leave is called.
func (s *Server) subscribe(conversation string, at runtime.Position) (_ *runtime.Reader, _ *monitor.Stream, leave func()) {
	r, counted := s.o.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: conversation, After: &at}), s.o.Monitor.Stream()
	return r, counted, func() {
		counted.Close()
		r.Close()
	}
}

// note tells the monitor what the client gets next. It has taken what was read before.
func note(counted *monitor.Stream, items []runtime.Item, all bool) {
	if all {
		counted.Has()
		return
	}
	counted.Behind()
	for _, item := range items {
		counted.Missed(item.Missed)
	}
}

// doneOf returns a channel that is closed when the turn has ended; nil is no turn.
func doneOf(t *runtime.Turn) <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.Done()
}
