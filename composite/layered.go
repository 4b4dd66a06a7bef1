package composite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// NewLayer returns the layer of these settings, each in the words of a tag by the
// name of the member that it is about: off, on, or options such as
// "without=OnEvent; BeforeTool: timeout=2s". source says where they come from. The
// error lists all that is wrong with them; which members there are is found out by
// [Layered].
func NewLayer(source string, settings map[string]string) (plan.Layer, error) {
	l := plan.Layer{Source: source}
	var errs []error
	for _, member := range slices.Sorted(maps.Keys(settings)) {
		s, problems := plan.ParseSetting(member, settings[member], planPoints(everyPoint))
		for _, p := range problems {
			errs = append(errs, fmt.Errorf("%s: %s: %w", source, member, p))
		}
		l.Settings = append(l.Settings, s)
	}
	if errs != nil {
		return plan.Layer{}, errors.Join(errs...)
	}
	return l, nil
}

// Switchable is the value of a setting in JSON: a text as NewLayer has it, or true
// for on and false for off, which YAML makes of these words.
type Switchable string

// UnmarshalJSON reads a text or a truth value.
func (s *Switchable) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		*s = "on"
		return nil
	case "false":
		*s = "off"
		return nil
	}
	if len(data) == 0 || data[0] != '"' {
		return fmt.Errorf("%s is neither a text nor true or false; write \"off\", \"on\", or options as a tag has them", data)
	}
	return json.Unmarshal(data, (*string)(s))
}

// ParseLayer reads a layer from a JSON object: {"Memory": "off", "Guard":
// "BeforeTool: timeout=2s"}. Keys that are given twice are an error.
func ParseLayer(source string, data []byte) (plan.Layer, error) {
	settings, err := hook.DecodeStrict[map[string]Switchable](hook.JSON(data))
	if err != nil {
		return plan.Layer{}, fmt.Errorf("%s: %w", source, err)
	}
	return LayerOf(source, settings)
}

// LayerOf is [NewLayer] for settings that were decoded as part of something else.
func LayerOf(source string, settings map[string]Switchable) (plan.Layer, error) {
	texts := make(map[string]string, len(settings))
	for member, s := range settings {
		texts[member] = string(s)
	}
	return NewLayer(source, texts)
}

// Layered returns h with the layers of configuration over it, the most general one
// first: members that are turned off are in it nowhere, others have other policies.
// h itself stays as it is, and is what is returned if the layers say nothing. Else
// it is a dynamic composite over the members that h has at this moment, with the
// order, the owners of tools and the policies of its plan, so that only who uses
// layers pays for them. Layers may be laid over what Layered or [Recorded] has
// returned; what was turned off before stays off.
//
// An error lists all that cannot be done: members and points that there are not, a
// member that requires one which is off (HG055), a hook that is no composite, or
// one with hand-written methods.
func Layered(h hook.Hook, layers ...plan.Layer) (hook.Hook, error) {
	settings := plan.Merge(layers)
	if len(settings) == 0 {
		return h, nil
	}
	for _, l := range layers {
		if problems := l.Check(planPoints(everyPoint)); len(problems) > 0 {
			return nil, joinProblems(problems)
		}
	}
	c := taken(h)
	if c == nil {
		if own, ok := h.(planned); ok && own.Plan() != nil && len(own.Plan().Own) > 0 {
			_, problems := own.Plan().Layered(settings)
			return nil, joinProblems(problems)
		}
		return nil, fmt.Errorf("%s speaks of members, and the hook, a %T, is no composite", settings[0].Source, h)
	}
	p, problems := c.plan.Layered(settings)
	if len(problems) > 0 {
		return nil, joinProblems(problems)
	}
	return c.layered(p, settings)
}

// taken returns the composite as a dynamic one; nil if it is none.
func taken(h hook.Hook) *Composite {
	if c, ok := h.(*Composite); ok {
		return c
	}
	return mirror(h)
}

// layered returns the composite with the settings, which have led to the plan p.
func (c *Composite) layered(p *plan.Plan, settings []plan.Setting) (*Composite, error) {
	out := *c
	out.plan, out.fields, out.members, out.missing, out.points = p, nil, nil, nil, 0
	out.routes = map[string]route{}
	for _, f := range c.fields {
		own, _ := plan.Of(settings, f.Name)
		if own.Switch == plan.Off {
			continue
		}
		f.Options = own.Over(f.Options.Released(p.Off))
		out.fields = append(out.fields, f)
		out.required(f)
	}
	at := map[int]int{}
	for i, m := range c.members {
		field, _, _ := strings.Cut(m.path, "[")
		own, inner := plan.Of(settings, field)
		if own.Switch == plan.Off {
			continue
		}
		if len(inner) > 0 {
			nested := taken(m.hook)
			if nested == nil {
				return nil, fmt.Errorf("%s speaks of %s.%s, and the composite %s cannot be taken apart", inner[0].Source, field, inner[0].Member, field)
			}
			var err error
			if m.hook, err = nested.layered(p.Member(field).Composite, inner); err != nil {
				return nil, err
			}
		}
		at[i] = len(out.members)
		out.members = append(out.members, m.with(own))
	}
	for tool, r := range c.routes {
		i, there := at[r.member]
		if there && slices.Contains(p.Member(out.members[i].path).Tools, tool) {
			out.routes[tool] = route{i, r.local}
		}
	}
	for _, m := range out.members {
		out.points |= m.points
	}
	out.link()
	return &out, nil
}

// with returns the member as the setting has it.
func (m member) with(s plan.Setting) member {
	m.tag = s.Over(m.tag)
	m.left = 0
	for p, info := range hook.Points() {
		if m.tag.Excludes(info.Name) {
			m.left = m.left.With(hook.SetOf(p))
		}
	}
	m.points = hook.PointsOf(m.hook) &^ m.left
	return m
}
