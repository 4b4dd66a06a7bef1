package model

import (
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Composite is a struct with //hook:composite.
type Composite struct {
	Pkg   *Package
	Named *types.Named
	Name  string
	Spec  *ast.TypeSpec
	Pos   token.Pos
	// Receiver is the name that the author's methods give their receiver; if none does, the first letter of the type.
	Receiver string
	// Members are in plan order.
	Members []*Member
	Plan    *plan.Plan
	// Own are the points for which the author wrote methods.
	Own map[string]bool
	// Rev is the value of the generated constant RevName.
	Rev uint32
	// Self describes the composite as a member of another one: it has the generated methods of hook.Hook and those of Own.
	Self *Member

	state state
}

// state is the progress of Resolve.
type state int

const (
	unresolved state = iota
	resolving
	resolved
)

// Member is a field whose hook the composite calls.
type Member struct {
	Field string
	Type  types.Type
	Pos   token.Pos
	Tag   plan.Options
	// Defaults are the options of the subsystem; Tag has those that the field does not override.
	Defaults plan.Defaults
	Kind     Kind
	Nilable  bool
	// Points are the names of the points that the member implements; nil if they are known only at run time.
	Points map[string]bool
	Tools  []ToolRef
	// Dynamic: the member has tools that are known only at run time.
	Dynamic bool
	// Late are the tools that are known although the tag says dynamic.
	Late []ToolRef
	// Rev identifies the tools; nil if no constant is generated for them.
	Rev *Rev
	// Nested is set if the member is a composite.
	Nested *Composite

	lacking map[string]int
}

// Kind is how a member is called.
type Kind int

// The kinds.
const (
	// Direct members have a type whose methods are known.
	Direct Kind = iota
	// Interface members may implement any point.
	Interface
	// Group members are slices of hooks.
	Group
)

// ToolRef is a tool of a member.
type ToolRef struct {
	// Prefixes are those of the composites between the member and the owner of the tool, outermost first, without the member's own.
	Prefixes []string
	Name     string
	// Pkg and Const name the generated constant; nil where there is none.
	Pkg   *types.Package
	Const string
	Pos   token.Pos
}

// Local returns the name of the tool without the prefix of the member.
func (t ToolRef) Local() string { return strings.Join(t.Prefixes, "") + t.Name }

// Rev is the generated constant that changes with the points and tools of a type.
type Rev struct {
	Pkg   *types.Package
	Name  string
	Value uint32
}

// RevOf hashes the names of points and tools in order. Generated code that names another value does not compile.
func RevOf(points, tools []string) uint32 {
	h := fnv.New32a()
	for _, name := range slices.Concat(tools, []string{""}, points) {
		_, _ = h.Write([]byte(name + "\n")) // a hash never fails
	}
	return h.Sum32()
}

// RevName returns the name of the constant that holds Rev.
func (c *Composite) RevName() string { return c.Name + "Rev" }

// Has reports whether the composite calls the member at the point.
func (m *Member) Has(point string) bool {
	return (m.Kind != Direct || m.Points[point]) && !m.Tag.Excludes(point)
}

// Optional reports whether the field may be nil.
func (m *Member) Optional() bool { return m.Tag.Optional && m.Nilable }

// Resolve finds and orders the members of a composite, once.
func (m *Model) Resolve(c *Composite) {
	if c.state != unresolved {
		return
	}
	c.state = resolving
	defer func() { c.state = resolved }()
	c.Receiver, _ = receiver(c.Named)
	if !c.Pkg.fromFacts { // facts already say it, and these types have the generated methods too
		c.Own = map[string]bool{}
		for _, p := range m.Points {
			if declaredMethod(c.Named, p.Name) != nil {
				c.Own[p.Name] = true
			}
		}
	}
	st, before := c.Named.Underlying().(*types.Struct), len(m.problems)
	for i := range st.NumFields() {
		before := len(m.problems)
		member := m.member(c, st.Field(i), reflect.StructTag(st.Tag(i)))
		switch {
		case member != nil:
			c.Members = append(c.Members, member)
		case len(m.problems) == before:
			m.checkPromoted(c, st.Field(i))
		}
	}
	if len(c.Members) == 0 && len(m.problems) == before {
		m.add(diag.NoMembers, c.Pos, c.Name)
	}
	m.plan(c)
	m.checkOwnMethods(c)
	c.Rev = m.revOf(c)
	c.Self = &Member{Type: c.Named, Points: map[string]bool{}}
	for _, p := range m.Points {
		c.Self.Points[p.Name] = p.Facade || c.Own[p.Name]
	}
	m.findLacking(c.Self)
}

func (m *Model) revOf(c *Composite) uint32 {
	has := map[string]bool{}
	for _, p := range m.Points {
		has[p.Name] = c.Has(p.Name)
	}
	var tools []string
	for _, member := range c.Members {
		for _, t := range member.Tools {
			tools = append(tools, member.Tag.Prefix+t.Local())
		}
	}
	return RevOf(m.names(has), tools)
}

// names returns the points of the set in the order of their declaration.
func (m *Model) names(points map[string]bool) []string {
	var out []string
	for _, p := range m.Points {
		if points[p.Name] {
			out = append(out, p.Name)
		}
	}
	return out
}

// checkOwnMethods warns of methods that the author wrote and that do not call the generated compose method of the point.
func (m *Model) checkOwnMethods(c *Composite) {
	called := map[string]bool{}
	for _, f := range c.Pkg.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				called[s.Sel.Name] = true
			}
			return true
		})
	}
	for _, p := range m.Points {
		members := slices.ContainsFunc(c.Members, func(o *Member) bool { return o.Has(p.Name) })
		if !c.Own[p.Name] || !members {
			continue
		}
		if called["compose"+p.Name] {
			m.addMethod(diag.ComposeCalled, declaredMethod(c.Named, p.Name).Pos(), c.Name, p.Name)
			continue
		}
		m.addMethod(diag.ComposeNotCalled, declaredMethod(c.Named, p.Name).Pos(), c.Name, p.Name, c.Receiver)
	}
}

func (m *Model) plan(c *Composite) {
	specs := make([]plan.Spec, len(c.Members))
	for i, member := range c.Members {
		specs[i] = m.spec(member)
	}
	p, problems := plan.Build(c.Pkg.Name+"."+c.Name, specs)
	idle := m.idle(c)
	for _, problem := range append(plan.Idle(problems, idle), plan.Reserved(p, m.reserved())...) {
		if problem.Ref == "" || idle[problem.Ref] != "" || !hasField(c, problem.Ref) { // else the field is wrong, and that is reported already
			m.planProblem(c, problem)
		}
	}
	c.Plan = p
	p.Own = m.own(c)
	byField := map[string]*Member{}
	for _, member := range c.Members {
		byField[member.Field] = member
	}
	for i, planned := range p.Members {
		c.Members[i] = byField[planned.Field]
	}
}

// own returns the methods that the author wrote in place of generated ones.
func (m *Model) own(c *Composite) []string {
	written := map[string]bool{}
	for method := range c.Named.Methods() {
		written[method.Name()] = true
	}
	var out []string
	for _, p := range m.Points {
		if written[p.Name] {
			out = append(out, p.Name)
		}
	}
	for _, name := range []string{"Points", "DispatchAll"} {
		if written[name] {
			out = append(out, name)
		}
	}
	return out
}

func hasField(c *Composite, name string) bool {
	st := c.Named.Underlying().(*types.Struct)
	return slices.ContainsFunc(slices.Collect(st.Fields()), func(v *types.Var) bool { return v.Name() == name })
}

// idle maps each field that is no member to the reason.
func (m *Model) idle(c *Composite) map[string]string {
	out := map[string]string{}
	st := c.Named.Underlying().(*types.Struct)
	for i := range st.NumFields() {
		v := st.Field(i)
		switch {
		case slices.ContainsFunc(c.Members, func(o *Member) bool { return o.Field == v.Name() }):
		case reflect.StructTag(st.Tag(i)).Get("hook") == "-":
			out[v.Name()] = plan.LeftOutReason()
		case !m.hookLike(v.Type()): // problems of the others are reported by member
			out[v.Name()] = plan.NoHookReason(m.short(v.Type()))
		}
	}
	return out
}

func (m *Model) spec(member *Member) plan.Spec {
	s := plan.Spec{
		Field: member.Field, Type: types.TypeString(member.Type, (*types.Package).Name), Options: member.Tag,
		Dynamic: member.Dynamic, Group: member.Kind == Group,
	}
	s.Open, s.Defaults, s.Fallback = member.Kind != Direct, member.Defaults, m.hasFallback(member)
	for _, t := range member.Tools {
		s.Tools = append(s.Tools, t.Local())
	}
	for _, t := range member.Late {
		s.Late = append(s.Late, t.Local())
	}
	for _, p := range m.Points {
		if member.Points[p.Name] {
			s.Points = append(s.Points, p.Planned())
		}
	}
	if member.Nested != nil {
		s.Composite = member.Nested.Plan
	}
	return s
}

func (m *Model) hasFallback(member *Member) bool {
	fallback := m.hookPkg.Scope().Lookup("Fallback")
	if fallback == nil || member.Kind == Group {
		return false
	}
	i, ok := fallback.Type().Underlying().(*types.Interface)
	return ok && (types.Implements(member.Type, i) || types.Implements(types.NewPointer(member.Type), i))
}

// planProblem reports a problem of the planner at the field that it names.
func (m *Model) planProblem(c *Composite, p plan.Problem) {
	find := func(field string) *Member {
		i := slices.IndexFunc(c.Members, func(o *Member) bool { return o.Field == field })
		return c.Members[i]
	}
	first := find(p.Fields[0])
	if (p.Code == "HG044" || p.Code == "HG045") && m.unclear(first.Type) {
		return // the other problem may be its cause
	}
	for _, field := range p.Fields {
		t := find(field).Type
		p.Fix = strings.ReplaceAll(p.Fix, m.short(t), m.relative(t, c.Pkg.Types))
	}
	pos := first.Pos
	if p.Word != "" {
		pos = m.tagPos(c, first.Pos, p.Word)
	}
	out := m.fromPlanner(diag.Planner, pos, c.Name+"."+first.Field, p)
	for _, field := range p.Fields[1:] {
		if o := find(field); o.Pos != find(p.Fields[0]).Pos {
			out.Notes = append(out.Notes, diag.DeclaredHere(m.Position(o.Pos), field))
		}
	}
	if p.Tool != "" {
		out.Notes = append(out.Notes, m.declarations(find(p.Fields[0]), find(p.Fields[1]), p.Tool)...)
	}
	m.Add(out)
}

// unclear reports whether a reported problem may hide a point of the type: a method with a wrong signature or name, or a file that
// does not parse.
func (m *Model) unclear(t types.Type) bool {
	named := namedOf(t)
	if named == nil {
		return false
	}
	dir := path.Dir(m.Position(named.Obj().Pos()).Filename)
	return slices.ContainsFunc(m.problems, func(p diag.Problem) bool {
		switch p.Cause {
		case diag.Unparsable:
			return path.Dir(p.Pos.Filename) == dir
		case diag.WrongSignature, diag.LooksLikePoint:
			return p.Subject == m.typeName(named)
		}
		return false
	})
}

// declarations returns notes with the places where two members declare a tool.
func (m *Model) declarations(a, b *Member, tool string) []diag.Note {
	var notes []diag.Note
	for _, member := range []*Member{a, b} {
		for _, t := range slices.Concat(member.Tools, member.Late) {
			if t.Pos.IsValid() && member.Tag.Prefix+t.Local() == tool {
				notes = append(notes, diag.DeclaresIt(m.Position(t.Pos), member.Field))
			}
		}
	}
	return notes
}
