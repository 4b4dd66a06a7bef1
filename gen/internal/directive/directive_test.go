package directive_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

func scan(t *testing.T, src string) ([]directive.Found, []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	found, problems := directive.Scan(fset, file)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return found, lines
}

func TestScan(t *testing.T) {
	found, problems := scan(t, `package p

// S is a subsystem.
//
//hook:subsystem prefix=s_
//hook:tools a b-c
type S struct{}

type (
	// C is a composite.
	//
	//hook:composite
	C struct{}

	//hook:enum open
	E string

	//hook:point decide gate failclosed
	P interface {
		//hook:point facade fold
		M()
	}
)

// Do does.
//
//hook:ignore HG013 HG031
//hook:tool name=do readonly timeout=1m30s maxresult=10 "exclusive=a b"
func (S) Do() {}
`)
	require.Empty(t, problems)
	require.Len(t, found, 8)
	assert.Equal(t, &directive.Subsystem{Prefix: "s_"}, found[0].Subsystem)
	assert.Equal(t, &directive.Tools{Names: []string{"a", "b-c"}}, found[1].Tools)
	assert.Equal(t, &directive.Composite{}, found[2].Composite)
	assert.Equal(t, &directive.Enum{Open: true}, found[3].Enum)
	assert.Equal(t, &directive.Point{Kind: "decide", Combine: "gate", FailClosed: true}, found[4].Point)
	assert.Equal(t, &directive.Point{Kind: "facade", Combine: "fold"}, found[5].Point)
	assert.Equal(t, &directive.Ignore{Codes: []string{"HG013", "HG031"}}, found[6].Ignore)
	assert.Equal(t, &directive.Tool{Name: "do", ReadOnly: true, Timeout: 90 * time.Second, MaxResult: 10, Exclusive: "a b"}, found[7].Tool)
	for i, place := range []directive.Place{
		directive.Struct, directive.Struct, directive.Struct, directive.Type, directive.Interface, directive.InterfaceMethod, directive.Method, directive.Method,
	} {
		assert.Equal(t, place, found[i].Place)
		assert.NotNil(t, found[i].Node)
	}
}

// What is close to a directive is a problem, what only mentions one is not.
func TestSpelling(t *testing.T) {
	tests := []struct {
		comment string
		problem bool
	}{
		{"// hook:tool", true},
		{"//  hook:tool readonly", true},
		{"//+hook:tool", true},
		{"// +hook:tool", true},
		{"//Hook:tool", true},
		{"//hook:Tool", true},
		{"//hook: tool", true},
		{"//hook :tool", true},
		{"/*hook:tool*/", true},
		{"/* hook:tool readonly */", true},
		{"// hook:tol", true},
		{"//@hook:tool", true},
		{"// @hook:tool", true},
		{"//hooks:tool", true},
		{"//hookgen:composite", true},
		{"/*\nhook:tool\n*/", true},
		{"//hooks:other", false},
		{"//nolint:tool", false},
		{"/* hook: this is prose */", false},
		{"// see //hook:tool", false},
		{"//\t//hook:tool", false},
		{"// hook:tool, as it is called, is a word", false},
		{"// hook: this is prose", false},
		{"// hook:something", false},
		{"// hooks:tool", false},
		{"// unhook:tool", false},
		{"//go:generate go tool hookgen", false},
	}
	for _, tt := range tests {
		t.Run(tt.comment, func(t *testing.T) {
			_, problems := scan(t, "package p\n\n"+tt.comment+"\n\nvar X int\n")
			assert.Equal(t, tt.problem, len(problems) == 1, "%v", problems)
			if tt.problem {
				assert.Contains(t, problems[0], "p.go:3:1: error HG006")
			}
		})
	}
}

// A comment that begins as a directive is one, or a problem.
func TestClosed(t *testing.T) {
	for _, comment := range []string{
		"//hook:", "//hook: ", "//hook:-", "//hook:\"tool\"", "//hook:Xyzzy", "//hook: this is prose", "//hook:tool,readonly", "//hook:tol",
	} {
		t.Run(comment, func(t *testing.T) {
			_, problems := scan(t, "package p\n\n"+comment+"\n\nvar X int\n")
			require.Len(t, problems, 1)
			assert.Contains(t, problems[0], "p.go:3:1: error HG005")
		})
	}
}

// Where a suggestion is certain, it is an edit, after which the problem is gone.
func TestEdits(t *testing.T) {
	tests := []struct{ comment, want string }{
		{"//hook:tol readonly", "//hook:tool readonly"},
		{"//hook:tool,readonly", "//hook:tool readonly"},
		{"//hook:tool(readonly)", "//hook:tool readonly"},
		{"// hook:tool readonly", "//hook:tool readonly"},
		{"//+hook:tool", "//hook:tool"},
		{"/* hook:tool */", "//hook:tool"},
		{"//Hook:Tool", "//hook:tool"},
		{"//hooks:tool readonly", "//hook:tool readonly"},
		{"//hook:tool readonli name=x", "//hook:tool readonly name=x"},
		{"//hook:tool tiemout=30s", "//hook:tool timeout=30s"},
	}
	for _, tt := range tests {
		t.Run(tt.comment, func(t *testing.T) {
			src := "package p\n\n" + tt.comment + "\nfunc (T) M() {}\n"
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
			require.NoError(t, err)
			_, problems := directive.Scan(fset, file)
			require.Len(t, problems, 1)
			require.Len(t, problems[0].Edits, 1)
			e := problems[0].Edits[0]
			got := src[:e.Pos.Offset] + e.Text + src[e.End.Offset:]
			assert.Equal(t, "package p\n\n"+tt.want+"\nfunc (T) M() {}\n", got)
			found, lines := scan(t, got)
			assert.Empty(t, lines)
			assert.Len(t, found, 1)
		})
	}
}

func TestManual(t *testing.T) {
	manual := directive.Manual()
	for _, verb := range directive.Verbs() {
		assert.Contains(t, manual, "//hook:"+verb+"\n")
	}
	assert.Contains(t, manual, "\ttimeout=\n\t\tTimeout bounds one execution")
	assert.Contains(t, manual, "\treadonly\n")
	assert.Contains(t, manual, "\tNAMES\n")
}

// Whatever stands in a comment, a directive is either read or a problem with a place, and nothing panics.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"//hook:tool name=a", "//hook:tool \"", "// hook:tool", "//hook:point decide", "//hook:", "//hooks:tool x", "//hook:tool,a", "//hook:tool \"a=b\\\"\" c", "/*hook:tool*/", "//hook:ignore"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		fset := token.NewFileSet()
		src := fmt.Sprintf("package p\n\n%s\ntype T struct{}\n", comment)
		file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
		if err != nil {
			t.Skip()
		}
		_, problems := directive.Scan(fset, file)
		for _, p := range problems {
			assert.NotEmpty(t, p.Message())
			assert.True(t, p.Pos.IsValid())
			for _, e := range p.Edits {
				assert.True(t, e.Pos.Offset >= 0 && e.Pos.Offset <= e.End.Offset && e.End.Offset <= len(src))
			}
		}
	})
}
