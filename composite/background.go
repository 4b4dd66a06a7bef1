package composite

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Background has the observer that was called last told by a job that the host keeps:
// later, in another process if need be, and again if it fails. c is the composite
// that has it, and written the view. A host that keeps no jobs has it run beside what
// the host is doing, as [Fan.Beside] does.
func (f *Fan) Background(ctx context.Context, c hook.Hook, h hook.Host, written hook.Job, call func(context.Context)) {
	f.beside(ctx, h, &side{composite: c, path: f.current().Path, job: written, call: call, began: func() {}, ended: failedBeside(h)})
}

// InBackground is a member that is told in the background at a point.
type InBackground struct {
	// Composite has the member, under the path Local.
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

// FindBackground returns the members of h, and of the composites in it, that are told
// in the background. It is called once for a hook, because it reads structs and tags.
func FindBackground(h hook.Hook) []InBackground {
	var out []InBackground
	findBackground(h, "", &out)
	return out
}

func findBackground(h hook.Hook, path string, out *[]InBackground) {
	c := apart(h)
	if c == nil {
		return
	}
	for i := range c.members {
		m := &c.members[i]
		full := within(path, m.path)
		for _, use := range m.tag.Points {
			p := pointNamed(use.Name)
			if use.Mode == "background" && m.points.Has(p) {
				as := Member{Path: full, Policy: m.policy(p), Timeout: time.Duration(use.Timeout)}
				*out = append(*out, InBackground{h, m.path, full, m.hook, p, as, c.visibility(m, p)})
			}
		}
		findBackground(m.hook, full, out)
	}
}

// apart returns the composite as a dynamic one, also one with methods of its own:
// only its members matter.
func apart(h hook.Hook) *Composite {
	if c, ok := h.(*Composite); ok {
		return c
	}
	return mirrored(h)
}

func pointNamed(name string) hook.Point {
	for p, info := range hook.Points() {
		if info.Name == name {
			return p
		}
	}
	return 0
}

// TypeOf is the name of the composite's type in its plan; "" if h is none.
func TypeOf(h hook.Hook) string {
	if p, ok := h.(planned); ok && p.Plan() != nil {
		return p.Plan().Type
	}
	return ""
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
	s.run(ctx, m, p)
	return failed
}
