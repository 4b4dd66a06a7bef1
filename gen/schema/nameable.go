package schema

import (
	"go/types"
	"strings"
)

// unnameable says why the generated package cannot write the type, or "".
func (b *builder) unnameable(t types.Type) string {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	for arg := range n.TypeArgs().Types() {
		if why := b.unnameable(types.Unalias(arg)); why != "" {
			return why
		}
	}
	switch p := n.Obj().Pkg(); {
	case p.Path() == b.pkg.Path():
		return ""
	case !n.Obj().Exported():
		return "not exported by its package"
	case p.Name() == "main":
		return "declared in a program"
	case !importable(p.Path(), b.pkg.Path()):
		return "internal to another part of its module"
	}
	return ""
}

// importable reports whether the package from may import the path, by the rule about internal.
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
