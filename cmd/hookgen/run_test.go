package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// newModule makes a module beside this one that uses it, with the package.
func newModule(t *testing.T, directive string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	tools := regexp.MustCompile(`(?s)\ntool (\(.*?\n\)|[^\n(]*)\n`)
	text := strings.Replace(tools.ReplaceAllString(string(mod), "\n"), "module github.com/grapnel-go/grapnel", "module example.com/p", 1) +
		"\nrequire github.com/grapnel-go/grapnel v0.0.0\nreplace github.com/grapnel-go/grapnel => " + root + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"go.mod": text, "go.sum": string(sum), "p.go": strings.Replace(program, "DIRECTIVE", directive, 1),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "off")
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
	assert.Equal(t, "hook_gen.go:1:1: error HG071: is missing\n\tfix: run \"go tool hookgen ./...\", or \"go generate ./...\" where a go:generate line does the same\n", stderr)
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))

	code, stdout, stderr = hookgen(t, "-C", dir)
	assert.Equal(t, well, code, stderr)
	assert.Empty(t, stdout+stderr)
	assert.FileExists(t, filepath.Join(dir, "hook_gen.go"))

	code, _, stderr = hookgen(t, "-C", dir, "-check", "./...")
	assert.Equal(t, well, code, stderr)

	file := filepath.Join(dir, "p.go")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("Do does."), []byte("Do did."), 1), 0o644))
	code, _, stderr = hookgen(t, "-C", dir, "-check", "./...")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "hook_gen.go:1:1: error HG070: is out of date")

	require.NoError(t, os.WriteFile(file, []byte("package p\n"), 0o644))
	code, _, stderr = hookgen(t, "-C", dir, "-check", ".")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "error HG072: was generated")
	code, _, stderr = hookgen(t, "-C", dir)
	assert.Equal(t, well, code, stderr)
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"))
}

func TestProblemsAreExitTwo(t *testing.T) {
	dir := newModule(t, "tol")
	for _, args := range [][]string{{"-C", dir}, {"-C", dir, "-check"}} {
		code, stdout, stderr := hookgen(t, args...)
		assert.Equal(t, failed, code)
		assert.Empty(t, stdout)
		assert.Equal(t, "p.go:15:1: error HG005: unknown directive //hook:tol; did you mean //hook:tool?\n\tfix: //hook:tool\n", stderr)
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
		{[]string{"explain", "HG020"}, well, "HG020: one tool with two owners", ""},
		{[]string{"explain", "hg009"}, well, "prefix=", ""},
		{[]string{"explain", "HG033"}, well, "maxlen=     at most so many characters; for strings", ""},
		{[]string{"explain", "HG008"}, well, "//hook:tool\n\tTool makes a method a tool", ""},
		{[]string{"explain", "HG404"}, failed, "", "there is no code HG404"},
		{[]string{"explain"}, failed, "", "usage: hookgen"},
		{[]string{"-wrong"}, failed, "", "flag provided but not defined: -wrong"},
		{[]string{"-h"}, well, "usage: hookgen [gen]", ""},
		{[]string{"help"}, well, "hookgen explain CODE", ""},
		{[]string{"help", "gen"}, well, "usage: hookgen gen [flags] [packages]", ""},
		{[]string{"help", "help"}, well, "usage: hookgen [gen]", ""},
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
