package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Route is one operation of the API. docs/openapi.yaml lists the same operations.
type Route struct {
	Method string
	// Path is the path as in the document, with {names} of parameters.
	Path string
}

// handler answers a request. If it returns an error, it has written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() map[Route]handler {
	return map[Route]handler{
		{"GET", "/v1/health"}:                            s.health,
		{"GET", "/v1/plan"}:                              s.plan,
		{"GET", "/v1/tools"}:                             s.tools,
		{"GET", "/v1/stats"}:                             s.stats,
		{"POST", "/v1/reload"}:                           s.reload,
		{"GET", "/v1/agents"}:                            s.listAgents,
		{"POST", "/v1/agents"}:                           s.createAgent,
		{"GET", "/v1/agents/{agent}"}:                    s.showAgent,
		{"PUT", "/v1/agents/{agent}"}:                    s.updateAgent,
		{"DELETE", "/v1/agents/{agent}"}:                 s.deleteAgent,
		{"GET", "/v1/conversations"}:                     s.listConversations,
		{"POST", "/v1/conversations"}:                    s.openConversation,
		{"GET", "/v1/conversations/{id}"}:                s.showConversation,
		{"GET", "/v1/conversations/{id}/messages"}:       s.messages,
		{"POST", "/v1/conversations/{id}/messages"}:      s.send,
		{"GET", "/v1/conversations/{id}/tasks"}:          s.tasks,
		{"GET", "/v1/conversations/{id}/events"}:         s.conversationEvents,
		{"GET", "/v1/conversations/{id}/events/{event}"}: s.event,
		{"POST", "/v1/conversations/{id}/cancel"}:        s.cancel,
		{"GET", "/v1/events"}:                            s.allEvents,
		{"POST", "/v1/conversations/{id}/resume"}:        s.resume,
		{"POST", "/v1/conversations/{id}/adopt"}:         s.adopt,
		{"POST", "/v1/conversations/{id}/fork"}:          s.fork,
		{"POST", "/v1/conversations/{id}/rewind"}:        s.rewind,
		{"POST", "/v1/conversations/{id}/undo"}:          s.undo,
		{"POST", "/v1/conversations/{id}/compact"}:       s.compact,
		{"GET", "/v1/conversations/{id}/export"}:         s.export,
		{"POST", "/v1/import"}:                           s.restore,
		{"GET", "/v1/search"}:                            s.search,
		{"GET", "/v1/inquiries"}:                         s.listInquiries,
		{"POST", "/v1/inquiries/{id}"}:                   s.answerInquiry,
		{"GET", "/v1/calls"}:                             s.listCalls,
		{"POST", "/v1/conversations/{id}/calls/{call}"}:  s.answerCall,
		{"GET", "/v1/asks"}:                              s.listAsks,
		{"POST", "/v1/asks/{id}"}:                        s.answerAsk,
	}
}

// Routes returns all operations, sorted.
func (s *Server) Routes() []Route {
	return slices.SortedFunc(maps.Keys(s.routes()), func(a, b Route) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for r, h := range s.routes() {
		methods[r.Path] = append(methods[r.Path], r.Method)
		mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				f := *failureOf(err)
				f.text = s.o.Mask(f.text)
				writeError(w, &f)
			}
		})
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeError(w, &failure{http.StatusMethodNotAllowed, wire.CodeMethod,
				fmt.Sprintf("%s has no method %s; it has %s", r.URL.Path, r.Method, strings.Join(allowed, " and "))})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, notFound("there is no path %.200q; docs/openapi.yaml lists the paths", r.URL.Path))
	})
	return mux
}
