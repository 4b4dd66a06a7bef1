package hooktest

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// fallbackBound is how long a composite waits for a fallback.
const fallbackBound = time.Second

func checkFallback(p *probe) {
	p.with(func(s *subject) {
		f, ok := s.hook.(hook.Fallback)
		if !ok {
			p.misnamedFallback(s)
			return
		}
		turn := s.scene("1", "hello").turn
		first, ok := p.fallback(f, turn)
		if !ok {
			return
		}
		p.usableFallback(s, first)
		if second, ok := p.fallback(f, turn); ok && !reflect.DeepEqual(first, second) {
			p.failf("Fallback returns other contributions the second time in one turn")
		}
		p.fallback(f, bareScene().turn)
		p.fallbackBeside(s, f)
	})
}

// misnamedFallback reports a method Fallback that no composite calls.
func (p *probe) misnamedFallback(s *subject) {
	if _, members := s.hook.(*composite.Composite); members {
		return
	}
	_, has := reflect.TypeOf(s.hook).MethodByName("Fallback")
	if has && slices.ContainsFunc(askersOf(s.hook), asker.contributes) {
		p.failf("Fallback is never called, because it is not Fallback(turn *hook.Turn) hook.Contributions")
	}
}

func (a asker) contributes() bool { return point.InfoOf(a.point).Kind == "contribute" }

// fallback calls Fallback as a composite does; false reports a failure.
func (p *probe) fallback(f hook.Fallback, turn *hook.Turn) (hook.Contributions, bool) {
	a := asker{call: func(context.Context, hook.Hook, *scene) (any, error) { return f.Fallback(turn), nil }}
	ended := make(chan response, 1)
	go func() { ended <- a.ask(p.ctx, nil, nil) }()
	timer := time.NewTimer(fallbackBound)
	defer timer.Stop()
	select {
	case got := <-ended:
		if got.panicked != "" {
			p.failf("Fallback panicked: %s", got.panicked)
			return hook.Contributions{}, false
		}
		return got.value.(hook.Contributions), true
	case <-timer.C:
		p.failf("Fallback did not return within %v; a composite waits no longer", fallbackBound)
		return hook.Contributions{}, false
	}
}

// usableFallback reports contributions that are not valid or never used.
func (p *probe) usableFallback(s *subject, all hook.Contributions) {
	points := point.Of(s.hook)
	for at, info := range point.All() {
		list := reflect.ValueOf(all).FieldByName(info.Name)
		if !list.IsValid() || list.Len() == 0 {
			continue
		}
		if !points.Has(at) {
			p.failf("Fallback has contributions for %s, where the hook contributes nothing; they are never used", at)
			continue
		}
		for _, c := range p.contributions(s, list.Interface()) {
			for _, bad := range append(c.bad, attached(c.with)...) {
				p.failf("Fallback has at %s %s", at, bad)
			}
			if c.by != "" {
				p.failf("Fallback sets By to %q at %s; only the composite sets it", c.by, at)
			}
		}
	}
}

// fallbackBeside calls Fallback while the hook contributes, as after a late hook: the race
// detector sees what both use.
func (p *probe) fallbackBeside(s *subject, f hook.Fallback) {
	for _, a := range askersOf(s.hook) {
		if !a.contributes() {
			continue
		}
		scene := s.scene("1", "hello")
		var late sync.WaitGroup
		late.Go(func() { a.ask(p.ctx, s.hook, scene) })
		p.fallback(f, scene.turn)
		late.Wait()
	}
}
