package origin

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

type reader struct {
	fset   *token.FileSet
	points []string
	// roots are the declarations with directives, in the order of the source.
	roots   []root
	types   map[string][]typeDecl // several under build constraints
	aliases map[string][]string   // by the name that each stands for
	consts  []group
	named   map[string]bool     // constants
	methods map[string][]method // by the name of the receiver's type
}

type root struct {
	fn  *method
	typ *typeDecl
}

type typeDecl struct {
	source
	spec *ast.TypeSpec
	doc  *ast.CommentGroup
	verb []string // of the directives
}

type method struct {
	source
	decl *ast.FuncDecl
}

type group struct {
	source
	decl *ast.GenDecl
}

type source struct {
	file *token.File
	text []byte
}

func (r *reader) file(file *ast.File, text []byte) {
	src := source{r.fset.File(file.FileStart), text}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			m := method{src, d}
			if name := receiver(d); name != "" {
				r.methods[name] = append(r.methods[name], m)
			}
			if len(directives(d.Doc)) > 0 {
				r.roots = append(r.roots, root{fn: &m})
			}
		case *ast.GenDecl:
			r.general(src, d)
		}
	}
}

func (r *reader) general(src source, d *ast.GenDecl) {
	if d.Tok == token.CONST {
		r.consts = append(r.consts, group{src, d})
	}
	for _, spec := range d.Specs {
		if spec, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
			for _, id := range spec.Names {
				r.named[id.Name] = true
			}
		}
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		t := typeDecl{source: src, spec: spec, doc: spec.Doc}
		if t.doc == nil && len(d.Specs) == 1 {
			t.doc = d.Doc
		}
		t.verb = directives(t.doc)
		r.types[spec.Name.Name] = append(r.types[spec.Name.Name], t)
		if of := baseName(spec.Type); spec.Assign.IsValid() && of != "" {
			r.aliases[of] = append(r.aliases[of], spec.Name.Name)
		}
		if len(t.verb) > 0 || len(fieldDirectives(spec.Type)) > 0 {
			r.roots = append(r.roots, root{typ: &t})
		}
	}
}

// generates reports whether the package has tools or composites: from these the generator
// always generates. For other directives that depends on more than the source.
func (r *reader) generates() bool {
	return slices.ContainsFunc(r.roots, func(root root) bool {
		if root.fn != nil {
			return has(directives(root.fn.decl.Doc), "tool")
		}
		return has(root.typ.verb, "composite")
	})
}

func has(directives []string, verbs ...string) bool {
	return slices.ContainsFunc(directives, func(directive string) bool {
		verb, _, _ := strings.Cut(directive, " ")
		return slices.Contains(verbs, verb)
	})
}

// receiver returns the name of the type whose method a function is, "" for none.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	return baseName(d.Recv.List[0].Type)
}

// baseName returns the name of a type of the package, also behind a pointer or type
// arguments; "" for any other.
func baseName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return baseName(t.X)
	case *ast.ParenExpr:
		return baseName(t.X)
	case *ast.IndexExpr:
		return baseName(t.X)
	case *ast.IndexListExpr:
		return baseName(t.X)
	}
	return ""
}

// directives returns the directives of a comment, without those that only silence problems.
func directives(doc *ast.CommentGroup) []string {
	var out []string
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if text, ok := strings.CutPrefix(c.Text, "//hook:"); ok && !strings.HasPrefix(text, "ignore") {
			out = append(out, strings.Join(strings.Fields(text), " "))
		}
	}
	return out
}

// fieldDirectives returns the directives of the fields or methods of a type.
func fieldDirectives(t ast.Expr) []string {
	var out []string
	ast.Inspect(t, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			out = append(out, directives(f.Doc)...)
		}
		return true
	})
	return out
}
