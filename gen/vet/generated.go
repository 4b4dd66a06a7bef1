package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/emit"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// checkGenerated reports generated code that is missing or out of date. It reports nothing while the declarations have errors,
// because then hookgen writes nothing.
func (u *misuseChecker) checkGenerated() {
	if diag.HasErrors(u.mine(u.m.Problems())) {
		return
	}
	for _, c := range u.p.Composites {
		switch {
		case u.constant(c.RevName()) == nil:
			u.add(diag.NoGeneratedMethods, c.Pos, c.Name)
		case !u.hasConstant(c.RevName(), constant.MakeInt64(int64(c.Rev))) || !u.hasPlan(c):
			u.add(diag.StaleComposite, c.Pos, c.Name, load.Output)
		}
	}
	for _, s := range u.p.Subsystems {
		switch {
		case len(s.Tools) == 0:
		case u.constant(s.RevName()) == nil:
			u.add(diag.NoGeneratedTools, s.Pos, s.Name)
		case !u.hasConstant(s.RevName(), constant.MakeInt64(int64(s.Rev()))) || !u.hasToolNames(s):
			u.add(diag.StaleSubsystem, s.Pos, s.Name, load.Output)
		}
	}
}

// constant returns a generated constant of the package, or nil.
func (u *misuseChecker) constant(name string) *types.Const {
	c, ok := u.pass.Pkg.Scope().Lookup(name).(*types.Const)
	if !ok || !slices.ContainsFunc(u.own, func(f *ast.File) bool { return f.FileStart <= c.Pos() && c.Pos() < f.FileEnd }) {
		return nil
	}
	return c
}

func (u *misuseChecker) hasConstant(name string, want constant.Value) bool {
	c := u.constant(name)
	return c != nil && c.Val().Kind() == want.Kind() && constant.ToInt(c.Val()).ExactString() == constant.ToInt(want).ExactString()
}

// hasToolNames reports whether the generated constants have the names of the tools.
func (u *misuseChecker) hasToolNames(s *model.Subsystem) bool {
	for _, t := range s.Tools {
		if !u.hasConstant(t.Const, constant.MakeString(t.Name)) {
			return false
		}
	}
	return true
}

// hasPlan reports whether the comment above the generated methods is the plan of the composite.
func (u *misuseChecker) hasPlan(c *model.Composite) bool {
	want := strings.Fields(emit.PlanText(c, u.Position(c.Pos).Filename))
	for _, f := range u.own {
		for _, group := range f.Comments {
			var text strings.Builder
			for _, line := range group.List {
				text.WriteString(strings.TrimPrefix(line.Text, "//") + "\n")
			}
			if slices.Equal(strings.Fields(text.String()), want) {
				return true
			}
		}
	}
	return false
}
