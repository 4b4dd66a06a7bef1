// Package mcp makes the tools of MCP servers tools of an agent.
//
// Servers are declared in a file for all agents (.mcp.json, see [Load]) or in the
// section of one agent for that agent alone (see [Section]). They are processes,
// spoken to over standard input and output, or HTTP endpoints. They are connected
// when the first agent that uses them is built; whoever declares the same server
// with the same credentials shares the connection. The tools are named
// mcp__server__tool. What a server says of itself is the claim of a stranger: its
// annotations are not believed, its results carry the label external, and a tool
// whose description changes after it was first seen is out of use until a person
// accepts it.
//
// A server that cannot be started, that is late or that dies takes nothing with it: its
// tools are missing, or calls to them fail with the kind unreachable, and the next
// call starts it again. A late one brings its tools when it answers. Only a required
// server fails the agents that use it. [MCP.Status] tells what each server is at.
//
// The process is told of servers by events: [event.ServerConnected] when one
// is connected and whenever its tools have changed, so that whoever has agents
// that use it may have the runtime refresh them; [event.ServerLost];
// [event.Diagnostic] for the rest. The package is no MCP server.
//
// Lock order: MCP.building, MCP.mu, server.mu, those of package wire. No host is
// called and no server waited for with one of them held.
package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// Options are the settings of an [MCP]. The zero value of each field is usable.
type Options struct {
	// Dir is the working directory of the servers that are processes and their CLAUDE_PROJECT_DIR;
	// "" is the directory of this process and sets no variable.
	Dir string
	// ConnectTimeout bounds the start of a server, from the process to its list
	// of tools; 0 is 30 seconds.
	ConnectTimeout time.Duration
	// Patience is how long an agent that is built waits for the servers that it uses. One
	// that is later than this brings its tools when it is there. A required server, and
	// one whose tools the agent names in its own list, is waited for as long as its start
	// may take. 0 is 5 seconds, less than 0 waits for none but these.
	Patience time.Duration
	// Notice is told, in a sentence, which servers somebody has been waiting for, from a
	// second on, and what has become of those that were late. It may be called from
	// several goroutines. Nil drops it.
	Notice func(text string)
	// CallTimeout bounds a call where the server's own entry sets no timeout; 0
	// is 60 seconds.
	CallTimeout time.Duration
	// StopGrace is how long a server that is told to end gets before it is sent
	// SIGTERM, and once more before it is killed; for HTTP, how long the end of the
	// session may take. 0 is 2 seconds.
	StopGrace time.Duration
	// IdleTimeout is how long a server may go without a call before its connection
	// is ended; the next call starts it again. 0 is 30 minutes, less than 0 never.
	// Whatever it says, a server that no registered agent uses is ended when the
	// last one has gone, or a minute after it was built for one that never came.
	IdleTimeout time.Duration
	// MaxOutput bounds the text of one result in bytes; 0 is 100,000, about
	// 25,000 tokens.
	MaxOutput int
	// Lookup is the environment from which the servers get the few variables that
	// they inherit and sections the values of ${NAME}; nil is os.LookupEnv.
	Lookup func(name string) (string, bool)
	// Supervisor starts the servers that are processes, so that none outlives this
	// program. Nil means one of its own. The caller closes it, after the runtime.
	Supervisor *supervisor.Supervisor
	// Allow is asked, while an agent is built, whether a server that the agent's
	// section declares may be used; an error refuses the agent. The server is shown
	// as it is written, with ${NAME} unreplaced. Nil refuses all: sections may come
	// from files that strangers wrote, and a server is a command that is run.
	Allow func(ctx context.Context, agent string, s Server) error
}

const (
	defaultConnectTimeout = 30 * time.Second
	defaultPatience       = 5 * time.Second
	defaultCallTimeout    = time.Minute
	defaultStopGrace      = 2 * time.Second
	defaultMaxOutput      = 100_000
	defaultIdleTimeout    = 30 * time.Minute
)

// MCP is the subsystem. Make it with [New]. It is safe for concurrent use.
//
//hook:subsystem dynamic
type MCP struct {
	hook.Nop

	o       Options
	pool    *conn.Pool
	catalog atomic.Pointer[catalog]
	host    atomic.Value // of hostBox

	building sync.Mutex // held while the catalog is replaced

	mu      sync.Mutex // guards what follows
	servers []*server  // the list's in its order, then the agents' by name; never changed in place
	agents  agents
}

var (
	_ hook.Hook    = (*MCP)(nil)
	_ hook.OnOpen  = (*MCP)(nil)
	_ hook.OnClose = (*MCP)(nil)
)

// hostBox lets an atomic.Value hold hosts of different types.
type hostBox struct{ hook.Host }

// New returns the subsystem for the servers of cfg, which it copies. It starts
// nothing. Two servers of one name are an error; a server that cannot be used is
// not: its Refused says why, here and in [MCP.Status].
func New(cfg Config, o *Options) (*MCP, error) {
	m := &MCP{}
	if o != nil {
		m.o = *o
	}
	m.o.defaults()
	m.pool = conn.NewPool(conn.Options{
		ConnectTimeout: m.o.ConnectTimeout, StopGrace: m.o.StopGrace, IdleTimeout: max(0, m.o.IdleTimeout),
		Supervisor: m.o.Supervisor,
	})
	for _, c := range cfg.Servers {
		if byName(m.servers, c.Name) != nil {
			return nil, fmt.Errorf("mcp: server %q is declared twice", c.Name)
		}
		s := newServer(m, c, true)
		if s.cfg.refuse(m.servers); s.cfg.Refused == "" {
			s.attach()
		}
		m.servers = append(m.servers, s)
	}
	m.catalog.Store(&catalog{})
	return m, nil
}

func byName(servers []*server, name string) *server {
	i := slices.IndexFunc(servers, func(s *server) bool { return s.cfg.Name == name })
	if i < 0 {
		return nil
	}
	return servers[i]
}

// declared returns the servers that are declared now.
func (m *MCP) declared() []*server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.servers
}

func (o *Options) defaults() {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.StopGrace <= 0 {
		o.StopGrace = defaultStopGrace
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = defaultMaxOutput
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
}

// OnOpen keeps the host, which from then on is told when a server is connected
// or lost. It starts no server.
func (m *MCP) OnOpen(_ context.Context, h hook.Host) error {
	if h != nil {
		m.host.Store(hostBox{h})
	}
	return nil
}

// OnClose ends all servers and waits for it: the input of a process is closed,
// after the grace it gets SIGTERM, after another it is killed, with its whole
// process group; an HTTP session is ended. When ctx ends all happens at once.
// Calls in flight fail with the kind unreachable. Further calls do nothing.
func (m *MCP) OnClose(ctx context.Context) error {
	if err := m.pool.Close(ctx); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// emit tells the process of what happened to a server.
func (m *MCP) emit(kind hook.EventKind, text string) {
	if box, ok := m.host.Load().(hostBox); ok {
		box.Emit(context.Background(), hook.Event{Kind: kind, Text: text})
	}
}

// Schema returns the tools of all servers that have been connected since the
// start: those of the list in its order, then those of agents by name, the tools
// of each by name. The tools of a server that was lost stay, those out of use are
// missing. It starts nothing: OnBuildAgent does.
func (m *MCP) Schema() []message.Tool { return m.catalog.Load().offered }

// Dispatch binds a call to a tool: the arguments must be strict JSON and fit the
// schema that the server gave. Whether the server is there shows when the call
// runs.
func (m *MCP) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	t, ok := m.catalog.Load().index[call.Name()]
	if !ok {
		return hook.Invocation{}, false
	}
	return t.bind(call), true
}
