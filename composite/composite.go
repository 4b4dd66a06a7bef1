package composite

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// Composite is a composite that is put together at run time. It is immutable and
// behaves as the generated facade of the same struct does.
type Composite struct {
	name    string
	fields  []Field
	plan    *plan.Plan
	missing []string
	// members are in plan order, groups flattened in place.
	members []member
	// routes knows the static tools by public name.
	routes map[string]route
	points hook.PointSet
	entries

	// rec records hook runs; nil does not. path is that of the composite within the
	// one that was recorded, and public what it is to its tools' names.
	rec          *recorder
	path, public string
	// around is who may see the runs of members whose tags do not say so: what the
	// tag of the composite says, as a member of another one. Nil without rec.
	around map[hook.Point]hook.Visibility
}

// Field is one hook of a composite that is put together by hand. Hook and Group
// exclude each other; a nil Hook takes no part.
type Field struct {
	// Name is the field's name in paths and constraints.
	Name    string
	Hook    hook.Hook
	Group   []hook.Hook
	Options plan.Options

	// open: the field is an interface, which may hold any hook.
	open bool
}

// member is one hook to ask.
type member struct {
	path   string
	hook   hook.Hook
	prefix string
	tag    plan.Options
	points hook.PointSet
	// left are the points that the tag leaves out.
	left hook.PointSet
	// match narrows the points; nil is all.
	match *Match

	// run is the full path for hook runs, nested says that the member is a composite
	// that records its own members, and known are the methods of hook.Hook that the
	// member is known to have itself, not from hook.Nop.
	run    string
	nested bool
	known  hook.PointSet
}

type route struct {
	member int
	local  string
}

// New returns the composite of the struct that s points to: of its exported
// fields that are hooks or slices of hooks, with their hook tags, as hookgen
// would generate it. The error lists everything that is wrong, among it fields
// that look like hooks and would never be called: types with the method of a
// point that are no hook.Hook, functions of a point's signature, hooks in maps,
// arrays, interfaces and structs. hook:"-" leaves a field out. Required fields
// that are nil are no error here but one of Ready.
func New(s any) (*Composite, error) {
	v := reflect.ValueOf(s)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("composite: New wants a pointer to a struct, not %T", s)
	}
	v = v.Elem()
	var fields []Field
	var errs []error
	idle := map[string]string{}
	for i := range v.NumField() {
		f, ok, err := fieldOf(v.Type().Field(i), v.Field(i))
		if err != nil {
			errs = append(errs, fmt.Errorf("composite: %s.%s: %w", v.Type(), v.Type().Field(i).Name, err))
		}
		if ok {
			fields = append(fields, f)
			continue
		}
		idle[v.Type().Field(i).Name] = whyIdle(v.Type().Field(i))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return of(v.Type().String(), idle, fields)
}

// whyIdle says why a field takes no part.
func whyIdle(sf reflect.StructField) string {
	if sf.Tag.Get("hook") == "-" {
		return plan.LeftOutReason()
	}
	return plan.NoHookReason(sf.Type.String())
}

var (
	hookType  = reflect.TypeFor[hook.Hook]()
	groupType = reflect.TypeFor[[]hook.Hook]()
)

// fieldOf returns the field if it takes part. A field that only looks as if it
// did is an error: a guard that nobody calls is worse than none.
func fieldOf(sf reflect.StructField, v reflect.Value) (Field, bool, error) {
	tag, tagged := sf.Tag.Lookup("hook")
	options, problems := plan.ParseTag(tag, planPoints(everyPoint))
	if problems != nil {
		return Field{}, false, joinProblems(problems)
	}
	if err := nearKeys(sf.Tag); err != nil || options.Ignore {
		return Field{}, false, err
	}
	isGroup := sf.Type.ConvertibleTo(groupType) && sf.Type.Kind() == reflect.Slice
	if !isHook(sf.Type) && !isGroup {
		return Field{}, false, refuse(sf, v, tagged)
	}
	if sf.Name == "_" {
		return Field{}, false, plan.Blank()
	}
	if !sf.IsExported() {
		return Field{}, false, errors.New("is unexported, so it cannot be read at run time; export it or generate the composite")
	}
	if err := misfits(sf.Type); !isGroup && err != nil {
		return Field{}, false, err
	}
	return fieldWith(sf, v, options), true, nil
}

// fieldWith returns the field with the value v. What it has is known only now if
// its type is an interface or a slice.
func fieldWith(sf reflect.StructField, v reflect.Value, options plan.Options) Field {
	f := Field{Name: sf.Name, Options: options, open: sf.Type.Kind() == reflect.Interface}
	switch {
	case sf.Type.Kind() == reflect.Slice && sf.Type.ConvertibleTo(groupType):
		f.Group = v.Convert(groupType).Interface().([]hook.Hook)
		if f.Group == nil {
			f.Group = []hook.Hook{}
		}
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Interface && v.IsNil():
	case sf.Type.Kind() != reflect.Struct && sf.Type.Implements(hookType): // a struct's own address has all its methods, and is no copy
		f.Hook = v.Interface().(hook.Hook)
	default:
		f.Hook = v.Addr().Interface().(hook.Hook)
	}
	return f
}

// Of returns the composite of the fields, in their order; name is the type's in
// messages and plans. The error lists everything that is wrong, among it options that
// a tag would be refused for.
func Of(name string, fields ...Field) (*Composite, error) {
	var errs []error
	points := planPoints(everyPoint)
	for _, f := range fields {
		for _, p := range f.Options.Check(points) {
			errs = append(errs, fmt.Errorf("composite %s: %s: %w", name, f.Name, p))
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return of(name, nil, fields)
}

// of is Of; idle has the fields beside them that take no part, with the reasons.
func of(name string, idle map[string]string, fields []Field) (*Composite, error) {
	c := &Composite{name: name, fields: slices.Clone(fields)}
	fields = slices.Clone(fields)
	specs := make([]plan.Spec, len(fields))
	for i, f := range fields {
		d := defaultsOf(f.Hook)
		f.Options = f.Options.Over(d)
		fields[i], specs[i] = f, specOf(f)
		specs[i].Defaults = d
		c.required(f)
	}
	p, problems := plan.Build(name, specs)
	problems = plan.Errors(append(plan.Idle(problems, idle), plan.Reserved(p, strings.Fields(hook.ReservedTools))...))
	if len(problems) > 0 {
		return nil, fmt.Errorf("composite %s: %w", name, joinProblems(problems))
	}
	c.plan = p
	for _, m := range p.Members {
		c.add(fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == m.Field })])
	}
	c.route()
	c.link()
	return c, nil
}

// required notes a field that may not be nil, and is.
func (c *Composite) required(f Field) {
	if f.Hook == nil && f.Group == nil && !f.Options.Optional {
		c.missing = append(c.missing, f.Name)
	}
}

func joinProblems(problems []plan.Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// specOf describes a field for the planner. Which of hook.Hook's own methods a
// hook overrides cannot be seen at run time, so only its points are listed.
func specOf(f Field) plan.Spec {
	s := plan.Spec{Field: f.Name, Options: f.Options, Group: f.Group != nil, Dynamic: f.Options.Dynamic, Open: f.open || f.Hook == nil}
	if f.Hook == nil {
		return s
	}
	s.Type = fmt.Sprintf("%T", f.Hook)
	if p, ok := f.Hook.(planned); ok {
		s.Composite = p.Plan()
	}
	has := hook.PointsOf(f.Hook)
	s.Points = planPoints(func(p hook.Point, _ hook.PointInfo) bool { return has.Has(p) })
	s.Maybe = planPoints(ofFacade)
	if !s.Dynamic {
		for _, t := range f.Hook.Schema() {
			s.Tools = append(s.Tools, t.Name)
		}
	}
	return s
}

func (c *Composite) add(f Field) {
	var left hook.PointSet
	for p, info := range hook.Points() {
		if f.Options.Excludes(info.Name) {
			left = left.With(hook.SetOf(p))
		}
	}
	match := matchOf(f.Options.Match)
	add := func(path string, h hook.Hook, tag plan.Options) {
		c.members = append(c.members, member{
			path: path, hook: h, prefix: tag.Prefix, tag: tag, points: hook.PointsOf(h) &^ left, left: left, match: match,
		})
	}
	if f.Hook != nil {
		add(f.Name, f.Hook, f.Options)
	}
	each := f.Options
	each.Dynamic = true
	for i, h := range f.Group {
		if h != nil {
			add(fmt.Sprintf("%s[%d]", f.Name, i), h, each)
		}
	}
}

// route notes the owners of the static tools; all others are asked in order.
func (c *Composite) route() {
	c.routes = map[string]route{}
	for i, m := range c.members {
		c.points |= m.points
		if m.tag.Dynamic || m.left.Has(hook.PointDispatch) {
			continue
		}
		for _, t := range m.hook.Schema() {
			c.routes[m.prefix+t.Name] = route{i, t.Name}
		}
	}
}

// With returns a new composite that has one more field behind the others; c
// stays as it is, and so do the agents that were registered through it.
func (c *Composite) With(name string, h hook.Hook, options plan.Options) (*Composite, error) {
	if h == nil {
		return c, nil
	}
	return Of(c.name, append(slices.Clone(c.fields), Field{Name: name, Hook: h, Options: options})...)
}

// Plan returns the plan: members in order, owners, policies.
func (c *Composite) Plan() *plan.Plan { return c.plan }

// Points returns the points that some member has.
func (c *Composite) Points() hook.PointSet { return c.points }

// Members yields the members that are not nil, in execution order, each with its
// name in paths: Cost, or Extra[0] in a group.
func (c *Composite) Members() iter.Seq2[string, hook.Hook] {
	return func(yield func(string, hook.Hook) bool) {
		for i := range c.members {
			if m := &c.members[i]; !yield(m.path, m.hook) {
				return
			}
		}
	}
}

// Ready returns an error that names the required fields that are nil.
func (c *Composite) Ready() error {
	return Missing(c.name, c.missing...)
}

// planPoints returns the points that are meant, as the planner knows them.
func planPoints(meant func(hook.Point, hook.PointInfo) bool) []plan.Point {
	var out []plan.Point
	for p, info := range hook.Points() {
		if meant(p, info) {
			out = append(out, plan.Point(info))
		}
	}
	return out
}

func everyPoint(hook.Point, hook.PointInfo) bool { return true }

func ofFacade(_ hook.Point, info hook.PointInfo) bool { return info.Kind == "facade" }

// as is the member as the point sees it.
func (m *member) as(p hook.Point) Member {
	return Member{m.path, m.policy(p), time.Duration(m.tag.At(p.String()).Timeout)}
}

// policy returns the member's fail policy at the point.
func (m *member) policy(p hook.Point) Policy {
	switch m.tag.At(p.String()).Policy {
	case "failopen":
		return PolicyOpen
	case "failclosed":
		return PolicyClosed
	}
	return PolicyDefault
}

// local returns the tool's name as its owner knows it.
func (m *member) local(name string) (string, bool) { return strings.CutPrefix(name, m.prefix) }

// mode is how the member is called at the point; "" is that it is waited for.
func (m *member) mode(p hook.Point) string { return m.tag.At(p.String()).Mode }

// parallel tells whether the member is started beside those behind it.
func (m *member) parallel(p hook.Point) bool { return m.mode(p) == "parallel" }
