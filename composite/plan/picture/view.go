// Package picture renders a plan for people and programs: as text, as JSON, and as
// Markdown with a Mermaid diagram. It is pure: the same plan gives the same bytes. It
// escapes all strings, so that none can break the format.
//
//	v := picture.New(picture.Source{Plan: p, Points: points})
//	text, err := picture.Render(picture.Markdown, v)
package picture

import (
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
)

// Point holds the facts of a point's declaration; point.Info has the same fields.
type Point struct {
	// Name is that of the method, "BeforeTool".
	Name string `json:"name"`
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string `json:"kind"`
	// Combine is the rule that combines the answers of several members.
	Combine string `json:"combine"`
	// Reverse: the last member comes first.
	Reverse bool `json:"reverse,omitzero"`
	// Bracket: the point is one end of a pair, as OnOpen and OnClose are.
	Bracket bool `json:"bracket,omitzero"`
	// Closed is the default fail policy; it has no meaning at points of the facade.
	Closed bool `json:"closed,omitzero"`
	// Timeout is how long a member may take if its tag does not say, in nanoseconds; 0 is no
	// limit.
	Timeout time.Duration `json:"timeout_ns,omitzero"`
	// Place is the name of the type of the point's place, "Turn".
	Place string `json:"place,omitzero"`
}

// byTool reports whether only the owner of the tool is called.
func (p Point) byTool() bool { return p.Kind == "facade" && p.Combine == "first" }

// Source is the input of [New].
type Source struct {
	Plan *plan.Plan
	// Points are those of the contract, in the order of their declaration.
	Points []Point
	// Package is the import path of the composite, Pos the position of its declaration,
	// "daemon.go:19:6"; "" if unknown.
	Package, Pos string
	// Fields are the positions of the fields by their path, "Core.Notes"; nil if unknown.
	Fields map[string]string
	// Own are the points for which the composite has a method written by hand.
	Own []string
	// RunTime: the plan was made at run time. Then every hook is called at the methods of
	// the facade, because those of hook.Nop look like the hook's own.
	RunTime bool
}

// View shows a plan by point: the members in the order of their calls. Its JSON is one of the
// formats; names and meaning of its keys are stable.
type View struct {
	// Type is the name of the composite, "app.Hooks".
	Type    string `json:"type"`
	Package string `json:"package,omitzero"`
	Pos     string `json:"pos,omitzero"`
	// Members are in plan order: outermost first.
	Members []Member `json:"members"`
	// Points are those with calls, in the order of the lifecycle.
	Points []At `json:"points"`
	// Unused are the names of all other points, in the same order.
	Unused []string `json:"unused,omitzero"`
	// Off are the members that layers of configuration have turned off, by their paths.
	Off []plan.Disabled `json:"off,omitzero"`
}

// Member is one field of the plan with its position.
type Member struct {
	plan.Member
	// Path is that from the outermost composite, "Core.Notes"; Pos is the source position.
	Path string `json:"path"`
	Pos  string `json:"pos,omitzero"`
	// Nested is the type of a member that is a composite, and Members are its own. They
	// replace the plan's Composite, which is nil here.
	Nested  string   `json:"nested,omitzero"`
	Members []Member `json:"members,omitzero"`
}

// At is one point with its calls.
type At struct {
	Point
	// Scope is the phase of the lifecycle, "tool call".
	Scope string `json:"scope"`
	// Own: the composite has a hand-written method, which decides whether to call the
	// members.
	Own bool `json:"own,omitzero"`
	// Calls are in the order of the calls: from the last member to the first if the
	// point is reversed.
	Calls []Call `json:"calls"`
}

// Call is one member at one point.
type Call struct {
	// Member is the path.
	Member string `json:"member"`
	// Order counts from 1. The owners of static tools have the same number at
	// Dispatch: one of them is called, by the name of the tool.
	Order int `json:"order"`
	// Maybe: only at run time it is known whether the member has the point.
	Maybe bool `json:"maybe,omitzero"`
	// Use has the tag's options for the point; its name is the point's.
	Use plan.PointUse `json:"use"`
}

// New returns the view of a plan.
func New(s Source) *View {
	v := &View{Type: s.Plan.Type, Package: s.Package, Pos: s.Pos, Members: members(s, s.Plan, "", ""), Off: s.Plan.Disabled()}
	all := leaves(v.Members, nil)
	for _, stop := range ordered(s.Points) {
		i := slices.IndexFunc(s.Points, func(p Point) bool { return p.Name == stop.point })
		at := At{Point: s.Points[i], Scope: stop.in[len(stop.in)-1].Name, Own: slices.Contains(s.Own, stop.point)}
		at.Calls = calls(at.Point, all, s.RunTime && at.Kind == "facade")
		if len(at.Calls) == 0 && !at.Own {
			v.Unused = append(v.Unused, at.Name)
			continue
		}
		v.Points = append(v.Points, at)
	}
	return v
}

func members(s Source, p *plan.Plan, path, prefix string) []Member {
	out := make([]Member, 0, len(p.Members))
	for _, m := range p.Members {
		member := Member{Member: m, Path: path + m.Field, Pos: s.Fields[path+m.Field]}
		member.Tools, member.Composite = nil, nil
		for _, t := range m.Tools {
			member.Tools = append(member.Tools, prefix+t)
		}
		if m.Composite != nil {
			member.Nested = m.Composite.Type
			member.Members = members(s, m.Composite, member.Path+".", prefix+m.Prefix)
			if len(m.Tools) == 0 {
				hideTools(member.Members, m.Dynamic)
			}
		}
		out = append(out, member)
	}
	return out
}

// hideTools removes the tools of a composite whose tag says that it offers none, or that
// they are known only at run time.
func hideTools(all []Member, dynamic bool) {
	for i := range all {
		m := &all[i]
		m.Dynamic = dynamic && (m.Dynamic || m.Group || len(m.Tools) > 0)
		m.Tools = nil
		hideTools(m.Members, dynamic)
	}
}

// leaf is a member that is drawn by itself: no composite, or a composite for its own points.
type leaf struct {
	*Member
	// itself: the points of a composite that none of its members has.
	itself bool
	// in are the composites around it.
	in []*Member
}

func leaves(all []Member, in []*Member) []leaf {
	var out []leaf
	for i := range all {
		m := &all[i]
		if m.Nested == "" {
			out = append(out, leaf{m, false, in})
			continue
		}
		if len(m.own()) > 0 || len(m.Members) == 0 {
			out = append(out, leaf{m, true, in})
		}
		out = append(out, leaves(m.Members, append(slices.Clip(in), m))...)
	}
	return out
}

// reached reports whether all composites around the leaf are called at the point. At run time
// they may be at all methods of the facade.
func (l leaf) reached(p Point) bool {
	return !slices.ContainsFunc(l.in, func(m *Member) bool {
		listed := slices.ContainsFunc(m.Points, func(u plan.PointUse) bool { return u.Name == p.Name })
		return !listed && (p.Kind != "facade" || slices.ContainsFunc(m.Points, func(u plan.PointUse) bool { return u.Kind == "facade" }))
	})
}

// own returns the points of a composite that none of its members has.
func (m *Member) own() []plan.PointUse {
	var out []plan.PointUse
	for _, use := range m.Points {
		if !anyHas(m.Members, use.Name) {
			out = append(out, use)
		}
	}
	return out
}

func anyHas(all []Member, point string) bool {
	return slices.ContainsFunc(all, func(m Member) bool {
		_, ok := m.use(point)
		return ok || anyHas(m.Members, point)
	})
}

// use returns the member's options at the point; false if it does not have the point.
func (m *Member) use(point string) (plan.PointUse, bool) {
	i := slices.IndexFunc(m.Points, func(u plan.PointUse) bool { return u.Name == point })
	if i >= 0 {
		return m.Points[i], true
	}
	return plan.PointUse{Name: point}, m.open() && !m.leftOut(point)
}

func (m *Member) leftOut(point string) bool {
	return len(m.Only) > 0 && !slices.Contains(m.Only, point) || slices.Contains(m.Without, point)
}

// open reports whether the points of the member are known only at run time.
func (m *Member) open() bool { return m.Nested == "" && m.Member.Open() }

// calls returns those of a point in order. With doubt it includes every leaf.
func calls(p Point, all []leaf, doubt bool) []Call {
	var out []Call
	static := 0
	for _, l := range all {
		use, ok := l.use(p.Name)
		if l.itself {
			ok = slices.ContainsFunc(l.own(), func(u plan.PointUse) bool { return u.Name == p.Name })
		}
		listed := ok
		if ok = ok || doubt && !l.itself && !l.leftOut(p.Name); !ok || !l.reached(p) {
			continue
		}
		c := Call{Member: l.Path, Maybe: l.open() || !listed, Use: use}
		if p.byTool() && !l.Dynamic {
			c.Order = 1
			out = slices.Insert(out, static, c)
			static++
			continue
		}
		out = append(out, c)
	}
	if p.Reverse {
		slices.Reverse(out)
	}
	for i := range out {
		if out[i].Order == 0 {
			out[i].Order = i + 1 - max(static-1, 0)
		}
	}
	return out
}
