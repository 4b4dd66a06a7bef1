package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/gomod"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// program is a package with one subsystem; DIRECTIVE stands above its method.
const program = `// Package p has a subsystem.
package p

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// P is a subsystem.
type P struct{ hook.Nop }

// Do does.
//
//hook:DIRECTIVE
func (p *P) Do(ctx context.Context) error { return nil }
`

// newModule makes a module outside of this one that uses it, with the package.
func newModule(t *testing.T, directive string) string {
	t.Helper()
	dir := gomod.New(t, "example.com/p", map[string]string{"p.go": strings.Replace(program, "DIRECTIVE", directive, 1)})
	for key, value := range gomod.Environ() {
		t.Setenv(key, value)
	}
	return dir
}

func hookgen(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestGenerateAndCheck(t *testing.T) {
	dir := newModule(t, "tool")
	code, stdout, stderr := hookgen(t, "-C", dir, "-check")
	assert.Equal(t, differs, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "hook_gen.go:1: error HG071: is missing\n\tfix: run \"go tool hookgen ./...\", or \"go generate ./...\" where a go:generate line does the same\n"+
		"more: hookgen explain HG071\n", stderr)
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))

	code, stdout, stderr = hookgen(t, "-C", dir)
	assert.Equal(t, succeeded, code, stderr)
	assert.Empty(t, stdout+stderr)
	assert.FileExists(t, filepath.Join(dir, "hook_gen.go"))

	code, _, stderr = hookgen(t, "-C", dir, "-check", "./...")
	assert.Equal(t, succeeded, code, stderr)

	file := filepath.Join(dir, "p.go")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("Do does."), []byte("Do did."), 1), 0o644))
	code, _, stderr = hookgen(t, "-C", dir, "-check", "./...")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "hook_gen.go:1: error HG070: is out of date")

	require.NoError(t, os.WriteFile(file, []byte("package p\n"), 0o644))
	code, _, stderr = hookgen(t, "-C", dir, "-check", ".")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "error HG072: was generated")
	code, _, stderr = hookgen(t, "-C", dir)
	assert.Equal(t, succeeded, code, stderr)
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))
}

func TestProblemsAreExitTwo(t *testing.T) {
	dir := newModule(t, "tol")
	for _, args := range [][]string{{"-C", dir}, {"-C", dir, "-check"}} {
		code, stdout, stderr := hookgen(t, args...)
		assert.Equal(t, failed, code)
		assert.Empty(t, stdout)
		assert.Equal(t, "p.go:15:1: error HG005: unknown directive //hook:tol; did you mean //hook:tool?\n"+
			"\t15 | //hook:tol\n\t   | ^~~~~~~~~~\n\tfix: //hook:tool\nmore: hookgen explain HG005\n", stderr)
	}
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))
}

func TestUsage(t *testing.T) {
	tests := []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{[]string{"explain", "HG020"}, succeeded, "HG020: one tool with two owners", ""},
		{[]string{"explain", "-all"}, succeeded, "## Directives\n", ""},
		{[]string{"explain", "HG020", "HG022"}, succeeded, "HG022: a tool name", ""},
		{[]string{"explain", "hg009"}, succeeded, "prefix=", ""},
		{[]string{"explain", "HG033"}, succeeded, "maxlen=     at most so many characters; for strings", ""},
		{[]string{"explain", "HG008"}, succeeded, "//hook:tool\n\tTool makes a method a tool", ""},
		{[]string{"explain", "HG404"}, failed, "", "there is no code HG404"},
		{[]string{"explain"}, failed, "", "usage: hookgen"},
		{[]string{"-wrong"}, failed, "", "flag provided but not defined: -wrong"},
		{[]string{"-h"}, succeeded, "usage: hookgen [gen]", ""},
		{[]string{"help"}, succeeded, "hookgen explain CODE", ""},
		{[]string{"help", "gen"}, succeeded, "usage: hookgen gen [flags] [packages]", ""},
		{[]string{"help", "help"}, succeeded, "usage: hookgen [gen]", ""},
		{[]string{"help", "exlain"}, failed, "", `unknown command "exlain"; did you mean "explain"?`},
		{[]string{"explian", "HG020"}, failed, "", `unknown command "explian"; did you mean "explain"?`},
		{[]string{"daemon"}, failed, "", "a package is written ./daemon"},
		{[]string{"gen", "-wrong"}, failed, "", "flag provided but not defined: -wrong"},
		{[]string{"-C", "/does/not/exist"}, failed, "", "hookgen: "},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, stdout, stderr := hookgen(t, tt.args...)
			assert.Equal(t, tt.code, code)
			assert.Contains(t, stdout, tt.out)
			assert.Contains(t, stderr, tt.err)
		})
	}
}

// The flag and the variable that go generate passes on are one check.
func TestCheckByEnvironment(t *testing.T) {
	dir := newModule(t, "tool")
	_, _, want := hookgen(t, "-C", dir, "-check")
	t.Setenv("HOOKGEN_CHECK", "1")
	code, _, stderr := hookgen(t, "-C", dir)
	assert.Equal(t, differs, code)
	assert.Equal(t, want, stderr)
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))
	t.Setenv("HOOKGEN_CHECK", "yes please")
	code, _, stderr = hookgen(t, "-C", dir)
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr, `HOOKGEN_CHECK is "yes please"; set it to 1 or 0`)
	t.Setenv("HOOKGEN_CHECK", "0")
	code, _, stderr = hookgen(t, "-C", dir)
	assert.Equal(t, succeeded, code, stderr)
	assert.FileExists(t, filepath.Join(dir, "hook_gen.go"))
}

// What -diff prints makes the tree what it should be.
func TestDiff(t *testing.T) {
	needs.Program(t, "git")
	dir := newModule(t, "tool")
	apply := func(patch string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--unsafe-paths", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, patch)
	}
	code, stdout, stderr := hookgen(t, "-C", dir, "-diff")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "error HG071")
	assert.Contains(t, stdout, "--- /dev/null\n+++ b/hook_gen.go\n@@ -0,0 +1,")
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))
	apply(stdout)
	code, stdout, stderr = hookgen(t, "-C", dir, "-diff")
	assert.Equal(t, succeeded, code, stderr)
	assert.Empty(t, stdout+stderr)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(strings.ReplaceAll(program, "DIRECTIVE", "tool readonly")), 0o644))
	code, stdout, _ = hookgen(t, "-C", dir, "-diff")
	assert.Equal(t, differs, code)
	assert.Contains(t, stdout, "--- a/hook_gen.go\n+++ b/hook_gen.go\n")
	apply(stdout)
	code, _, stderr = hookgen(t, "-C", dir, "-check")
	assert.Equal(t, succeeded, code, stderr)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte("package p\n"), 0o644))
	_, stdout, _ = hookgen(t, "-C", dir, "-diff", ".")
	assert.Contains(t, stdout, "--- a/hook_gen.go\n+++ /dev/null\n")
	apply(stdout)
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))
}

// A warning stops a strict run, and no other.
func TestStrictAndVerbose(t *testing.T) {
	dir := newModule(t, "tool")
	file := filepath.Join(dir, "p.go")
	require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer("DIRECTIVE", "tool", "// Do does.\n//\n", "").Replace(program)), 0o644))
	code, _, stderr := hookgen(t, "-C", dir, "-strict")
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr, "error HG031")
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))

	code, _, stderr = hookgen(t, "-C", dir, "-v")
	assert.Equal(t, succeeded, code)
	assert.Contains(t, stderr, "warning HG031")
	assert.Contains(t, stderr, "hookgen: 1 packages, 1 with directives\nhookgen: read example.com/p\nhookgen: wrote hook_gen.go\n")
	require.NoError(t, os.WriteFile(file, []byte("package p\n"), 0o644))
	code, _, stderr = hookgen(t, "-C", dir, "-v")
	assert.Equal(t, succeeded, code)
	assert.Equal(t, "hookgen: 1 packages, 0 with directives\nhookgen: deleted hook_gen.go\n", stderr)
}

// What is for programs goes to stdout, one line for each problem.
func TestFormats(t *testing.T) {
	dir := newModule(t, "tol")
	code, stdout, stderr := hookgen(t, "-C", dir, "-json")
	assert.Equal(t, failed, code)
	assert.Empty(t, stderr)
	assert.Equal(t, `{"code":"HG005","severity":"error","pos":{"file":"p.go","line":15,"column":1},"end":{"file":"p.go","line":15,"column":11},`+
		`"message":"unknown directive //hook:tol; did you mean //hook:tool?","fix":{"message":"//hook:tool",`+
		`"edits":[{"pos":{"file":"p.go","line":15,"column":8},"end":{"file":"p.go","line":15,"column":11},"text":"tool"}]}}`+"\n", stdout)

	_, stdout, stderr = hookgen(t, "-C", dir, "-format=github")
	assert.Empty(t, stderr)
	assert.Equal(t, "::error file=p.go,line=15,col=1,endLine=15,endColumn=11,title=HG005::"+
		"unknown directive //hook:tol; did you mean //hook:tool?%0Afix: //hook:tool\n", stdout)

	code, _, stderr = hookgen(t, "-C", dir, "-format=xml")
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr, "there is no -format=xml; the formats are text, github, json")
}

// Build tags decide which files there are.
func TestTags(t *testing.T) {
	dir := newModule(t, "tool")
	tagged := "//go:build special\n\n" + strings.ReplaceAll(program, "DIRECTIVE", "tool")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(tagged), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "doc.go"), []byte("package p\n"), 0o644))
	code, _, stderr := hookgen(t, "-C", dir, "-check", "-tags=special")
	assert.Equal(t, differs, code, stderr)
	code, _, stderr = hookgen(t, "-C", dir, "-check")
	assert.Equal(t, succeeded, code, stderr)
}
