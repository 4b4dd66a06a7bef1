package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Layer is one level of configuration over a composite: settings of members by name. Layers
// are ordered from the most general to the most specific; the later one wins.
type Layer struct {
	// Source names the origin of the layer in errors and plans:
	// "~/.grapnel/hooks.json", "agent reviewer".
	Source string
	// Settings has one setting for each member that the layer names.
	Settings []Setting
}

// Setting is a layer's setting of one member.
type Setting struct {
	// Member is the field's name, or the path of a member of a nested composite,
	// "Core.Guard". A group is one member.
	Member string
	// Switch turns the member off, or on again.
	Switch Switch
	// Without are points at which it is not called, in addition to those of its tag.
	Without []string
	// Points are its policies at single points. They leave other policies unchanged.
	Points []PointUse
	// Source is that of the layer.
	Source string

	// interfaces are those of Without that are no methods of hook.Hook. A plan may not
	// know whether the member has them.
	interfaces []string
}

// String returns the setting in the form that [ParseSetting] reads.
func (s Setting) String() string {
	var parts []string
	switch s.Switch {
	case Off:
		parts = append(parts, "off")
	case On:
		parts = append(parts, "on")
	}
	if len(s.Without) > 0 {
		parts = append(parts, "without="+strings.Join(s.Without, "|"))
	}
	out := strings.Join(parts, ",")
	for i, u := range s.Points {
		if i > 0 || out != "" {
			out += "; "
		}
		out += u.Name + ": " + u.Options()
	}
	return out
}

// Switch says whether a layer turns a member on or off.
type Switch uint8

// The switches. The zero Switch leaves a member as it is.
const (
	Unsaid Switch = iota
	Off
	On
)

// Disabled is a member that a layer has turned off.
type Disabled struct {
	Field string `json:"field"`
	// By is the source of the layer.
	By string `json:"by"`
}

// String returns a line for people: "off: Memory, by ~/.grapnel/hooks.json".
func (d Disabled) String() string { return "off: " + d.Field + ", by " + d.By }

// Disabled returns the members that are turned off, those of nested composites included,
// each with its path.
func (p *Plan) Disabled() []Disabled {
	out := slices.Clone(p.Off)
	for _, m := range p.Members {
		if m.Composite == nil {
			continue
		}
		for _, d := range m.Composite.Disabled() {
			out = append(out, Disabled{m.Field + "." + d.Field, d.By})
		}
	}
	return out
}

// LayerWords returns the words of a setting. In addition a setting may have the words that
// a tag has after a point.
func LayerWords() []Word {
	var out []Word
	for _, w := range layerWords() {
		out = append(out, Word{w.written(), w.doc, false})
	}
	return out
}

func layerWords() []word[Options] {
	return []word[Options]{
		{"off", "the member is never called", "", flag(func(o *Options) *bool { return &o.off })},
		{"on", "the member takes part again, which a layer before has turned off", "", flag(func(o *Options) *bool { return &o.on })},
		{"without", "the member is not called at these points, A|B", "OnEvent", set(func(o *Options) *[]string { return &o.Without })},
	}
}

// ParseSetting parses a layer's setting of a member, in the words of a tag: "off", "on",
// "without=OnEvent; BeforeTool: timeout=2s,failclosed". points are all known points.
func ParseSetting(member, text string, points []Point) (Setting, []Problem) {
	t := parser{points: points, words: layerWords()}
	t.parse(text)
	o := t.options
	s := Setting{Member: member, Without: o.Without, Points: o.Points}
	for i, u := range s.Points {
		p, _ := t.find(u.Name)
		s.Points[i].Kind = p.Kind
	}
	for _, name := range s.Without {
		if p, _ := t.find(name); p.Kind != "facade" {
			s.interfaces = append(s.interfaces, name)
		}
	}
	switch {
	case o.off && (o.on || len(o.Without)+len(o.Points) > 0):
		t.add(&Problem{Code: "HG046", Word: "off", Message: "off excludes the member, but other options configure it", Fix: "drop off, or all others"})
	case o.off:
		s.Switch = Off
	case o.on:
		s.Switch = On
	case len(o.Without)+len(o.Points) == 0 && t.problems == nil:
		t.add(one(problem("%q says nothing of it", text)))
		t.problems[0].Fix = "write off, on, or options as in a tag:  BeforeTool: timeout=2s"
	}
	return s, t.problems
}

// Merge merges the layers into one setting for each member.
func Merge(layers []Layer) []Setting {
	var out []Setting
	for _, l := range layers {
		for _, s := range l.Settings {
			s.Source = l.Source
			i := slices.IndexFunc(out, func(o Setting) bool { return o.Member == s.Member })
			if i < 0 {
				out = append(out, s)
				continue
			}
			out[i] = s.over(out[i])
		}
	}
	return out
}

// over returns s with unset options taken from below.
func (s Setting) over(below Setting) Setting {
	if s.Switch == Unsaid {
		s.Switch, s.Source = below.Switch, below.Source
	}
	s.Without, s.interfaces = union(below.Without, s.Without), union(below.interfaces, s.interfaces)
	s.Points = overPoints(s.Points, below.Points)
	return s
}

// Over returns the options o of the member's tag, overridden by the setting.
func (s Setting) Over(o Options) Options {
	if len(s.Without) > 0 && len(o.Only) > 0 {
		o.Only = slices.DeleteFunc(slices.Clone(o.Only), func(p string) bool { return slices.Contains(s.Without, p) })
		if len(o.Only) == 0 {
			o.Without = s.Without // an empty only= would mean all points
		}
	} else {
		o.Without = union(o.Without, s.Without)
	}
	o.Points = overPoints(s.Points, o.Points)
	return o
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func overPoints(above, below []PointUse) []PointUse {
	out := slices.Clone(below)
	for _, u := range above {
		i := slices.IndexFunc(out, func(o PointUse) bool { return o.Name == u.Name })
		if i < 0 {
			out = append(out, u)
			continue
		}
		u.Kind = out[i].Kind
		out[i] = u.over(out[i])
	}
	return out
}

// Of returns the setting of the member itself, and those of the members of the composite
// that it is.
func Of(settings []Setting, member string) (own Setting, inner []Setting) {
	for _, s := range settings {
		first, rest, deeper := strings.Cut(s.Member, ".")
		switch {
		case first != member:
		case deeper:
			s.Member = rest
			inner = append(inner, s)
		default:
			own = s
		}
	}
	return own, inner
}

// Layered returns the plan with the settings applied. Members that they turn off are in Off.
// The order of the others and the owners of their tools stay.
func (p *Plan) Layered(settings []Setting) (*Plan, []Problem) {
	return p.layered(settings, "")
}

func (p *Plan) layered(settings []Setting, path string) (*Plan, []Problem) {
	out := *p
	out.Members, out.Off = nil, slices.Clone(p.Off)
	if len(p.Own) > 0 && len(settings) > 0 {
		return p, []Problem{{Code: "HG056", Message: fmt.Sprintf("%s changes members of %s, but its hand-written %s may need all of them", settings[0].Source, p.Type, strings.Join(p.Own, ", ")),
			Fix: "say it of a composite without methods of its own"}}
	}
	problems := p.unknownMembers(settings, path)
	for _, m := range p.Members {
		own, inner := Of(settings, m.Field)
		if own.Switch == Off {
			out.Off = append(out.Off, Disabled{m.Field, own.Source})
			continue
		}
		problems = append(problems, m.misset(own, path)...)
		if len(inner) > 0 && m.Composite != nil {
			c, more := m.Composite.layered(inner, path+m.Field+".")
			m.Composite, m.Tools = c, nil
			for _, t := range c.tools() {
				m.Tools = append(m.Tools, m.Prefix+t)
			}
			m.Points = slices.DeleteFunc(slices.Clone(m.Points), func(u PointUse) bool { return u.Kind != "facade" && !c.has(u.Name) })
			problems = append(problems, more...)
		} else if len(inner) > 0 {
			problems = append(problems, Problem{Code: "HG056", Fields: []string{m.Field},
				Message: fmt.Sprintf("%s names %s%s.%s, but %s is no composite", inner[0].Source, path, m.Field, inner[0].Member, m.Field),
				Fix:     fmt.Sprintf("say it of %s%s", path, m.Field)})
		}
		out.Members = append(out.Members, m.set(own))
	}
	for _, m := range out.Members {
		problems = append(problems, out.needed(m, path)...)
	}
	return &out, problems
}

func (p *Plan) tools() []string {
	var out []string
	for _, m := range p.Members {
		out = append(out, m.Tools...)
	}
	return out
}

// OffBy returns the layer that has turned the field off, "" if none has.
func (p *Plan) OffBy(field string) string {
	i := slices.IndexFunc(p.Off, func(d Disabled) bool { return d.Field == field })
	if i < 0 {
		return ""
	}
	return p.Off[i].By
}

// unknownMembers reports settings of unknown members, and attempts to turn on a member that
// an earlier layer turned off for good.
func (p *Plan) unknownMembers(settings []Setting, path string) []Problem {
	var out []Problem
	for _, s := range settings {
		first, _, deeper := strings.Cut(s.Member, ".")
		if by := p.OffBy(first); by != "" {
			if !deeper && s.Switch == On {
				out = append(out, Problem{Code: "HG056", Fields: []string{first},
					Message: fmt.Sprintf("%s turns %s%s on, but %s has turned it off for all later layers", s.Source, path, first, by),
					Fix:     fmt.Sprintf("leave it on in %s, and turn it off for those that are to do without it", by)})
			}
			continue
		}
		if slices.ContainsFunc(p.Members, func(m Member) bool { return m.Field == first }) {
			continue
		}
		var names []string
		for _, m := range p.Members {
			names = append(names, m.Field)
		}
		fix := "the members are " + strings.Join(names, ", ")
		if near := spell.Closest(first, names); near != "" {
			fix = fmt.Sprintf("did you mean %s%s?", path, near)
		}
		out = append(out, Problem{Code: "HG056", Fields: []string{first}, Fix: fix,
			Message: fmt.Sprintf("%s names %s%s, but %s has no such member", s.Source, path, first, p.Type)})
	}
	return out
}

// misset reports settings at points that the member does not have, and excluded halves of
// pairs.
func (m Member) misset(s Setting, path string) []Problem {
	if m.Open() || m.Composite != nil {
		return nil
	}
	var out []Problem
	has := func(name string) bool {
		return slices.ContainsFunc(m.Points, func(u PointUse) bool { return u.Name == name })
	}
	for _, u := range s.Points {
		if !has(u.Name) && u.Kind != "facade" {
			out = append(out, Problem{Code: "HG056", Fields: []string{m.Field},
				Message: fmt.Sprintf("%s changes %s%s at %s, where it never acts", s.Source, path, m.Field, u.Name),
				Fix:     "it acts at " + m.Acts()})
		}
	}
	for _, name := range s.interfaces {
		if !has(name) {
			out = append(out, Problem{Code: "HG056", Fields: []string{m.Field},
				Message: fmt.Sprintf("%s excludes %s%s at %s, where it never acts", s.Source, path, m.Field, name),
				Fix:     "it acts at " + m.Acts()})
		}
	}
	for _, pair := range pairs() {
		a, b := slices.Contains(s.Without, pair[0]), slices.Contains(s.Without, pair[1])
		if a != b {
			out = append(out, Problem{Code: "HG056", Fields: []string{m.Field},
				Message: fmt.Sprintf("%s leaves %s%s without one of %s and %s, which belong together", s.Source, path, m.Field, pair[0], pair[1]),
				Fix:     "without=" + pair[0] + "|" + pair[1]})
		}
	}
	return out
}

func (m Member) set(s Setting) Member {
	gone := func(name string) bool { return slices.Contains(s.Without, name) }
	if gone("Schema") {
		m.Tools, m.Dynamic = nil, false
	}
	if m.Open() {
		o := s.Over(Options{Only: m.Only, Without: m.Without, Points: m.Policies})
		m.Only, m.Without, m.Policies = o.Only, o.Without, o.Points
	}
	m.Points = slices.DeleteFunc(slices.Clone(m.Points), func(u PointUse) bool { return gone(u.Name) })
	for i, u := range m.Points {
		if j := slices.IndexFunc(s.Points, func(o PointUse) bool { return o.Name == u.Name }); j >= 0 {
			said := s.Points[j]
			said.Kind = u.Kind
			m.Points[i] = said.over(u)
		}
	}
	return m
}

func (p *Plan) needed(m Member, path string) []Problem {
	var out []Problem
	for _, field := range m.Requires {
		if by := p.OffBy(field); by != "" {
			out = append(out, Problem{Code: "HG055", Fields: []string{m.Field, field},
				Message: fmt.Sprintf("%s%s requires %s%s, which %s turns off", path, m.Field, path, field, by),
				Fix:     fmt.Sprintf("turn %s%s off too, or leave %s%s on", path, m.Field, path, field)})
		}
	}
	return out
}

// looser reports whether a gate with o lets more through than with u: it fails open, or
// fails open sooner.
func (o PointUse) looser(u PointUse) bool {
	return o.Policy == "failopen" && (u.Policy != "failopen" || o.Timeout > 0 && (u.Timeout <= 0 || o.Timeout < u.Timeout))
}

// Member returns the member of that name; the zero Member if there is none.
func (p *Plan) Member(field string) Member {
	i := slices.IndexFunc(p.Members, func(m Member) bool { return m.Field == field })
	if i < 0 {
		return Member{}
	}
	return p.Members[i]
}

// Released returns the options without constraints on fields that are turned off.
func (o Options) Released(off []Disabled) Options {
	for _, list := range []*[]string{&o.Before, &o.After} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(f string) bool {
			return slices.ContainsFunc(off, func(d Disabled) bool { return d.Field == f })
		})
	}
	return o
}

// Beyond returns a gate of this plan that the other one lacks, or has with a fail policy
// that lets more through: "Core.Guard at BeforeTool"; "" if there is none. Gates are the
// points that decide or rewrite. Both plans must be layered from the same plan; nil is the
// plan of a hook that is no composite.
func (p *Plan) Beyond(o *Plan) string { return p.beyond(o, "") }

func (p *Plan) beyond(o *Plan, path string) string {
	if p == nil || p == o {
		return ""
	}
	for _, m := range p.Members {
		in := o.Member(m.Field)
		switch {
		case m.Composite != nil && in.Composite != nil:
			if gate := m.Composite.beyond(in.Composite, path+m.Field+"."); gate != "" {
				return gate
			}
		case m.Open():
			if in.Field == "" {
				return path + m.Field
			}
			if i := slices.IndexFunc(in.Without, func(name string) bool { return !slices.Contains(m.Without, name) }); i >= 0 {
				return path + m.Field + " at " + in.Without[i]
			}
			if i := slices.IndexFunc(in.Policies, func(u PointUse) bool { return u.Policy == "failopen" && !slices.Contains(m.Policies, u) }); i >= 0 {
				return path + m.Field + " at " + in.Policies[i].Name
			}
		}
		if gate := m.gateBeyond(in); gate != "" {
			return path + m.Field + " at " + gate
		}
	}
	return ""
}

func (m Member) gateBeyond(in Member) string {
	for _, u := range m.Points {
		if u.Kind != "decide" && u.Kind != "rewrite" {
			continue
		}
		i := slices.IndexFunc(in.Points, func(o PointUse) bool { return o.Name == u.Name })
		if i < 0 || in.Points[i].looser(u) {
			return u.Name
		}
	}
	return ""
}
