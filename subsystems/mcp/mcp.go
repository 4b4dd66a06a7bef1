// Package mcp gives agents the tools of MCP servers.
//
// Servers are declared in a file for all agents (.mcp.json, see [Load]), or in the section
// of one agent for that agent alone (see [Section]). They are processes with a protocol
// over standard input and output, or HTTP endpoints. They are connected when the first
// agent that uses them is built; equal declarations with equal credentials share a
// connection. The tools are named mcp__server__tool. Servers are not trusted: their
// annotations do not count, their results have the label external, and a tool whose
// description changes is disabled until a person accepts the change.
//
// A server that does not start, is late or dies does not affect the others. Its tools are
// missing, or their calls fail with the kind unreachable, and the next call starts the
// server again. The tools of a late server come when it answers. Only a required server
// fails the agents that use it. [MCP.Status] returns the state of each server.
//
// Events report servers to the process: [event.ServerConnected] when a server is connected
// and whenever its tools have changed, so that the program can refresh the agents that use
// it; [event.ServerLost]; [event.Diagnostic] for the rest. The package is not an MCP
// server.
//
// Lock order: MCP.building, MCP.mu, server.mu, those of package wire. None is held during
// a call of a host or a wait for a server.
package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
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
	// Patience is how long the build of an agent waits for its servers. The tools of a
	// later server come when it answers. The build waits longer, until the start has
	// ended, for a required server and for one whose tools the agent's own list names.
	// 0 is 5 seconds; below 0 it waits only for these.
	Patience time.Duration
	// Notice is called with a sentence about servers that a build has waited for, from
	// a second on, and about the end of late starts. It may be called concurrently. Nil
	// drops them.
	Notice func(text string)
	// CallTimeout limits a call if the server's own entry has no timeout; 0 is 60
	// seconds.
	CallTimeout time.Duration
	// StopGrace is how long a server has to end after its input is closed, and again
	// after SIGTERM, before it is killed. For HTTP, it limits the end of the session. 0
	// is 2 seconds.
	StopGrace time.Duration
	// IdleTimeout is how long a server may be without a call before its connection ends;
	// the next call starts it again. 0 is 30 minutes, below 0 never. In any case a server
	// ends when its last registered agent has gone, or a minute after it was started for
	// an agent that was never registered.
	IdleTimeout time.Duration
	// MaxOutput limits the text of one result in bytes; 0 is 100,000, about 25,000
	// tokens.
	MaxOutput int
	// Lookup returns the environment variables that servers inherit, and the values of
	// ${NAME} in sections; nil is os.LookupEnv.
	Lookup func(name string) (string, bool)
	// Supervisor starts the servers that are processes, so that none outlives this
	// program. The caller closes it, after the runtime. Nil: the MCP has its own.
	Supervisor *supervisor.Supervisor
	// Sandbox confines the servers that are processes, each with what it needs. Nil: nothing confines them.
	Sandbox *sandbox.Sandbox
	// Allow decides, while an agent is built, whether a server of the agent's section
	// may be used; an error refuses the agent. s has ${NAME} unreplaced. Nil refuses
	// all: sections may come from untrusted files, and a server is a command.
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
		Supervisor: m.o.Supervisor, Start: m.start(),
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

// start returns what starts a server in the sandbox; nil without one.
func (m *MCP) start() func(supervisor.Command, []string) (conn.Running, error) {
	box := m.o.Sandbox
	if box == nil {
		return nil
	}
	return func(c supervisor.Command, needs []string) (conn.Running, error) {
		g, err := box.Granted(needs)
		if err != nil {
			return nil, fmt.Errorf("needs: %w", err)
		}
		if filepath.IsAbs(c.Path) {
			g.Read = append(g.Read, c.Path)
		}
		return box.Start(sandbox.Command{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Lasting: true, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}, g)
	}
}

func byName(servers []*server, name string) *server {
	i := slices.IndexFunc(servers, func(s *server) bool { return s.cfg.Name == name })
	if i < 0 {
		return nil
	}
	return servers[i]
}

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

// OnOpen keeps the host for events about servers. It starts no server.
func (m *MCP) OnOpen(_ context.Context, h hook.Host) error {
	if h != nil {
		m.host.Store(hostBox{h})
	}
	return nil
}

// OnClose ends all servers and waits for that. It closes the input of a process, sends
// SIGTERM after the grace, and kills its whole process group after another grace. It ends
// HTTP sessions. When ctx ends, it ends all at once. Calls in flight fail with the kind
// unreachable. Further calls of OnClose do nothing.
func (m *MCP) OnClose(ctx context.Context) error {
	if err := m.pool.Close(ctx); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

func (m *MCP) emit(kind hook.EventKind, text string) {
	if box, ok := m.host.Load().(hostBox); ok {
		box.Emit(context.Background(), hook.Event{Kind: kind, Text: text})
	}
}

// Schema returns the tools of all servers that were connected once: servers of the list in
// its order, then those of agents by name; the tools of each by name. The tools of a lost
// server stay; disabled tools are missing. It starts no server: OnBuildAgent does.
func (m *MCP) Schema() []message.Tool { return m.catalog.Load().offered }

// Dispatch binds a call to a tool: the arguments must be strict JSON and match the server's
// schema. It does not connect; the call does when it runs.
func (m *MCP) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	t, ok := m.catalog.Load().index[call.Name()]
	if !ok {
		return hook.Invocation{}, false
	}
	return t.bind(call), true
}
