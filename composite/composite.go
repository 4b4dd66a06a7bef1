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
	"github.com/grapnel-go/grapnel/hook/point"
)

// Composite calls several hooks as one. It is immutable: a field of a struct that is set
// later is not in it.
type Composite struct {
	name    string
	fields  []Field
	plan    *plan.Plan
	missing []string
	// members are in plan order, groups flattened in place.
	members []member
	// owner returns the place of the member that owns the static tool with this public
	// name, -1 for none.
	owner  func(tool string) int
	points hook.PointSet
	entries

	// behind is the composite of the members alone, if own is not empty.
	behind *Composite

	// self is the generated composite that this one is, which has methods of its own at
	// the points own; table is what it says of itself. Nil if there is none.
	self  hook.Hook
	own   hook.PointSet
	table *Table
	// single: it has one nameless member, a hook that is no composite.
	single bool
	// origin identifies the composite: also what Layered and Recorded have made of it has it.
	origin hook.Hook
	late   *lateCount
	// problem is what is wrong with the members.
	problem error
	// layers: Layered has made it, with what its members were then.
	layers bool

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
	path string
	// hook is what is called, and given what the field holds: the same, or the generated
	// composite that hook was composed of.
	hook, given hook.Hook

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
	fields = slices.Clone(fields)
	c := &Composite{name: name}
	c.origin = c
	specs := make([]plan.Spec, len(fields))
	for i, f := range fields {
		d := defaultsOf(f.Hook)
		f.Options = f.Options.Over(d)
		f.Group = slices.Clone(f.Group)
		spec, err := specOf(f)
		if err != nil {
			return nil, fmt.Errorf("composite %s: %s: %w", name, f.Name, err)
		}
		fields[i], specs[i] = f, spec
		specs[i].Defaults = d
		c.required(f)
	}
	c.fields = fields
	p, problems := plan.Build(name, specs)
	problems = plan.Errors(append(plan.Idle(problems, idle), plan.Reserved(p, strings.Fields(hook.ReservedTools))...))
	if len(problems) > 0 {
		return nil, fmt.Errorf("composite %s: %w", name, joinProblems(problems))
	}
	c.plan = p
	for _, m := range p.Members {
		c.add(fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == m.Field })], 0)
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
func specOf(f Field) (plan.Spec, error) {
	s := plan.Spec{Field: f.Name, Options: f.Options, Group: f.Group != nil, Dynamic: f.Options.Dynamic, Open: f.open || f.Hook == nil}
	if f.Hook == nil {
		return s, nil
	}
	h, err := composed(f.Hook)
	if err != nil {
		return s, err
	}
	s.Type = fmt.Sprintf("%T", f.Hook)
	if c, ok := h.(*Composite); ok {
		s.Composite = c.Plan()
	}
	has := point.Of(h)
	s.Points = planPoints(func(p hook.Point, _ point.Info) bool { return has.Has(p) })
	s.Maybe = planPoints(ofFacade)
	if !s.Dynamic {
		for _, t := range h.Schema() {
			s.Tools = append(s.Tools, t.Name)
		}
	}
	return s, nil
}

// note notes what is wrong with a member.
func (c *Composite) note(path string, err error) {
	if err != nil {
		c.problem = errors.Join(c.problem, fmt.Errorf("%s.%s: %w", c.name, path, err))
	}
}

// add adds the members of a field. points are those that they have; 0 if only their
// values tell. One that is a generated composite is composed.
func (c *Composite) add(f Field, points hook.PointSet) {
	left, match := leftOut(f.Options), matchOf(f.Options.Match)
	add := func(path string, given hook.Hook, tag plan.Options) {
		h, err := composed(given)
		if err != nil {
			c.note(path, err)
			return
		}
		m := member{path: path, given: given, hook: h, prefix: tag.Prefix, tag: tag, known: points, left: left, match: match}
		if _, ok := h.(*Composite); ok { // whose points are those of its members
			m.known = 0
		}
		m.points = m.has()
		c.members = append(c.members, m)
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

// has returns the points at which the member is called. Of a hook that is known only at
// run time nobody can say which methods of hook.Hook it has from [hook.Nop].
func (m *member) has() hook.PointSet {
	points := m.known
	if points == 0 {
		points = point.Of(m.hook) | facadePoints
	}
	return points &^ m.left &^ NoPoints
}

// leftOut returns the points that the options leave out.
func leftOut(o plan.Options) (left hook.PointSet) {
	if len(o.Only)+len(o.Without) == 0 {
		return 0
	}
	for p, info := range point.All() {
		if o.Excludes(info.Name) {
			left = left.With(point.Set(p))
		}
	}
	return left
}

// route notes the owners of the static tools; all others are asked in order.
func (c *Composite) route() {
	owners := map[string]int{}
	for i, m := range c.members {
		if m.tag.Dynamic || !m.routed() {
			continue
		}
		for _, t := range m.hook.Schema() {
			owners[m.prefix+t.Name] = i
		}
	}
	c.owner = ownerIn(owners)
}

func ownerIn(owners map[string]int) func(tool string) int {
	return func(tool string) int {
		if i, ok := owners[tool]; ok {
			return i
		}
		return -1
	}
}

// routed reports whether static tools of the member are called.
func (m *member) routed() bool {
	return m.points.Has(point.Dispatch) && !m.left.Has(point.Schema)
}

// With returns a new composite that has one more field behind the others; c
// stays as it is, and so do the agents that were registered through it. It is for
// composites that were put together at run time, without layers.
func (c *Composite) With(name string, h hook.Hook, options plan.Options) (*Composite, error) {
	switch {
	case h == nil:
		return c, nil
	case c.table != nil || c.single || c.layers || c.rec != nil:
		return nil, fmt.Errorf("%s cannot be given another member; make a composite of both, or give its type a field %s", c.name, name)
	}
	return Of(c.name, append(slices.Clone(c.fields), Field{Name: name, Hook: h, Options: options})...)
}

// Name is the type of the composite, "daemon.Daemon".
func (c *Composite) Name() string { return c.name }

// Self is the generated composite of which this one was composed; nil if there is none.
func (c *Composite) Self() hook.Hook { return c.self }

// Plan returns the plan: members in order, owners, policies. The caller does not change
// it.
func (c *Composite) Plan() *plan.Plan {
	if c.plan == nil {
		return c.table.plan()
	}
	return c.plan
}

// Points returns the points beside the methods of hook.Hook that some member has.
func (c *Composite) Points() hook.PointSet { return c.points }

// Has reports whether a member has the point.
func (c *Composite) Has(p hook.Point) bool { return c.points.Has(p) }

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

// Ready returns an error that names the required fields that are nil, and what is wrong
// with others, also of the composites that are members; and the tools of a tool.Set whose
// names others have too.
func (c *Composite) Ready() error {
	err := joinErrors(joinErrors(c.problem, missing(c.name, c.missing...)), c.ambiguous())
	for i := range c.members {
		m := &c.members[i]
		inner, ok := m.hook.(*Composite)
		if !ok {
			continue
		}
		if bad := inner.Ready(); bad != nil {
			err = joinErrors(err, fmt.Errorf("%s: %w", m.path, bad))
		}
	}
	return err
}

// planPoints returns the points that are meant, as the planner knows them.
func planPoints(meant func(hook.Point, point.Info) bool) []plan.Point {
	var out []plan.Point
	for p, info := range point.All() {
		if meant(p, info) {
			out = append(out, plan.Point(info))
		}
	}
	return out
}

func everyPoint(hook.Point, point.Info) bool { return true }

func ofFacade(_ hook.Point, info point.Info) bool { return info.Kind == "facade" }

// as is the member as the point sees it.
func (m *member) as(p hook.Point) Member {
	return Member{Path: m.path, Policy: m.policy(p), Timeout: time.Duration(m.tag.At(p.String()).Timeout)}
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
