package composite

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Table describes a generated composite. Only generated code makes one, for [Compose].
type Table struct {
	// Type is the composite's type, "app.Hooks".
	Type string
	// Rows are its members in plan order.
	Rows []Row
	// Owner returns the row of the member that owns the static tool with this public
	// name, -1 for none. Nil means that there are no static tools.
	Owner func(tool string) int
	// Own are the points whose methods the author has written by hand.
	Own hook.PointSet
}

// Row is one member of a generated composite.
type Row struct {
	// Field and Type are the field's name and type in the source.
	Field, Type string
	// Tag is the hook tag merged with the subsystem's default options.
	Tag string
	// Hook is the member; nil and a nil pointer are never called. Any: the field is an
	// interface, in which a nil pointer is an error.
	Hook hook.Hook
	Any  bool
	// IsGroup: the field is a slice, and Group has the members.
	IsGroup bool
	Group   []hook.Hook
	// Points are the points of the member's type, methods of hook.Hook included; 0 finds
	// them out from the value of the field.
	Points hook.PointSet
	// Tools are the local names of the member's static tools. Dynamic: it also has tools
	// that are known only at run time.
	Tools   []string
	Dynamic bool
}

// NoPoints is the value of [Row].Points for a type without points.
const NoPoints hook.PointSet = 1

// Compose returns the composite of a generated one with the current values of its fields;
// self is its pointer. Fields that are set later do not change it. [Composite.Ready] returns
// the problems of the members.
func Compose(self hook.Hook, t Table) *Composite {
	c := &Composite{name: t.Type, self: self, origin: self, own: t.Own, table: &t}
	at := make([]int, len(t.Rows))
	for i, r := range t.Rows {
		f, err := r.field()
		c.note(r.Field, err)
		c.fields = append(c.fields, f)
		if err == nil {
			c.required(f)
		}
		first := len(c.members)
		c.add(f, r.Points)
		if at[i] = first; f.Hook == nil || len(c.members) == first {
			at[i] = -1
		}
	}
	c.owner = func(tool string) int {
		if t.Owner == nil {
			return -1
		}
		if row := t.Owner(tool); row >= 0 {
			return at[row]
		}
		return -1
	}
	c.link()
	return c
}

func (r *Row) field() (Field, error) {
	f := Field{Name: r.Field, open: r.Points == 0}
	var err error
	if f.Options, err = r.options(); err != nil {
		return f, err
	}
	switch {
	case r.IsGroup:
		f.Group = append([]hook.Hook{}, r.Group...)
	case !isNil(r.Hook):
		f.Hook = r.Hook
	case r.Any && r.Hook != nil:
		return f, nilHook(r.Hook)
	}
	return f, nil
}

func (r *Row) options() (plan.Options, error) {
	if r.Tag == "" {
		return plan.Options{}, nil
	}
	o, problems := plan.ParseTag(r.Tag, planPoints(everyPoint))
	return o, joinProblems(problems)
}

// nilHook returns the error for a nil pointer in an interface, which is not nil itself but
// cannot be called.
func nilHook(h hook.Hook) error {
	return fmt.Errorf("is a nil %T, which cannot be called; set it, or leave it nil without a type", h)
}

// composer is implemented by generated composites.
type composer interface{ Compose() *Composite }

// composed returns the result of Compose for a generated composite, and any other hook as it is.
func composed(h hook.Hook) (hook.Hook, error) {
	g, ok := h.(composer)
	if !ok || isNil(h) {
		return h, nil
	}
	c := g.Compose()
	if c.self != h {
		whole, part := strings.TrimPrefix(fmt.Sprintf("%T", h), "*"), c.name
		return nil, fmt.Errorf("%s embeds %s, and its other methods would never be called; give %[2]s a named field in a composite, or pass %[2]s", whole, part)
	}
	return c, nil
}

// From returns h as a composite with the current values of all fields, as a runtime runs it.
// Nil is hook.Nop. A hook that is no composite becomes the only, nameless member of one. It
// is an error if h is a nil pointer, or if h embeds a generated composite: the composite
// would not have the other methods of h.
func From(h hook.Hook) (*Composite, error) {
	switch {
	case h == nil:
		h = hook.Nop{}
	case isNil(h):
		return nil, fmt.Errorf("the hook %w", nilHook(h))
	}
	h, err := composed(h)
	if err != nil {
		return nil, err
	}
	if c, ok := h.(*Composite); ok {
		return c.renewed(), nil
	}
	return single(h), nil
}

// renewed returns the composite with its generated members composed again, from the current
// values of their fields.
func (c *Composite) renewed() *Composite {
	out, changed := *c, false
	out.members = slices.Clone(c.members)
	for i := range out.members {
		m := &out.members[i]
		switch h := m.given.(type) {
		case *Composite:
			inner := h.renewed()
			m.hook, changed = inner, changed || inner != h
		case composer:
			m.hook, changed = h.Compose(), true
		}
	}
	if !changed || c.layers || c.rec != nil || c.parallel != nil {
		return c
	}
	for i := range out.members {
		out.members[i].points = out.members[i].calledAt()
	}
	out.link()
	return &out
}

// single returns the composite of one hook, whose path is empty: answers and failures have no
// prefix.
func single(h hook.Hook) *Composite {
	typ := fmt.Sprintf("%T", h)
	c := &Composite{name: strings.TrimPrefix(typ, "*"), plan: &plan.Plan{Type: strings.TrimPrefix(typ, "*"), Members: []plan.Member{{Type: typ, Dynamic: true}}}}
	c.single, c.origin = true, h
	c.add(Field{Hook: h, Options: plan.Options{Dynamic: true}}, 0)
	c.members[0].run = c.name
	c.route()
	c.link()
	return c
}

func isNil(h hook.Hook) bool {
	v := reflect.ValueOf(h)
	return h == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

func (t *Table) plan() *plan.Plan {
	specs := make([]plan.Spec, len(t.Rows))
	for i, r := range t.Rows {
		o, _ := r.options()
		specs[i] = plan.Spec{Field: r.Field, Type: r.Type, Options: o, Group: r.IsGroup, Dynamic: r.Dynamic, Tools: r.Tools, Open: r.Points == 0}
		specs[i].Points = planPoints(func(p hook.Point, _ point.Info) bool { return r.Points.Has(p) })
		_, specs[i].Fallback = r.Hook.(hook.Fallback)
		d := defaultsOf(r.zero())
		specs[i].Defaults.Version, specs[i].Defaults.Accepts = d.Version, d.Accepts
		if g, ok := r.zero().(composer); ok {
			specs[i].Composite = g.Compose().Plan()
		}
	}
	p := plan.Ordered(t.Type, specs)
	for own := range t.Own.All() {
		p.Own = append(p.Own, own.String())
	}
	return p
}

// zero returns the hook, or a new one of its type if it is a nil pointer.
func (r *Row) zero() hook.Hook {
	if r.Hook == nil || !isNil(r.Hook) {
		return r.Hook
	}
	return reflect.New(reflect.TypeOf(r.Hook).Elem()).Interface().(hook.Hook)
}
