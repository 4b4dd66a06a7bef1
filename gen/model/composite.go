package model

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Composite is a struct with //hook:composite.
type Composite struct {
	Pkg   *Package
	Named *types.Named
	Name  string
	Spec  *ast.TypeSpec
	Pos   token.Pos
}
