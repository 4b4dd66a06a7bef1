package vet_test

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/vet"
	"github.com/grapnel-go/grapnel/internal/test/gomod"
)

const module = "example.com/test"

func TestMain(m *testing.M) {
	for key, value := range gomod.Environ() {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// newModule makes a module beside this one that uses it, without a network, and puts the files of archives into directories of it.
func newModule(t *testing.T, archives map[string]*txtar.Archive) string {
	t.Helper()
	dir := gomod.New(t, module, nil)
	for name, a := range archives {
		for _, f := range a.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				write(t, dir, path.Join(name, f.Name), string(f.Data))
			}
		}
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	gomod.Write(t, dir, name, text)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	return gomod.Read(t, dir, name)
}

// archives reads the txtar files that match.
func archives(t *testing.T, pattern string) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	out := map[string]*txtar.Archive{}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		require.NoError(t, err)
		out[strings.TrimSuffix(filepath.Base(name), ".txtar")] = a
	}
	return out
}

func vetted(t *testing.T, dir string, patterns ...string) []diag.Problem {
	t.Helper()
	problems, err := vet.Run(t.Context(), vet.Options{Dir: dir, Patterns: patterns, Info: true})
	require.NoError(t, err)
	return problems
}

func generated(t *testing.T, dir string, patterns ...string) gen.Result {
	t.Helper()
	result, err := gen.Run(t.Context(), gen.Options{Dir: dir, Patterns: patterns})
	require.NoError(t, err)
	return result
}

func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func lines(problems []diag.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}
