package model

import (
	"go/ast"
	"go/constant"
	"go/types"
	"math"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

// readManifest reads the tools of a type of another module from its generated constant.
func readManifest(named *types.Named) ([]string, bool) {
	obj, ok := named.Obj().Pkg().Scope().Lookup(named.Obj().Name() + "Hook").(*types.Const)
	if !ok || obj.Val().Kind() != constant.String {
		return nil, false
	}
	head, list, ok := strings.Cut(constant.StringVal(obj.Val()), " tools=")
	if !ok || !strings.HasPrefix(head, "hook1 ") {
		return nil, false
	}
	list, _, _ = strings.Cut(list, " ") // the defaults of the subsystem follow
	names := strings.Split(list, ",")
	for _, name := range names {
		if !validTool.MatchString(name) {
			return nil, false
		}
	}
	return names, true
}

// readRev reads the Rev of a type of another module; nil if there is none.
func readRev(named *types.Named) *Rev {
	name := named.Obj().Name() + "Rev"
	obj, ok := named.Obj().Pkg().Scope().Lookup(name).(*types.Const)
	if !ok {
		return nil
	}
	value, ok := constant.Uint64Val(constant.ToInt(obj.Val()))
	if !ok || value > math.MaxUint32 {
		return nil
	}
	return &Rev{Pkg: named.Obj().Pkg(), Name: name, Value: uint32(value)}
}

// checkManifest reports a type of another module that declares typed tools but has no constant that lists them: the composite would
// know them only at run time, or not at all.
func (m *Model) checkManifest(out *Member, named *types.Named) {
	if out.Tag.Dynamic || named == nil || named.Obj().Pkg() == nil || m.sourceOf(named) != nil {
		return
	}
	files, ok := m.source.(interface {
		Mentioning(path, text string) []*ast.File
	})
	if !ok {
		return // an analyzer has facts of other packages and no source
	}
	for _, f := range files.Mentioning(named.Obj().Pkg().Path(), "//hook:tool") {
		found, _ := directive.Scan(m.source.FileSet(), f)
		for _, d := range found {
			decl, ok := d.Node.(*ast.FuncDecl)
			if d.Tool == nil || !ok || receiverName(decl) != named.Obj().Name() {
				continue
			}
			p := diag.New(diag.UnlistedTools, m.Position(out.Pos), m.short(named), named.Obj().Pkg().Path())
			p.Notes = []diag.Note{diag.ToolDeclaredHere(m.Position(d.Pos))}
			m.Add(p)
			return
		}
	}
}

// receiverName is the name of the type that a method is declared on.
func receiverName(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) != 1 {
		return ""
	}
	for t := decl.Recv.List[0].Type; ; {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
