package emit

import (
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// guarded returns the structs of the package that inputs and results consist of, each once, embedded ones included.
func guarded(e *decoders, sets []Toolset) []*types.Named {
	g := &guards{path: e.f.Path()}
	for _, o := range e.typed {
		g.object(o.Type)
	}
	for _, s := range sets {
		for _, m := range s.Methods {
			g.result(m.Output)
		}
	}
	return g.found
}

type guards struct {
	path  string
	found []*types.Named
}

func (g *guards) result(v *schema.Value) {
	if v == nil {
		return
	}
	g.result(v.Elem)
	if v.Struct == nil || v.Kind != schema.Struct {
		return
	}
	g.object(v.Struct.Type)
	for _, f := range v.Struct.Fields {
		g.result(f.Value)
	}
}

func (g *guards) object(t types.Type) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() > 0 || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != g.path || slices.Contains(g.found, n) {
		return
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return
	}
	g.found = append(g.found, n)
	for f := range s.Fields() {
		if !f.Embedded() {
			continue
		}
		embedded := types.Unalias(f.Type())
		if p, ok := embedded.(*types.Pointer); ok {
			embedded = p.Elem()
		}
		g.object(embedded)
	}
}
