package composite

import (
	"slices"

	"github.com/grapnel-go/grapnel/hook"
)

// entry is one member as one point calls it.
type entry[H any] struct {
	hook H
	// as is the member as the point sees it.
	as Member
	// at is its place among the members of the composite.
	at int
	// plain: the call is all there is. No match, timeout, mode or recording.
	plain bool
}

// link lists the members that the point calls, in the order of the calls.
func link[H any](c *Composite, p hook.Point) []entry[H] {
	var out []entry[H]
	for i := range c.members {
		m := &c.members[i]
		if !m.has(p) {
			continue
		}
		e := entry[H]{hook: m.hook.(H), as: m.as(p), at: i}
		e.plain = c.rec == nil && m.match == nil && e.as.Timeout == 0 && m.mode(p) == ""
		out = append(out, e)
	}
	if p.Info().Reverse {
		slices.Reverse(out)
	}
	return out
}

// has reports whether the point calls the member.
func (m *member) has(p hook.Point) bool {
	return !m.left.Has(p) && (m.points.Has(p) || ofFacade(p, p.Info()))
}

// none is the value of a point that has only a place.
type none struct{}
