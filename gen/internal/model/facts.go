package model

import (
	"go/types"
	"maps"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// Facts holds the directives of a package, for analyzers that have its types without its source. encoding/gob can write it. It leaves
// out facts that the types have, such as the fields of a composite and their tags.
type Facts struct {
	// Points are those of package hook, in the model's order. A package with type aliases repeats them, because a package that
	// reaches package hook only through aliases does not get its facts.
	Points     []PointFact
	Subsystems []SubsystemFact
	Composites []CompositeFact
	// Open are the types with //hook:enum open.
	Open []string
	// Schemas are the texts of //hook:schema, by the type's name.
	Schemas map[string]string
}

// PointFact is a [Point] without its signature.
type PointFact struct {
	Name, Kind, Combine              string
	Reverse, Bracket, Closed, Facade bool
	Timeout                          time.Duration
}

// SubsystemFact is a [Subsystem]: the name of its type, its typed tools by name and by constant, its points, and the names of the
// tools of a hand-written Dispatch.
type SubsystemFact struct {
	Name                string
	Dynamic             bool
	Tools, Consts       []string
	Points, HandWritten []string
	// Defaults are the defaults in its options, as plan.Defaults writes them.
	Defaults string
}

// CompositeFact is a [Composite]: the name of its type and the points that its author wrote.
type CompositeFact struct {
	Name string
	Own  []string
}

// Facts returns the facts of the package for its importers.
func (m *Model) Facts(p *Package) Facts {
	var d Facts
	if p.Declares || aliases(p.Types) {
		for _, pt := range m.Points {
			d.Points = append(d.Points, PointFact{pt.Name, pt.Kind, pt.Combine, pt.Reverse, pt.Bracket, pt.Closed, pt.Facade, pt.Timeout})
		}
	}
	for _, s := range p.Subsystems {
		out := SubsystemFact{Name: s.Name, Dynamic: s.Options.Dynamic, Points: s.Points, HandWritten: s.Names, Defaults: s.Defaults.String()}
		for _, t := range s.Tools {
			out.Tools, out.Consts = append(out.Tools, t.Name), append(out.Consts, t.Const)
		}
		d.Subsystems = append(d.Subsystems, out)
	}
	for _, c := range p.Composites {
		d.Composites = append(d.Composites, CompositeFact{c.Name, slices.Sorted(maps.Keys(c.Own))})
	}
	for t, e := range p.enums {
		if e.Open {
			d.Open = append(d.Open, t.Name())
		}
	}
	slices.Sort(d.Open)
	for t, text := range p.schemas {
		if d.Schemas == nil {
			d.Schemas = map[string]string{}
		}
		d.Schemas[t.Name()] = text
	}
	return d
}

func aliases(t *types.Package) bool {
	return slices.ContainsFunc(t.Scope().Names(), func(name string) bool {
		obj, ok := t.Scope().Lookup(name).(*types.TypeName)
		return ok && obj.IsAlias()
	})
}

func (d Facts) Empty() bool {
	return len(d.Points)+len(d.Subsystems)+len(d.Composites)+len(d.Open)+len(d.Schemas) == 0
}

// NewFromFacts makes a model without the source of package hook; d are the facts of that package.
func NewFromFacts(source Source, hook *types.Package, d Facts) *Model {
	m := empty(source)
	m.hookPkg = hook
	facade, _ := hook.Scope().Lookup("Hook").(*types.TypeName)
	for _, known := range d.Points {
		of, _ := hook.Scope().Lookup(known.Name).(*types.TypeName)
		if known.Facade {
			of = facade
		}
		if f := methodOf(of, known.Name); f != nil {
			m.Points = append(m.Points, &Point{
				Name: known.Name, Kind: known.Kind, Combine: known.Combine, Reverse: known.Reverse, Bracket: known.Bracket, Closed: known.Closed,
				Timeout: known.Timeout, Facade: known.Facade, Pkg: hook.Path(), Signature: f.Signature(), Pos: f.Pos(),
			})
		}
	}
	return m
}

func methodOf(of *types.TypeName, name string) *types.Func {
	if of == nil {
		return nil
	}
	i, ok := of.Type().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for f := range i.Methods() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// AddFacts adds a package of the main module from types and facts alone.
func (m *Model) AddFacts(t *types.Package, d Facts) {
	p := &Package{
		Package: &load.Package{Path: t.Path(), Name: t.Name(), Types: t}, fromFacts: true,
		enums: map[*types.TypeName]directive.Enum{}, schemas: map[*types.TypeName]string{},
	}
	for _, known := range d.Subsystems {
		named := namedIn(t, known.Name)
		if named == nil {
			continue
		}
		s := &Subsystem{
			Pkg: p, Named: named, Name: known.Name, Pos: named.Obj().Pos(), Options: directive.Subsystem{Dynamic: known.Dynamic},
			Points: known.Points, Names: known.HandWritten,
		}
		s.Defaults, _ = plan.ParseDefaults(known.Defaults, m.planned()) // problems are reported where it is declared
		for i, name := range known.Tools {
			s.Tools = append(s.Tools, &Tool{Name: name, Const: known.Consts[i], Pos: s.Pos})
		}
		p.Subsystems = append(p.Subsystems, s)
	}
	for _, known := range d.Composites {
		if named := namedIn(t, known.Name); named != nil {
			c := &Composite{Pkg: p, Named: named, Name: known.Name, Pos: named.Obj().Pos(), Own: map[string]bool{}}
			for _, name := range known.Own {
				c.Own[name] = true
			}
			p.Composites = append(p.Composites, c)
		}
	}
	for _, name := range d.Open {
		if obj, ok := t.Scope().Lookup(name).(*types.TypeName); ok {
			p.enums[obj] = directive.Enum{Open: true}
		}
	}
	for name, text := range d.Schemas {
		if obj, ok := t.Scope().Lookup(name).(*types.TypeName); ok {
			p.schemas[obj] = text
		}
	}
	m.packages[t.Path()] = p
}

func namedIn(t *types.Package, name string) *types.Named {
	obj, ok := t.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		return nil
	}
	named, _ := obj.Type().(*types.Named)
	return named
}
