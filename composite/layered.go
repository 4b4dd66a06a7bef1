package composite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook/message"
)

// NewLayer returns the layer of these settings, each in the words of a tag by the
// name of the member that it is about: off, on, or options such as
// "without=OnEvent; BeforeTool: timeout=2s". source says where they come from. The
// error lists all that is wrong with them; which members there are is found out by
// [Composite.Layered].
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
	settings, err := message.DecodeStrict[map[string]Switchable](message.JSON(data))
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

// Layered returns the composite with the layers of configuration over it, the most
// general one first: members that are turned off are in it nowhere, others have other
// policies. Order and owners of tools stay. c itself stays as it is, and is what is
// returned if the layers say nothing. Layers may be laid over what Layered or Recorded has
// returned; what was turned off before stays off.
//
// An error lists all that cannot be done: members and points that there are not, and a
// member that requires one which is off (HG055).
func (c *Composite) Layered(layers ...plan.Layer) (*Composite, error) {
	settings := plan.Merge(layers)
	if len(settings) == 0 {
		return c, nil
	}
	for _, l := range layers {
		if problems := l.Check(planPoints(everyPoint)); len(problems) > 0 {
			return nil, joinProblems(problems)
		}
	}
	if c.single {
		return nil, fmt.Errorf("%s changes members, but the hook is a %s, not a composite; pass a composite or remove the setting", settings[0].Source, c.name)
	}
	p, problems := c.Plan().Layered(settings)
	if len(problems) > 0 {
		return nil, joinProblems(problems)
	}
	return c.layered(p, settings)
}

// layered returns the composite with the settings, which have led to the plan p.
func (c *Composite) layered(p *plan.Plan, settings []plan.Setting) (*Composite, error) {
	out := *c
	out.plan, out.fields, out.members, out.missing, out.layers = p, nil, nil, nil, true
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
			nested, ok := m.hook.(*Composite)
			if !ok {
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
	out.owner = func(tool string) int {
		if i, there := at[c.owner(tool)]; there && out.members[i].owns(tool) {
			return i
		}
		return -1
	}
	out.link()
	return &out, nil
}

// owns reports whether a static tool of the member is still there.
func (m *member) owns(tool string) bool {
	local, _ := m.local(tool)
	nested, ok := m.hook.(*Composite)
	return m.routed() && (!ok || nested.owner(local) >= 0)
}

// with returns the member as the setting has it.
func (m member) with(s plan.Setting) member {
	m.tag = s.Over(m.tag)
	m.left = leftOut(m.tag)
	m.points = m.has()
	return m
}
