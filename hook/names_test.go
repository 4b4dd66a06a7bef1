package hook_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// sources parses the files of the package, and those of message and event, without their tests.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, pattern := range []string{"*.go", "message/*.go", "event/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		files = append(files, parsed(t, found)...)
	}
	return files
}

func parsed(t *testing.T, names []string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, f)
	}
	return files
}

// stringsOf returns "type value" for every typed string constant, grouped by
// type in the order of their declaration.
func stringsOf(files []*ast.File) map[string][]string {
	out := map[string][]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				s := spec.(*ast.ValueSpec)
				typ, ok := s.Type.(*ast.Ident)
				if sel, is := s.Type.(*ast.SelectorExpr); is {
					typ, ok = sel.Sel, true
				}
				if !ok || len(s.Values) != 1 || !s.Names[0].IsExported() {
					continue
				}
				if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					value, _ := strconv.Unquote(lit.Value)
					out[typ.Name] = append(out[typ.Name], s.Names[0].Name+" "+strconv.Quote(value))
				}
			}
		}
	}
	return out
}

func TestNames(t *testing.T) {
	var sb strings.Builder
	for p, info := range point.All() {
		fmt.Fprintf(&sb, "Point %d %s %s %s reverse=%t bracket=%t closed=%t\n", p, info.Name, info.Kind, info.Combine, info.Reverse, info.Bracket, info.Closed)
	}
	consts := stringsOf(sources(t))
	for _, typ := range []string{"EventKind", "Outcome", "FailureKind", "StopReason", "Answer", "Role", "BlockKind", "Trust", "FinishReason", "ToolChoiceMode",
		"FailureClass", "Effort", "SessionSource", "DiagnosticCode", "Visibility", "RunStatus", "Loop", "Severity"} {
		require.NotEmpty(t, consts[typ], "no constants of type %s", typ)
		for _, c := range consts[typ] {
			fmt.Fprintf(&sb, "%s %s\n", typ, c)
		}
		delete(consts, typ)
	}
	assert.Empty(t, consts, "a type of names that this test does not know")
	golden(t, "names.golden", sb.String())
}

func TestNamesAreUnique(t *testing.T) {
	for typ, names := range stringsOf(sources(t)) {
		var values []string
		for _, n := range names {
			_, value, _ := strings.Cut(n, " ")
			values = append(values, value)
		}
		slices.Sort(values)
		assert.Len(t, slices.Compact(slices.Clone(values)), len(values), "%s has two constants with one value", typ)
	}
}

func TestStopReasons(t *testing.T) {
	// The order of the constants is the authority of the reasons, the most authoritative first.
	order := strings.Fields("error stop_requested user_requested cancelled denied steps_limit token_limit time_limit " +
		"cost_limit retry_limit max_tokens finish_reason refused no_action completed")
	for i, name := range order {
		r := hook.StopReason(name)
		assert.Equal(t, i, r.Authority(), name)
		assert.Equal(t, i >= len(order)-4, r.Soft(), "only the last four are soft: %s", name)
	}
	assert.Equal(t, len(order), hook.StopReason("novel").Authority())
	assert.False(t, hook.StopReason("novel").Soft(), "nobody may overrule what is not known")
	assert.Len(t, stringsOf(sources(t))["StopReason"], len(order), "a constant without a rank")
}

func TestEveryExportedNameIsExplained(t *testing.T) {
	for _, f := range sources(t) {
		for _, d := range f.Decls {
			for _, name := range unexplained(d) {
				t.Errorf("%s: %s has no doc comment that begins with its name", f.Name, name)
			}
		}
	}
}

// unexplained returns the exported names of a declaration that lack a comment.
// In a group of constants the comment of the group counts.
func unexplained(d ast.Decl) []string {
	var out []string
	check := func(name *ast.Ident, doc *ast.CommentGroup, begins bool) {
		text := doc.Text()
		if name.IsExported() && (text == "" || begins && !strings.HasPrefix(text, name.Name+" ") && !strings.HasPrefix(text, "A "+name.Name+" ")) {
			out = append(out, name.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || exportedReceiver(d) {
			check(d.Name, d.Doc, true)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				doc := s.Doc
				if doc == nil {
					doc = d.Doc
				}
				check(s.Name, doc, true)
				if i, ok := s.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > 1 {
					for _, m := range i.Methods.List {
						check(m.Names[0], m.Doc, true)
					}
				}
			case *ast.ValueSpec:
				doc := s.Doc
				if doc == nil {
					doc = d.Doc
				}
				check(s.Names[0], doc, false)
			}
		}
	}
	return out
}

func exportedReceiver(d *ast.FuncDecl) bool {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}

// The contract imports the standard library, and what is a part of it.
func TestHookImportsTheStandardLibraryOnly(t *testing.T) {
	for _, f := range sources(t) {
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if path == "github.com/grapnel-go/grapnel/hook/message" || f.Name.Name == "event" && path == "github.com/grapnel-go/grapnel/hook" {
				continue
			}
			first, _, _ := strings.Cut(path, "/")
			assert.NotContains(t, first, ".", "import %s", path)
			assert.NotEqual(t, "C", path)
		}
	}
}
