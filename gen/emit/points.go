package emit

import (
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/model"
)

// Points writes the generated part of package hook: the constants, their descriptions, the set of points that a hook has, and an
// adapter for each point.
func Points(f *File, points []*model.Point) {
	f.Add(comment("The points: the methods of [Hook], then the interfaces beside it.", jen.Const().DefsFunc(func(g *jen.Group) {
		for i, p := range points {
			id := pointConst(p)
			if i == 0 {
				id.Id("Point").Op("=").Iota().Op("+").Lit(1)
			}
			g.Add(id)
		}
	})))
	f.Add(comment("pointInfos is indexed by Point; 0 is no point.",
		jen.Var().Id("pointInfos").Op("=").Index(jen.Op("...")).Id("PointInfo").Values(infos(points)...)))
	f.Add(comment("implemented returns the points whose interfaces h has.",
		jen.Func().Id("implemented").Params(jen.Id("h").Id("Hook")).Id("PointSet").BlockFunc(func(g *jen.Group) {
			g.Var().Id("s").Id("PointSet")
			for _, p := range points {
				if !p.Facade {
					g.If(jen.List(jen.Id("_"), jen.Id("ok")).Op(":=").Id("h").Assert(identifier(p.Name)), jen.Id("ok")).
						Block(jen.Id("s").Op("|=").Lit(1).Op("<<").Add(pointConst(p)))
				}
			}
			g.Return(jen.Id("s"))
		})))
	for _, p := range points {
		if !p.Facade {
			f.adapter(p)
		}
	}
}

func pointConst(p *model.Point) *jen.Statement { return identifier("Point" + p.Name) }

func infos(points []*model.Point) []jen.Code {
	rows := []jen.Code{jen.Line().Values()}
	for _, p := range points {
		fields := []jen.Code{
			jen.Id("Name").Op(":").Lit(p.Name), jen.Id("Kind").Op(":").Lit(p.Kind), jen.Id("Combine").Op(":").Lit(p.Combine),
		}
		if p.Reverse {
			fields = append(fields, jen.Id("Reverse").Op(":").True())
		}
		if p.Closed {
			fields = append(fields, jen.Id("Closed").Op(":").True())
		}
		if place := p.Place(); place != "" {
			fields = append(fields, jen.Id("Place").Op(":").Lit(place))
		}
		rows = append(rows, jen.Line().Values(fields...))
	}
	return append(rows, jen.Line())
}

// adapter writes XFunc: a hook with one function at one point.
func (f *File) adapter(p *model.Point) {
	typ, names := unexported(p.Name)+"Func", paramNames(p.Signature)
	signature := func() *jen.Statement { return f.Signature(p.Signature, names) }
	var args []jen.Code
	for _, n := range names {
		args = append(args, identifier(n))
	}
	f.Add(comment(p.Name+"Func returns a hook that has f at the point "+p.Name+" and nothing else.",
		jen.Func().Id(p.Name+"Func").Params(jen.Id("f").Func().Add(signature())).Id("Hook").
			Block(jen.Return(identifier(typ).Values(jen.Id("f").Op(":").Id("f"))))))
	f.Add(jen.Type().Add(identifier(typ)).Struct(jen.Id("Nop"), jen.Id("f").Func().Add(signature())))
	body := jen.Id("fn").Dot("f").Call(args...)
	if p.Signature.Results().Len() > 0 {
		body = jen.Return(body)
	}
	f.Add(jen.Func().Params(jen.Id("fn").Add(identifier(typ))).Add(identifier(p.Name)).Add(signature()).Block(body))
}

// paramNames are the declared names of the parameters.
func paramNames(sig *types.Signature) []string {
	var names []string
	for v := range sig.Params().Variables() {
		names = append(names, v.Name())
	}
	return names
}
