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

// Table is what the generator knows of a composite. Generated code hands it to
// [Compose]; nobody else makes one.
type Table struct {
	// Type is the composite's type, "daemon.Daemon".
	Type string
	// Rows are its members in plan order.
	Rows []Row
	// Owner returns the row of the member that owns the static tool with this public
	// name, -1 for none. Nil is that there are none.
	Owner func(tool string) int
	// Own are the methods that the author has written where they would be generated.
	Own hook.PointSet
}

// Row is one member of a generated composite.
type Row struct {
	// Field and Type are its name and its type as the source has them.
	Field, Type string
	// Tag is what holds for it: its hook tag, over what the subsystem says of itself.
	Tag string
	// Hook is the member; nil, or a nil pointer, takes no part. Any: the field is an
	// interface, in which a nil pointer is an error.
	Hook hook.Hook
	Any  bool
	// Group are the members if the field is a slice, which IsGroup says.
	IsGroup bool
	Group   []hook.Hook
	// Points are the points that the member has, methods of hook.Hook among them; 0 if
	// only the value of the field tells.
	Points hook.PointSet
	// Tools are the local names of the static tools that the member owns. Dynamic: it has
	// tools that only its value tells.
	Tools   []string
	Dynamic bool
}

// NoPoints is the set of a member of which it is known that it has no points.
const NoPoints hook.PointSet = 1

// Compose returns the composite that a generated one is now; self is its pointer. It
// looks at the fields as they are: a member that is set later is not in it. What is
// wrong with a member is an error of [Composite.Ready].
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

// field returns the row as a field.
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

// options reads the row's tag, which the generator has judged.
func (r *Row) options() (plan.Options, error) {
	if r.Tag == "" {
		return plan.Options{}, nil
	}
	o, problems := plan.ParseTag(r.Tag, planPoints(everyPoint))
	return o, joinProblems(problems)
}

// nilHook is the error of a pointer that is nil where a hook is expected, and not nil
// itself: nobody would be asked.
func nilHook(h hook.Hook) error {
	return fmt.Errorf("is a nil %T, which cannot be called; set it, or leave it nil without a type", h)
}

// composer is what a generated composite has.
type composer interface{ Compose() *Composite }

// composed returns the hook as a composite's member: one that is generated is composed.
func composed(h hook.Hook) (hook.Hook, error) {
	g, ok := h.(composer)
	if !ok || isNil(h) {
		return h, nil
	}
	c := g.Compose()
	if c.self != h {
		whole, part := strings.TrimPrefix(fmt.Sprintf("%T", h), "*"), c.name
		return nil, fmt.Errorf("%s embeds %s, and what else it has would be left out; give it a named field in a composite, or pass %[2]s", whole, part)
	}
	return c, nil
}

// From returns the composite that h is, with all members as they are now: what a runtime
// runs. Nil is hook.Nop. A hook that is no composite becomes the only, nameless member of
// one. The error says that h is a nil pointer, or embeds a generated composite, whose
// methods are not those of h as a whole.
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
	return alone(h), nil
}

// renewed returns the composite with its generated members composed anew, as their fields
// are now.
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
	if !changed || c.layers || c.rec != nil {
		return c
	}
	for i := range out.members {
		out.members[i].points = out.members[i].has()
	}
	out.link()
	return &out
}

// alone returns the composite of one hook. It has no path, so that answers and failures
// are as the hook's own.
func alone(h hook.Hook) *Composite {
	typ := fmt.Sprintf("%T", h)
	c := &Composite{name: strings.TrimPrefix(typ, "*"), plan: &plan.Plan{Type: strings.TrimPrefix(typ, "*"), Members: []plan.Member{{Type: typ, Dynamic: true}}}}
	c.single, c.origin = true, h
	c.add(Field{Hook: h, Options: plan.Options{Dynamic: true}}, 0)
	c.members[0].run = c.name
	c.route()
	c.link()
	return c
}

// isNil reports whether there is no hook: none at all, or a nil pointer.
func isNil(h hook.Hook) bool {
	v := reflect.ValueOf(h)
	return h == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// plan returns the plan of the type.
func (t *Table) plan() *plan.Plan {
	specs := make([]plan.Spec, len(t.Rows))
	for i, r := range t.Rows {
		o, _ := r.options()
		specs[i] = plan.Spec{Field: r.Field, Type: r.Type, Options: o, Group: r.IsGroup, Dynamic: r.Dynamic, Tools: r.Tools, Open: r.Points == 0}
		specs[i].Points = planPoints(func(p hook.Point, _ point.Info) bool { return r.Points.Has(p) })
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

// zero is the hook, or a new one of its type if it is a nil pointer.
func (r *Row) zero() hook.Hook {
	if r.Hook == nil || !isNil(r.Hook) {
		return r.Hook
	}
	return reflect.New(reflect.TypeOf(r.Hook).Elem()).Interface().(hook.Hook)
}
