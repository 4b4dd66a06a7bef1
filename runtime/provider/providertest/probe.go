package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// probe is one application of one rule.
type probe struct {
	ctx  context.Context
	wire Wire
	// servers are those of the rule.
	servers []*server
	// end is how the server of pieced ends a body; nil is io.EOF.
	end   error
	found []string
}

// enough bounds the findings of one rule: an adapter that breaks it does so at every byte.
const enough = 8

// errEnough ends a rule that has found enough.
var errEnough = errors.New("enough")

// Check checks this rule alone and returns its violations, at most eight. A panic of the
// adapter or of the wire is one.
func (r Rule) Check(ctx context.Context, w Wire) []Violation {
	w.Model = cmp.Or(w.Model, "kit-large")
	w.Patience = cmp.Or(w.Patience, 5*time.Second)
	p := &probe{ctx: ctx, wire: w}
	defer func() {
		for _, s := range p.servers {
			close(s.over)
		}
	}()
	p.guard(func() { r.check(p) })
	found := make([]Violation, len(p.found))
	for i, f := range p.found {
		found[i] = Violation{Rule: r.ID, Reason: r.Reason, Found: f}
	}
	return found
}

func (p *probe) guard(f func()) {
	defer func() {
		if v := recover(); v != nil && v != errEnough {
			p.found = append(p.found, fmt.Sprintf("a panic: %v", v))
		}
	}()
	f()
}

func (p *probe) failf(format string, args ...any) {
	if p.found = append(p.found, fmt.Sprintf(format, args...)); len(p.found) == enough {
		panic(errEnough)
	}
}

// open returns an adapter of a server that answers every request like this.
func (p *probe) open(answer func(request) reply) (provider.Provider, *server) {
	s := newServer(answer)
	p.servers = append(p.servers, s)
	return p.wire.Open(Server{URL: "http://" + host, Key: key, Transport: s}), s
}

// always returns an answer to every request.
func always(r reply) func(request) reply { return func(request) reply { return r } }

// outcome is what a stream has brought.
type outcome struct {
	chunks []message.Chunk
	reply  message.ModelReply
	// err is the error of the stream, or provider.ErrNoFinish.
	err error
	// broken are the rules of message.ChunkKind that it broke.
	broken []string
	// panicked is the value of a panic, hangs that the stream did not end.
	panicked any
	hangs    bool
}

// whole reports whether the stream counts as a whole reply.
func (o *outcome) whole() bool {
	return o.err == nil && len(o.broken) == 0 && o.panicked == nil && !o.hangs
}

// failure says why the stream is no reply.
func (o *outcome) failure() string {
	switch {
	case o.hangs:
		return "the stream does not end"
	case o.panicked != nil:
		return fmt.Sprintf("a panic: %v", o.panicked)
	case len(o.broken) > 0:
		return o.broken[0]
	case o.err != nil:
		return o.err.Error()
	}
	return "the reply counts as whole"
}

// ask asks and reads the stream to its end.
func (p *probe) ask(ctx context.Context, m provider.Provider, req message.ModelRequest) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan outcome, 1)
	go func() { done <- reads(ctx, m, req) }()
	timer := time.NewTimer(p.wire.Patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o
	case <-timer.C:
		return outcome{hangs: true}
	}
}

// exchange asks an adapter of a server that always answers like this.
func (p *probe) exchange(r reply, req message.ModelRequest) (outcome, *server) {
	m, s := p.open(always(r))
	return p.ask(p.ctx, m, req), s
}

// reads reads a stream to its end and holds it to the rules of message.ChunkKind.
func reads(ctx context.Context, m provider.Provider, req message.ModelRequest) (o outcome) {
	defer func() { o.panicked = recover() }()
	var c provider.Collector
	for chunk, err := range m.Stream(ctx, req) {
		switch {
		case o.err != nil:
			o.broken = append(o.broken, "the stream goes on after its error")
			return o
		case err != nil:
			o.err = err
		default:
			o.chunks = append(o.chunks, chunk)
			o.broken = append(o.broken, faulty(&c, &chunk)...)
		}
	}
	if o.err != nil || len(o.broken) > 0 {
		o.reply = c.Partial()
		return o
	}
	o.reply, o.err = c.Reply()
	return o
}

// faulty says what is wrong with the next chunk of a stream.
func faulty(c *provider.Collector, chunk *message.Chunk) (out []string) {
	if err := c.Add(chunk); err != nil {
		out = append(out, err.Error())
	}
	if !utf8.ValidString(chunk.Text) || !utf8.ValidString(chunk.Tool) || !utf8.ValidString(chunk.CallID) {
		out = append(out, fmt.Sprintf("a chunk whose text is no UTF-8: %q", chunk.Text+chunk.Tool+chunk.CallID))
	}
	return out
}

// closes reports whether the adapter closes all bodies soon.
func (p *probe) closes(s *server) bool {
	timer := time.NewTimer(p.wire.Patience)
	defer timer.Stop()
	for _, b := range s.sent() {
		select {
		case <-b.closed:
		case <-timer.C:
			return false
		}
	}
	return true
}

// stream returns the bytes of an answer; nil events if the wire has no such answer.
func (p *probe) stream(a Answer) Stream { return p.wire.Answer(a) }
