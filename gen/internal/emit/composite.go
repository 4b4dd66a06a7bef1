package emit

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// Composite writes the table of a composite and the methods that call package composite. file declares it.
func Composite(f *File, c *model.Composite, points []*model.Point, file string) {
	w := &compositeWriter{f: f, c: c, points: points, recv: c.Receiver, helpers: map[string]string{}}
	if w.taken(w.recv) {
		w.recv = strings.ToLower(c.Name[:1])
	}
	if w.taken(w.recv) {
		w.recv = "d"
	}
	w.head(filepath.Base(file))
	w.compose()
	for _, p := range points {
		w.point(p)
	}
	w.dispatchAll()
}

// compositeWriter writes one composite.
type compositeWriter struct {
	f      *File
	c      *model.Composite
	points []*model.Point
	recv   string
	// helpers are the names of unexported methods by what they are for.
	helpers map[string]string
}

// taken reports whether the receiver cannot have the name, because generated methods use it.
func (w *compositeWriter) taken(name string) bool {
	if slices.Contains([]string{"o", "calls", "done", "tool"}, name) {
		return true
	}
	return slices.ContainsFunc(w.points, func(p *model.Point) bool { return slices.Contains(paramNames(p.Signature), name) })
}

func (w *compositeWriter) self() *jen.Statement {
	return jen.Op("*").Add(identifier(w.c.Name)).Add(typeArguments(w.c.Named.TypeParams()))
}

func (w *compositeWriter) fn(name string) *jen.Statement {
	return jen.Func().Params(identifier(w.recv).Add(w.self())).Add(identifier(name))
}

// has reports whether the author wrote the method.
func (w *compositeWriter) has(name string) bool {
	for m := range w.c.Named.Methods() {
		if m.Name() == name {
			return true
		}
	}
	return false
}

// helper returns the name of an unexported method that neither the author nor the file has.
func (w *compositeWriter) helper(name string) string {
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

// printable drops characters that would end the comment or change the direction of the text.
func printable(r rune) rune {
	if r == '\t' || r >= ' ' && r != 0x7f && oneLine(string(r)) == string(r) || r == ' ' {
		return r
	}
	return -1
}

func (w *compositeWriter) head(file string) {
	w.f.Add(lines(PlanText(w.c, file)))
	w.guards()
}

// PlanText returns the comment at the head of a generated composite: its plan. file declares it.
func PlanText(c *model.Composite, file string) string {
	text := "Plan of " + c.Name + " (" + filepath.Base(file) + "), in execution order:\n\n"
	for l := range strings.SplitSeq(strings.TrimRight(c.Plan.Text(), "\n"), "\n") {
		text += strings.TrimRight("\t"+l, "\t") + "\n"
	}
	return strings.TrimRight(text, "\n")
}

// unique drops repeated definitions, as of two fields of one type.
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

// compose writes the method Compose and the function that returns the owner of a tool.
func (w *compositeWriter) compose() {
	var rows, owned []jen.Code
	for i, m := range w.c.Members {
		rows = append(rows, jen.Values(w.row(m, w.c.Plan.Members[i])...))
		if len(m.Tools) == 0 || m.Tag.Excludes("Schema") || m.Tag.Excludes("Dispatch") {
			continue
		}
		var names []jen.Code
		for _, t := range m.Tools {
			names = append(names, w.toolName(m, t))
		}
		owned = append(owned, jen.Case(names...).Block(jen.Return(jen.Lit(i)).Comment("// "+m.Field)))
	}
	table := []jen.Code{jen.Id("Type").Op(":").Lit(w.c.Pkg.Name + "." + w.c.Name)}
	if own := w.setOf(w.c.Own); own != nil {
		table = append(table, jen.Id("Own").Op(":").Add(own))
	}
	if len(owned) > 0 {
		name := w.f.Unique(unexported(w.c.Name) + "Owner")
		table = append(table, jen.Id("Owner").Op(":").Id(name))
		defer func() {
			w.f.Add(comment(name+" returns the row of the member that owns a static tool; -1 for none.",
				jen.Func().Id(name).Params(jen.Id("tool").String()).Int().Block(
					jen.Switch(jen.Id("tool")).Block(owned...), jen.Return(jen.Lit(-1)))))
		}()
	}
	table = append(table, jen.Id("Rows").Op(":").Index().Qual(compositePath, "Row").Add(multi(rows)))
	w.f.Add(comment("Compose returns the composite that "+w.recv+" is now: what a runtime runs.",
		w.fn("Compose").Params().Op("*").Qual(compositePath, "Composite").Block(
			jen.Return(jen.Qual(compositePath, "Compose").Call(jen.Id(w.recv), jen.Qual(compositePath, "Table").Values(table...))))))
}

// row writes the row of a member in the table.
func (w *compositeWriter) row(m *model.Member, p plan.Member) []jen.Code {
	var fields []jen.Code
	set := func(name string, value jen.Code) { fields = append(fields, jen.Id(name).Op(":").Add(value)) }
	set("Field", jen.Lit(m.Field))
	set("Type", jen.Lit(p.Type))
	tag := m.Tag
	tag.Requires = p.Requires
	if text := strings.TrimPrefix(tag.Tag(), "; "); text != "" {
		set("Tag", jen.Lit(text))
	}
	field := selector(w.recv, m.Field)
	switch {
	case m.Kind == model.Group:
		set("IsGroup", jen.True())
		set("Group", field)
		set("Dynamic", jen.True())
		return fields
	case !m.Nilable:
		field = jen.Op("&").Add(field)
	}
	set("Hook", field)
	if types.IsInterface(m.Type) {
		set("Any", jen.True())
	}
	if m.Kind == model.Direct && m.Nested == nil {
		set("Points", cmpSet(w.setOf(m.Points)))
	}
	if m.Dynamic {
		set("Dynamic", jen.True())
	}
	var tools []jen.Code
	for _, t := range m.Tools {
		tools = append(tools, w.localName(t))
	}
	if len(tools) > 0 {
		set("Tools", jen.Index().String().Values(tools...))
	}
	return fields
}

// cmpSet returns the set, or the one of a member without points.
func cmpSet(set *jen.Statement) *jen.Statement {
	if set == nil {
		return jen.Qual(compositePath, "NoPoints")
	}
	return set
}

// setOf writes the set of the points; nil for none.
func (w *compositeWriter) setOf(points map[string]bool) *jen.Statement {
	var list []jen.Code
	for _, p := range w.points {
		if points[p.Name] {
			list = append(list, pointID(p))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return jen.Qual(pointPath, "Set").Call(list...)
}

func pointID(p *model.Point) *jen.Statement { return jen.Qual(pointPath, p.Name) }

// point writes a method of hook.Hook; if the author wrote it, the helper that calls the members.
func (w *compositeWriter) point(p *model.Point) {
	if w.has(p.Name) {
		w.own(p)
		return
	}
	if p.Facade {
		text := p.Name + " implements [hook.Hook]: " + w.callers(p) + "."
		w.method(p, text, p.Name, jen.Id(w.recv).Dot("Compose").Call())
	}
}

// own writes the helper that the author's method calls.
func (w *compositeWriter) own(p *model.Point) {
	if !slices.ContainsFunc(w.c.Members, func(m *model.Member) bool { return m.Has(p.Name) }) {
		return
	}
	name := w.helper("compose" + p.Name)
	w.method(p, name+" is what the members do at "+p.Name+": "+w.callers(p)+".", name, jen.Qual(compositePath, "Members").Call(jen.Id(w.recv)))
}

// method writes a method that calls the point of a composite.
func (w *compositeWriter) method(p *model.Point, text, name string, asked *jen.Statement) {
	call := asked.Dot(p.Name).Call(arguments(p.Signature)...)
	if p.Signature.Results().Len() > 0 {
		call = jen.Return(call)
	}
	w.f.Add(comment(text, w.fn(name).Add(w.f.Signature(p.Signature, paramNames(p.Signature))).Block(call)))
}

func arguments(sig *types.Signature) []jen.Code {
	var out []jen.Code
	for _, n := range paramNames(sig) {
		out = append(out, identifier(n))
	}
	return out
}

// callers lists the members that have the point, for comments.
func (w *compositeWriter) callers(p *model.Point) string {
	var names []string
	for _, m := range w.c.Members {
		if !m.Has(p.Name) {
			continue
		}
		name := m.Field
		if m.Optional() {
			name += "?"
		}
		if m.Kind == model.Group {
			name += "[]"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "no member has it"
	}
	if p.Reverse {
		slices.Reverse(names)
	}
	return strings.Join(names, ", ")
}

func (w *compositeWriter) dispatchAll() {
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

// toolName writes the public name of a tool: the prefix and, if it is visible here, the owner's constant.
func (w *compositeWriter) toolName(m *model.Member, t model.ToolRef) *jen.Statement {
	return w.prefixed(m.Tag.Prefix, t)
}

// localName writes the member's name of a tool.
func (w *compositeWriter) localName(t model.ToolRef) *jen.Statement { return w.prefixed("", t) }

func (w *compositeWriter) prefixed(prefix string, t model.ToolRef) *jen.Statement {
	prefix += strings.Join(t.Prefixes, "")
	if t.Const == "" || !visible(t.Pkg, w.c.Pkg.Types) {
		return jen.Lit(prefix + t.Name)
	}
	name := w.f.Qual(t.Pkg, t.Const)
	if prefix == "" {
		return name
	}
	return jen.Lit(prefix).Op("+").Add(name)
}

// visible reports whether one package may import another: the rule about internal.
func visible(pkg, from *types.Package) bool {
	if pkg.Path() == from.Path() {
		return true
	}
	if pkg.Name() == "main" {
		return false
	}
	path := "/" + pkg.Path() + "/"
	i := strings.LastIndex(path, "/internal/")
	if i < 0 {
		return true
	}
	root := path[1:max(i, 1)]
	return from.Path() == root || strings.HasPrefix(from.Path(), root+"/")
}
