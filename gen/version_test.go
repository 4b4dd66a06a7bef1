package gen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// A Grapnel without the constant that generated code names is too old (HG002), and nothing is read with it.
func TestOldContract(t *testing.T) {
	t.Parallel()
	old, dir := t.TempDir(), t.TempDir()
	write(t, old, "go.mod", "module github.com/grapnel-go/grapnel\n\ngo 1.26\n")
	write(t, old, "hook/hook.go", "package hook\n\ntype Nop struct{}\n")
	write(t, old, "composite/composite.go", "package composite\n\nconst GenVersion0 = 0\n")
	write(t, dir, "go.mod", "module example.com/p\n\ngo 1.26\n\nrequire github.com/grapnel-go/grapnel v0.0.1\n\nreplace github.com/grapnel-go/grapnel => "+old+"\n")
	write(t, dir, "p.go", "package p\n\nimport \"github.com/grapnel-go/grapnel/hook\"\n\n//hook:subsystem\ntype P struct{ hook.Nop }\n")
	result, err := gen.Run(t.Context(), gen.Options{Dir: dir})
	require.NoError(t, err)
	require.Len(t, result.Problems, 1)
	p := result.Problems[0]
	assert.Equal(t, diag.OldContract, p.Cause)
	assert.Equal(t, "github.com/grapnel-go/grapnel", p.Subject)
	assert.Equal(t, []string{"v0.0.1 => " + old, "GenVersion2"}, p.Facts)
	assert.Equal(t, "go get github.com/grapnel-go/grapnel@latest", p.Fix())

	write(t, old, "composite/composite.go", "package composite\n\nconst GenVersion2 = 2\n")
	result, err = gen.Run(t.Context(), gen.Options{Dir: dir})
	for _, p := range result.Problems {
		assert.NotEqual(t, diag.OldContract, p.Cause)
	}
	_ = err // a contract without points is no contract, but of the right version
}
