package gen_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Everything generated in this repository is what the generator makes of it now.
func TestThisRepository(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod") // so that its dependencies are those that this test was built from
	result, err := gen.Run(t.Context(), gen.Options{Dir: "..", Check: true})
	require.NoError(t, err)
	var problems bytes.Buffer
	diag.Print(&problems, result.Problems)
	assert.Empty(t, problems.String())
	assert.Empty(t, result.Changes, `run "go generate ./..."`)
}

func BenchmarkCheckThisRepository(b *testing.B) {
	for b.Loop() {
		result, err := gen.Run(b.Context(), gen.Options{Dir: "..", Check: true})
		require.NoError(b, err)
		require.False(b, diag.HasErrors(result.Problems))
	}
}
