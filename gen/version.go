package gen

import (
	"fmt"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/load"
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
	return &diag.Problem{
		Code: "HG002", Message: fmt.Sprintf("the module uses %s %s, which does not have composite.%s: hookgen needs a newer one", p.Module.Path, version, handshake),
		Notes: []diag.Note{{Message: "generated code would not compile: " + load.HookPath + " and hookgen are of one version"}},
		Fix:   "go get " + p.Module.Path + "@latest",
	}
}
