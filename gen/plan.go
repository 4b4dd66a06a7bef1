package gen

import (
	"context"
	"go/token"
	"path/filepath"

	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// Plans returns the plans of the composites in the packages with the places of all fields, sorted by package and place. It writes
// nothing. If one of the problems is an error there are no plans.
func Plans(ctx context.Context, o Options) ([]*picture.View, []Problem, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	r := run{dir: dir, options: o}
	views, err := r.plans(ctx)
	return views, diag.Locate(diag.Sort(r.result.Problems), diag.Files(dir)), err
}

func (r *run) plans(ctx context.Context) ([]*picture.View, error) {
	if ok, err := r.list(ctx); err != nil || !ok {
		return nil, err
	}
	if err := r.read(ctx); err != nil || r.note(r.runProblems) || r.model == nil || r.note(r.model.Problems()) {
		return nil, err
	}
	var views []*picture.View
	for _, p := range r.mentioned {
		for _, c := range p.Composites {
			views = append(views, r.view(c))
		}
	}
	return views, nil
}

func (r *run) view(c *model.Composite) *picture.View {
	s := picture.Source{Plan: c.Plan, Package: c.Pkg.Path, Pos: r.place(c.Pos), Fields: map[string]string{}}
	for _, p := range r.model.Points {
		s.Points = append(s.Points, picture.Point(p.Planned()))
		if c.Own[p.Name] {
			s.Own = append(s.Own, p.Name)
		}
	}
	r.places(s.Fields, c, "")
	return picture.New(s)
}

// places records the places of the fields of a composite and of the composites nested in it.
func (r *run) places(to map[string]string, c *model.Composite, path string) {
	for _, m := range c.Members {
		to[path+m.Field] = r.place(m.Pos)
		if m.Nested != nil {
			r.places(to, m.Nested, path+m.Field+".")
		}
	}
}

// place returns file:line:column, the file relative to the directory of the run if it lies below it.
func (r *run) place(pos token.Pos) string {
	return outputLine(r.dir, r.model.Position(pos)).String()
}
