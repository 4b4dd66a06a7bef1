package vet_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/vet"
)

var update = flag.Bool("update", false, "write the golden files of the fixes")

func informing(t *testing.T) *analysis.Analyzer {
	t.Helper()
	a := vet.New()
	require.NoError(t, a.Flags.Set("info", "true"))
	return a
}

// Each rule reports what it should, where it should, and is silent on what is near to it.
func TestMisuse(t *testing.T) {
	t.Parallel()
	dir := newModule(t, archives(t, "testdata/misuse.txtar"))
	result := generated(t, dir, "./...")
	require.False(t, diag.HasErrors(result.Problems), "%v", result.Problems)
	stale := read(t, dir, "misuse/stale/a.go")
	write(t, dir, "misuse/stale/a.go", strings.NewReplacer("//LATER ", "", "LATERwant", "want", " LATER\n", " Now it has.\n").Replace(stale))
	analysistest.Run(t, dir, informing(t), "./misuse/...")
}

// A module without Grapnel is told what adds it.
func TestRunWithoutTheContract(t *testing.T) {
	t.Setenv("GOFLAGS", "-trimpath")
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/p\n\ngo 1.26\n")
	write(t, dir, "p.go", "package p\n\nimport \"github.com/grapnel-go/grapnel/hook\"\n\n// P is a hook.\ntype P struct{ hook.Nop }\n")
	_, err := vet.Run(t.Context(), vet.Options{Dir: dir})
	assert.ErrorContains(t, err, "go get github.com/grapnel-go/grapnel/hook")
}

// Every edit gives the golden file, with which the package generates and compiles.
func TestFixes(t *testing.T) {
	t.Parallel()
	name := "testdata/fixes.txtar"
	dir := newModule(t, archives(t, name))
	if *update {
		updateGolden(t, name, dir)
		return
	}
	analysistest.RunWithSuggestedFixes(t, dir, informing(t), "./fixes/...")
	left := fixed(t, dir)
	for _, pkg := range []string{"spelling", "methods", "plain", "pointer"} {
		file := "fixes/" + pkg + "/a.go"
		assert.Equal(t, read(t, dir, file+".golden"), read(t, dir, file), file)
	}
	var codes []string
	for _, p := range left {
		codes = append(codes, p.Code)
	}
	assert.NotContains(t, codes, "HG005")
	result := generated(t, dir, "./fixes/spelling", "./fixes/plain", "./fixes/pointer")
	assert.False(t, diag.HasErrors(result.Problems), "%v", result.Problems)
	out, err := command(t.Context(), dir, "go", "vet", "./fixes/...")
	assert.NoError(t, err, out)
}

// fixed applies all fixes and returns what is left.
func fixed(t *testing.T, dir string) []diag.Problem {
	t.Helper()
	left, err := vet.Fix(dir, vetted(t, dir, "./fixes/..."))
	require.NoError(t, err)
	return left
}

func updateGolden(t *testing.T, name, dir string) {
	t.Helper()
	fixed(t, dir)
	a, err := txtar.ParseFile(name)
	require.NoError(t, err)
	for i, f := range a.Files {
		if file, ok := strings.CutSuffix(f.Name, ".golden"); ok {
			a.Files[i].Data = []byte(read(t, dir, "fixes/"+file))
		}
	}
	require.NoError(t, os.WriteFile(filepath.FromSlash(name), txtar.Format(a), 0o644))
}
