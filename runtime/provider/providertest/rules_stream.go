package providertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

func checkWire(p *probe) {
	w := p.wire
	for name, a := range map[string]Answer{"a short answer": hello(), "a long answer": w.long()} {
		s := w.Answer(a)
		switch {
		case len(s.Events) == 0:
			p.failf("Answer writes no events for %s", name)
		case s.Finish < 0 || s.Finish >= len(s.Events):
			p.failf("Answer says that event %d of %d is the finish of %s", s.Finish, len(s.Events), name)
		}
	}
	classes := map[message.FailureClass]bool{}
	for _, f := range w.Failures("kit-why") {
		classes[f.Class] = true
		if !strings.Contains(f.Body, "kit-why") {
			p.failf("the failure %s with the status %d does not have the text that it is asked to have", f.Class, f.Status)
		}
	}
	busy := classes[message.FailureOverloaded] || classes[message.FailureServer]
	for class, there := range map[message.FailureClass]bool{
		message.FailureRateLimit: classes[message.FailureRateLimit], message.FailureAuth: classes[message.FailureAuth],
		message.FailureRequest: classes[message.FailureRequest], message.FailureOverloaded: busy,
	} {
		if !there {
			p.failf("Failures has none of the class %s", class)
		}
	}
}

func checkLazy(p *probe) {
	m, s := p.open(always(reply{}))
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		_ = m.Stream(p.ctx, p.wire.greets())
	}()
	timer := time.NewTimer(p.wire.Patience)
	defer timer.Stop()
	select {
	case v := <-done:
		if v != nil {
			p.failf("Stream panicked: %v", v)
		}
	case <-s.waiting:
		p.failf("Stream makes the request before anybody reads the stream")
	case <-timer.C:
		p.failf("Stream does not return")
	}
	if n := len(s.asked()); n > 0 {
		p.failf("Stream has made %d requests before anybody read the stream", n)
	}
}

func checkAnswers(p *probe) {
	all := p.wire.answers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		s := p.stream(a)
		if len(s.Events) == 0 {
			continue
		}
		o, _ := p.exchange(p.wire.streams(s.Events...), p.wire.greets())
		switch {
		case !o.whole():
			p.failf("%s fails: %s", name, o.failure())
		default:
			if wrong := differ(o.reply.Content, a.blocks()); wrong != "" {
				p.failf("of %s comes %s", name, wrong)
			}
		}
	}
}

func checkOrder(p *probe) {
	w := p.wire
	s := p.stream(w.long())
	replies := []reply{w.streams(s.Events...), w.streams(s.Events[:s.Finish]...), {err: errReset}}
	for at := range s.Events {
		cut := w.streams(s.Events[:at]...)
		cut.end = errReset
		replies = append(replies, cut)
	}
	for _, f := range w.Failures("kit-why") {
		replies = append(replies, w.fails(f))
	}
	for _, r := range replies {
		o, _ := p.exchange(r, w.greets())
		for _, wrong := range o.broken {
			p.failf("%s", wrong)
		}
		if o.hangs {
			p.failf("%s", o.failure())
		}
	}
}

// checkSplits looks only at a reply that is whole when it comes at once; the rule
// "answer-whole" reports another one.
func checkSplits(p *probe) {
	w := p.wire
	sent := p.stream(w.long()).whole()
	m, pieces := p.pieced()
	pieces(sent)
	want := p.ask(p.ctx, m, w.greets())
	try := func(how string, parts ...string) {
		pieces(parts...)
		got := p.ask(p.ctx, m, w.greets())
		if !got.whole() {
			p.failf("%s it fails: %s", how, got.failure())
			return
		}
		if wrong := differ(got.reply.Content, joined(want.reply.Content.Slice())); wrong != "" {
			p.failf("%s it is another reply: %s", how, wrong)
		}
		if got.reply.Usage != want.reply.Usage || got.reply.Finish != want.reply.Finish {
			p.failf("%s usage or finish reason is another one", how)
		}
	}
	if !want.whole() {
		return
	}
	try("byte by byte", strings.Split(sent, "")...)
	var single []string
	for i := range len(sent) {
		single = append(single, sent[i:i+1])
	}
	try("with single bytes of characters", single...)
	for at := 1; at < len(sent); at++ {
		try(fmt.Sprintf("cut in two at byte %d", at), sent[:at], sent[at:])
	}
}

func checkInterleaved(p *probe) {
	if p.wire.Lacks.Tools {
		return
	}
	for _, a := range []Answer{
		{Pieces: mixed()},
		{Pieces: append(text("Both:"), Answer{Pieces: mixed()}.Grouped().Pieces...)},
		{Pieces: slices.Concat(call(0, "call_1", toolLook, `{"at":"same"}`), call(1, "call_2", toolLook, `{"at":"same"}`), call(2, "call_3", toolLook, `{"at":`, `"other"}`))},
	} {
		a.Finish, a.Usage = message.FinishTools, p.wire.counts()
		o, _ := p.exchange(p.wire.streams(p.stream(a).Events...), p.wire.greets())
		if !o.whole() {
			p.failf("parallel calls fail: %s", o.failure())
			continue
		}
		if wrong := differ(o.reply.Content, a.blocks()); wrong != "" {
			p.failf("of parallel calls comes %s", wrong)
		}
	}
}

func checkIDs(p *probe) {
	if p.wire.Lacks.Tools {
		return
	}
	for _, ids := range [][3]string{{"", "", ""}, {"same", "same", "same"}, {"own", "", "own"}, {"call_1_0", "", "call_1_0"}} {
		a := Answer{Finish: message.FinishTools, Usage: p.wire.counts()}
		for i, id := range ids {
			a.Pieces = append(a.Pieces, call(i, id, toolLook, fmt.Sprintf(`{"at":"%d"}`, i))...)
		}
		s := p.stream(a)
		if len(s.Events) == 0 {
			continue
		}
		o, _ := p.exchange(p.wire.streams(s.Events...), p.wire.greets())
		if !o.whole() {
			continue // an error is safe, too
		}
		seen, n := map[string]bool{}, 0
		for i, b := range o.reply.Calls() {
			if n++; b.CallID == "" || seen[b.CallID] {
				p.failf("the server's ids are %q, and call %d has the id %q", ids, i, b.CallID)
			}
			seen[b.CallID] = true
		}
		if n != len(ids) {
			p.failf("of three calls with the ids %q come %d", ids, n)
		}
	}
}

func checkFinish(p *probe) {
	w := p.wire
	all := []Answer{
		{Pieces: text("Done."), Finish: message.FinishStop},
		{Pieces: text("Cut o"), Finish: message.FinishLength},
		{Pieces: text("To be contin"), Finish: message.FinishPause},
	}
	if !w.Lacks.Refusals {
		all = append(all, Answer{Pieces: text("I ca"), Finish: message.FinishFilter}, Answer{Finish: message.FinishFilter})
	}
	if !w.Lacks.Tools {
		all = append(all, Answer{Pieces: call(0, "call_1", toolLook, `{"at":"x"}`), Finish: message.FinishTools},
			Answer{Pieces: call(0, "call_1", toolLook, `{"at":"x`), Finish: message.FinishLength})
	}
	for _, a := range all {
		a.Usage = w.counts()
		s := p.stream(a)
		if len(s.Events) == 0 {
			if a.Finish != message.FinishPause && len(a.Pieces) == 1 {
				p.failf("Answer writes no events for an answer with the finish reason %s", a.Finish)
			}
			continue
		}
		o, _ := p.exchange(w.streams(s.Events...), w.greets())
		switch {
		case !o.whole():
			p.failf("an answer with the finish reason %s fails: %s", a.Finish, o.failure())
		case o.reply.Finish != a.Finish:
			p.failf("an answer that ended with %s ends with %s", a.Finish, o.reply.Finish)
		case a.Finish == message.FinishLength:
			if wrong := differ(o.reply.Content, a.blocks()); wrong != "" {
				p.failf("an answer that was cut off by the limit of tokens is mended: %s", wrong)
			}
		}
	}
}

func checkUsage(p *probe) {
	w := p.wire
	for _, a := range []Answer{w.long(), hello()} {
		o, _ := p.exchange(w.streams(p.stream(a).Events...), w.greets())
		if o.whole() && o.reply.Usage != a.Usage {
			p.failf("the usage is %+v, not %+v; Input has what was read from the cache and written to it, Output the reasoning", o.reply.Usage, a.Usage)
		}
	}
}
