package gen

import (
	"go/token"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// compositePath is the import path of the package that generated code calls, versionConstant the constant that every generated file
// uses.
const (
	compositePath   = "github.com/grapnel-go/grapnel/composite"
	versionConstant = "GenVersion2"
)

// oldContract returns the problem of a module that requires a Grapnel too old for this generator; nil if there is none, or if both
// come from one tree.
func (r *run) oldContract() *diag.Problem {
	p := r.listing.Package(compositePath)
	if p == nil || p.Module == nil || p.Module.Main {
		return nil
	}
	types, err := r.listing.NewChecker().Import(compositePath)
	if err != nil || types.Scope().Lookup(versionConstant) != nil {
		return nil
	}
	version := p.Module.Version
	if p.Module.Replace != nil {
		version += " => " + p.Module.Replace.Path
	}
	problem := diag.New(diag.OldContract, token.Position{}, p.Module.Path, version, versionConstant)
	problem.Notes = []diag.Note{diag.OneVersion(load.HookPath)}
	return &problem
}
