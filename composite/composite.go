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

// Composite calls several hooks as one. It is immutable: it has the values that the fields of
// its struct had when it was made.
type Composite struct {
	name    string
	fields  []Field
	plan    *plan.Plan
	missing []string
	// members are in plan order, groups flattened in place.
	members []member
	// owner returns the index of the member that owns the static tool with this public
	// name, -1 for none.
	owner  func(tool string) int
	points hook.PointSet
	entries

	// membersOnly is the same composite without the author's methods; nil if own is empty.
	membersOnly *Composite

	// self is the generated composite, nil if there is none. table is its table, and own
	// has the points whose methods its author has written.
	self  hook.Hook
	own   hook.PointSet
	table *Table
	// single: it has one nameless member, a hook that is no composite.
	single bool
	// origin identifies the composite; results of Layered and Recorded keep it.
	origin hook.Hook
	late   *lateCount
	// problem has the errors of the members, for Ready.
	problem error
	// layers: Layered has made this composite.
	layers bool

	// rec records hook runs; nil records none. path and toolPrefix are those of this
	// composite within the recorded one.
	rec              *recorder
	path, toolPrefix string
	// parallel bounds the members tagged parallel; nil is the default of a point.
	parallel *bounds
	// inherited is the visibility of runs of members without one in their tags: that of
	// the tag of this composite, as a member of another one. Nil without rec.
	inherited map[hook.Point]hook.Visibility
}

// Field is one hook of a composite that [Of] makes. Hook and Group exclude each other;
// a nil Hook is never called.
type Field struct {
	// Name is the field's name in paths and constraints.
	Name    string
	Hook    hook.Hook
	Group   []hook.Hook
	Options plan.Options

	// open: the field is an interface, which may hold any hook.
	open bool
}

// member is one hook of a composite.
type member struct {
	path string
	// given is the value of the field. hook is called: the same, or the result of given's
	// Compose.
	hook, given hook.Hook

	prefix string
	tag    plan.Options
	points hook.PointSet
	// excluded are the points that the tag leaves out.
	excluded hook.PointSet
	// match narrows the calls; nil is all.
	match *Match

	// run is the full path for hook runs.
	run string
	// nested: the member is a composite that records its own members.
	nested bool
	// known are the points that the generator found in the member's type; 0 finds them
	// out from the value.
	known hook.PointSet
}

// New returns the composite of the struct that s points to: of its exported
// fields that are hooks or slices of hooks, with their hook tags, as hookgen
// would generate it. The error lists all problems. Fields that look like hooks and
// would never be called are problems too: types with the method of a point that are
// no hook.Hook, functions of a point's signature, hooks in maps, arrays, interfaces
// and structs. hook:"-" leaves a field out. For required fields that are nil, Ready
// returns the error.
func New(s any) (*Composite, error) {
	v := reflect.ValueOf(s)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("composite: New needs a pointer to a struct, not %T", s)
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

// fieldOf returns the field if it is a member. A field that only looks like one is an
// error: a guard that is never called is worse than none.
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

func fieldWith(sf reflect.StructField, v reflect.Value, options plan.Options) Field {
	f := Field{Name: sf.Name, Options: options, open: sf.Type.Kind() == reflect.Interface}
	switch {
	case sf.Type.Kind() == reflect.Slice && sf.Type.ConvertibleTo(groupType):
		f.Group = v.Convert(groupType).Interface().([]hook.Hook)
		if f.Group == nil {
			f.Group = []hook.Hook{}
		}
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Interface && v.IsNil():
	case sf.Type.Kind() != reflect.Struct && sf.Type.Implements(hookType): // of a struct the address is needed: it has all methods and is no copy
		f.Hook = v.Interface().(hook.Hook)
	default:
		f.Hook = v.Addr().Interface().(hook.Hook)
	}
	return f
}

// Of returns the composite of the fields, in their order; name is the type's in
// messages and plans. The error lists all problems, those of the options included.
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

// of builds the composite. idle maps each field that is no member to the reason.
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

// specOf describes a field for the planner. At run time nobody can tell a hook's own
// methods of hook.Hook from those of hook.Nop, so they are only possible points.
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
	_, s.Fallback = f.Hook.(hook.Fallback)
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

func (c *Composite) note(path string, err error) {
	if err != nil {
		c.problem = errors.Join(c.problem, fmt.Errorf("%s.%s: %w", c.name, path, err))
	}
}

// add adds the members of a field, composing generated composites. points are those of the
// field's type; 0 finds them out from the values.
func (c *Composite) add(f Field, points hook.PointSet) {
	excluded, match := excludedPoints(f.Options), matchOf(f.Options.Match)
	add := func(path string, given hook.Hook, tag plan.Options) {
		h, err := composed(given)
		if err != nil {
			c.note(path, err)
			return
		}
		m := member{path: path, given: given, hook: h, prefix: tag.Prefix, tag: tag, known: points, excluded: excluded, match: match}
		if _, ok := h.(*Composite); ok { // its points are those of its members
			m.known = 0
		}
		m.points = m.calledAt()
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

// calledAt returns the points at which the member is called. Without known they include all
// methods of hook.Hook, because those of [hook.Nop] look like the hook's own.
func (m *member) calledAt() hook.PointSet {
	points := m.known
	if points == 0 {
		points = point.Of(m.hook) | facadePoints
	}
	return points &^ m.excluded &^ NoPoints
}

func excludedPoints(o plan.Options) (left hook.PointSet) {
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

// route maps each static tool to its owner. Dispatch tries the members in order for all
// other tools.
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

// routed reports whether calls of the member's tools reach it.
func (m *member) routed() bool {
	return m.points.Has(point.Dispatch) && !m.excluded.Has(point.Schema)
}

// With returns a new composite with one more field after the others; c stays as it is,
// and so do the agents that were registered with it. It returns an error for composites
// that are generated, layered, recorded or made of a single hook.
func (c *Composite) With(name string, h hook.Hook, options plan.Options) (*Composite, error) {
	switch {
	case h == nil:
		return c, nil
	case c.table != nil || c.single || c.layers || c.rec != nil:
		return nil, fmt.Errorf("%s cannot get another member; make a composite of both, or give its type a field %s", c.name, name)
	}
	return Of(c.name, append(slices.Clone(c.fields), Field{Name: name, Hook: h, Options: options})...)
}

// Name is the type of the composite, "app.Hooks".
func (c *Composite) Name() string { return c.name }

// Self returns the generated composite whose Compose made this one; nil if there is none.
func (c *Composite) Self() hook.Hook { return c.self }

// Plan returns the plan: members in order, owners, policies. The caller must not change
// it.
func (c *Composite) Plan() *plan.Plan {
	if c.plan == nil {
		return c.table.plan()
	}
	return c.plan
}

// Points returns the points of all members, without the methods of hook.Hook.
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

// Ready returns an error that lists the required fields that are nil, the problems of other
// members, and the tools of a tool.Set whose names other members have too. It includes the
// problems of nested composites.
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

// planPoints returns the matching points for the planner.
func planPoints(match func(hook.Point, point.Info) bool) []plan.Point {
	var out []plan.Point
	for p, info := range point.All() {
		if match(p, info) {
			out = append(out, plan.Point(info))
		}
	}
	return out
}

func everyPoint(hook.Point, point.Info) bool { return true }

func ofFacade(_ hook.Point, info point.Info) bool { return info.Kind == "facade" }

func (m *member) as(p hook.Point) Member {
	return Member{Path: m.path, Policy: m.policy(p), Timeout: m.timeout(p)}
}

// timeout returns the member's timeout at the point; 0 is none. A composite has no default,
// because its members have theirs.
func (m *member) timeout(p hook.Point) time.Duration {
	set := m.tag.At(p.String()).Timeout
	if _, ok := m.hook.(*Composite); set != 0 || ok {
		return max(0, time.Duration(set))
	}
	return point.InfoOf(p).Timeout
}

func (m *member) policy(p hook.Point) Policy {
	switch m.tag.At(p.String()).Policy {
	case "failopen":
		return PolicyOpen
	case "failclosed":
		return PolicyClosed
	}
	return PolicyDefault
}

// local returns the tool's name without the prefix; false if it lacks the prefix.
func (m *member) local(name string) (string, bool) { return strings.CutPrefix(name, m.prefix) }

// mode returns the tag's mode at the point; "" calls the member and waits for it.
func (m *member) mode(p hook.Point) string { return m.tag.At(p.String()).Mode }
