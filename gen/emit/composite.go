package emit

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/model"
)

// Composite writes the facade of one composite. file is the name of the file that declares it.
func Composite(f *File, c *model.Composite, points []*model.Point, file string) {
	w := &weld{f: f, c: c, points: points, recv: c.Receiver, helpers: map[string]string{}}
	if w.taken(w.recv) {
		w.recv = strings.ToLower(c.Name[:1])
	}
	if w.taken(w.recv) {
		w.recv = "d"
	}
	w.head(filepath.Base(file))
	w.ready()
	w.pointSet()
	w.planData()
	w.dispatchAll()
	w.members()
	w.matchers()
	for _, p := range points {
		w.point(p)
	}
}

// weld writes one composite.
type weld struct {
	f      *File
	c      *model.Composite
	points []*model.Point
	recv   string
	// helpers are the names of unexported methods by what they are for.
	helpers map[string]string
}

// taken tells whether a receiver cannot have this name.
func (w *weld) taken(name string) bool {
	if slices.Contains([]string{"g", "f", "b", "m", "i", "ok", "w", "at", "s", "tools", "parts", "points", "missing", "o", "calls", "done", "yield", "owner", "tool"}, name) {
		return true
	}
	return slices.ContainsFunc(w.points, func(p *model.Point) bool { return slices.Contains(paramNames(p.Signature), name) })
}

// self writes the type of the receiver.
func (w *weld) self() *jen.Statement {
	return jen.Op("*").Add(identifier(w.c.Name)).Add(typeArguments(w.c.Named.TypeParams()))
}

// fn begins a method.
func (w *weld) fn(name string) *jen.Statement {
	return jen.Func().Params(identifier(w.recv).Add(w.self())).Add(identifier(name))
}

// field writes d.Field.
func (w *weld) field(m *model.Member) *jen.Statement { return selector(w.recv, m.Field) }

// has tells whether the author wrote the method.
func (w *weld) has(name string) bool {
	for m := range w.c.Named.Methods() {
		if m.Name() == name {
			return true
		}
	}
	return false
}

// helper returns the name of an unexported method that neither the author nor this file has otherwise.
func (w *weld) helper(name string) string {
	if s := w.helpers[name]; s != "" {
		return s
	}
	s := name
	for i := 2; ; i++ {
		obj, _, _ := types.LookupFieldOrMethod(w.c.Named, true, w.c.Pkg.Types, s)
		if obj == nil {
			break
		}
		s = fmt.Sprintf("%s%d", name, i)
	}
	w.helpers[name] = s
	return s
}

// global returns the name of a package-level thing of this composite.
func (w *weld) global(suffix string) string {
	key := "." + suffix
	if w.helpers[key] == "" {
		w.helpers[key] = w.f.Unique(unexported(w.c.Name) + suffix)
	}
	return w.helpers[key]
}

// lines writes a comment of several lines.
func lines(text string) *jen.Statement {
	out := jen.Null()
	for i, l := range strings.Split(text, "\n") {
		if i > 0 {
			out.Line()
		}
		l = strings.TrimRight(strings.Map(printable, l), " \t")
		if l != "" && l[0] != '\t' {
			l = " " + l
		}
		out.Comment("//" + l)
	}
	return out
}

// printable keeps a comment a comment: no line breaks, nothing that changes the direction of the text.
func printable(r rune) rune {
	if r == '\t' || r >= ' ' && r != 0x7f && oneLine(string(r)) == string(r) || r == ' ' {
		return r
	}
	return -1
}

func (w *weld) head(file string) {
	w.f.Add(lines(PlanText(w.c, file)))
	w.guards()
}

// PlanText is the comment at the head of what is generated for a composite: its plan. file is the name of the file that declares it.
func PlanText(c *model.Composite, file string) string {
	text := "Plan of " + c.Name + " (" + filepath.Base(file) + "), in execution order:\n\n"
	for l := range strings.SplitSeq(strings.TrimRight(c.Plan.Text(), "\n"), "\n") {
		text += strings.TrimRight("\t"+l, "\t") + "\n"
	}
	return strings.TrimRight(text, "\n")
}

// unique drops definitions that are there twice: two fields of one type.
func unique(defs []jen.Code) []jen.Code {
	var out []jen.Code
	seen := map[string]bool{}
	for _, d := range defs {
		text := fmt.Sprintf("%#v", d)
		if !seen[text] {
			seen[text] = true
			out = append(out, d)
		}
	}
	return out
}

func (w *weld) typeName() string { return w.c.Pkg.Name + "." + w.c.Name }

func (w *weld) ready() {
	if w.has("Ready") {
		return
	}
	var checks []jen.Code
	for _, m := range w.c.Members {
		if m.Nilable && !m.Tag.Optional && m.Kind != model.Group {
			checks = append(checks, jen.If(w.field(m).Op("==").Nil()).Block(
				jen.Id("missing").Op("=").Append(jen.Id("missing"), jen.Lit(m.Field))))
		}
	}
	body := []jen.Code{jen.Return(jen.Nil())}
	if len(checks) > 0 {
		body = slices.Concat([]jen.Code{jen.Var().Id("missing").Index().String()}, checks, []jen.Code{
			jen.Return(jen.Qual(compositePath, "Missing").Call(jen.Lit(w.typeName()), jen.Id("missing").Op("..."))),
		})
	}
	w.f.Add(comment("Ready returns an error that names the required fields that are nil.",
		w.fn("Ready").Params().Error().Block(body...)))
}

// pointSet writes Points: what is known now, and what only the members know.
func (w *weld) pointSet() {
	if w.has("Points") {
		return
	}
	fixed := map[string]bool{}
	for p := range w.c.Own {
		fixed[p] = true
	}
	var more []jen.Code
	for _, m := range w.c.Members {
		if code := w.pointsOf(m); code != nil {
			more = append(more, code)
			continue
		}
		for p := range m.Points {
			fixed[p] = fixed[p] || !m.Optional()
		}
	}
	set := w.setOf(fixed)
	if set == nil {
		set = jen.Qual(hookPath, "PointSet").Parens(jen.Lit(0))
	}
	body := []jen.Code{jen.Return(set)}
	if len(more) > 0 {
		body = slices.Concat([]jen.Code{jen.Id("points").Op(":=").Add(set)}, more, []jen.Code{jen.Return(jen.Id("points"))})
	}
	w.f.Add(comment("Points returns the points that some member has.",
		w.fn("Points").Params().Qual(hookPath, "PointSet").Block(body...)))
}

// pointsOf writes the question to a member whose points are not the same at all times; nil for one whose are.
func (w *weld) pointsOf(m *model.Member) jen.Code {
	add := func(set *jen.Statement) jen.Code {
		return jen.Id("points").Op("=").Id("points").Dot("With").Call(set)
	}
	switch {
	case m.Kind == model.Group:
		return jen.For(jen.List(jen.Id("_"), jen.Id("m")).Op(":=").Range().Add(w.field(m))).Block(
			add(jen.Qual(hookPath, "PointsOf").Call(jen.Id("m"))))
	case m.Kind == model.Interface:
		return add(jen.Qual(hookPath, "PointsOf").Call(w.field(m)))
	case m.Nested != nil:
		return w.guarded(m, add(w.field(m).Dot("Points").Call()))
	case m.Optional():
		if set := w.setOf(m.Points); set != nil {
			return w.guarded(m, add(set))
		}
	}
	return nil
}

// setOf writes the set of the points beside hook.Hook's own, or returns nil for none.
func (w *weld) setOf(points map[string]bool) *jen.Statement {
	var list []jen.Code
	for _, p := range w.points {
		if points[p.Name] && !p.Facade {
			list = append(list, pointID(p))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return jen.Qual(hookPath, "SetOf").Call(list...)
}

func pointID(p *model.Point) *jen.Statement { return jen.Qual(hookPath, "Point"+p.Name) }

// guarded writes the code behind a check for nil where the member may be nil.
func (w *weld) guarded(m *model.Member, code ...jen.Code) jen.Code {
	if !m.Optional() {
		out := jen.Null()
		for i, c := range code {
			if i > 0 {
				out.Line()
			}
			out.Add(c)
		}
		return out
	}
	return jen.If(w.field(m).Op("!=").Nil()).Block(code...)
}

func (w *weld) planData() {
	if w.has("Plan") {
		return
	}
	w.f.Add(comment("Plan returns the plan that the code below follows.",
		w.fn("Plan").Params().Op("*").Qual(planPath, "Plan").Block(jen.Return(planLiteral(w.c.Plan)))))
}

func planLiteral(p *plan.Plan) *jen.Statement {
	members := []jen.Code{}
	for _, m := range p.Members {
		members = append(members, jen.Line().Add(memberLiteral(m)))
	}
	members = append(members, jen.Line())
	fields := []jen.Code{
		jen.Id("Type").Op(":").Lit(p.Type),
		jen.Id("Members").Op(":").Index().Qual(planPath, "Member").Values(members...),
	}
	if len(p.Own) > 0 {
		fields = append(fields, jen.Id("Own").Op(":").Add(stringList(p.Own)))
	}
	return jen.Op("&").Qual(planPath, "Plan").Values(fields...)
}

func memberLiteral(m plan.Member) *jen.Statement {
	var fields []jen.Code
	set := func(name string, value jen.Code) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	set("Field", jen.Lit(m.Field))
	set("Type", jen.Lit(m.Type))
	for _, flag := range []struct {
		name string
		on   bool
	}{{"Optional", m.Optional}, {"Dynamic", m.Dynamic}, {"Group", m.Group}} {
		if flag.on {
			set(flag.name, jen.True())
		}
	}
	if m.Prefix != "" {
		set("Prefix", jen.Lit(m.Prefix))
	}
	for _, l := range []struct {
		name string
		list []string
	}{{"Requires", m.Requires}, {"Only", m.Only}, {"Without", m.Without}, {"Match", m.Match}} {
		if len(l.list) > 0 {
			set(l.name, stringList(l.list))
		}
	}
	if len(m.Points) > 0 {
		var uses []jen.Code
		for _, p := range m.Points {
			uses = append(uses, useLiteral(p))
		}
		set("Points", jen.Index().Qual(planPath, "PointUse").Values(uses...))
	}
	if len(m.Tools) > 0 {
		set("Tools", stringList(m.Tools))
	}
	if m.Composite != nil {
		set("Composite", planLiteral(m.Composite))
	}
	return jen.Values(fields...)
}

func useLiteral(u plan.PointUse) *jen.Statement {
	var fields []jen.Code
	for _, f := range []struct{ name, value string }{
		{"Name", u.Name}, {"Kind", u.Kind}, {"Policy", u.Policy}, {"Mode", u.Mode}, {"Visibility", u.Visibility},
	} {
		if f.value != "" {
			fields = append(fields, jen.Id(f.name).Op(":").Lit(f.value))
		}
	}
	if u.Timeout != 0 {
		fields = append(fields, jen.Id("Timeout").Op(":").Qual(planPath, "Duration").Call(duration(time.Duration(u.Timeout))))
	}
	return jen.Values(fields...)
}

func stringList(list []string) *jen.Statement {
	var out []jen.Code
	for _, s := range list {
		out = append(out, jen.Lit(s))
	}
	return jen.Index().String().Values(out...)
}

func (w *weld) dispatchAll() {
	if w.has("DispatchAll") {
		return
	}
	w.f.Add(comment("DispatchAll runs the bound calls of one step; see [composite.DispatchAll].",
		w.fn("DispatchAll").Params(
			jen.Id("ctx").Qual("context", "Context"), jen.Id("calls").Index().Qual(compositePath, "Call"),
			jen.Id("o").Op("*").Qual(compositePath, "DispatchOptions"),
			jen.Id("done").Func().Params(jen.Id("i").Int(), jen.Id("c").Qual(compositePath, "Completion")),
		).Index().Qual(compositePath, "Completion").Block(
			jen.Return(jen.Qual(compositePath, "DispatchAll").Call(jen.Id("ctx"), jen.Id("calls"), jen.Id("o"), jen.Id("done"))))))
}
