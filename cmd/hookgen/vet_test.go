package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// From a misspelt directive to a package that has nothing to report, with vet alone saying what to do.
func TestVet(t *testing.T) {
	dir := newModule(t, "tol")
	code, stdout, stderr := hookgen(t, "vet", "-C", dir)
	assert.Equal(t, differs, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "p.go:15:1: error HG005: unknown directive //hook:tol; did you mean //hook:tool?\n"+
		"\t15 | //hook:tol\n\t   | ^~~~~~~~~~\n\tfix: //hook:tool\nmore: hookgen explain HG005\n", stderr)

	code, stdout, stderr = hookgen(t, "vet", "-C", dir, "-json", ".")
	assert.Equal(t, differs, code)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, `{"code":"HG005","severity":"error","pos":{"file":"p.go","line":15,"column":1},"end":`)
	assert.Contains(t, stdout, `"edits":[{"pos":{"file":"p.go","line":15,"column":8},"end":{"file":"p.go","line":15,"column":11},"text":"tool"}]`)

	code, stdout, stderr = hookgen(t, "vet", "-C", dir, "-fix")
	assert.Equal(t, succeeded, code, stderr)
	assert.Empty(t, stdout)
	text, err := os.ReadFile(filepath.Join(dir, "p.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n//hook:tool\n")

	code, _, stderr = hookgen(t, "vet", "-C", dir)
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "p.go:11:6: error HG080: P has //hook:tool methods, but no generated Schema and Dispatch")

	code, _, stderr = hookgen(t, "-C", dir)
	require.Equal(t, succeeded, code, stderr)
	code, _, stderr = hookgen(t, "vet", "-C", dir, "-v")
	assert.Equal(t, succeeded, code, stderr)
	assert.Empty(t, stderr)
}

// What hinders vet from looking is another status than what it finds.
func TestVetCannotLook(t *testing.T) {
	dir := newModule(t, "tool")
	for _, args := range [][]string{
		{"-C", "/does/not/exist"}, {"-C", dir, "./nothing"}, {"-C", dir, "p.go"}, {"-wrong"},
	} {
		code, stdout, stderr := hookgen(t, append([]string{"vet"}, args...)...)
		assert.Equal(t, failed, code, "%v: %s", args, stderr)
		assert.Empty(t, stdout)
		assert.NotEmpty(t, stderr)
	}
	code, _, stderr := hookgen(t, "vet", "-h")
	assert.Equal(t, succeeded, code)
	assert.Contains(t, stderr, "-fix")
}
