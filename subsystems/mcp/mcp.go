// Package mcp makes the tools of MCP servers tools of an agent.
//
// The servers are declared in a file (.mcp.json, see [Load]) and started when
// the first agent that uses them is built; all agents share one process per
// server. The tools are named mcp__server__tool. What a server says of itself
// is the claim of a stranger: its annotations are not believed, its results
// carry the label external, and a tool whose description changes after it was
// first seen is out of use until a person accepts it.
//
// A server that cannot be started or that dies takes nothing with it: its tools
// are missing, or calls to them fail with the kind unreachable, and the next
// call starts it again. [MCP.Status] tells what each server is at.
//
// Servers speak over standard input and output; other transports are declared
// without error and refused with a reason. The package is no MCP server.
//
// Lock order: MCP.building, server.mu, MCP.mu. No host is called and no process
// waited for with one of them held.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Options are the settings of an [MCP]. The zero value of each field is usable.
type Options struct {
	// Dir is the working directory of the servers and their CLAUDE_PROJECT_DIR;
	// "" is the directory of this process and sets no variable.
	Dir string
	// ConnectTimeout bounds the start of a server, from the process to its list
	// of tools; 0 is 30 seconds.
	ConnectTimeout time.Duration
	// CallTimeout bounds a call where the server's own entry sets no timeout; 0
	// is 60 seconds.
	CallTimeout time.Duration
	// StopGrace is how long a server that is told to end gets before it is sent
	// SIGTERM, and once more before it is killed; 0 is 2 seconds.
	StopGrace time.Duration
	// MaxOutput bounds the text of one result in bytes; 0 is 100,000, about
	// 25,000 tokens.
	MaxOutput int
	// Lookup is the environment from which the servers get the few variables
	// that they inherit; nil is os.LookupEnv.
	Lookup func(name string) (string, bool)
}

const (
	defaultConnectTimeout = 30 * time.Second
	defaultCallTimeout    = time.Minute
	defaultStopGrace      = 2 * time.Second
	defaultMaxOutput      = 100_000
	// connecting is the number of servers that are started at the same time.
	connecting = 4
)

// errClosed is why nothing is started after OnClose.
var errClosed = errors.New("the MCP subsystem is closed")

// MCP is the subsystem. Make it with [New]. It is safe for concurrent use.
//
//hook:subsystem dynamic
type MCP struct {
	hook.Nop

	o       Options
	servers []*server // in the order of their declaration
	byName  map[string]*server
	catalog atomic.Pointer[catalog]
	host    atomic.Value // of hostBox
	slots   chan struct{}

	// life ends when OnClose begins: servers are told to end. hard is closed
	// when they have to end at once.
	life context.Context
	end  context.CancelFunc
	hard chan struct{}

	building sync.Mutex // held while the catalog is replaced

	mu      sync.Mutex // guards closed
	closed  bool
	killing sync.Once
	running sync.WaitGroup // one for each connection, from its start to the end of its process
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
	m := &MCP{byName: map[string]*server{}, slots: make(chan struct{}, connecting), hard: make(chan struct{})}
	if o != nil {
		m.o = *o
	}
	m.o.defaults()
	for _, c := range cfg.Servers {
		if m.byName[c.Name] != nil {
			return nil, fmt.Errorf("mcp: server %q is declared twice", c.Name)
		}
		s := newServer(m, c)
		s.cfg.refuse(m.servers)
		m.servers = append(m.servers, s)
		m.byName[c.Name] = s
	}
	m.life, m.end = context.WithCancel(context.Background())
	m.catalog.Store(&catalog{})
	return m, nil
}

func (o *Options) defaults() {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = defaultConnectTimeout
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
}

// OnOpen keeps the host, which from then on is told when a server is connected
// or lost. It starts no server.
func (m *MCP) OnOpen(_ context.Context, h hook.Host) error {
	if h != nil {
		m.host.Store(hostBox{h})
	}
	return nil
}

// OnClose ends all servers and waits for it: their input is closed, after the
// grace they get SIGTERM, after another they are killed, each with its whole
// process group. When ctx ends they are killed at once. Calls in flight fail
// with the kind unreachable. Further calls do nothing.
func (m *MCP) OnClose(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.end()
	ended := make(chan struct{})
	go func() { m.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	m.killing.Do(func() { close(m.hard) })
	select {
	case <-ended:
		return nil
	case <-time.After(m.o.StopGrace):
		return fmt.Errorf("mcp: a server did not end although it was killed: %w", ctx.Err())
	}
}

// spawn runs f on a goroutine for which OnClose waits; false after OnClose.
func (m *MCP) spawn(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.running.Go(f)
	return true
}

// emit tells the process of what happened to a server.
func (m *MCP) emit(kind hook.EventKind, text string) {
	if box, ok := m.host.Load().(hostBox); ok {
		box.Emit(context.WithoutCancel(m.life), hook.Event{Kind: kind, Text: text})
	}
}

// Schema returns the tools of all servers that have been connected since the
// start, in the order in which the servers are declared and then by name. The
// tools of a server that was lost stay, those out of use are missing. It starts
// nothing: OnBuildAgent does.
func (m *MCP) Schema() []hook.Tool { return m.catalog.Load().offered }

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
