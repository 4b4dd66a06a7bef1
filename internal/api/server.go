package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api/internal/streams"
	"github.com/grapnel-go/grapnel/internal/monitor"
	"github.com/grapnel-go/grapnel/internal/undo"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Defaults of Options.
const (
	DefaultGrace     = 10 * time.Second
	DefaultHeartbeat = 15 * time.Second
	DefaultStall     = 30 * time.Second
)

// stopTime is how long the daemon waits at its end for clients to read their last events.
const stopTime = 2 * time.Second

// Options of a Server. Runtime and Store are required.
type Options struct {
	Runtime *runtime.Runtime
	Store   store.Store
	// Root is the directory of the project, and State that of the databases. Clients
	// compare them to find out whether they have reached the right daemon.
	Root, State string
	// Project is the project of the runtime. Conversations of other projects can only be
	// listed, on request, and adopted.
	Project string
	// Abandoned reports whether a project's directory no longer exists, so that its
	// conversations can be adopted. Nil allows only conversations without a project.
	Abandoned func(project string) bool
	// Agent is the default agent of requests.
	Agent string
	// Model is the default model of agents that clients register; "" leaves it to the
	// provider.
	Model string
	// Plan is the plan of the composite; nil is none.
	Plan *plan.Plan
	// Hooks: the runtime records hook runs, and streams have their events.
	Hooks bool
	// Tools returns all tools, with the reason why the agent may not use one; nil is none.
	Tools func(agent *runtime.Agent) []wire.Tool
	// Commands returns what a person may type to the agent that is no message; nil is none.
	Commands func(agent *runtime.Agent) []wire.Command
	// Mask masks the texts of errors and the prompts of agents; nil masks nothing. Store and Runtime
	// mask the rest.
	Mask func(text string) string
	// Agents keeps the agents that clients make; nil forgets them when the runtime closes.
	Agents Agents
	// Reload reads the files of agents again; nil is no such files.
	Reload func(ctx context.Context) (wire.Reloaded, error)
	// Stats returns what was counted of each agent, sorted by name; nil counts nothing.
	Stats func() []wire.AgentStats
	// Explain says who decided about a call, from the events of the call and the failures of hooks in its turn; nil is not possible.
	Explain func(events []hook.Event) wire.Explained
	// Sandbox says what commands can change, read and reach; nil is no sandbox.
	Sandbox func() (wire.Sandbox, error)
	// Confined says what the sandbox would let a call do that waits for approval; nil is no sandbox. A call that does not run in it has none.
	Confined func(q *hook.ApprovalRequest) []string
	// Servers returns the MCP servers; nil is none.
	Servers func() []wire.Server
	// Memories are what agents have remembered; nil is nothing.
	Memories Memories
	// Schedules are those of the project; nil is none.
	Schedules Schedules
	// Undo takes back what turns of a conversation changed; nil is not possible.
	Undo func(ctx context.Context, conversation string, r undo.Request) (undo.Outcome, error)
	// Delete deletes a conversation, what a sender has, or a project; nil is not possible.
	Delete func(ctx context.Context, d wire.Deletion) (wire.Deleted, error)
	// Inspect has answers about the program.
	Inspect Inspect
	// Await waits until the registration of the agent has ended, and returns its error;
	// nil does not wait.
	Await func(ctx context.Context, agent string) error
	// Check returns an error if no turn of the agent can begin; nil allows all.
	Check func(cfg *hook.AgentConfig) error
	// Start begins a turn; nil is the conversation's own Start. runtime.ErrBusy without
	// a turn means that another process runs a turn.
	Start func(ctx context.Context, conv *runtime.Conversation, in message.Input, o *runtime.TurnOptions) (*runtime.Turn, error)
	// Resume continues an interrupted turn; nil is the conversation's own Resume. Its
	// errors are those of Start.
	Resume func(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error)
	// Interrupted reports whether the conversation has a turn whose process has
	// ended; nil is whether its lease has ended.
	Interrupted func(rec store.Record) bool
	// Unfinished returns the conversations with a turn that has not ended, and maybe others; nil returns all.
	Unfinished func(ctx context.Context) ([]store.Record, error)
	// ResumeAll makes Run resume the interrupted turns of the project.
	ResumeAll bool
	// Log gets a sentence about each action that no client requested; nil drops it.
	Log func(text string)
	// Grace is how long running turns may continue when the daemon ends; 0 is
	// DefaultGrace.
	Grace time.Duration
	// Heartbeat is the time between comments in a stream without events; 0 is
	// DefaultHeartbeat.
	Heartbeat time.Duration
	// Stall is how long an answer waits for a client that reads nothing. Then the
	// connection is closed; the client of a stream can resume. 0 is DefaultStall.
	Stall time.Duration
	// Timeouts bound the requests.
	Timeouts Timeouts
	// Nodes are the daemons that share the store; nil is that no other does.
	Nodes *Nodes
	// Tenants are the owners of tokens who share the daemon; nil is its own user alone.
	Tenants *Tenants
	// Doors are ways to the server over TCP, all with one gate. Run closes their listeners.
	Doors []Door
	// Level is that of the log, which administrators change; nil is none.
	Level *slog.LevelVar
	// Metrics answers /metrics; nil is none.
	Metrics http.Handler
	// Monitor watches the runtime for people; nil is one that sees no calls of tools. New tells it what to watch.
	Monitor *monitor.Monitor
}

// Agents keeps agents that clients have made, as they sent them. It is safe for concurrent use.
type Agents interface {
	// Keep keeps an agent, or what it has become.
	Keep(name string, agent []byte) error
	// Drop keeps an agent no longer. It returns false if it was not kept.
	Drop(name string) (bool, error)
	// Owner returns who defines the agent of that name if it is no client, such as a file; "" if nobody else does.
	Owner(name string) string
	// Sections are the names of the sections that an agent can have, sorted.
	Sections() []string
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o       Options
	started time.Time
	died    chan struct{} // has an entry if another node has died
	// resuming has the ids of conversations whose turns are about to be resumed.
	resuming sync.Map
	mux      *http.ServeMux
	streams  streams.Streams
	bodies   atomic.Int64  // the bytes of all bodies that are read now, and of answers that are held
	building chan struct{} // see build

	mu      sync.Mutex
	closing bool
}

// New returns a server over an open runtime. It panics without a Runtime or a Store.
func New(o Options) *Server {
	if o.Runtime == nil || o.Store == nil {
		panic("api: New: Runtime and Store are required")
	}
	if o.Start == nil {
		o.Start = func(ctx context.Context, conv *runtime.Conversation, in message.Input, o *runtime.TurnOptions) (*runtime.Turn, error) {
			return conv.Start(ctx, in, o)
		}
	}
	if o.Resume == nil {
		o.Resume = func(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error) {
			return conv.Resume(ctx, o)
		}
	}
	if o.Interrupted == nil {
		o.Interrupted = func(rec store.Record) bool { return rec.Journaled && rec.Lease.Until.Before(time.Now()) }
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Tenants == nil {
		o.Tenants = &Tenants{}
	}
	if o.Abandoned == nil {
		o.Abandoned = func(string) bool { return false }
	}
	for _, d := range []struct {
		to *time.Duration
		is time.Duration
	}{
		{&o.Grace, DefaultGrace},
		{&o.Heartbeat, DefaultHeartbeat},
		{&o.Stall, DefaultStall},
		{&o.Timeouts.Header, DefaultHeaderTimeout},
		{&o.Timeouts.Body, DefaultBodyTimeout},
		{&o.Timeouts.Idle, DefaultIdleTimeout},
	} {
		if *d.to <= 0 {
			*d.to = d.is
		}
	}
	if o.Monitor == nil {
		o.Monitor = monitor.New(nil)
	}
	o.Monitor.Watch(o.Store, o.Project)
	if o.Unfinished == nil {
		o.Unfinished = o.Store.List
	}
	s := &Server{o: o, started: time.Now(), died: make(chan struct{}, 1), building: make(chan struct{}, builders)}
	s.streams = streams.Streams{Runtime: o.Runtime, Find: o.Store.Find, Monitor: o.Monitor, Heartbeat: o.Heartbeat, Closing: s.isClosing}
	if o.Nodes != nil {
		s.join(*o.Nodes)
	}
	s.mux = s.newMux()
	return s
}

// ServeHTTP answers a request that came over the unix socket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serveDoor(w, r, nil) }

// serveDoor answers a request that came through a door; nil is the unix socket.
func (s *Server) serveDoor(w http.ResponseWriter, r *http.Request, door *access.Door) {
	s.serve(w, r, func() (visit, error) { return visit{door: door, local: door == nil}, check(r, door) })
}

// serve answers a request that enter lets in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, enter func() (visit, error)) {
	out := &patientWriter{ResponseWriter: w, conn: http.NewResponseController(w), stall: s.o.Stall, bodies: &s.bodies}
	w = out
	defer s.awaitBody(w, r)()
	defer func(begun time.Time) { s.o.Monitor.Answered(answered(r, out, time.Since(begun))) }(time.Now())
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	v, err := enter()
	if err != nil {
		turnAway(w, err)
		writeError(w, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	defer func() {
		v := recover()
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v) // net/http then closes the connection
		}
		if v != nil {
			writeError(w, fmt.Errorf("the daemon failed: %v", v))
		}
	}()
	s.mux.ServeHTTP(w, r)
}

// Run serves the listener until ctx ends. With ResumeAll it also resumes interrupted turns.
//
// Then it shuts down in this order. It refuses new turns. It calls end, which closes the
// runtime and the layers below, with a context that ends after the grace period. The
// streams get their last event, and the listener is closed. While turns run, clients can
// still answer asks and read streams. The error is that of end, or of a listener that
// failed. Whatever hangs, Run returns LongestEnd after the grace period; the call of end is then left behind.
func (s *Server) Run(ctx context.Context, ln net.Listener, end func(context.Context) error) error {
	var servers []*http.Server
	failed := make(chan error, 2+len(s.o.Doors))
	listen := func(ln net.Listener, h http.Handler) {
		srv := s.server(h)
		servers = append(servers, srv)
		go func() { failed <- srv.Serve(ln) }()
	}
	listen(ln, s)
	for _, d := range s.o.Doors {
		listen(d.Listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveDoor(w, r, &d.Door) }))
	}
	if s.o.Nodes != nil {
		listen(s.o.Nodes.Listener, http.HandlerFunc(s.serveNode))
	}
	err := s.live(ctx, failed, end)
	err = errors.Join(err, stop(servers))
	for range servers {
		if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	}
	return err
}

// RunBehind is Run for a server without a listener of its own, whose requests another one hands over: see [Tenants].
func (s *Server) RunBehind(ctx context.Context, end func(context.Context) error) error {
	return s.live(ctx, make(chan error, 1), end)
}

// live resumes interrupted turns, and waits until ctx ends or a listener has failed. Then it refuses new turns and calls end.
func (s *Server) live(ctx context.Context, failed chan error, end func(context.Context) error) (err error) {
	var starting sync.WaitGroup
	if s.o.ResumeAll {
		starting.Go(func() {
			s.resumeAll(ctx, &starting)
			if s.o.Nodes != nil {
				s.takeOver(ctx, &starting)
			}
		})
	}
	select {
	case err = <-failed:
		failed <- http.ErrServerClosed
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.o.Monitor.Closing()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Grace)
	defer cancel()
	return errors.Join(err, s.endWithin(func() error {
		defer starting.Wait()
		return end(grace)
	}))
}

// LongestEnd is how long after the grace period Run returns at the latest, whatever hangs. The runtime needs 30 seconds if everything in
// it does.
const LongestEnd = 42 * time.Second

// endWithin calls end and waits for it, so long that stopTime is left.
func (s *Server) endWithin(end func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	late := time.NewTimer(s.o.Grace + LongestEnd - stopTime)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("the daemon did not end within %v, because something hangs that cannot be cancelled, such as a disk; what was stored is kept", s.o.Grace+LongestEnd-stopTime)
	}
}

// server returns a server with the bounds of all.
func (s *Server) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: s.o.Timeouts.Header, IdleTimeout: s.o.Timeouts.Idle, MaxHeaderBytes: 64 << 10,
		ConnContext: identify, ErrorLog: log.New(io.Discard, "", 0),
	}
}

// stop waits for the streams to send their last event, for stopTime at most.
func stop(servers []*http.Server) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	for _, srv := range servers {
		ended := srv.Shutdown(ctx)
		if errors.Is(ended, context.DeadlineExceeded) {
			ended = srv.Close()
		}
		err = errors.Join(err, ended)
	}
	return err
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	last, _ := s.o.Runtime.LastEvent("")
	h := wire.Health{
		Status: wire.StatusOK, Root: s.o.Root, State: s.o.State, PID: os.Getpid(),
		Started: s.started.UTC(), Turns: len(s.o.Runtime.Running()), LastEventID: last.String(), Hooks: s.o.Hooks,
		LateHooks: s.o.Runtime.LateHooks(),
	}
	for _, a := range s.o.Runtime.Abandoned() {
		h.Abandoned = append(h.Abandoned, wire.Abandoned(a))
	}
	if s.isClosing() {
		h.Status = wire.StatusClosing
	}
	writeJSON(w, http.StatusOK, h)
	return nil
}
