package composite

import (
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// entry is one member as one point calls it.
type entry[H any] struct {
	hook H
	// as has the member's options at the point.
	as Member
	// index is that of the member in the composite, or atSelf.
	index int
	// plain: the member has no match, timeout, mode or recording.
	plain bool
}

// link fills the lists of members for each point. Call it once the members are set, and again
// for a copy with other members.
func (c *Composite) link() {
	if c.late == nil {
		c.late = new(lateCount)
	}
	c.entries, c.points = c.linked(), c.own&^facadePoints
	for i := range c.members {
		c.points |= c.members[i].points &^ facadePoints
	}
	if c.own != 0 {
		membersOnly := *c
		membersOnly.own = 0
		membersOnly.link()
		c.membersOnly = &membersOnly
	}
}

func linkAt[H any](c *Composite, p hook.Point) []entry[H] {
	if c.own.Has(p) {
		e := entry[H]{hook: c.self.(H), index: atSelf, plain: c.rec == nil}
		e.as.late = c.late
		e.as.fallback, _ = c.self.(hook.Fallback)
		return []entry[H]{e}
	}
	var out []entry[H]
	for i := range c.members {
		m := &c.members[i]
		h, ok := m.hook.(H)
		if !ok || !m.points.Has(p) {
			continue
		}
		e := entry[H]{hook: h, as: m.as(p), index: i}
		e.as.late = c.late
		e.as.fallback, _ = m.given.(hook.Fallback)
		if m.overrides(p) {
			e.hook = m.hook.(*Composite).self.(H)
		}
		e.plain = c.rec == nil && m.match == nil && e.as.Timeout == 0 && m.mode(p) == ""
		out = append(out, e)
	}
	if point.InfoOf(p).Reverse {
		slices.Reverse(out)
	}
	return out
}

// atSelf is the index of a generated composite itself, whose author has written the method.
const atSelf = -1

// overrides reports whether the member is a generated composite whose author has written the
// method of the point. The walk then calls that method, with the options of the member's tag.
func (m *member) overrides(p hook.Point) bool {
	c, ok := m.hook.(*Composite)
	return ok && c.own.Has(p)
}

// none is the value of a point with only a place.
type none = struct{}
