package emit

import (
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// point writes what the composite does at one point.
func (w *weld) point(p *model.Point) {
	if !w.c.Has(p.Name) || !slices.ContainsFunc(w.c.Members, func(m *model.Member) bool { return m.Has(p.Name) }) {
		if p.Facade && !w.has(p.Name) && !w.closesWhatOpens(p) {
			w.identity(p)
			return
		}
		if !w.closesWhatOpens(p) {
			return
		}
	}
	switch p.Combine {
	case "union":
		w.schema(p)
	case "concat":
		w.prompt(p)
	case "scope":
		w.scope(p)
	case "route":
		w.route(p)
	case "nest":
		w.wraps(p)
	case "register", "open":
		w.opening(p)
	case "unregister", "close":
		w.closing(p)
	default:
		w.walk(p)
	}
}

// name is the name of the method for the point: the author's own comes first and calls ours.
func (w *weld) name(p *model.Point) string {
	if w.has(p.Name) {
		return w.helper("compose" + p.Name)
	}
	return p.Name
}

// method begins the method of a point, with its comment.
func (w *weld) method(p *model.Point, what string, body ...jen.Code) {
	of := "Hook"
	if !p.Facade {
		of = p.Name
	}
	text := p.Name + " implements [hook." + of + "]: " + what + "."
	if name := w.name(p); name != p.Name {
		text = name + " is what the members do at " + p.Name + ": " + what + "."
	}
	w.f.Add(comment(text, w.fn(w.name(p)).Add(w.f.Signature(p.Signature, paramNames(p.Signature))).Block(body...)))
}

// identity writes a method of hook.Hook that no member has.
func (w *weld) identity(p *model.Point) {
	call := jen.Qual(hookPath, "Nop").Values().Dot(p.Name).Call(arguments(p.Signature)...)
	if p.Signature.Results().Len() == 0 {
		w.method(p, "no member has it")
		return
	}
	w.method(p, "no member has it", jen.Return(call))
}

// arguments passes the parameters on.
func arguments(sig *types.Signature) []jen.Code {
	var out []jen.Code
	for _, n := range paramNames(sig) {
		out = append(out, identifier(n))
	}
	return out
}

// callers lists the members that take part, as comments show them.
func (w *weld) callers(p *model.Point) string {
	var names []string
	for _, m := range w.at(p) {
		name := m.Field
		if m.Optional() {
			name += "?"
		}
		if m.Kind == model.Group {
			name += "[]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// at returns the members that are called at the point, in its direction.
func (w *weld) at(p *model.Point) []*model.Member {
	var out []*model.Member
	for _, m := range w.c.Members {
		if m.Has(p.Name) {
			out = append(out, m)
		}
	}
	if p.Reverse {
		slices.Reverse(out)
	}
	return out
}

// owners are the members that may have tools.
func (w *weld) owners() []*model.Member {
	var out []*model.Member
	for _, m := range w.c.Members {
		if m.Dynamic || len(m.Tools) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// blame begins a method that can return no error.
func blame(p *model.Point) []jen.Code {
	return []jen.Code{
		jen.Var().Id("at").String(),
		jen.Defer().Qual(compositePath, "Blame").Call(pointID(p), jen.Op("&").Id("at")),
	}
}

// blamed writes the code for one member, which is to blame for a panic; inside a group, code gets the hook called m.
func (w *weld) blamed(m *model.Member, code func(member *jen.Statement) []jen.Code) jen.Code {
	if m.Kind == model.Group {
		index := jen.Lit(m.Field+"[").Op("+").Qual("strconv", "Itoa").Call(jen.Id("i")).Op("+").Lit("]")
		return jen.For(jen.List(jen.Id("i"), jen.Id("m")).Op(":=").Range().Add(w.field(m))).Block(
			jen.If(jen.Id("m").Op("==").Nil()).Block(jen.Continue()),
			jen.Add(append([]jen.Code{jen.Id("at").Op("=").Add(index)}, prefixLines(code(jen.Id("m")))...)...),
		)
	}
	return w.guarded(m, append([]jen.Code{jen.Id("at").Op("=").Lit(m.Field)}, code(w.field(m))...)...)
}

// prefixLines puts each statement on its own line.
func prefixLines(code []jen.Code) []jen.Code {
	var out []jen.Code
	for _, c := range code {
		out = append(out, jen.Line().Add(c))
	}
	return out
}

func (w *weld) schema(p *model.Point) {
	tools := func() *jen.Statement { return jen.Id("tools") }
	n := 0
	for _, m := range w.owners() {
		n += len(m.Tools)
	}
	body := append(blame(p), tools().Op(":=").Make(jen.Index().Qual(hookPath, "Tool"), jen.Lit(0), jen.Lit(n)))
	for _, m := range w.owners() {
		body = append(body, w.blamed(m, func(member *jen.Statement) []jen.Code {
			own := member.Dot("Schema").Call()
			if m.Tag.Prefix != "" {
				own = jen.Qual(compositePath, "Prefixed").Call(jen.Lit(m.Tag.Prefix), own)
			}
			return []jen.Code{tools().Op("=").Append(tools(), own.Op("..."))}
		}))
	}
	w.method(p, w.ownerNames(), append(body, jen.Return(tools()))...)
}

func (w *weld) ownerNames() string {
	var names []string
	for _, m := range w.owners() {
		name := m.Field
		if m.Optional() {
			name += "?"
		}
		if m.Dynamic {
			name += "*"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// view writes the configuration as the member sees it.
func view(m *model.Member) *jen.Statement {
	if m.Tag.Prefix == "" {
		return jen.Id("cfg")
	}
	return jen.Id("cfg").Dot("Prefixed").Call(jen.Lit(m.Tag.Prefix))
}

func (w *weld) prompt(p *model.Point) {
	members := w.at(p)
	parts := func() *jen.Statement { return jen.Id("parts") }
	body := append(blame(p), parts().Op(":=").Make(jen.Index().String(), jen.Lit(0), jen.Lit(len(members))))
	for _, m := range members {
		body = append(body, w.blamed(m, func(member *jen.Statement) []jen.Code {
			add := func(part jen.Code) jen.Code { return parts().Op("=").Append(parts(), part) }
			said := jen.Add(member).Dot("SystemPrompt").Call(view(m))
			switch {
			case m.Tag.Excludes("Schema"):
				return []jen.Code{add(said)}
			case m.Kind != model.Direct:
				return []jen.Code{add(jen.Qual(compositePath, "PromptOf").Call(view(m), member))}
			case m.Nested != nil, !m.Dynamic && len(m.Tools) == 0:
				return []jen.Code{add(said)}
			}
			offers := jen.Qual(compositePath, "Offers").Call(view(m), jen.Add(member).Dot("Schema").Call())
			return []jen.Code{jen.If(offers).Block(add(said))}
		}))
	}
	w.method(p, w.callers(p), append(body, jen.Return(jen.Qual(compositePath, "JoinPrompts").Call(parts())))...)
}

func (w *weld) scope(p *model.Point) {
	body := append(blame(p), jen.Var().Id("s").Qual(compositePath, "Scoping"))
	for _, m := range w.c.Members {
		owns := m.Dynamic || len(m.Tools) > 0
		if !owns && !m.Has(p.Name) {
			continue
		}
		body = append(body, w.blamed(m, func(member *jen.Statement) []jen.Code {
			tools, scope := jen.Nil(), jen.Qual(hookPath, "Scope").Values()
			if owns {
				tools = jen.Add(member).Dot("Schema").Call()
			}
			if m.Has(p.Name) {
				scope = jen.Add(member).Dot("ScopedTools").Call(view(m))
			}
			return []jen.Code{jen.Id("s").Dot("Add").Call(jen.Lit(m.Tag.Prefix), tools, scope)}
		}))
	}
	w.method(p, w.callers(p), append(body, jen.Return(jen.Id("s").Dot("Scope").Call()))...)
}
