package schema

import (
	"go/types"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// unnameable says why the generated package cannot name the type; bad is false if it can.
func (b *builder) unnameable(t types.Type) (why diag.Cause, bad bool) {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return 0, false
	}
	for arg := range n.TypeArgs().Types() {
		if why, bad := b.unnameable(types.Unalias(arg)); bad {
			return why, true
		}
	}
	switch p := n.Obj().Pkg(); {
	case p.Path() == b.pkg.Path():
	case !n.Obj().Exported():
		return diag.UnexportedType, true
	case p.Name() == "main":
		return diag.ProgramType, true
	case !importable(p.Path(), b.pkg.Path()):
		return diag.InternalType, true
	}
	return 0, false
}

// importable reports whether package from may import the path: the rule about internal.
func importable(path, from string) bool {
	parent, ok := cutInternal(path)
	return !ok || from == parent || strings.HasPrefix(from, parent+"/")
}

// cutInternal cuts the path at its last element "internal".
func cutInternal(path string) (parent string, ok bool) {
	switch i := strings.LastIndex(path, "/internal/"); {
	case i >= 0:
		return path[:i], true
	case strings.HasSuffix(path, "/internal"):
		return strings.TrimSuffix(path, "/internal"), true
	}
	return "", false
}
