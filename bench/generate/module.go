// Package generate has modules with work for code generators, and runs them there as
// processes of their own: the scenario Generate.
//
// Every package has an interface, which moq mocks; two structs and a converter
// between them, which goverter writes; constants, of which stringer makes texts; and
// a composite of two subsystems with four typed tools each, which hookgen welds.
// What one of them does is not what another does: the figures say what a person
// waits for, not who is the better generator.
package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/grapnel-go/grapnel/internal/test/gomod"
)

// Module is a module with generated code, in which all generators have run once.
type Module struct {
	dir      string
	packages int
	tools    map[string]string // the paths of the programs
	want     map[string][]byte // what a file was when it was first written
}

// New makes a module of so many packages, has all generators write, and compiles the
// result, so that what a generator asks the go command for is in the build cache. It
// builds the generators too, of the versions that go.mod names.
func New(tb testing.TB, packages int) *Module {
	tb.Helper()
	files := map[string]string{}
	for i := range packages {
		name := fmt.Sprintf("p%d", i)
		for file, text := range map[string]string{"tools.go": toolsText, "plain.go": plainText} {
			files[name+"/"+file] = strings.ReplaceAll(text, "PACKAGE", name)
		}
	}
	m := &Module{dir: gomod.New(tb, "example.test/notes", files), packages: packages, tools: map[string]string{}, want: map[string][]byte{}}
	for _, g := range Generators() {
		path, err := exec.CommandContext(tb.Context(), "go", "tool", "-n", g.tool).Output()
		if err != nil {
			tb.Fatalf("go tool -n %s: %v", g.tool, err)
		}
		m.tools[g.tool] = strings.TrimSpace(string(path))
		if _, err := m.Run(tb.Context(), g); err != nil {
			tb.Fatal(err)
		}
		for _, file := range m.outputs(g) {
			m.want[file] = []byte(gomod.Read(tb, m.dir, file))
		}
	}
	for _, command := range []string{"vet", "build"} {
		if _, err := m.do(tb.Context(), "go", command, "./..."); err != nil {
			tb.Fatal(err)
		}
	}
	return m
}

// Generator is a program that writes code.
type Generator struct {
	// Name is that of the subject.
	Name string
	tool string
	// all are the arguments with which it does all packages at once; nil if it does one
	// a process, with the arguments of each for a package.
	all  []string
	each func(pkg string) []string
	// output is the file that it writes in each package.
	output string
	checks bool
}

// Checks says that it writes nothing and only compares.
func (g Generator) Checks() bool { return g.checks }

// Generators are the subjects: hookgen twice, because in most runs it has nothing to
// write. moq and stringer are run once for each package, one after the other, as go
// generate does it: they take one package at a time.
func Generators() []Generator {
	return []Generator{
		{Name: "hookgen", tool: "hookgen", all: []string{"./..."}, output: "hook_gen.go"},
		{Name: "hookgen-check", tool: "hookgen", all: []string{"-check", "./..."}, output: "hook_gen.go", checks: true},
		{Name: "goverter", tool: "goverter", all: []string{"gen", "./..."}, output: "generated/generated.go"},
		{Name: "moq", tool: "moq", output: "finder_moq.go",
			each: func(pkg string) []string { return []string{"-out", pkg + "/finder_moq.go", "./" + pkg, "Finder"} }},
		{Name: "stringer", tool: "stringer", output: "level_string.go",
			each: func(pkg string) []string { return []string{"-type", "Level", "./" + pkg} }},
	}
}

func (m *Module) outputs(g Generator) (files []string) {
	for i := range m.packages {
		files = append(files, fmt.Sprintf("p%d/%s", i, g.output))
	}
	return files
}

// Clean removes what the generator has written, unless it only checks.
func (m *Module) Clean(g Generator) error {
	if g.checks {
		return nil
	}
	for _, file := range m.outputs(g) {
		if err := os.Remove(filepath.Join(m.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Run runs the generator over all packages. It returns the processor time that this
// has taken, with that of the go command which it runs.
func (m *Module) Run(ctx context.Context, g Generator) (cpu time.Duration, err error) {
	if g.each == nil {
		return m.do(ctx, m.tools[g.tool], g.all...)
	}
	for i := range m.packages {
		one, err := m.do(ctx, m.tools[g.tool], g.each(fmt.Sprintf("p%d", i))...)
		if err != nil {
			return 0, err
		}
		cpu += one
	}
	return cpu, nil
}

// Check says whether there is what the generator wrote the first time, which has been
// compiled.
func (m *Module) Check(g Generator) error {
	for _, file := range m.outputs(g) {
		got, err := os.ReadFile(filepath.Join(m.dir, file))
		if err != nil {
			return err
		}
		if len(got) == 0 || !bytes.Equal(got, m.want[file]) {
			return fmt.Errorf("generate: %s has written another %s", g.Name, file)
		}
	}
	return nil
}

func (m *Module) do(ctx context.Context, program string, args ...string) (cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = m.dir
	cmd.Env = os.Environ()
	for key, value := range gomod.Environ() {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
