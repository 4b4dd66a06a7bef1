package scaffold_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/scaffold"
)

// Whatever is asked for, there is an error or files that declare exactly what they should.
func FuzzNew(f *testing.F) {
	for _, seed := range [][2]string{
		{"notes", "add,list"}, {"notes", "listAll,http-get"}, {"a", "a"}, {"new", "new"}, {"notes", "new,main,conformance"}, {"notes", "conformance,conformance_tool"}, {"x", "x_x,x-x"},
		{"notes", "add*/,`x`"}, {"no\x00tes", "add\n//go:build x"}, {"-- x --", "-- y --"}, {"{{.}}", "{{.}}"}, {"notes", "a\u202eb"}, {"9lives", "9"},
		{"notes", "HTTPGet"}, {"notes", "getHTTP-x"}, {"notes", "a__b"}, {"notes", "notes_add,notes_"}, {"notes", "A"}, {"notes", strings.Repeat("a", 58)},
	} {
		f.Add(seed[0], seed[1], false)
		f.Add(seed[0], seed[1], true)
	}
	f.Fuzz(func(t *testing.T, name, tools string, dynamic bool) {
		o := scaffold.Options{Name: name, Dynamic: dynamic}
		if tools != "" {
			o.Tools = strings.Split(tools, ",")
		}
		s, err := scaffold.NewSubsystem(o)
		if err != nil {
			for _, r := range err.Error() {
				assert.True(t, r >= ' ' && r < 0x7f || r == '…', "%q", err)
			}
			return
		}
		files, err := s.Files("example.com/m/" + s.Name)
		require.NoError(t, err)
		require.Len(t, files, 3)
		assert.Equal(t, []string{name + ".go", name + "_test.go", "testdata/descriptor.txt"}, []string{files[0].Name, files[1].Name, files[2].Name})
		want := []string{name + " " + s.Type, "New"}
		if !dynamic {
			for _, tool := range s.Tools {
				want = append(want, tool.Input, s.Type+"."+tool.Method)
			}
			assert.ElementsMatch(t, want, declared(t, files[0].Text))
			assert.Empty(t, s.Find(map[string][]byte{files[0].Name: files[0].Text}).Missing)
		}
		for _, tool := range s.Tools {
			assert.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, tool.Name)
		}
	})
}

// declared are the exported names of a file; its first type has the package's name in front.
func declared(t *testing.T, text []byte) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
	require.NoError(t, err)
	var out []string
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = d.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name + "." + name
			}
			out = append(out, name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					out = append(out, s.Name.Name)
				}
			}
		}
	}
	out[0] = f.Name.Name + " " + out[0]
	return out
}
