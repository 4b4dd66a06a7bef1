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

// NewLayer returns the layer of these settings by member name. A setting is off, on, or
// options as in a tag, "without=OnEvent; BeforeTool: timeout=2s". source names their origin.
// The error lists all problems of the settings; only [Composite.Layered] checks the names
// of members.
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

// Switchable is the value of a setting in JSON: a text as in NewLayer, or true for on and
// false for off, because YAML reads these words as booleans.
type Switchable string

// UnmarshalJSON reads a string or a boolean.
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
		return fmt.Errorf("%s is neither a text nor true or false; write \"off\", \"on\", or options as in a tag", data)
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

// LayerOf is [NewLayer] for settings that were decoded from JSON.
func LayerOf(source string, settings map[string]Switchable) (plan.Layer, error) {
	texts := make(map[string]string, len(settings))
	for member, s := range settings {
		texts[member] = string(s)
	}
	return NewLayer(source, texts)
}

// Layered returns the composite with the layers of configuration applied, the most general
// one first. It has no member that is turned off; the others may have other policies. Order
// and owners of tools stay. c itself stays as it is, and is the result if the layers are
// empty. Layers may be applied to results of Layered and Recorded; members that were turned
// off before stay off.
//
// The error lists all problems: unknown members and points, and a member that requires one
// which is off (HG055).
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

// layered returns the composite with the settings; p is its plan.
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
				return nil, fmt.Errorf("%s changes %s.%s, but %s is no composite; remove the setting", inner[0].Source, field, inner[0].Member, field)
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

// owns reports whether the layers have left the member's static tool.
func (m *member) owns(tool string) bool {
	local, _ := m.local(tool)
	nested, ok := m.hook.(*Composite)
	return m.routed() && (!ok || nested.owner(local) >= 0)
}

func (m member) with(s plan.Setting) member {
	m.tag = s.Over(m.tag)
	m.excluded = excludedPoints(m.tag)
	m.points = m.calledAt()
	return m
}
