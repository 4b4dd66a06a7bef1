package conn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// settleTime is how long a process that seems to be ending is given to do so,
	// so that its exit status is known.
	settleTime = 200 * time.Millisecond
	// stuckTime is how long a call may outlive its context: it does so only while
	// the server does not take its input.
	stuckTime = time.Second
	// probeTime is how long a server that may have died is given to show that it
	// has not, in so many attempts with pauses between them.
	probeTime  = 800 * time.Millisecond
	probes     = 3
	probePause = 50 * time.Millisecond
	// toolsMost is the number of tools that one server may list.
	toolsMost = 512
)

// ErrSession is the error of a call that was not made, because the server has
// forgotten the session. The connection is lost; the call can be made again.
var ErrSession = errors.New("it has forgotten the session")

// carrier is what a session runs over. After open it is used by one goroutine,
// except for kill.
type carrier interface {
	transport(doubt func()) sdk.Transport
	// gone is closed when the server has ended; nil where that cannot be seen.
	gone() <-chan struct{}
	// exit says how it ended, waiting a little for it; false if it has not.
	exit() (status string, ended bool)
	// stop ends it gently and waits for that, at most twice the grace; at once when
	// hard is closed.
	stop(grace time.Duration, hard <-chan struct{})
	// kill ends it at once and waits for that. What it sent can still be read.
	kill()
	// release gives back what is left. It may be called several times.
	release()
	pid() int
}

// peer is one connection: a carrier and the session over it.
type peer struct {
	carrier carrier
	session *sdk.ClientSession
	reports reports

	ended   chan struct{} // closed when the session has ended
	leaving chan struct{} // closed when the connection is given up because nobody uses it
	leaves  sync.Once
	noted   chan struct{} // closed when its endpoint knows that it has ended
	changes chan struct{} // has one element when the list of tools has changed
	doubts  chan struct{} // has one element when the server may have died

	down  chan struct{} // closed when the connection is broken
	fails sync.Once
	why   error // set before down is closed; nil: ask the carrier
}

// greet opens the session and reads the list of tools.
func greet(ctx context.Context, c carrier) (*peer, []*sdk.Tool, error) {
	p := &peer{
		carrier: c, ended: make(chan struct{}), leaving: make(chan struct{}), noted: make(chan struct{}),
		changes: make(chan struct{}, 1), doubts: make(chan struct{}, 1), down: make(chan struct{}),
	}
	// No capability is offered: roots, sampling and elicitation would let the
	// server ask things of the user's machine and model.
	client := sdk.NewClient(&sdk.Implementation{Name: "grapnel", Version: "1"}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{},
		ProgressNotificationHandler: p.reports.handle,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { ask(p.changes) },
	})
	session, err := client.Connect(ctx, c.transport(func() { ask(p.doubts) }), nil)
	if err != nil {
		return nil, nil, err
	}
	p.session = session
	go func() {
		_ = session.Wait()
		close(p.ended)
		p.fail(nil)
	}()
	listed, err := p.list(ctx)
	if err != nil {
		c.kill()
		p.release()
		return nil, nil, err
	}
	if gone := c.gone(); gone != nil {
		go func() { <-gone; p.fail(nil) }()
	}
	return p, listed, nil
}

// ask puts an element into a channel that has room for one.
func ask(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fail notes that the connection is broken; the first reason counts.
func (p *peer) fail(why error) {
	p.fails.Do(func() {
		p.why = why
		close(p.down)
	})
}

func (p *peer) leave() { p.leaves.Do(func() { close(p.leaving) }) }

func (p *peer) isLeaving() bool {
	select {
	case <-p.leaving:
		return true
	default:
		return false
	}
}

// over reports whether the connection is broken or given up.
func (p *peer) over() bool {
	select {
	case <-p.down:
	case <-p.leaving:
	case <-p.carrier.gone():
	default:
		return false
	}
	return true
}

func (p *peer) list(ctx context.Context) ([]*sdk.Tool, error) {
	if caps := p.session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, nil
	}
	var listed []*sdk.Tool
	for t, err := range p.session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		if listed = append(listed, t); len(listed) > toolsMost {
			return nil, fmt.Errorf("it lists more than %d tools", toolsMost)
		}
	}
	return listed, nil
}

// probe asks the server for a sign of life and breaks the connection if it
// cannot even be asked, several times in a row: what cut off one request may cut
// off the next. A server that is only slow keeps the connection.
func (p *peer) probe() {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	var unreached *reachError
	for range probes {
		if err := p.session.Ping(ctx, nil); !errors.As(err, &unreached) {
			return
		}
		pause := time.NewTimer(probePause)
		select {
		case <-pause.C:
		case <-p.down:
			pause.Stop()
			return
		}
	}
	p.fail(fmt.Errorf("it cannot be reached any more: %w", unreached))
}

// Call calls a tool. It returns soon after ctx ends, which the server is told.
// What the server reports meanwhile goes to report. The error is [ErrSession], a
// [*RejectedError], the server's own answer as a *jsonrpc.Error, or says that no
// answer came; only in the first two cases the call surely had no effect.
func (l *Lease) Call(ctx context.Context, params *sdk.CallToolParams, report func(string)) (*sdk.CallToolResult, error) {
	res, err := l.p.call(ctx, params, report)
	if err == nil {
		return res, nil
	}
	// The library wraps what it did not send in an answer of its own making, so
	// ours are looked for first.
	var rejected *RejectedError
	var unreached *reachError
	var answered *jsonrpc.Error
	switch {
	case errors.Is(err, ErrSession):
		l.p.fail(ErrSession)
		return nil, ErrSession
	case errors.As(err, &rejected):
		return nil, rejected
	case errors.As(err, &unreached):
		return nil, unreached
	case errors.As(err, &answered):
		own := *answered
		own.Message = l.e.spec.clean(own.Message)
		return nil, &own
	}
	if ctx.Err() == nil {
		l.p.settle()
	}
	return nil, err
}

// settle waits a little for the end of a connection whose call failed: calls end
// a moment before, and whoever calls next should not get the broken one.
func (p *peer) settle() {
	t := time.NewTimer(settleTime)
	defer t.Stop()
	select {
	case <-p.down:
	case <-t.C:
	}
}

func (p *peer) call(ctx context.Context, params *sdk.CallToolParams, report func(string)) (*sdk.CallToolResult, error) {
	token, done := p.reports.begin(report)
	defer done()
	params.SetProgressToken(token)
	type answer struct {
		res *sdk.CallToolResult
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a = answer{err: fmt.Errorf("the protocol library panicked: %v", v)}
			}
			answered <- a
		}()
		a.res, a.err = p.session.CallTool(ctx, params)
	}()
	select {
	case a := <-answered:
		return a.res, a.err
	case <-ctx.Done():
	}
	// The library leaves a call as soon as its context ends, except while it
	// writes to a pipe that the server does not read. Nobody else could write
	// either, so such a server is ended.
	late := time.NewTimer(stuckTime)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.res, a.err
	case <-late.C:
	}
	p.fail(errors.New("it does not take its input"))
	a := <-answered
	return a.res, a.err
}

// cause says why the connection is broken; only after down.
func (p *peer) cause() error {
	if p.why != nil {
		return p.why
	}
	if status, gone := p.carrier.exit(); gone {
		return fmt.Errorf("it ended (%s)", status)
	}
	return errors.New("it broke the connection or the protocol")
}

// end ends what is left of carrier and session and waits for it.
func (p *peer) end(pool *Pool, gently bool) {
	if gently {
		p.carrier.stop(pool.o.StopGrace, pool.hard)
	} else {
		p.carrier.kill()
	}
	p.release()
}

// release ends the session of a server that has ended. What the server sent last
// is still read, unless somebody else holds its output open.
func (p *peer) release() {
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	select {
	case <-p.ended:
	case <-settled.C:
	}
	p.carrier.release()
	_ = p.session.Close() // says only that the other side has gone
	<-p.ended
}

// brief is the text of an error that may quote a stranger.
func brief(err error) string {
	var rejected *RejectedError
	var unreached *reachError
	switch {
	case errors.As(err, &rejected):
		return rejected.Error()
	case errors.As(err, &unreached):
		return unreached.Error()
	}
	return clip(err.Error(), 500)
}
