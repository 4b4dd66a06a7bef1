package gen_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/test/gomod"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var update = flag.Bool("update", false, "write what comes out into the scenarios")

const module = "example.com/test"

// A scenario is one txtar file. Its files are a directory of the module example.com/test; those below want/ are what must come
// out: want/stderr is what hookgen prints, want/stdout what Play prints, a function of the package in its play.go, and any other
// the text of that file. A scenario without want/stderr generates without a word.
type scenario struct {
	name    string
	archive *txtar.Archive
}

func (s *scenario) want(name string) (string, bool) {
	for _, f := range s.archive.Files {
		if f.Name == "want/"+name {
			return string(f.Data), true
		}
	}
	return "", false
}

func (s *scenario) has(name string) bool {
	return slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

// fails reports whether the scenario has an error.
func (s *scenario) fails() bool {
	stderr, _ := s.want("stderr")
	return strings.Contains(stderr, ": error HG")
}

// check compares got with what the scenario wants under a name, or puts it there.
func (s *scenario) check(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		s.set(name, got)
		return
	}
	want, _ := s.want(name)
	assert.Equal(t, want, got, "%s: want/%s; go test ./gen -update writes it", s.name, name)
}

func (s *scenario) set(name, text string) {
	for i, f := range s.archive.Files {
		if f.Name == "want/"+name {
			s.archive.Files[i].Data = []byte(text)
			return
		}
	}
	if text != "" {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: "want/" + name, Data: []byte(text)})
	}
}

func (s *scenario) save(t *testing.T) {
	if *update {
		s.archive.Files = slices.DeleteFunc(s.archive.Files, func(f txtar.File) bool {
			return strings.HasPrefix(f.Name, "want/") && len(f.Data) == 0
		})
		require.NoError(t, os.WriteFile(filepath.Join("testdata", s.name+".txtar"), txtar.Format(s.archive), 0o644))
	}
}

func scenarios(t *testing.T) []*scenario {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var out []*scenario
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		require.NoError(t, err)
		out = append(out, &scenario{strings.TrimSuffix(filepath.Base(name), ".txtar"), a})
	}
	return out
}

// newModule makes a module beside this one that uses it, without a network.
func newModule(t testing.TB, scenarios ...*scenario) string {
	t.Helper()
	return newModuleNamed(t, module, scenarios...)
}

func newModuleNamed(t testing.TB, name string, scenarios ...*scenario) string {
	t.Helper()
	dir := gomod.New(t, name, nil)
	for _, s := range scenarios {
		for _, f := range s.archive.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				write(t, dir, path.Join(s.name, f.Name), string(f.Data))
			}
		}
	}
	return dir
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	gomod.Write(t, dir, name, text)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	return gomod.Read(t, dir, name)
}

func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestMain(m *testing.M) {
	flag.Parse()
	for key, value := range gomod.Environ() {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func run(t *testing.T, dir string, check bool, patterns ...string) (gen.Result, string) {
	t.Helper()
	result, err := gen.Run(t.Context(), gen.Options{Dir: dir, Patterns: patterns, Check: check})
	require.NoError(t, err)
	var stderr bytes.Buffer
	printer := diag.Printer{Source: diag.Files(dir)}
	require.NoError(t, printer.Print(&stderr, result.Problems))
	return result, stderr.String()
}

// Whatever is wrong is said with place, code, reason and fix, all of it in one run over all scenarios, and nothing is written.
func TestErrors(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(scenarios(t), func(s *scenario) bool { return !s.fails() && !strings.HasPrefix(s.name, "error_") })
	dir := newModule(t, all...)
	result, stderr := run(t, dir, false, "./...")
	assert.Empty(t, result.Changes, "something was written in spite of errors")
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			own := ownLines(stderr, s.name+"/")
			assert.Contains(t, own, ": error HG")
			s.check(t, "stderr", own)
			s.save(t)
		})
	}
}

// What is generated compiles, passes vet, and does what it should when it runs. One program plays all scenarios, each in a process
// of its own: to link one for each takes longer than all the rest.
func TestSuccess(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	all := slices.DeleteFunc(scenarios(t), func(s *scenario) bool { return s.fails() || strings.HasPrefix(s.name, "error_") })
	dir := newModule(t, all...)
	_, stderr := run(t, dir, false, "./...")
	write(t, dir, "player/main.go", player(all))
	out, err := command(t.Context(), dir, "go", "vet", "./...")
	require.NoError(t, err, "vet: %s\n%s", out, stderr)
	out, err = command(t.Context(), dir, "go", "build", "-ldflags=-s -w", "-o", "bin/", "./...")
	require.NoError(t, err, "build: %s", out)
	result, _ := run(t, dir, true, "./...")
	assert.Empty(t, result.Changes, "a second run would write something else")
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			s.check(t, "stderr", ownLines(stderr, s.name+"/"))
			for _, f := range s.archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "want/"); ok && strings.HasSuffix(name, ".go") {
					s.check(t, name, read(t, dir, path.Join(s.name, name)))
				}
			}
			if s.has("play.go") {
				out, err := command(t.Context(), dir, filepath.Join(dir, "bin", "player"), s.name)
				assert.NoError(t, err, out)
				s.check(t, "stdout", out)
			}
			s.save(t)
		})
	}
}

// player is a program that calls the Play of the scenario that its argument names.
func player(all []*scenario) string {
	var imports, plays strings.Builder
	for _, s := range all {
		if s.has("play.go") {
			fmt.Fprintf(&imports, "\t%[1]s %[2]q\n", s.name, module+"/"+s.name)
			fmt.Fprintf(&plays, "\t%[1]q: %[1]s.Play,\n", s.name)
		}
	}
	return "package main\n\nimport (\n\t\"os\"\n\n" + imports.String() + ")\n\nvar plays = map[string]func(){\n" + plays.String() +
		"}\n\nfunc main() { plays[os.Args[1]]() }\n"
}

// ownLines returns the problems of one directory.
func ownLines(stderr, dir string) string {
	var out strings.Builder
	own := false
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "\t") {
			own = strings.HasPrefix(line, dir)
		}
		if own {
			out.WriteString(strings.ReplaceAll(line, dir, ""))
		}
	}
	return out.String()
}
