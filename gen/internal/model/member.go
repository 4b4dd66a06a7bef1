package model

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// member returns the field as a member; nil if it is none or is wrong.
func (m *Model) member(c *Composite, v *types.Var, tag reflect.StructTag) *Member {
	text, tagged := tag.Lookup("hook")
	options, ok := m.options(c, v, tag, text)
	if !ok || options.Ignore {
		return nil
	}
	if schema.Invalid(v.Type()) != nil {
		if tagged || !m.ofC(c, v) {
			m.invalid(diag.InvalidField, v.Pos(), v.Name(), "")
		}
		return nil
	}
	if isType(v.Type(), m.hookPkg.Path(), "Nop") {
		return nil
	}
	out := &Member{Field: v.Name(), Type: v.Type(), Pos: v.Pos(), Tag: options, Nilable: nilable(v.Type())}
	if !m.classify(c, out, tagged) {
		return nil
	}
	m.applyDefaults(out)
	if options.Excludes("Schema") {
		out.Dynamic, out.Tools, out.Late = false, nil, nil
	}
	if options.Optional && !out.Nilable {
		m.add(diag.MisusedOptional, m.tagPos(c, v.Pos(), "optional"), v.Name(), m.relative(v.Type(), c.Pkg.Types))
	}
	return out
}

// classify sets the properties that follow from the type of the field. It returns false if the field is no member.
func (m *Model) classify(c *Composite, out *Member, tagged bool) bool {
	t := types.Unalias(out.Type)
	if p, ok := types.Unalias(pointee(t)).(*types.TypeParam); ok {
		if i, ok := p.Underlying().(*types.Interface); ok && m.hookMethods(i) || tagged {
			m.add(diag.ParameterField, out.Pos, out.Field, p)
		}
		return false
	}
	if s, ok := t.Underlying().(*types.Slice); ok && m.hookLike(s.Elem()) {
		if !isType(s.Elem(), m.hookPkg.Path(), "Hook") {
			m.field(out, plan.NoGroup(out.Field, m.relative(out.Type, c.Pkg.Types)))
			return false
		}
		if out.Field == "_" {
			m.field(out, plan.Blank())
			return false
		}
		out.Kind, out.Dynamic = Group, true
		return true
	}
	if nested := m.compositeOf(t); nested != nil && out.Field != "_" {
		return m.nest(c, out, nested)
	}
	a := m.analyze(t)
	if !a.hook {
		return m.checkNoHook(c, out, a, tagged)
	}
	if out.Field == "_" {
		m.field(out, plan.Blank())
		return false
	}
	whole, embeds := m.generatedComposite(t)
	if embeds != nil {
		m.add(diag.EmbeddedComposite, out.Pos, m.short(embeds), m.relative(out.Type, c.Pkg.Types), embeds.Obj().Name())
		return false
	}
	if whole || types.IsInterface(t) {
		out.Kind, out.Dynamic = Interface, true
		return true
	}
	out.Points = a.points
	m.tools(out, t)
	m.findLacking(out)
	return true
}

// generatedComposite reports whether the type is a generated composite of another module, or which composite it embeds. The members
// of such a composite are known only at run time.
func (m *Model) generatedComposite(t types.Type) (whole bool, embeds *types.Named) {
	s := m.lookup(t, "Compose")
	if s.owner == nil || s.ambiguous || !s.generated && (s.fn == nil || !m.returnsComposite(s.fn)) {
		return false, nil
	}
	if named := namedOf(t); named != nil && types.Identical(named, s.owner) {
		return true, nil
	}
	return false, s.owner
}

func (m *Model) returnsComposite(f *types.Func) bool {
	sig := f.Signature()
	if sig.Params().Len() != 0 || sig.Results().Len() != 1 {
		return false
	}
	p, ok := types.Unalias(sig.Results().At(0).Type()).(*types.Pointer)
	return ok && isType(p.Elem(), path.Dir(m.hookPkg.Path())+"/composite", "Composite")
}

func (m *Model) nest(c *Composite, out *Member, nested *Composite) bool {
	if m.checkCycle(out, nested) {
		return false
	}
	m.Resolve(nested)
	out.Nested, out.Points = nested, map[string]bool{}
	for _, p := range m.Points {
		if nested.Has(p.Name) {
			out.Points[p.Name] = true
		}
	}
	m.nestedTools(out, nested)
	m.applyDynamic(out)
	m.findLacking(out)
	return true
}

func (m *Model) checkCycle(out *Member, nested *Composite) bool {
	if nested.state != resolving {
		return false
	}
	m.add(diag.NestedInItself, out.Pos, nested.Name, out.Field)
	return true
}

// nestedTools gives the member the tools of a nested composite.
func (m *Model) nestedTools(out *Member, nested *Composite) {
	out.Dynamic = false
	for _, inner := range nested.Members {
		out.Dynamic = out.Dynamic || inner.Dynamic
		for _, t := range inner.Tools {
			if inner.Tag.Prefix != "" {
				t.Prefixes = append([]string{inner.Tag.Prefix}, t.Prefixes...)
			}
			out.Tools = append(out.Tools, t)
		}
	}
	out.Rev = &Rev{Pkg: nested.Pkg.Types, Name: nested.RevName(), Value: nested.Rev}
}

// Has reports whether the composite has the point.
func (c *Composite) Has(point string) bool {
	if c.Own[point] {
		return true
	}
	for _, m := range c.Members {
		if m.Has(point) {
			return true
		}
	}
	return false
}

func (m *Model) applyDynamic(out *Member) {
	if out.Tag.Dynamic {
		out.Late = out.Tools
		out.Dynamic, out.Tools, out.Rev = true, nil, nil
	}
}

// compositeOf returns the composite that t is or points to; nil if there is none or its source was not read.
func (m *Model) compositeOf(t types.Type) *Composite {
	named := namedOf(t)
	if named == nil || named.Obj().Pkg() == nil {
		return nil
	}
	p := m.sourceOf(named)
	if p == nil {
		return nil
	}
	for _, c := range p.Composites {
		if c.Named == named.Origin() {
			return c
		}
	}
	return nil
}

func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// sourceOf returns the package of a type if it belongs to the main module, from source or from facts; else nil.
func (m *Model) sourceOf(named *types.Named) *Package {
	if p := m.packages[named.Obj().Pkg().Path()]; p != nil && p.fromFacts && p.Types == named.Obj().Pkg() {
		return p
	}
	src, err := m.source.Checked(named.Obj().Pkg())
	if err != nil || !src.Writable {
		return nil
	}
	p, err := m.Package(named.Obj().Pkg().Path())
	if err != nil {
		return nil
	}
	return p
}

func nilable(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return true
	}
	return false
}

// tools finds the tools of a direct member: those of the type that declares its Schema and Dispatch.
func (m *Model) tools(out *Member, t types.Type) {
	defer m.applyDynamic(out)
	if !out.Points["Schema"] && !out.Points["Dispatch"] {
		m.checkManifest(out, namedOf(t))
		return
	}
	out.Dynamic = true
	if named := namedOf(t); named != nil && m.ownTools(out, named) {
		return
	}
	schema, dispatch := m.lookup(t, "Schema"), m.lookup(t, "Dispatch")
	if schema.owner != nil && dispatch.owner != nil && types.Identical(schema.owner, dispatch.owner) {
		m.ownTools(out, schema.owner)
	}
}

// ownTools finds the tools that a type declares itself; false if they are not listed.
func (m *Model) ownTools(out *Member, named *types.Named) bool {
	if named.Obj().Pkg() == nil {
		return false
	}
	if c := m.compositeOf(named); c != nil {
		if !m.checkCycle(out, c) {
			m.nestedTools(out, c)
		}
		return true
	}
	if p := m.sourceOf(named); p != nil {
		i := slices.IndexFunc(p.Subsystems, func(s *Subsystem) bool {
			return s.Named == named.Origin() && len(s.Tools)+len(s.Names) > 0
		})
		if i < 0 {
			return false
		}
		m.sourceTools(out, p.Subsystems[i])
		return true
	}
	manifest, ok := readManifest(named)
	rev := readRev(named)
	if !ok || rev == nil {
		m.checkManifest(out, named)
		return false
	}
	out.Dynamic, out.Rev = false, rev
	for _, name := range manifest {
		out.Tools = append(out.Tools, ToolRef{Name: name, Pkg: named.Obj().Pkg(), Const: ConstName(name)})
	}
	return true
}

func (m *Model) sourceTools(out *Member, s *Subsystem) {
	for _, name := range s.Names {
		out.Tools = append(out.Tools, ToolRef{Name: name, Pos: s.Pos})
	}
	for i, t := range s.Tools {
		if !validTool.MatchString(t.Name) || slices.ContainsFunc(s.Tools[:i], func(o *Tool) bool { return o.Name == t.Name }) {
			continue // reported where it is declared
		}
		out.Tools = append(out.Tools, ToolRef{Name: t.Name, Pkg: s.Pkg.Types, Const: t.Const, Pos: t.Pos})
	}
	if len(s.Tools) > 0 {
		out.Rev = &Rev{Pkg: s.Pkg.Types, Name: s.RevName(), Value: s.Rev()}
	}
	out.Dynamic = len(out.Tools) == 0
}

func (m *Model) options(c *Composite, v *types.Var, tag reflect.StructTag, text string) (plan.Options, bool) {
	field := c.Name + "." + v.Name()
	if p, bad := plan.BadTag(string(tag)); bad {
		m.Add(m.fromPlanner(diag.PlannerTagForm, m.tagPos(c, v.Pos(), "hook"), field, p))
		return plan.Options{}, false
	}
	for _, key := range tagKey.FindAllStringSubmatch(string(tag), -1) {
		if p, near := plan.NearKey(key[1]); near {
			out := m.fromPlanner(diag.PlannerTagKey, m.tagPos(c, v.Pos(), key[1]), field, p)
			out.Edits = m.fixWord(c, v.Pos(), key[1], "hook")
			m.Add(out)
		}
	}
	options, problems := plan.ParseTag(text, m.planned())
	for _, p := range problems {
		cause := diag.PlannerPolicy
		if p.Code == "HG009" {
			cause = diag.PlannerTag
		}
		out := m.fromPlanner(cause, m.tagPos(c, v.Pos(), p.Word), field, p)
		out.Edits = m.fixWord(c, v.Pos(), p.Word, p.Meant)
		m.Add(out)
	}
	return options, len(problems) == 0
}

var tagKey = regexp.MustCompile(`([A-Za-z]+):"`)

// tagPos returns the place of a word in the tag of a field, else of the tag, else of the field.
func (m *Model) tagPos(c *Composite, field token.Pos, word string) token.Pos {
	tag := tagOf(c, field)
	if tag == nil {
		return field
	}
	if i := strings.Index(tag.Value, word); i > 0 {
		return tag.Pos() + token.Pos(i)
	}
	return tag.Pos()
}

// tagOf returns the tag of a field in the source, or nil.
func tagOf(c *Composite, field token.Pos) *ast.BasicLit {
	if c.Spec == nil {
		return nil // known from facts only
	}
	st, ok := c.Spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range st.Fields.List {
		if f.Tag != nil && field >= f.Pos() && field < f.End() {
			return f.Tag
		}
	}
	return nil
}
