package layers

import (
	"go/ast"
	"strings"
)

// declared is what the sources say of a type. fields are its own, embeds the types by package and name, as in typesOf; a type of a
// library is unknown there: it counts as one field without methods.
type declared struct {
	counts          bool // people write it, and it is no test
	fields          int
	methods, embeds []string
}

// typesOf returns the types of the module by package and name: "hook Session".
func typesOf(files []file) map[string]*declared {
	out := map[string]*declared{}
	at := func(key string) *declared {
		if out[key] == nil {
			out[key] = &declared{}
		}
		return out[key]
	}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					of := at(f.typeKey(d.Recv.List[0].Type))
					of.methods = append(of.methods, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						of := at(f.typeKey(s.Name))
						of.counts = !f.generated && !matches(harness, f.pkg)
						of.read(f, s.Type)
					}
				}
			}
		}
	}
	return out
}

func (of *declared) read(f file, x ast.Expr) {
	var list []*ast.Field
	switch x := x.(type) {
	case *ast.StructType:
		of.fields, list = fields(x), x.Fields.List
	case *ast.InterfaceType:
		list = x.Methods.List
	}
	_, isInterface := x.(*ast.InterfaceType)
	for _, field := range list {
		if len(field.Names) == 0 {
			of.embeds = append(of.embeds, f.typeKey(field.Type))
		} else if isInterface {
			of.methods = append(of.methods, field.Names[0].Name)
		}
	}
}

// typeKey is the package and the name of the type.
func (f file) typeKey(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return f.typeKey(x.X)
	case *ast.IndexExpr:
		return f.typeKey(x.X)
	case *ast.SelectorExpr:
		pkg, _, _ := strings.Cut(qualified(x), ".")
		dir, _ := inside(f.importNames()[pkg])
		return dir + " " + x.Sel.Name
	case *ast.Ident:
		return f.pkg + " " + x.Name
	}
	return ""
}

// structFields counts the fields of structs; an embedded struct counts with its own.
func structFields(files []file) map[string]int {
	types, out := typesOf(files), map[string]int{}
	var count func(of *declared) int
	count = func(of *declared) int {
		n := of.fields
		for _, key := range of.embeds {
			if inner := types[key]; inner != nil {
				n += max(0, count(inner)-1)
			}
		}
		return n
	}
	for key, of := range types {
		if of.counts && of.fields > 0 {
			out[key] = count(of)
		}
	}
	return out
}

// methods counts those of types, promoted ones included.
func methods(files []file) map[string]int {
	types, out := typesOf(files), map[string]int{}
	var add func(of *declared, set map[string]bool)
	add = func(of *declared, set map[string]bool) {
		for _, name := range of.methods {
			set[name] = true
		}
		for _, key := range of.embeds {
			if inner := types[key]; inner != nil {
				add(inner, set)
			}
		}
	}
	for key, of := range types {
		set := map[string]bool{}
		if add(of, set); of.counts && len(set) > 0 {
			out[key] = len(set)
		}
	}
	return out
}
