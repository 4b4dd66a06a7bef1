package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/hook"
)

// server is one declared server: at most one process at a time, which comes and
// goes, and the tools that it has shown.
type server struct {
	m      *MCP
	cfg    Server
	stderr ring

	mu      sync.Mutex
	peer    *peer    // the connection; nil while there is none
	attempt *attempt // the start under way; nil if none is
	failure error    // why there is no connection; nil before the first attempt
	shown   tools
}

// attempt is one start of a server. All who need the server meanwhile wait for
// the same one; it goes on when they leave.
type attempt struct {
	done chan struct{}
	peer *peer // set with err before done is closed
	err  error
}

func newServer(m *MCP, cfg Server) *server {
	cfg.Args, cfg.Env = slices.Clone(cfg.Args), maps.Clone(cfg.Env)
	return &server{m: m, cfg: cfg, stderr: ring{max: stderrKept}}
}

// connect returns the connection, starting the server if there is none. Callers
// at the same time share one start and its failure. It blocks until the start
// ends or ctx does.
func (s *server) connect(ctx context.Context) (*peer, error) { return s.await(ctx, s.begin()) }

// await waits for the start. A connection that has just ended, which nobody else
// has noticed yet, is no connection: once that is noted it starts another.
func (s *server) await(ctx context.Context, a *attempt) (*peer, error) {
	for {
		p, err := a.wait(ctx)
		if err != nil || !p.over() {
			return p, err
		}
		select {
		case <-p.noted:
			a = s.begin()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// wait blocks until the start has ended or ctx does.
func (a *attempt) wait(ctx context.Context) (*peer, error) {
	select {
	case <-a.done:
		return a.peer, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ended returns an attempt that is over.
func ended(p *peer, err error) *attempt {
	a := &attempt{done: make(chan struct{}), peer: p, err: err}
	close(a.done)
	return a
}

// begin starts the server if there is neither a connection nor a start under way.
func (s *server) begin() *attempt {
	if s.cfg.Refused != "" {
		return ended(nil, errors.New(s.cfg.Refused))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peer != nil {
		return ended(s.peer, nil)
	}
	if s.attempt != nil {
		return s.attempt
	}
	a := &attempt{done: make(chan struct{})}
	if !s.m.spawn(func() { s.run(a) }) {
		return ended(nil, errClosed)
	}
	s.attempt = a
	return a
}

// run is the life of one connection: start, publish, wait for its end, clean up.
func (s *server) run(a *attempt) {
	p, listed, err := s.start()
	s.mu.Lock()
	s.attempt, s.peer, s.failure = nil, p, err
	if err == nil {
		s.shown.replace(s, listed)
	}
	s.mu.Unlock()
	if err == nil {
		s.m.rebuild()
	}
	a.peer, a.err = p, err
	close(a.done)
	if err != nil {
		s.tell(hook.EventServerLost, fmt.Sprintf("%s: %v", s.cfg.Name, err))
		return
	}
	s.tell(hook.EventServerConnected, s.cfg.Name)
	cause := p.wait(s.m.life.Done())
	// Told before anybody can start it again, so that the events are in order.
	s.tell(hook.EventServerLost, fmt.Sprintf("%s: %v", s.cfg.Name, cause))
	s.mu.Lock()
	s.peer, s.failure = nil, cause
	s.mu.Unlock()
	close(p.noted)
	p.end(s.m.life.Done(), s.m.hard, s.m.o.StopGrace)
}

// tell emits an event, but not about what OnClose itself brought about.
func (s *server) tell(kind hook.EventKind, text string) {
	if s.m.life.Err() == nil {
		s.m.emit(kind, text)
	}
}

// start starts the process, greets the server and reads its list of tools, within
// the time for connecting. Only so many servers start at the same time.
func (s *server) start() (*peer, []*sdk.Tool, error) {
	life := s.m.life
	select {
	case s.m.slots <- struct{}{}:
		defer func() { <-s.m.slots }()
	case <-life.Done():
		return nil, nil, errClosed
	}
	ctx, cancel := context.WithTimeout(life, s.m.o.ConnectTimeout)
	defer cancel()
	s.stderr.reset()
	proc, err := startProcess(s.command(), &s.stderr)
	if err != nil {
		return nil, nil, err
	}
	p, listed, err := greet(ctx, proc)
	if err == nil {
		return p, listed, nil
	}
	status, gone := proc.settle(settleTime)
	proc.kill()
	proc.closePipes()
	switch {
	case life.Err() != nil:
		return nil, nil, errClosed
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("it did not answer within %v", s.m.o.ConnectTimeout)
	case gone:
		return nil, nil, fmt.Errorf("it ended while it was started (%s)", status)
	}
	return nil, nil, fmt.Errorf("connect: %s", clip(err.Error(), 500)) // the server may have written it
}

// callTimeout is the time that each call has.
func (s *server) callTimeout() time.Duration {
	if s.cfg.Timeout > 0 {
		return s.cfg.Timeout
	}
	return s.m.o.CallTimeout
}
