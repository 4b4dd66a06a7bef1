package vet_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// differences are what only one of the two says about the generator's scenarios, with the reason.
var differences = []struct{ line, reason string }{
	{"error_schema_foreign/far/far.go:", "the package of a field does not know of the tools that use its type"},
	{"error_schema_foreign/p.go:11:6: error HG034: field ", "so the analyzer says it at the subsystem"},
	{"error_directive_tests/", "hookgen looks for directives in files that are not compiled, of which the analyzer is not told"},
}

// Whatever hookgen says of its scenarios the analyzer says too, in the same words at the same places, and nothing else.
func TestSameAsHookgen(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	dir := newModule(t, archives(t, "../testdata/*.txtar"))
	want := lines(generated(t, dir, "./...").Problems)
	got := lines(slices.DeleteFunc(vetted(t, dir, "./..."), func(p diag.Problem) bool { return p.Code >= "HG080" && p.Code < "HG090" }))
	require.Greater(t, len(want), 100)
	for _, d := range differences {
		in := func(all []string) bool {
			return slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, d.line) })
		}
		assert.NotEqual(t, in(want), in(got), "%s is no difference any more", d.line)
	}
	excused := func(line string) bool {
		return slices.ContainsFunc(differences, func(d struct{ line, reason string }) bool { return strings.HasPrefix(line, d.line) })
	}
	for _, line := range want {
		assert.True(t, slices.Contains(got, line) || excused(line), "only hookgen says:  %s", line)
	}
	for _, line := range got {
		assert.True(t, slices.Contains(want, line) || excused(line), "only the analyzer says:  %s", line)
	}
}

// What is generated from the generator's scenarios is up to date in the analyzer's eyes: as a driver of its own, and under go vet,
// where the imports are export data.
func TestSilentOnGenerated(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	all := archives(t, "../testdata/*.txtar")
	for name, a := range all {
		for _, f := range a.Files {
			if f.Name == "want/stderr" || strings.HasPrefix(name, "error_") {
				delete(all, name)
			}
		}
	}
	require.Greater(t, len(all), 5)
	dir := newModule(t, all)
	require.False(t, diag.HasErrors(generated(t, dir, "./...").Problems))
	assert.Empty(t, slices.DeleteFunc(lines(vetted(t, dir, "./...")), func(l string) bool { return strings.Contains(l, " info ") }))
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	tool := filepath.Join(t.TempDir(), "hookvet")
	out, err := command(t.Context(), root, "go", "build", "-o", tool, "./cmd/hookvet")
	require.NoError(t, err, out)
	out, err = command(t.Context(), dir, "go", "vet", "-vettool="+tool, "./...")
	assert.NoError(t, err, out)
}
