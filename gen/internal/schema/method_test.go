package schema_test

import (
	"go/ast"
	"go/parser"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

func TestMethod(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, sig                string
		input, pointer, env, out bool
		bad                      string
	}{
		{name: "input", sig: "(ctx context.Context, in In) (string, error)", input: true, out: true},
		{name: "pointer", sig: "(context.Context, *In) (int, error)", input: true, pointer: true, out: true},
		{name: "no input", sig: "(context.Context) error"},
		{name: "environment", sig: "(context.Context, *hook.Env) error", env: true},
		{name: "environment and input", sig: "(context.Context, *hook.Env, struct{ A int }) error", env: true, input: true},
		{name: "alias", sig: "(context.Context, Alias) error", input: true},
		{name: "no context", sig: "(in In) error", bad: "HG030"},
		{name: "nothing", sig: "()", bad: "HG030"},
		{name: "no error", sig: "(ctx context.Context) string", bad: "HG030"},
		{name: "error first", sig: "(ctx context.Context) (error, string)", bad: "HG030"},
		{name: "three results", sig: "(ctx context.Context) (int, int, error)", bad: "HG030"},
		{name: "no struct", sig: "(ctx context.Context, s string) error", bad: "HG030"},
		{name: "two inputs", sig: "(ctx context.Context, a, b In) error", bad: "HG030"},
		{name: "environment by value", sig: "(ctx context.Context, env hook.Env) error", bad: "HG030"},
		{name: "environment last", sig: "(ctx context.Context, in In, env *hook.Env) error", bad: "HG030"},
		{name: "variadic", sig: "(ctx context.Context, in ...In) error", bad: "HG030"},
		{name: "channel result", sig: "(ctx context.Context) (chan int, error)", bad: "HG030"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := shared()
			w.mu.Lock()
			defer w.mu.Unlock()
			src := "package in\nimport (\"context\"; \"github.com/grapnel-go/grapnel/hook\")\nvar _ context.Context\nvar _ hook.Nop\n" +
				"type In struct {}\ntype Alias = In\ntype T struct {}\nfunc (*T) M" + tt.sig + " { panic(0) }"
			file, err := parser.ParseFile(w.fset, "in.go", src, 0)
			require.NoError(t, err)
			conf := types.Config{Importer: w.importer, IgnoreFuncBodies: true}
			pkg, err := conf.Check("example.com/in", w.fset, []*ast.File{file}, nil)
			require.NoError(t, err)
			fn, _, _ := types.LookupFieldOrMethod(types.NewPointer(pkg.Scope().Lookup("T").Type()), true, pkg, "M")
			m, problems := schema.NewMethod(pkg, fn.(*types.Func), schema.Source{Position: w.fset.Position})
			if tt.bad != "" {
				require.NotEmpty(t, errorsOf(problems))
				assert.Contains(t, errorsOf(problems)[0], tt.bad)
				return
			}
			require.Empty(t, errorsOf(problems))
			assert.Equal(t, tt.input, m.Input != nil)
			assert.Equal(t, tt.pointer, m.Pointer)
			assert.Equal(t, tt.env, m.Env)
			assert.Equal(t, tt.out, m.Out != nil)
		})
	}
}
