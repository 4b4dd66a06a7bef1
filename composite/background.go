package composite

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// InBackground is an observer that jobs call at one point: its tag has the mode background.
type InBackground struct {
	// Composite and Local identify the member for [JobHost]: Local is its path in Composite.
	Composite hook.Hook
	Local     string
	// Path is that from the outermost composite.
	Path  string
	Hook  hook.Hook
	Point hook.Point
	// As has the member's options at the point.
	As Member
	// Takes reports whether the member takes calls that were queued under the version, and
	// Version is its own, from 1.
	Version int
	Takes   func(version int) bool
	// Visibility is that of its runs; "" is internal.
	Visibility hook.Visibility
}

// InBackground returns the observers with the mode background, those of nested composites
// included.
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
				as := Member{Path: full, Policy: m.policy(p), Timeout: m.timeout(p), late: c.late}
				d := defaultsOf(m.given)
				*out = append(*out, InBackground{
					Composite: c.origin, Local: m.path, Path: full, Hook: m.hook, Point: p, As: as,
					Version: max(1, d.Version), Takes: d.Takes, Visibility: c.visibility(m, p),
				})
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

// Alone calls an observer on the current goroutine, isolated and abandoned after its timeout.
// It returns the failure, or nil.
func Alone(ctx context.Context, m Member, p hook.Point, call func(context.Context)) *hook.Failure {
	var failed *hook.Failure
	s := &backgroundCall{call: call, began: func() {}, ended: func(_ context.Context, f *fault) {
		if f != nil {
			failed = f.Failure
		}
	}}
	s.run(ctx, &m, p)
	return failed
}
