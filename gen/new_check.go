package gen

import (
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/load"
	"github.com/grapnel-go/grapnel/gen/scaffold"
)

// alone generates for the subsystem without a composite.
func (n *newcomer) alone(ctx context.Context, problems []diag.Problem) (NewResult, error) {
	n.run.listing.Only(n.path)
	n.run = run{listing: n.run.listing, dir: n.cwd}
	output, wrong, err := n.run.generate(ctx)
	if err != nil {
		return NewResult{}, err
	}
	for _, p := range wrong {
		if p.Severity != diag.Info {
			return NewResult{}, n.about(p) // a warning too: what is written is to be without
		}
	}
	n.output = output
	wrong, err = n.check()
	if err != nil {
		return NewResult{}, err
	}
	if len(wrong) > 0 {
		return NewResult{Problems: wrong}, nil
	}
	return n.write(ctx, problems)
}

// about says which name a problem of the subsystem's own file comes from: the file itself is not there to be looked at.
func (n *newcomer) about(p diag.Problem) error {
	for _, f := range n.files {
		if !strings.HasSuffix(p.Pos.Filename, f.Name) {
			continue
		}
		if t, ok := n.sub.At(f.Text, p.Pos.Line); ok {
			return fmt.Errorf("%s cannot be the name of a tool of %s: %s (%s); choose another, "+
				"and write //hook:tool name=%s above its method if the tool is to be called so",
				scaffold.Quote(t.Asked), n.sub.Name, p.Message(), p.Code, t.Name)
		}
	}
	return fmt.Errorf("%s cannot be written: %s (%s)", n.sub.Name, p.Message(), p.Code)
}

// check type-checks the subsystem, its test and the composite's package with their generated files, bodies included.
func (n *newcomer) check() ([]diag.Problem, error) {
	paths := []string{n.path, n.testPath()}
	if n.into != nil {
		paths = append(paths, n.into.path)
	}
	checker := n.run.listing.NewCheckerWith(n.output, paths)
	if _, err := checker.Package(load.HookPath); err != nil {
		return nil, err
	}
	var problems []diag.Problem
	for _, path := range paths {
		p, err := checker.Package(path)
		if err != nil {
			return nil, err
		}
		problems = append(problems, p.Syntax...)
		for _, e := range p.Errors {
			problems = append(problems, diag.New(diag.DraftBroken, checker.Position(e.Pos), path, e.Msg))
		}
	}
	return diag.Sort(problems), nil
}
