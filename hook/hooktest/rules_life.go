package hooktest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

func checkOpenClose(p *probe) {
	fresh := func() hook.Hook {
		if h := p.newHook(); h != nil {
			return h
		}
		return hook.Nop{}
	}
	p.guard("OnClose of a hook that was never opened", func() {
		if h, ok := fresh().(hook.OnClose); ok {
			_ = h.OnClose(p.ctx) // it may complain
		}
	})
	p.guard("OnClose after an OnOpen with a cancelled context", func() {
		h := fresh()
		over, cancel := context.WithCancel(p.ctx)
		cancel()
		if o, ok := h.(hook.OnOpen); ok {
			_ = o.OnOpen(over, &Recorder{}) // it may fail
		}
		if c, ok := h.(hook.OnClose); ok {
			_ = c.OnClose(p.ctx)
		}
	})
	p.guard("one of two open hooks", func() {
		one, host, done, ok := p.open()
		if !ok {
			return
		}
		_, _, other, ok := p.open()
		if !ok {
			done()
			return
		}
		other()
		_, unregister, ok := p.register(one, host, "tester")
		if !ok {
			p.failf("after another hook of the same constructor was closed, no agent can be registered")
		} else {
			unregister()
		}
		done()
	})
}

// goroutineGrace is how long the hook's goroutines may run after OnClose has returned.
const goroutineGrace = 2 * time.Second

func checkGoroutines(p *probe) {
	h := p.newHook() // outside of the label: a test's cleanup may end its goroutines
	if h == nil {
		h = hook.Nop{}
	}
	life := *p
	life.newHook = func() hook.Hook { return h }
	label := fmt.Sprintf("%p", &life)
	pprof.Do(p.ctx, pprof.Labels("hooktest", label), func(ctx context.Context) {
		life.ctx = ctx
		life.with(func(s *subject) {
			for _, a := range askersOf(s.hook) {
				a.ask(ctx, s.hook, s.scene("1", "hello"))
			}
		})
	})
	p.found = append(p.found, life.found...)
	over := time.NewTimer(goroutineGrace)
	defer over.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for left := running(label); left != ""; left = running(label) {
		select {
		case <-over.C:
			p.failf("a goroutine still runs %v after OnClose has returned:\n%s", goroutineGrace, left)
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
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "hooktest", label)) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
