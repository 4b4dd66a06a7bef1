package providertest

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// cuts calls f with the outcome for the long answer cut before each byte; behind says
// whether the finish had begun.
func (p *probe) cuts(f func(at int, behind bool, o outcome)) {
	w := p.wire
	s := p.stream(w.long())
	sent, finish := s.whole(), s.size(s.Finish)
	m, pieces := p.pieced()
	ends := []error{io.EOF, io.ErrUnexpectedEOF, errReset}
	for at := range len(sent) {
		pieces(sent[:at])
		p.end = ends[at%len(ends)]
		f(at, at >= finish, p.ask(p.ctx, m, w.greets()))
	}
}

// pieced returns an adapter of a server that sends what the function is given. The end is
// p.end.
func (p *probe) pieced() (provider.Provider, func(...string)) {
	var parts []string
	m, s := p.open(func(request) reply {
		r := p.wire.streams(parts...)
		r.end = p.end
		return r
	})
	return m, func(next ...string) {
		parts = slices.DeleteFunc(slices.Clone(next), func(s string) bool { return s == "" })
		s.forget()
	}
}

func checkCuts(p *probe) {
	want := p.wire.long().blocks()
	p.cuts(func(at int, behind bool, o outcome) {
		class, _ := provider.Classify(o.err)
		switch {
		case o.hangs || o.panicked != nil:
			p.failf("cut at byte %d: %s", at, o.failure())
		case o.err == nil && !behind:
			p.failf("cut at byte %d, before its finish, an answer counts as whole", at)
		case o.err == nil:
			if wrong := differ(o.reply.Content, want); wrong != "" {
				p.failf("cut at byte %d an answer counts as whole, with %s", at, wrong)
			}
		case class != message.FailureNetwork && class != message.FailureProtocol:
			p.failf("cut at byte %d an answer fails with the class %s: %v", at, class, o.err)
		}
	})
}

func checkCutCalls(p *probe) {
	whole := map[string]string{}
	for _, b := range p.wire.long().blocks() {
		if b.Kind == message.BlockToolCall {
			whole[b.Tool] = string(b.JSON)
		}
	}
	p.cuts(func(at int, _ bool, o outcome) {
		tool, args := map[int]string{}, map[int]string{}
		for _, c := range o.chunks {
			switch c.Kind {
			case message.ChunkCallStart:
				tool[c.Index] = c.Tool
			case message.ChunkCallArgs:
				args[c.Index] += c.Text
			case message.ChunkCallEnd:
				if !sameJSON(args[c.Index], whole[tool[c.Index]]) {
					p.failf("cut at byte %d the call of %s ends with the arguments %s", at, tool[c.Index], args[c.Index])
				}
			}
		}
	})
}

func checkNoFinish(p *probe) {
	w := p.wire
	for _, a := range []Answer{hello(), w.long()} {
		s := p.stream(a)
		for _, events := range [][]string{s.Events[:s.Finish], slices.Delete(slices.Clone(s.Events), s.Finish, s.Finish+1)} {
			if o, _ := p.exchange(w.streams(events...), w.greets()); o.err == nil {
				p.failf("a stream without the event that ends it: %s", o.failure())
			}
		}
	}
}

// pages are what stands in the place of an answer.
func (w *Wire) pages(text string) map[string]reply {
	page := "<html><head><title>" + text + "</title></head><body>" + text + "</body></html>"
	html := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	return map[string]reply{
		"an HTML page": {status: http.StatusOK, header: html, pieces: []string{page}},
		"an HTML page with the content type of answer": w.streams(page),
		"nothing":                   w.streams(),
		"an empty line":             w.streams("\n"),
		"no content":                {status: http.StatusNoContent, header: http.Header{}},
		"an HTML page of a gateway": {status: http.StatusBadGateway, header: html, pieces: []string{page}},
	}
}

func checkPages(p *probe) {
	for what, r := range p.wire.pages("kit-portal") {
		o, _ := p.exchange(r, p.wire.greets())
		if o.err == nil {
			p.failf("%s in the place of an answer: %s", what, o.failure())
		}
	}
}

func checkGarbage(p *probe) {
	if p.wire.Lacks.Garbage {
		return
	}
	s := p.stream(p.wire.long())
	for at := range s.Finish + 1 {
		o, _ := p.exchange(p.wire.streams(slices.Insert(slices.Clone(s.Events), at, "\x00\xff<garbage>\n")...), p.wire.greets())
		class, _ := provider.Classify(o.err)
		switch {
		case o.err == nil:
			p.failf("with a garbage line before event %d: %s", at, o.failure())
		case class != message.FailureProtocol && class != message.FailureNetwork:
			p.failf("with a garbage line before event %d an answer fails with the class %s: %v", at, class, o.err)
		}
	}
}

// failures calls f with the outcome of each failure.
func (p *probe) failures(text string, f func(f Failure, o outcome, s *server)) {
	for _, failure := range p.wire.Failures(text) {
		o, s := p.exchange(p.wire.fails(failure), p.wire.greets())
		f(failure, o, s)
	}
}

func checkClasses(p *probe) {
	p.failures("kit-why", func(f Failure, o outcome, _ *server) {
		class, _ := provider.Classify(o.err)
		switch {
		case o.err == nil:
			p.failf("a failure of the class %s with the status %d: %s", f.Class, f.Status, o.failure())
		case class != f.Class:
			p.failf("a failure of the class %s with the status %d has the class %s: %v", f.Class, f.Status, class, o.err)
		}
	})
	o, _ := p.exchange(reply{err: errReset}, p.wire.greets())
	if class, _ := provider.Classify(o.err); class != message.FailureNetwork {
		p.failf("a failure of the network has the class %s: %v", class, o.err)
	}
}

func checkWaits(p *probe) {
	p.failures("kit-why", func(f Failure, o outcome, _ *server) {
		if _, wait := provider.Classify(o.err); o.err != nil && wait != f.RetryAfter {
			p.failf("a failure of the class %s with the status %d asks to wait for %s, and the error says %s", f.Class, f.Status, f.RetryAfter, wait)
		}
	})
}

func checkTexts(p *probe) {
	p.failures("kit-why-it-failed", func(f Failure, o outcome, _ *server) {
		if o.err != nil && !strings.Contains(o.err.Error(), "kit-why-it-failed") {
			p.failf("of a failure of the class %s with the status %d the server's words are lost: %v", f.Class, f.Status, o.err)
		}
	})
}

func checkOneRequest(p *probe) {
	once := func(what string, s *server) {
		if n := len(s.asked()); n != 1 {
			p.failf("%s: the adapter makes %d requests", what, n)
		}
	}
	p.failures("kit-why", func(f Failure, _ outcome, s *server) { once("a failure of the class "+string(f.Class), s) })
	w := p.wire
	s := p.stream(w.long())
	cut := w.streams(s.Events[:s.Finish]...)
	cut.end = errReset
	for what, r := range map[string]reply{"an answer": w.streams(s.Events...), "an answer that is cut": cut, "a failure of the network": {err: errReset}} {
		_, s := p.exchange(r, w.greets())
		once(what, s)
	}
}

// checkHidden looks at the errors of servers that repeat the key.
func checkHidden(p *probe) {
	w := p.wire
	hide := func(what string, err error) {
		if err != nil && shows(err) {
			p.failf("the error of %s has the key in it", what)
		}
	}
	p.failures("the key "+key+" is no good", func(f Failure, o outcome, _ *server) {
		hide("a failure of the class "+string(f.Class), o.err)
	})
	all := w.pages("you sent " + key)
	all["a garbage line"] = w.streams("\x00garbage with " + key + "\n")
	all["a failure of the network"] = reply{err: &resetError{io.ErrUnexpectedEOF}}
	for what, r := range all {
		o, _ := p.exchange(r, w.greets())
		hide(what, o.err)
	}
	m, _ := p.open(always(reply{}))
	if shows(m) {
		p.failf("printed with fmt the adapter shows the key")
	}
}

func checkRedirect(p *probe) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		m, s := p.open(func(r request) reply {
			if strings.Contains(r.url, elsewhere) {
				return p.wire.streams(p.stream(hello()).Events...)
			}
			return reply{status: status, header: http.Header{"Location": {"http://" + elsewhere + "/v1"}}}
		})
		p.ask(p.ctx, m, p.wire.greets())
		for _, r := range s.asked() {
			if strings.Contains(r.url, elsewhere) && holdsKey(r.url+r.body+headers(r.header)) {
				p.failf("redirected with the status %d the adapter sends the key to another server", status)
			}
		}
	}
}

func checkKey(p *probe) {
	_, s := p.exchange(p.wire.streams(p.stream(hello()).Events...), p.wire.greets())
	for _, r := range s.asked() {
		switch {
		case holdsKey(r.url):
			p.failf("the key is in the address of the request")
		case holdsKey(r.body):
			p.failf("the key is in the body of the request")
		case !holdsKey(headers(r.header)):
			p.failf("no header has the key")
		}
		if !strings.Contains(r.url, "//"+host+"/") && !strings.HasSuffix(r.url, "//"+host) {
			p.failf("the request goes to %s and not to Server.URL", cmp.Or(r.url, "no address"))
		}
	}
}
