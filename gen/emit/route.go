package emit

import (
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// route writes Dispatch: a leaf switch from the name to the owner's number, the owners of static tools, then those whose tools are
// known only at run time, which so can never shadow a static one.
func (w *weld) route(p *model.Point) {
	var owners, late []*model.Member
	for _, m := range w.owners() {
		if len(m.Tools) > 0 {
			owners = append(owners, m)
		}
		if m.Dynamic {
			late = append(late, m)
		}
	}
	var body []jen.Code
	if len(owners) > 0 {
		body = append(body, w.toOwner(owners))
		defer w.ownerFunc(owners)
	}
	for _, m := range late {
		body = append(body, w.late(m))
	}
	body = append(body, jen.Return(jen.Qual(hookPath, "Invocation").Values(), jen.False()))
	w.method(p, w.ownerNames(), body...)
}

// toOwner writes the switch over the owners. One that knows its tools by number is told the number, so that it does not compare the
// name again.
func (w *weld) toOwner(owners []*model.Member) jen.Code {
	var cases []jen.Code
	for i, m := range owners {
		dispatch := w.field(m).Dot("Dispatch").Call(jen.Id("ctx"), localCall(m))
		if m.Numbered {
			dispatch = w.field(m).Dot(model.DispatchTool).Call(jen.Id("tool"), localCall(m))
		}
		cases = append(cases, jen.Case(jen.Lit(i)).Block(w.guarded(m, jen.Return(dispatch))))
	}
	found := jen.Id(w.global("Owner")).Call(jen.Id("call").Dot("Name").Call())
	if !anyNumbered(owners) {
		return jen.Switch(found).Block(cases...)
	}
	return jen.Switch(jen.List(jen.Id("owner"), jen.Id("tool")).Op(":=").Add(found), jen.Id("owner")).Block(cases...)
}

func anyNumbered(owners []*model.Member) bool {
	return slices.ContainsFunc(owners, func(m *model.Member) bool { return m.Numbered })
}

// localCall writes the call as the owner knows it.
func localCall(m *model.Member) *jen.Statement {
	if m.Tag.Prefix == "" {
		return jen.Id("call")
	}
	return jen.Id("call").Dot("As").Call(jen.Id("call").Dot("Name").Call().Index(jen.Lit(len(m.Tag.Prefix)), jen.Empty()))
}

// late writes the question to an owner of run-time tools.
func (w *weld) late(m *model.Member) jen.Code {
	ask := func(member *jen.Statement, call *jen.Statement) jen.Code {
		return jen.If(
			jen.List(jen.Id("inv"), jen.Id("ok")).Op(":=").Add(member).Dot("Dispatch").Call(jen.Id("ctx"), call), jen.Id("ok"),
		).Block(jen.Return(jen.Id("inv"), jen.True()))
	}
	switch {
	case m.Kind == model.Group:
		return jen.For(jen.List(jen.Id("_"), jen.Id("m")).Op(":=").Range().Add(w.field(m))).Block(
			jen.If(jen.Id("m").Op("==").Nil()).Block(jen.Continue()), ask(jen.Id("m"), jen.Id("call")))
	case m.Tag.Prefix != "":
		return w.guarded(m, jen.If(
			jen.List(jen.Id("name"), jen.Id("ok")).Op(":=").Qual("strings", "CutPrefix").Call(jen.Id("call").Dot("Name").Call(), jen.Lit(m.Tag.Prefix)),
			jen.Id("ok"),
		).Block(ask(w.field(m), jen.Id("call").Dot("As").Call(jen.Id("name")))))
	}
	return w.guarded(m, ask(w.field(m), jen.Id("call")))
}

// ownerFunc writes the switch over the names. They are constants, so that two members with one name do not compile.
func (w *weld) ownerFunc(owners []*model.Member) {
	name, numbered := w.global("Owner"), anyNumbered(owners)
	text, results := name+" returns which member owns the tool, -1 for none of the static ones.", jen.Int()
	if numbered {
		text = name + " returns which member owns the tool, -1 for none of the static ones, and the owner's number for it, if the owner has any."
		results = jen.Params(jen.List(jen.Id("owner"), jen.Id("tool")).Int())
	}
	found := func(owner, tool int) jen.Code {
		if numbered {
			return jen.Return(jen.Lit(owner), jen.Lit(tool))
		}
		return jen.Return(jen.Lit(owner))
	}
	var cases []jen.Code
	for i, m := range owners {
		var names []jen.Code
		for n, t := range m.Tools {
			names = append(names, w.toolName(m, t))
			if m.Numbered {
				cases, names = append(cases, jen.Case(names...).Block(found(i, n))), nil
			}
		}
		if !m.Numbered {
			cases = append(cases, jen.Case(names...).Block(found(i, 0)))
		}
	}
	w.f.Add(comment(text, jen.Func().Id(name).Params(jen.Id("name").String()).Add(results).Block(
		jen.Switch(jen.Id("name")).Block(cases...), found(-1, 0))))
}

// toolName writes the public name of a tool: prefix and the owner's constant, where that can be named from here.
func (w *weld) toolName(m *model.Member, t model.ToolRef) *jen.Statement {
	prefix := m.Tag.Prefix + strings.Join(t.Prefixes, "")
	if t.Const == "" || !visible(t.Pkg, w.c.Pkg.Types) {
		return jen.Lit(prefix + t.Name)
	}
	name := w.f.Qual(t.Pkg, t.Const)
	if prefix == "" {
		return name
	}
	return jen.Lit(prefix).Op("+").Add(name)
}

// visible tells whether a package may be imported from another: the rule for internal.
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
