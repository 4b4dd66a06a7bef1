package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest/internal/body"
)

// cancelled asks a server that at last says nothing more, and cancels when it does.
func (p *probe) cancelled(r reply) (outcome, *server) {
	m, s := p.open(always(r))
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	done := make(chan outcome, 1)
	go func() { done <- p.ask(ctx, m, p.wire.greets()) }()
	select {
	case <-s.waiting:
		cancel()
		return <-done, s
	case o := <-done:
		return o, s
	}
}

// silent is an answer that stops before its finish, and goes on never.
func (w *Wire) silent() reply {
	s := w.Answer(w.long())
	r := w.streams(s.Events[:s.Finish]...)
	r.hold = true
	return r
}

func checkCancelHead(p *probe) {
	if o, _ := p.cancelled(reply{}); o.err == nil {
		p.failf("cancelled before the answer began: %s", o.failure())
	}
}

func checkCancelStream(p *probe) {
	o, s := p.cancelled(p.wire.silent())
	switch {
	case o.err == nil:
		p.failf("cancelled within the answer: %s", o.failure())
	case !p.closes(s):
		p.failf("cancelled within the answer the adapter does not close the body")
	}
}

func checkContextErrors(p *probe) {
	for what, r := range map[string]reply{"before the answer began": {}, "within the answer": p.wire.silent()} {
		if o, _ := p.cancelled(r); o.err != nil && !errors.Is(o.err, context.Canceled) {
			p.failf("cancelled %s the error is not context.Canceled: %v", what, o.err)
		}
	}
	m, s := p.open(always(p.wire.streams(p.stream(hello()).Events...)))
	over, cancel := context.WithCancel(p.ctx)
	cancel()
	if o := p.ask(over, m, p.wire.greets()); !errors.Is(o.err, context.Canceled) || len(s.asked()) > 1 {
		p.failf("asked with a cancelled context, after %d requests: %s", len(s.asked()), o.failure())
	}
	late, stop := context.WithDeadline(p.ctx, time.Unix(0, 0))
	defer stop()
	o := p.ask(late, m, p.wire.greets())
	class, _ := provider.Classify(o.err)
	if !errors.Is(o.err, context.DeadlineExceeded) || class != message.FailureTimeout {
		p.failf("asked with no time left, the error of class %q is not context.DeadlineExceeded: %s", class, o.failure())
	}
}

func checkStopEarly(p *probe) {
	w := p.wire
	all, _ := p.exchange(w.streams(p.stream(w.long()).Events...), w.greets())
	for n := 1; n <= len(all.chunks); n++ {
		r := w.silent()
		if n > len(all.chunks)/2 {
			r = w.streams(p.stream(w.long()).Events...)
		}
		m, s := p.open(always(r))
		done := make(chan any, 1)
		ctx, cancel := context.WithCancel(p.ctx)
		go func() {
			defer func() { done <- recover() }()
			got := 0
			for range m.Stream(ctx, w.greets()) {
				if got++; got == n {
					break
				}
			}
		}()
		if v := p.ended(done, s); v != nil {
			p.failf("a consumer that stops after chunk %d: %v", n, v)
		}
		if !p.closes(s) {
			p.failf("when a consumer stops after chunk %d the adapter does not close the body", n)
		}
		cancel()
	}
}

// ended waits for the end of a consumer and returns its panic, or that it does not end.
func (p *probe) ended(done <-chan any, s *server) any {
	timer := time.NewTimer(p.wire.Patience)
	defer timer.Stop()
	select {
	case v := <-done:
		return v
	case <-s.waiting: // it waits for a chunk that the server has not sent yet
		return nil
	case <-timer.C:
		return "the stream does not end"
	}
}

func checkReleased(p *probe) {
	w := p.wire
	s := p.stream(w.long())
	cut := w.streams(s.Events[:s.Finish]...)
	cut.end = errReset
	all := w.pages("kit-portal")
	all["an answer"], all["an answer that is cut"] = w.streams(s.Events...), cut
	for i, f := range w.Failures("kit-why") {
		all[fmt.Sprintf("failure %d", i)] = w.fails(f)
	}
	for what, r := range all {
		if _, s := p.exchange(r, w.greets()); !p.closes(s) {
			p.failf("the body of %s is not closed", what)
		}
	}
}

// grace is how long goroutines may run after the streams have ended.
const grace = 2 * time.Second

func checkGoroutines(p *probe) {
	label := fmt.Sprintf("%p", p)
	pprof.Do(p.ctx, pprof.Labels("providertest", label), func(ctx context.Context) {
		inner := &probe{ctx: ctx, wire: p.wire}
		defer func() { p.servers = append(p.servers, inner.servers...) }()
		w := inner.wire
		events := inner.stream(w.long()).Events
		inner.exchange(w.streams(events...), w.greets())
		inner.exchange(w.streams(events[:1]...), w.greets())
		inner.exchange(reply{err: errReset}, w.greets())
		inner.cancelled(reply{})
		inner.cancelled(w.silent())
		for _, f := range w.Failures("kit-why") {
			inner.exchange(w.fails(f), w.greets())
		}
		m, _ := inner.open(always(w.streams(events...)))
		for range m.Stream(ctx, w.greets()) {
			break
		}
	})
	over := time.NewTimer(grace)
	defer over.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for left := running(label); left != ""; left = running(label) {
		select {
		case <-over.C:
			p.failf("a goroutine still runs %v after its stream has ended:\n%s", grace, left)
			return
		case <-again.C:
		}
	}
}

// running returns the stacks of the goroutines with the label. A goroutine inherits it from
// the one that starts it.
func running(label string) string {
	var profile bytes.Buffer
	if pprof.Lookup("goroutine").WriteTo(&profile, 1) != nil {
		return ""
	}
	var left []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "providertest", label)) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// checkConcurrent has the server wait with its first answers until all conversations ask.
func checkConcurrent(p *probe) {
	const many, each = 8, 6
	w := p.wire
	var asked atomic.Int64
	all := make(chan struct{})
	m, s := p.open(func(r request) reply {
		if asked.Add(1) == many {
			close(all)
		}
		timer := time.NewTimer(w.Patience / 2)
		defer timer.Stop()
		select {
		case <-all:
		case <-timer.C:
		}
		_, name, _ := strings.Cut(body.Texts(r.body), "kit-turn-")
		name, _, _ = strings.Cut(name, "-end")
		a := hello()
		a.Pieces = text(name, "/", name)
		return w.streams(p.stream(a).Events...)
	})
	var wg sync.WaitGroup
	wrong := make([]string, many)
	shared := w.tools()
	for i := range many {
		wg.Go(func() {
			for n := range each {
				name := fmt.Sprintf("%d.%d", i, n)
				req := w.asks(message.UserText("kit-turn-" + name + "-end"))
				req.Tools = shared
				if o := p.ask(p.ctx, m, req); !o.whole() || o.reply.Text() != name+"/"+name {
					wrong[i] = fmt.Sprintf("the answer to %s is %q (%s)", name, o.reply.Text(), o.failure())
					return
				}
			}
		})
	}
	wg.Wait()
	for _, what := range wrong {
		if what != "" {
			p.failf("of %d conversations at the same time: %s", many, what)
		}
	}
	select {
	case <-all:
	default:
		p.failf("of %d requests at the same time the server gets %d", many, len(s.asked()))
	}
}

// headers returns the values of a header.
func headers(h http.Header) string {
	var sb strings.Builder
	for _, values := range h {
		sb.WriteString(strings.Join(values, "\n") + "\n")
	}
	return sb.String()
}

// shows reports whether a value shows the key when it is printed.
func shows(v any) bool {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if holdsKey(fmt.Sprintf(verb, v)) {
			return true
		}
	}
	return false
}
