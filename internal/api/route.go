package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/nodes/dispatch"
)

// Route is one operation of the API. docs/openapi.yaml lists the same operations.
type Route struct {
	Method string
	// Path is the path as in the document, with {names} of parameters.
	Path string
	// Need is the scope that a caller needs, or "public".
	Need access.Scope
}

// place is where a route is.
type place struct{ method, path string }

// handler answers a request. If it returns an error, it has written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

// operation answers the requests of a route.
type operation struct {
	// need is what a caller has to be allowed.
	need   access.Scope
	handle handler
}

// public needs nothing: also who has no token may. It is no scope.
const public access.Scope = "public"

func (s *Server) routes() map[place]operation {
	out := map[place]operation{
		{"GET", "/healthz"}:                                         {public, alive},
		{"GET", "/readyz"}:                                          {public, s.ready},
		{"GET", "/metrics"}:                                         {access.Read, s.metrics},
		{"GET", "/{$}"}:                                             {public, s.page},
		{"GET", "/page/{file...}"}:                                  {public, s.page},
		{"GET", "/v1/me"}:                                           {access.Read, s.me},
		{"GET", "/v1/health"}:                                       {access.Read, s.health},
		{"GET", "/v1/activity"}:                                     {access.Read, s.activity},
		{"GET", "/v1/log"}:                                          {access.Read, s.logLevel},
		{"PUT", "/v1/log"}:                                          {access.Administer, s.setLogLevel},
		{"GET", "/v1/plan"}:                                         {access.Read, s.plan},
		{"GET", "/v1/sandbox"}:                                      {access.Read, s.sandbox},
		{"GET", "/v1/tools"}:                                        {access.Read, s.tools},
		{"GET", "/v1/stats"}:                                        {access.Read, s.stats},
		{"GET", "/v1/nodes"}:                                        {access.Read, s.listNodes},
		{"POST", "/v1/reload"}:                                      {access.Administer, s.reload},
		{"GET", "/v1/agents"}:                                       {access.Read, s.listAgents},
		{"POST", "/v1/agents"}:                                      {access.Administer, s.createAgent},
		{"GET", "/v1/agents/{agent}"}:                               {access.Read, s.showAgent},
		{"PUT", "/v1/agents/{agent}"}:                               {access.Administer, s.updateAgent},
		{"DELETE", "/v1/agents/{agent}"}:                            {access.Administer, s.deleteAgent},
		{"GET", "/v1/conversations"}:                                {access.Read, s.listConversations},
		{"POST", "/v1/conversations"}:                               {access.Converse, s.openConversation},
		{"GET", "/v1/conversations/{id}"}:                           {access.Read, s.owned(dispatch.Held, s.showConversation)},
		{"GET", "/v1/conversations/{id}/messages"}:                  {access.Read, s.owned(dispatch.Stored, s.messages)},
		{"POST", "/v1/conversations/{id}/messages"}:                 {access.Converse, s.begins(s.send)},
		{"GET", "/v1/conversations/{id}/turns"}:                     {access.Read, s.owned(dispatch.Held, s.listTurns)},
		{"GET", "/v1/conversations/{id}/turns/{turn}"}:              {access.Read, s.owned(dispatch.Held, s.showTurn)},
		{"GET", "/v1/conversations/{id}/turns/{turn}/calls/{call}"}: {access.Read, s.owned(dispatch.Held, s.explainCall)},
		{"GET", "/v1/conversations/{id}/tasks"}:                     {access.Read, s.owned(dispatch.Stored, s.tasks)},
		{"GET", "/v1/conversations/{id}/events"}:                    {access.Read, s.conversationEvents},
		{"GET", "/v1/conversations/{id}/events/{event}"}:            {access.Read, s.owned(dispatch.Held, s.event)},
		{"POST", "/v1/conversations/{id}/cancel"}:                   {access.Converse, s.owned(dispatch.Held, s.cancel)},
		{"GET", "/v1/events"}:                                       {access.Read, s.allEvents},
		{"POST", "/v1/conversations/{id}/resume"}:                   {access.Converse, s.begins(s.resume)},
		{"POST", "/v1/conversations/{id}/adopt"}:                    {access.Administer, s.adopt},
		{"POST", "/v1/conversations/{id}/fork"}:                     {access.Converse, s.owned(dispatch.Held, s.fork)},
		{"POST", "/v1/conversations/{id}/rewind"}:                   {access.Converse, s.owned(dispatch.Held, s.rewind)},
		{"POST", "/v1/conversations/{id}/undo"}:                     {access.Converse, s.owned(dispatch.Last, s.undo)},
		{"POST", "/v1/conversations/{id}/compact"}:                  {access.Converse, s.owned(dispatch.Held, s.compact)},
		{"GET", "/v1/conversations/{id}/export"}:                    {access.Read, s.owned(dispatch.Stored, s.export)},
		{"POST", "/v1/import"}:                                      {access.Converse, s.restore},
		{"POST", "/v1/deletions"}:                                   {access.Administer, s.erased(s.erase)},
		{"GET", "/v1/jobs"}:                                         {access.Read, s.listJobs},
		{"GET", "/v1/jobs/{job}"}:                                   {access.Read, s.showJob},
		{"POST", "/v1/jobs/{job}"}:                                  {access.Administer, s.changeJob},
		{"GET", "/v1/search"}:                                       {access.Read, s.search},
		{"GET", "/v1/inquiries"}:                                    {access.Read, s.listInquiries},
		{"POST", "/v1/inquiries/{id}"}:                              {access.Converse, s.asked(s.answerInquiry)},
		{"GET", "/v1/calls"}:                                        {access.Read, s.listCalls},
		{"POST", "/v1/conversations/{id}/calls/{call}"}:             {access.Converse, s.owned(dispatch.Held, s.answerCall)},
		{"GET", "/v1/asks"}:                                         {access.Read, s.listAsks},
		{"POST", "/v1/asks/{id}"}:                                   {access.Approve, s.asked(s.answerAsk)},
		{"POST", "/v1/links"}:                                       {access.Administer, s.link},
		{"GET", "/enter"}:                                           {public, s.enterPage},
		{"DELETE", "/v1/session"}:                                   {public, s.leavePage},
	}
	maps.Copy(out, s.subsystemRoutes())
	return out
}

// subsystemRoutes are those of what the program behind the server and its subsystems know.
func (s *Server) subsystemRoutes() map[place]operation {
	return map[place]operation{
		{"GET", "/v1/agents/{agent}/prompt"}:   {access.Read, s.prompt},
		{"GET", "/v1/models"}:                  {access.Read, s.listModels},
		{"GET", "/v1/spending"}:                {access.Read, s.spending},
		{"GET", "/v1/audit"}:                   {access.Administer, s.audit},
		{"GET", "/v1/servers"}:                 {access.Read, s.listServers},
		{"GET", "/v1/memories"}:                {access.Read, s.listMemories},
		{"PUT", "/v1/memories/{memory}"}:       {access.Administer, s.changeMemory},
		{"DELETE", "/v1/memories/{memory}"}:    {access.Administer, s.forgetMemory},
		{"GET", "/v1/schedules"}:               {access.Read, s.listSchedules},
		{"GET", "/v1/schedules/{schedule}"}:    {access.Read, s.showSchedule},
		{"DELETE", "/v1/schedules/{schedule}"}: {access.Administer, s.removeSchedule},
	}
}

// plainPath turns a pattern of the mux into a path of the document.
var plainPath = strings.NewReplacer("{$}", "", "...}", "}")

// Routes returns all operations, sorted.
func (s *Server) Routes() []Route {
	var out []Route
	for at, op := range s.routes() {
		out = append(out, Route{at.method, plainPath.Replace(at.path), op.need})
	}
	slices.SortFunc(out, func(a, b Route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return out
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for r, op := range s.routes() {
		methods[r.path] = append(methods[r.path], r.method)
		mux.HandleFunc(r.method+" "+r.path, s.guarded(op))
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(path, s.guarded(operation{access.Read, func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &failure{http.StatusMethodNotAllowed, wire.CodeMethod,
				fmt.Sprintf("%s has no method %s; it has %s", r.URL.Path, r.Method, strings.Join(allowed, " and "))}
		}}))
	}
	mux.HandleFunc("/", s.guarded(operation{access.Read, func(_ http.ResponseWriter, r *http.Request) error {
		return notFound("there is no path %.200q; docs/openapi.yaml lists the paths", r.URL.Path)
	}}))
	return mux
}

// guarded answers requests of those who may.
func (s *Server) guarded(op operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r, done, err := enter(r, op.need)
		defer done()
		nameCaller(w, r)
		if err == nil {
			err = s.answer(w, r, op)
		}
		if err != nil {
			f := *failureOf(err)
			f.text = s.o.Mask(f.text)
			turnAway(w, err)
			writeError(w, &f)
		}
	}
}
