package scaffold

import (
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// writeAlone generates and writes the subsystem without a composite. problems are those found before.
func (b *builder) writeAlone(ctx context.Context, problems []diag.Problem) (Result, error) {
	b.listing.Only(b.path)
	wrong, err := b.generate(ctx)
	if err != nil {
		return Result{}, err
	}
	for _, p := range wrong {
		if p.Severity != diag.Info {
			return Result{}, b.nameOf(p) // a warning too: new code has none
		}
	}
	wrong, err = b.check()
	if err != nil {
		return Result{}, err
	}
	if len(wrong) > 0 {
		return Result{Problems: wrong}, nil
	}
	return b.write(ctx, problems)
}

// nameOf returns an error that names the tool to which a problem of the new file belongs, because the user cannot look at the file.
func (b *builder) nameOf(p diag.Problem) error {
	for _, f := range b.files {
		if !strings.HasSuffix(p.Pos.Filename, f.Name) {
			continue
		}
		if t, ok := b.sub.At(f.Text, p.Pos.Line); ok {
			return fmt.Errorf("%s cannot be the name of a tool of %s: %s (%s); choose another, "+
				"and write //hook:tool name=%s above its method if the tool is to be called so",
				Quote(t.Asked), b.sub.Name, p.Message(), p.Code, t.Name)
		}
	}
	return fmt.Errorf("%s cannot be written: %s (%s)", b.sub.Name, p.Message(), p.Code)
}

// check type-checks the subsystem, its test and the composite's package with their generated files, bodies included.
func (b *builder) check() ([]diag.Problem, error) {
	paths := []string{b.path, b.testPath()}
	if b.into != nil {
		paths = append(paths, b.into.path)
	}
	checker := b.listing.NewCheckerWith(b.output, paths)
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
