package statements

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var verb = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// Literals returns the statements in the sources of a package, without its tests. One that is put together of constants is one text, up to
// the first part that is none of the package.
func Literals(dir string) (out []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	constants := map[string]ast.Expr{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					constants[name.Name] = v.Values[i]
				}
			}
			return true
		})
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			e, isExpr := n.(ast.Expr)
			if _, isLiteral := n.(*ast.BasicLit); !isExpr || !isLiteral && !isSum(e) {
				return true
			}
			text, _ := textOf(e, constants)
			if verb.MatchString(text) {
				out = append(out, text)
			}
			return !isSum(e)
		})
	}
	return out, nil
}

func isSum(e ast.Expr) bool {
	sum, ok := e.(*ast.BinaryExpr)
	return ok && sum.Op == token.ADD
}

// textOf returns the text of an expression; whole is false if it only begins so.
func textOf(e ast.Expr, constants map[string]ast.Expr) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		left, whole := textOf(e.X, constants)
		if !whole {
			return left, false
		}
		right, whole := textOf(e.Y, constants)
		return left + right, whole
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.Ident:
		if of, known := constants[e.Name]; known {
			return textOf(of, constants)
		}
	}
	return "", false
}
