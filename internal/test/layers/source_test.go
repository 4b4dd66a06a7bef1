package layers

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/grapnel-go/grapnel"

// file is one source file as the rules see it.
type file struct {
	name      string // from the module's root, "hook/hook.go"
	pkg       string // the package's directory from the module's root, "hook"
	test      bool
	generated bool
	lines     int
	fset      *token.FileSet
	syntax    *ast.File
}

func parseFile(t *testing.T, name string, source []byte) file {
	t.Helper()
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, source, parser.ParseComments)
	require.NoError(t, err)
	return file{
		name: name, pkg: path.Dir(name),
		test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(syntax),
		lines: strings.Count(string(source), "\n"), fset: fset, syntax: syntax,
	}
}

// imports yields the import paths of the file.
func (f file) imports() []string {
	var out []string
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// inside returns the package's place in this module, and whether it has one.
func inside(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// moduleFiles returns every Go file that belongs to a package of the module, on
// any platform.
func moduleFiles(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e",
		"-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)

	var files []file
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir                                                          string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			full := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(full)
			require.NoError(t, err)
			rel, err := filepath.Rel(root, full)
			require.NoError(t, err)
			files = append(files, parseFile(t, filepath.ToSlash(rel), source))
		}
	}
	require.NotEmpty(t, files)
	return files
}

// fixture returns files made from sources by name.
func fixture(t *testing.T, sources map[string]string) []file {
	t.Helper()
	var files []file
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		files = append(files, parseFile(t, name, []byte(sources[name])))
	}
	return files
}
