package hooktest

import (
	"fmt"
	"reflect"
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
	for at := range point.Of(s.hook).All() {
		if has && point.InfoOf(at).Kind == "contribute" {
			p.failf("Fallback is never called, because it is not Fallback(turn *hook.Turn) hook.Contributions")
			return
		}
	}
}

// fallback calls Fallback as a composite does; false reports a failure.
func (p *probe) fallback(f hook.Fallback, turn *hook.Turn) (hook.Contributions, bool) {
	type end struct {
		value    hook.Contributions
		panicked string
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			if v := recover(); v != nil {
				e.panicked = fmt.Sprint(v)
			}
			ended <- e
		}()
		e.value = f.Fallback(turn)
	}()
	timer := time.NewTimer(fallbackBound)
	defer timer.Stop()
	select {
	case e := <-ended:
		if e.panicked != "" {
			p.failf("Fallback panicked: %s", e.panicked)
		}
		return e.value, e.panicked == ""
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
		if point.InfoOf(a.point).Kind != "contribute" {
			continue
		}
		scene := s.scene("1", "hello")
		var late sync.WaitGroup
		late.Go(func() { a.ask(p.ctx, s.hook, scene) })
		p.fallback(f, scene.turn)
		late.Wait()
	}
}
