package gen

import (
	"go/token"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// compositePath is the import path of what generated code calls, handshake the constant that every generated file names.
const (
	compositePath = "github.com/grapnel-go/grapnel/composite"
	handshake     = "GenVersion2"
)

// oldContract returns the problem of a module that uses a Grapnel which this generator does not write code for; nil if there is
// none, or if the two come from one tree.
func (r *run) oldContract() *diag.Problem {
	p := r.listing.Package(compositePath)
	if p == nil || p.Module == nil || p.Module.Main {
		return nil
	}
	types, err := r.listing.NewChecker().Import(compositePath)
	if err != nil || types.Scope().Lookup(handshake) != nil {
		return nil
	}
	version := p.Module.Version
	if p.Module.Replace != nil {
		version += " => " + p.Module.Replace.Path
	}
	problem := diag.New(diag.OldContract, token.Position{}, p.Module.Path, version, handshake)
	problem.Notes = []diag.Note{diag.OneVersion(load.HookPath)}
	return &problem
}
