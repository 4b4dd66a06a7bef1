package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/gomod"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// outside is a copy of testdata/outside, the module of somebody else, which uses this one from where it is.
type outside struct{ source, dir string }

func newOutside(t *testing.T) *outside {
	t.Helper()
	root := gomod.Root(t)
	o := &outside{filepath.Join(root, "testdata", "outside"), t.TempDir()}
	require.NoError(t, os.CopyFS(o.dir, os.DirFS(o.source)))
	mod := gomod.Read(t, o.dir, "go.mod")
	require.Contains(t, mod, " => ../..\n")
	versions := gomod.Read(t, root, "go.mod")
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+`).FindAllStringSubmatch(mod, -1) {
		if strings.Contains(versions, "\t"+m[1]+" ") {
			assert.Contains(t, versions, m[0], "testdata/outside/go.mod requires another version than go.mod: a machine that is new has only the latter")
		}
	}
	gomod.Write(t, o.dir, "go.mod", strings.Replace(mod, " => ../..\n", " => "+root+"\n", 1))
	gomod.Write(t, o.dir, "go.sum", gomod.Read(t, o.dir, "go.sum")+gomod.Read(t, root, "go.sum"))
	return o
}

// command runs the go command in the module, and returns what it prints.
func (o *outside) command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = o.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// internals returns the imports of the module's packages and tests that nobody outside may have, with the package in front.
func (o *outside) internals(t *testing.T) []string {
	t.Helper()
	out, err := o.command(t, "list", "-e", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`+
		`{{range .TestImports}}{{$p}} {{.}}{{"\n"}}{{end}}{{range .XTestImports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "./...")
	require.NoError(t, err, out)
	require.Contains(t, out, "example.com/pantry/kitchen github.com/grapnel-go/grapnel/composite\n", "the imports of generated code are among them")
	var found []string
	for line := range strings.Lines(out) {
		if _, path, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(path+"/", "/internal/") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// refresh generates, and writes the output next to the sources.
func (o *outside) refresh(t *testing.T) {
	t.Helper()
	var out bytes.Buffer
	require.Equal(t, succeeded, run(t.Context(), []string{"gen", "-C", o.dir, "./..."}, &out, &out), out.String())
	text, err := o.command(t, "test", "./subsystems/...", "-run", "TestConformance", "-update")
	require.NoError(t, err, text)
	require.NoError(t, fs.WalkDir(os.DirFS(o.dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if base := filepath.Base(path); base == "hook_gen.go" || base == "descriptor.txt" {
			gomod.Write(t, o.source, path, gomod.Read(t, o.dir, path))
		}
		return err
	}))
}

// A subsystem that lives in a module of its own, and the program around it, are generated, vetted and tested against this checkout as
// a stranger would do it, and need nothing internal.
func TestOutside(t *testing.T) {
	needs.Time(t)
	for key, value := range gomod.Environ() {
		t.Setenv(key, value)
	}
	o := newOutside(t)
	if *update {
		o.refresh(t)
	}
	var out bytes.Buffer
	code := run(t.Context(), []string{"gen", "-C", o.dir, "-check", "./..."}, &out, &out)
	assert.Equal(t, succeeded, code, "go test ./cmd/hookgen -run Outside -update generates again\n%s", &out)
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-vet=off", "-ldflags=-s", "./..."}} {
		text, err := o.command(t, args...)
		assert.NoError(t, err, "go %s\n%s", strings.Join(args, " "), text)
	}
	assert.Empty(t, o.internals(t))

	const spell = "github.com/grapnel-go/grapnel/internal/spell"
	gomod.Write(t, o.dir, "bad/bad.go", "// Package bad is what nobody outside can build.\npackage bad\n\nimport _ \""+spell+"\"\n")
	text, err := o.command(t, "build", "./bad")
	assert.Error(t, err)
	assert.Contains(t, text, "use of internal package "+spell+" not allowed")
	assert.Equal(t, []string{"example.com/pantry/bad " + spell}, o.internals(t))
}
