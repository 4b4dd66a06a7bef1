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
	// settleTime is how long to wait for the rest of what a process that has ended says.
	settleTime = 200 * time.Millisecond
	// exitTime is how long to wait for the exit status of a process that seems to be ending.
	exitTime = 2 * time.Second
	// stuckTime is how long a call may outlive its context. That happens only while the
	// server does not read its input.
	stuckTime = time.Second
	// probeTime is how long a server that may have died has to answer one of the
	// probes.
	probeTime  = 800 * time.Millisecond
	probes     = 3
	probePause = 50 * time.Millisecond
	// toolsMost limits the tools of one server.
	toolsMost = 512
)

// ErrSession is the error of a call that was not made, because the server does not know
// the session any more. The connection is lost; the call can be retried.
var ErrSession = errors.New("it has forgotten the session")

// carrier is the transport of a session. After open only one goroutine uses it, except for
// kill.
type carrier interface {
	transport(doubt func()) sdk.Transport
	// gone is closed when the server has ended; nil if the carrier cannot know.
	gone() <-chan struct{}
	// exit waits a little for the server's end and returns how it ended.
	exit() (status string, ended bool)
	// stop ends the server gently and waits for its end, at most twice the grace. When
	// hard is closed it kills the server.
	stop(grace time.Duration, hard <-chan struct{})
	// kill ends the server at once and waits for its end. Its output can still be read.
	kill()
	// release closes the rest. It may be called several times.
	release()
	pid() int
}

// peer is one connection: a carrier and the session over it.
type peer struct {
	carrier carrier
	session *sdk.ClientSession
	reports reports

	ended   chan struct{} // closed when the session has ended
	leaving chan struct{} // closed when the connection ends because it is idle
	leaves  sync.Once
	noted   chan struct{} // closed when the endpoint knows that it has ended
	changes chan struct{} // has one element when the list of tools has changed
	doubts  chan struct{} // has one element when the server may have died

	down  chan struct{} // closed when the connection is broken
	fails sync.Once
	why   error // set before down is closed; nil: ask the carrier
}

// greet initializes the session and reads the list of tools.
func greet(ctx context.Context, c carrier) (*peer, []*sdk.Tool, error) {
	p := &peer{
		carrier: c, ended: make(chan struct{}), leaving: make(chan struct{}), noted: make(chan struct{}),
		changes: make(chan struct{}, 1), doubts: make(chan struct{}, 1), down: make(chan struct{}),
	}
	// Offer no capability: roots, sampling and elicitation would let the server use the
	// user's machine and model.
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

// fail marks the connection as broken; the first reason counts.
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

// over reports whether the connection is broken or ends because it is idle.
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

// probe pings the server, and breaks the connection if no ping can be sent, several times
// in a row, because one fault may hit several requests. A slow server keeps the connection.
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

// Call calls a tool. When ctx ends, it notifies the server and returns soon. report gets
// the server's progress. The error is [ErrSession], a [*RejectedError], the server's own
// answer as a *jsonrpc.Error, or says that no answer came. Only with the first two the
// call certainly had no effect.
func (l *Lease) Call(ctx context.Context, params *sdk.CallToolParams, report func(string)) (*sdk.CallToolResult, error) {
	res, err := l.p.call(ctx, params, report)
	if err == nil {
		return res, nil
	}
	// The library wraps errors of unsent requests in an answer of its own, so look for
	// our errors first.
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

// settle waits a little for the end of a connection whose call failed, so that the next
// call does not get the broken connection.
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
	// The library returns from a call when its context ends, except while it writes to
	// a pipe that the server does not read. No other call could write either, so end
	// such a server.
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

// cause returns why the connection is broken. Call it only after down.
func (p *peer) cause() error {
	if p.why != nil {
		return p.why
	}
	if status, gone := p.carrier.exit(); gone {
		return fmt.Errorf("it ended (%s)", status)
	}
	return errors.New("it broke the connection or the protocol")
}

// end ends carrier and session, and waits for that.
func (p *peer) end(pool *Pool, gently bool) {
	if gently {
		p.carrier.stop(pool.o.StopGrace, pool.hard)
	} else {
		p.carrier.kill()
	}
	p.release()
}

// release ends the session of a server that has ended. It reads the rest of the output
// first, unless another process has that open.
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

// brief returns a short text of an error that may quote untrusted text.
func brief(err error) string {
	var rejected *RejectedError
	var unreached *reachError
	switch {
	case errors.As(err, &rejected):
		return rejected.Error()
	case errors.As(err, &unreached):
		return unreached.Error()
	}
	return Clip(err.Error(), 500)
}
