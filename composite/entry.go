package composite

import (
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
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

// link finds out which members each point calls. It is called once the members are
// known, and again for a copy that has others.
func (c *Composite) link() {
	if c.late == nil {
		c.late = new(lateCount)
	}
	c.entries, c.points = c.linked(), c.own&^facadePoints
	for i := range c.members {
		c.points |= c.members[i].points &^ facadePoints
	}
	if c.own != 0 {
		behind := *c
		behind.own = 0
		behind.link()
		c.behind = &behind
	}
}

// linkAt lists the members that the point calls, in the order of the calls.
func linkAt[H any](c *Composite, p hook.Point) []entry[H] {
	if c.own.Has(p) {
		return []entry[H]{{hook: c.self.(H), at: atSelf, plain: c.rec == nil}}
	}
	var out []entry[H]
	for i := range c.members {
		m := &c.members[i]
		h, ok := m.hook.(H)
		if !ok || !m.points.Has(p) {
			continue
		}
		e := entry[H]{hook: h, as: m.as(p), at: i}
		e.as.late = c.late
		if m.writes(p) {
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

// atSelf is in the place of a member where the author of a generated composite has
// written the method.
const atSelf = -1

// writes reports whether the member is a generated composite whose author has written the
// method of the point. It is called in the place of the composite, so that what the
// member's tag says holds for it.
func (m *member) writes(p hook.Point) bool {
	c, ok := m.hook.(*Composite)
	return ok && c.own.Has(p)
}

// none is the value of a point that has only a place.
type none = struct{}
