package composite

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// InBackground is a member that is told in the background at a point.
type InBackground struct {
	// Composite is the composite that has the member under the path Local, as [JobHost] is told.
	Composite hook.Hook
	Local     string
	// Path is that from the outermost composite.
	Path string
	Hook hook.Hook
	// Point is where, and As the member as its point sees it.
	Point hook.Point
	As    Member
	// Visibility is who may see its runs; "" is internal.
	Visibility hook.Visibility
}

// InBackground returns the members, and those of the composites in it, that are told in
// the background.
func (c *Composite) InBackground() []InBackground {
	var out []InBackground
	c.findBackground("", &out)
	return out
}

func (c *Composite) findBackground(path string, out *[]InBackground) {
	for i := range c.members {
		m := &c.members[i]
		full := within(path, m.path)
		for _, use := range m.tag.Points {
			p := pointNamed(use.Name)
			if use.Mode == "background" && m.points.Has(p) {
				as := Member{Path: full, Policy: m.policy(p), Timeout: time.Duration(use.Timeout), late: c.late}
				*out = append(*out, InBackground{c.origin, m.path, full, m.hook, p, as, c.visibility(m, p)})
			}
		}
		if inner, ok := m.hook.(*Composite); ok {
			inner.findBackground(full, out)
		}
	}
}

func pointNamed(name string) hook.Point {
	for p, info := range point.All() {
		if info.Name == name {
			return p
		}
	}
	return 0
}

// Alone calls an observer that has its goroutine to itself, as the member that it is:
// isolated, and given up when its timeout is over. The failure is nil if it came back.
func Alone(ctx context.Context, m Member, p hook.Point, call func(context.Context)) *hook.Failure {
	var failed *hook.Failure
	s := &side{call: call, began: func() {}, ended: func(_ context.Context, f *fault) {
		if f != nil {
			failed = f.Failure
		}
	}}
	s.run(ctx, &m, p)
	return failed
}
