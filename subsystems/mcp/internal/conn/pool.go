// Package conn keeps connections to MCP servers: to processes over their standard input
// and output, and to HTTP endpoints. It makes a connection on demand, shares it among all
// declarations of the same server with the same credentials, and ends it when it is idle.
// It knows neither agents nor the public names of tools.
//
// A call can fail in three ways: with the server's own error (a *jsonrpc.Error), with a
// refusal by the HTTP endpoint ([RejectedError]), or without an answer. Only the last can
// cost the connection. The list of tools outlives the connection.
//
// Lock order: Pool.joining, Endpoint.mu, Pool.mu. None is held during a call of a watcher
// or a wait for a server.
package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// Options are the settings of a [Pool].
type Options struct {
	// ConnectTimeout bounds the start of a connection, from the process or the
	// first request to the list of tools. It must be positive.
	ConnectTimeout time.Duration
	// StopGrace is how long a server has to end after its input is closed, and again
	// after SIGTERM, before it is killed. For HTTP, it limits the end of the session. It
	// must be positive.
	StopGrace time.Duration
	// IdleTimeout is how long a connection may be unused before it ends; 0 is without
	// limit.
	IdleTimeout time.Duration
	// Supervisor starts the processes, so that none outlives this program. Nil: the pool
	// has its own.
	Supervisor *supervisor.Supervisor
	// Start starts a process with what it needs, in a sandbox; nil starts it without one.
	Start func(c supervisor.Command, needs []string) (Running, error)
}

// unclaimedTime is how long a connection without registered agents may be unused.
const unclaimedTime = time.Minute

// ErrClosed is the error of connections after Close.
var ErrClosed = errors.New("the MCP subsystem is closed")

// Pool has the endpoints. Make it with [NewPool]. It is safe for concurrent use.
type Pool struct {
	o    Options
	ours *supervisor.Supervisor // closed by Close; nil if it is the caller's
	open func(Spec, *ring) (carrier, error)

	// life ends when Close begins to end the servers. hard is closed when they have to
	// end at once.
	life context.Context
	end  context.CancelFunc
	hard chan struct{}

	joining   sync.Mutex // guards endpoints
	endpoints map[Fingerprint]*Endpoint

	mu      sync.Mutex // guards closed
	closed  bool
	killing sync.Once
	running sync.WaitGroup // one for each connection, from its start to the end of its process
}

// NewPool returns a pool without endpoints. It starts nothing.
func NewPool(o Options) *Pool {
	p := &Pool{o: o, hard: make(chan struct{}), endpoints: map[Fingerprint]*Endpoint{}}
	if o.Supervisor == nil {
		p.ours = supervisor.New()
		p.o.Supervisor = p.ours
	}
	p.open = p.connect
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// connect starts the process of the spec, or prepares its client.
func (p *Pool) connect(s Spec, stderr *ring) (carrier, error) {
	if s.URL != "" {
		return newHTTPLine(s)
	}
	c, err := s.command()
	if err != nil {
		return nil, err
	}
	return startProcess(func(c supervisor.Command) (Running, error) {
		if p.o.Start != nil {
			return p.o.Start(c, s.Needs)
		}
		return p.o.Supervisor.Start(c)
	}, c, stderr)
}

// Attach returns the endpoint of the spec, the same one for all specs with the same
// fingerprint. It does not connect. The watcher gets its changes until [Endpoint.Detach].
func (p *Pool) Attach(s Spec, w Watcher) *Endpoint {
	p.joining.Lock()
	defer p.joining.Unlock()
	print := s.Fingerprint()
	e := p.endpoints[print]
	if e == nil {
		e = &Endpoint{pool: p, spec: s.clone(), print: print, stderr: ring{max: stderrKept}, poke: make(chan struct{}, 1)}
		p.endpoints[print] = e
	}
	e.mu.Lock()
	e.watchers = append(slices.Clip(e.watchers), w)
	e.mu.Unlock()
	return e
}

// Detach removes the watcher. An endpoint without watchers ends when no call is in flight,
// and must not be used again.
func (e *Endpoint) Detach(w Watcher) {
	e.pool.joining.Lock()
	defer e.pool.joining.Unlock()
	e.mu.Lock()
	e.watchers = slices.DeleteFunc(slices.Clone(e.watchers), func(o Watcher) bool { return o == w })
	left := len(e.watchers)
	e.mu.Unlock()
	if left == 0 && e.pool.endpoints[e.print] == e {
		delete(e.pool.endpoints, e.print)
	}
	e.wake()
}

// Close ends all connections and waits for that. It closes the input of a process, sends
// SIGTERM after the grace, and kills its whole process group after another grace. It ends
// an HTTP session within the grace. When ctx ends, it ends all at once. Calls in flight
// get no answer.
func (p *Pool) Close(ctx context.Context) error {
	err := p.endAll(ctx)
	if p.ours != nil {
		err = errors.Join(err, p.ours.Close())
	}
	return err
}

func (p *Pool) endAll(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	ended := make(chan struct{})
	go func() { p.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	p.killing.Do(func() { close(p.hard) })
	select {
	case <-ended:
		return nil
	case <-time.After(p.o.StopGrace):
		return fmt.Errorf("a server did not end although it was killed: %w", ctx.Err())
	}
}

// Closing reports whether Close has begun.
func (p *Pool) Closing() bool { return p.life.Err() != nil }

// spawn runs f on a goroutine for which Close waits; false after Close.
func (p *Pool) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Go(f)
	return true
}
