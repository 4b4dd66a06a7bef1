package hook_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/point"
)

// TestIllegalAnswersDoNotCompile gives every answer that there is at every point
// that decides: what belongs to another point is an error of the compiler.
func TestIllegalAnswersDoNotCompile(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output() // with -trimpath a program does not know it
	require.NoError(t, err)
	build.Default.GOROOT = strings.TrimSpace(string(root))
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "source", nil)
	pkg, err := imp.Import("github.com/grapnel-go/grapnel/hook")
	require.NoError(t, err)

	answers := answersOf(pkg)
	lines, legal := []string{"package p", `import ("time"; "github.com/grapnel-go/grapnel/hook"; "github.com/grapnel-go/grapnel/hook/message"); var _ time.Duration; var _ message.JSON`}, map[int]bool{}
	for p, info := range point.All() {
		if info.Kind != "decide" {
			continue
		}
		method, _, _ := types.LookupFieldOrMethod(pkg.Scope().Lookup(p.String()).Type(), false, pkg, p.String())
		decision := method.Type().(*types.Signature).Results().At(0).Type().(*types.Named).Obj().Name()
		require.NotEmpty(t, answers[decision], "%s has no answer", p)
		for of, calls := range answers {
			for _, call := range calls {
				lines = append(lines, fmt.Sprintf("func _() (hook.%s, error) { return hook.%s, nil } // %s", decision, call, p))
				legal[len(lines)] = of == decision
			}
		}
	}
	require.Greater(t, len(lines), 300)

	file, err := parser.ParseFile(fset, "p.go", strings.Join(lines, "\n"), 0)
	require.NoError(t, err)
	var wrong []int
	conf := types.Config{Importer: imp, Error: func(err error) {
		wrong = append(wrong, fset.Position(err.(types.Error).Pos).Line)
	}}
	_, _ = conf.Check("p", fset, []*ast.File{file}, nil)
	for line := 3; line <= len(lines); line++ {
		assert.Equal(t, legal[line], !slices.Contains(wrong, line), lines[line-1])
	}
}

// answersOf returns a call of every constructor, by the decision it makes.
func answersOf(pkg *types.Package) map[string][]string {
	out := map[string][]string{}
	for _, name := range pkg.Scope().Names() {
		f, ok := pkg.Scope().Lookup(name).(*types.Func)
		if !ok || !f.Exported() || f.Signature().Results().Len() != 1 {
			continue
		}
		made, ok := f.Signature().Results().At(0).Type().(*types.Named)
		if !ok || !strings.HasSuffix(made.Obj().Name(), "Decision") {
			continue
		}
		var args []string
		for v := range f.Signature().Params().Variables() {
			args = append(args, "*new("+types.TypeString(v.Type(), func(p *types.Package) string { return p.Name() })+")")
		}
		call := name + "(" + strings.Join(args, ", ") + ")"
		out[made.Obj().Name()] = append(out[made.Obj().Name()], call)
	}
	return out
}
