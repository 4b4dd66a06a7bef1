package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// settleTime is how long a process that seems to be ending is given to do so,
	// so that its exit status is known.
	settleTime = 200 * time.Millisecond
	// stuckTime is how long a call may outlive its context: it does so only while
	// the server does not take its input.
	stuckTime = time.Second
	// toolsMost is the number of tools that one server may list.
	toolsMost = 512
)

// peer is one connection: a process and the session with it.
type peer struct {
	proc    *process
	session *sdk.ClientSession
	ended   chan struct{} // closed when the session has ended
	stuck   chan struct{} // closed when the server does not take its input
	noted   chan struct{} // closed when its server knows that it has ended
	once    sync.Once
	reports reports
}

// greet opens the session and reads the list of tools.
func greet(ctx context.Context, proc *process) (*peer, []*sdk.Tool, error) {
	// No capability is offered: roots, sampling and elicitation would let the
	// server ask things of the user's machine and model.
	p := &peer{proc: proc, ended: make(chan struct{}), stuck: make(chan struct{}), noted: make(chan struct{})}
	client := sdk.NewClient(&sdk.Implementation{Name: "grapnel", Version: "1"},
		&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}, ProgressNotificationHandler: p.reports.handle})
	session, err := client.Connect(ctx, &sdk.IOTransport{Reader: proc.stdout, Writer: proc.stdin}, nil)
	if err != nil {
		return nil, nil, err
	}
	p.session = session
	go func() { _ = session.Wait(); close(p.ended) }()
	listed, err := p.list(ctx)
	if err != nil {
		proc.kill()
		p.release()
		return nil, nil, err
	}
	return p, listed, nil
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

// over reports whether the connection has ended.
func (p *peer) over() bool {
	select {
	case <-p.ended:
	case <-p.proc.exited:
	case <-p.stuck:
	default:
		return false
	}
	return true
}

// call calls a tool. It returns soon after ctx ends, which the server is told.
// An error is the server's own answer if it is a *jsonrpc.Error, else the call
// found no answer. What the server reports meanwhile goes to report.
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
	select {
	case a := <-answered:
		return a.res, a.err
	case <-time.After(stuckTime):
	}
	p.once.Do(func() { close(p.stuck) })
	a := <-answered
	return a.res, a.err
}

// wait blocks until the connection has to be given up and says why.
func (p *peer) wait(closing <-chan struct{}) error {
	select {
	case <-p.ended:
		if status, gone := p.proc.settle(settleTime); gone {
			return fmt.Errorf("it ended (%s)", status)
		}
		return errors.New("it broke the connection or the protocol")
	case <-p.proc.exited:
		return fmt.Errorf("it ended (%s)", p.proc.status())
	case <-p.stuck:
		return errors.New("it does not take its input")
	case <-closing:
		return errClosed
	}
}

// end ends what is left of process and session and waits for it: gently if the
// subsystem is closing, else at once.
func (p *peer) end(closing, hard <-chan struct{}, grace time.Duration) {
	select {
	case <-closing:
		p.proc.stop(grace, hard)
	default:
		p.proc.kill()
	}
	p.release()
}

// release ends the session of a process that has ended. What the process wrote
// last is still read, unless somebody else holds its output open.
func (p *peer) release() {
	select {
	case <-p.ended:
	case <-time.After(settleTime):
	}
	p.proc.closePipes()
	_ = p.session.Close() // says only that the other side has gone
	<-p.ended
}
