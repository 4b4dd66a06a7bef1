package conn

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Watcher gets the changes of an endpoint, in order and with no lock held. It must return
// soon, and it must be comparable.
type Watcher interface{ Changed(Change) }

// Change is one change of an endpoint. Err is its cause, or nil; it has no credentials.
type Change struct {
	Kind ChangeKind
	Err  error
}

// ChangeKind is a kind of change.
type ChangeKind string

// The kinds of change.
const (
	Connected ChangeKind = "connected" // Listed is new
	Relisted  ChangeKind = "relisted"  // Listed is new; with Err it could not be read again
	Failed    ChangeKind = "failed"    // the connection failed: Err
	Lost      ChangeKind = "lost"      // the connection broke: Err
	Ended     ChangeKind = "ended"     // the endpoint was idle, or has no agents left
)

// ServerError says why a process could not be connected, or why its connection broke.
type ServerError struct {
	Err error
	// Stderr is the end of its error output, at most 16 KiB. Error leaves it out, because
	// it may have secrets, and the model reads errors.
	Stderr string
}

func (e *ServerError) Error() string { return e.Err.Error() }

func (e *ServerError) Unwrap() error { return e.Err }

// Endpoint is one server: at most one connection at a time, and the tools that the server
// listed last. It is safe for concurrent use.
type Endpoint struct {
	pool   *Pool
	spec   Spec
	print  Fingerprint
	stderr ring
	poke   chan struct{} // has one element when the idle time must be computed again

	mu       sync.Mutex
	watchers []Watcher // never changed in place
	peer     *peer     // the connection; nil while there is none
	start    *Start    // the running start; nil if none
	past     past
	listed   []*sdk.Tool
	version  int       // of listed; 0 before the first
	holds    int       // agents that are registered and use it
	left     bool      // since the last use, the last agent has unregistered
	busy     int       // leases
	used     time.Time // when it was used last
}

// past is how an endpoint got where it is.
type past struct {
	failure error     // why there is no connection; nil before the first start and after an end
	rested  bool      // the connection was ended because it was idle
	since   time.Time // of the last change of its state
}

// Start is one start of a connection. All callers that need the endpoint wait for the same
// start. It continues when they stop waiting.
type Start struct {
	done chan struct{}
	peer *peer // set with err before done is closed
	err  error
}

// started returns a start that is over.
func started(p *peer, err error) *Start {
	s := &Start{done: make(chan struct{}), peer: p, err: err}
	close(s.done)
	return s
}

// Begin starts the connection, unless there is one or a running start. It does not wait.
func (e *Endpoint) Begin() *Start {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used, e.left = time.Now(), false
	if e.peer != nil {
		return started(e.peer, nil)
	}
	if e.start != nil {
		return e.start
	}
	s := &Start{done: make(chan struct{})}
	if !e.pool.spawn(func() { e.run(s) }) {
		return started(nil, ErrClosed)
	}
	e.start, e.past.since = s, time.Now()
	return s
}

// Wait blocks until the start or ctx has ended. Concurrent callers share one start and its
// failure.
func (e *Endpoint) Wait(ctx context.Context, s *Start) error {
	_, err := e.await(ctx, s)
	return err
}

// await waits for the start. If the connection has just ended, it waits until the endpoint
// knows, and starts another one.
func (e *Endpoint) await(ctx context.Context, s *Start) (*peer, error) {
	for {
		select {
		case <-s.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if s.err != nil || !s.peer.over() {
			return s.peer, s.err
		}
		select {
		case <-s.peer.noted:
			s = e.Begin()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Lease is the right to call. While there is a lease, the connection does not count as
// idle. Release it.
type Lease struct {
	e    *Endpoint
	p    *peer
	once sync.Once
}

// Acquire connects if necessary and returns a lease. It blocks until the connection is
// made or fails, or ctx ends.
func (e *Endpoint) Acquire(ctx context.Context) (*Lease, error) {
	s := e.Begin()
	for {
		p, err := e.await(ctx, s)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		if !p.over() { // under the lock that also guards the end of idle connections
			e.busy++
			e.mu.Unlock()
			return &Lease{e: e, p: p}, nil
		}
		e.mu.Unlock()
		s = started(p, nil) // await waits until the endpoint knows
	}
}

// Release gives the lease back. Calls after the first do nothing.
func (l *Lease) Release() {
	l.once.Do(func() {
		l.e.mu.Lock()
		l.e.busy--
		l.e.used = time.Now()
		l.e.mu.Unlock()
		l.e.wake()
	})
}

// Hold registers an agent that uses the endpoint. It starts nothing.
func (e *Endpoint) Hold() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holds++
	e.left = false
}

// Drop undoes one Hold. After the last Drop the connection ends, unless another caller
// needs it by then. Drop does not wait for that.
func (e *Endpoint) Drop() {
	e.mu.Lock()
	e.holds--
	e.left = e.holds == 0
	e.mu.Unlock()
	e.wake()
}

func (e *Endpoint) wake() {
	select {
	case e.poke <- struct{}{}:
	default:
	}
}

// Listed returns the tools that the server listed last, and the version of that list; 0
// before the first. Do not change the slice.
func (e *Endpoint) Listed() ([]*sdk.Tool, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.listed, e.version
}

func (e *Endpoint) run(s *Start) {
	p, listed, err := e.connect()
	e.mu.Lock()
	e.start, e.peer, e.past = nil, p, past{failure: err, since: time.Now()}
	if err == nil {
		e.listed, e.version, e.used = listed, e.version+1, time.Now()
	}
	e.mu.Unlock()
	s.peer, s.err = p, err
	if err != nil {
		e.tell(Change{Failed, err})
		close(s.done)
		return
	}
	e.tell(Change{Kind: Connected})
	close(s.done)
	settled, cause := e.attend(p)
	defer settled()
	if cause == nil {
		// End this process before another one starts: they may share files.
		p.end(e.pool, true)
		e.finish(p, Change{Kind: Ended})
		return
	}
	e.finish(p, Change{Lost, e.withStderr(cause)})
	p.end(e.pool, e.pool.Closing())
}

// finish records the end of the connection. It notifies the watchers before another start
// is possible, so that changes come in order.
func (e *Endpoint) finish(p *peer, c Change) {
	e.tell(c)
	e.mu.Lock()
	e.peer, e.past = nil, past{c.Err, c.Err == nil, time.Now()}
	e.mu.Unlock()
	close(p.noted)
}

func (e *Endpoint) tell(c Change) {
	e.mu.Lock()
	watchers := e.watchers
	e.mu.Unlock()
	for _, w := range watchers {
		w.Changed(c)
	}
}

// connect opens the connection, initializes the session and reads the list of tools,
// within ConnectTimeout. It waits for no other server, so that a slow server does not
// delay the others.
func (e *Endpoint) connect() (*peer, []*sdk.Tool, error) {
	life, limit := e.pool.life, e.pool.o.ConnectTimeout
	ctx, cancel := context.WithTimeout(life, limit)
	defer cancel()
	e.stderr.reset()
	c, err := e.pool.open(e.spec, &e.stderr)
	if err != nil {
		return nil, nil, err
	}
	// The library may ignore the context.
	stop := context.AfterFunc(ctx, c.kill)
	p, listed, err := greet(ctx, c)
	if stop(); err == nil {
		return p, listed, nil
	}
	status, gone := c.exit()
	c.kill()
	c.release()
	switch {
	case life.Err() != nil:
		return nil, nil, ErrClosed
	case ctx.Err() != nil:
		err = fmt.Errorf("it did not answer within %v", limit)
	case gone:
		err = fmt.Errorf("it ended while it was started (%s)", status)
	default:
		err = fmt.Errorf("connect: %s", e.spec.clean(brief(err)))
	}
	return nil, nil, e.withStderr(err)
}

func (e *Endpoint) withStderr(err error) error {
	if text := e.stderr.String(); text != "" {
		return &ServerError{Err: err, Stderr: text}
	}
	return err
}

// attend waits until the connection must end, and returns the cause; nil means that it is
// idle. Meanwhile it reads the list of tools again when the server reports a change, and
// probes the server when it may have died. The caller calls settled once the connection
// has ended.
func (e *Endpoint) attend(p *peer) (settled func(), cause error) {
	idle := time.NewTimer(e.idle(p))
	defer idle.Stop()
	var work sync.WaitGroup
	changes, doubts := p.changes, p.doubts // nil while their work runs
	relisted, probed := make(chan *Change, 1), make(chan struct{}, 1)
	for {
		select {
		case <-p.down:
			return work.Wait, p.cause()
		case <-e.pool.life.Done():
			return work.Wait, ErrClosed
		case <-p.leaving:
			return work.Wait, nil
		case <-e.poke:
			idle.Reset(e.idle(p))
		case <-idle.C:
			idle.Reset(e.idle(p))
		case <-changes:
			changes = nil
			work.Go(func() { relisted <- e.relist(p) })
		case c := <-relisted:
			if changes = p.changes; c != nil {
				e.tell(*c)
			}
		case <-doubts:
			doubts = nil
			work.Go(func() { p.probe(); probed <- struct{}{} })
		case <-probed:
			doubts = p.doubts
		}
	}
}

// forever is longer than any program runs.
const forever = time.Duration(1<<63 - 1)

// idle returns how long the connection may still be unused. If that time is over, idle
// closes p.leaving, and no caller gets a lease any more.
func (e *Endpoint) idle(p *peer) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	limit := e.idleLimitLocked()
	if e.busy > 0 || limit == forever {
		return forever
	}
	if rest := limit - time.Since(e.used); rest > 0 {
		return rest
	}
	p.leave()
	return forever
}

func (e *Endpoint) idleLimitLocked() time.Duration {
	limit := e.pool.o.IdleTimeout
	if limit <= 0 {
		limit = forever
	}
	switch {
	case len(e.watchers) == 0 || e.left:
		return 0
	case e.holds == 0:
		return min(limit, unclaimedTime)
	}
	return limit
}

// relistPause is the delay before the list is read again: changes come in bursts.
const relistPause = 100 * time.Millisecond

// relist reads the list of tools again; it returns nil if there is no change to report.
func (e *Endpoint) relist(p *peer) *Change {
	pause := time.NewTimer(relistPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-p.down:
		return nil
	case <-p.leaving:
		return nil
	}
	select {
	case <-p.changes: // of the same burst
	default:
	}
	ctx, cancel := context.WithTimeout(e.pool.life, e.pool.o.ConnectTimeout)
	defer cancel()
	listed, err := p.list(ctx)
	if err != nil {
		return &Change{Relisted, fmt.Errorf("read its tools again: %s", e.spec.clean(brief(err)))}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if reflect.DeepEqual(e.listed, listed) {
		return nil
	}
	e.listed, e.version = listed, e.version+1
	return &Change{Kind: Relisted}
}

// State is the state of an endpoint.
type State string

// The states of an endpoint.
const (
	StateUnused     State = "unused" // never needed so far
	StateConnecting State = "connecting"
	StateConnected  State = "connected"
	StateLost       State = "lost" // the connection failed or broke
	StateIdle       State = "idle" // ended because it was unused
)

// Status is a snapshot of an endpoint.
type Status struct {
	State State
	// Since is when it got into the state; zero if it is unused.
	Since time.Time
	// Err is why it is lost; nil in the other states.
	Err error
	// Process is the id of the process; 0 without one.
	Process int
	// Stderr is the end of the process's error output since its last start, at most
	// 16 KiB.
	Stderr string
}

// Status returns the endpoint's status.
func (e *Endpoint) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := Status{State: StateUnused, Since: e.past.since, Stderr: e.stderr.String()}
	switch {
	case e.peer != nil && e.peer.isLeaving():
		st.State = StateIdle
	case e.peer != nil:
		st.State, st.Process = StateConnected, e.peer.carrier.pid()
	case e.start != nil:
		st.State = StateConnecting
	case e.past.failure != nil:
		st.State, st.Err = StateLost, e.past.failure
	case e.past.rested:
		st.State = StateIdle
	}
	return st
}
