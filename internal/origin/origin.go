// Package origin checks whether a generated file belongs to the sources in its directory.
// The generator writes a fingerprint of the sources into the file, and a test computes it
// again, with the standard library only.
//
// The fingerprint covers one package directory: the declarations with directives, the
// signatures and comments of tools, and the types and constants that these name. It does
// not cover bodies, other declarations, or other packages. It is made of tokens, so that
// formatting does not count, and of files with any build constraints, so that it is the
// same on every system.
package origin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is the name of the generated file.
const File = "hook_gen.go"

// marker is the beginning of the line with the fingerprint.
const marker = "// Origin: "

// Line returns the line of a generated file with the fingerprint.
func Line(fingerprint string) string { return marker + fingerprint }

// Package has the sources of one package by file name, without tests and generated files.
type Package struct {
	Name  string
	Files map[string][]byte
}

// Fingerprint returns the fingerprint of the package; "" if nothing is generated from it.
// points are the names of the points' methods.
func (p Package) Fingerprint(points []string) string {
	text := p.read(points).text()
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (p Package) read(points []string) *reader {
	r := &reader{fset: token.NewFileSet(), points: points, types: map[string][]typeDecl{}, aliases: map[string][]string{}, named: map[string]bool{}, methods: map[string][]method{}}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		// A file that cannot be parsed is for another system, or does not compile anyway.
		file, err := parser.ParseFile(r.fset, name, p.Files[name], parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && file.Name.Name == p.Name {
			r.file(file, p.Files[name])
		}
	}
	return r
}

// Stale returns why the generated file of a directory does not belong to the sources there;
// "" if it does, or if there is nothing to generate. The error is one of reading.
func Stale(dir string, points []string) (string, error) {
	generated, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	files, err := Read(dir)
	if err != nil {
		return "", err
	}
	if generated == nil {
		names := map[string]bool{}
		for _, text := range files {
			names[packageName(text)] = true
		}
		for name := range names {
			if (Package{name, files}).read(points).generates() {
				return File + " is missing", nil
			}
		}
		return "", nil
	}
	want := Package{packageName(generated), files}.Fingerprint(points)
	switch have, ok := said(generated); {
	case !ok:
		return File + " does not say what it was generated from", nil
	case have != want:
		return File + " was generated from other sources than those beside it", nil
	}
	return "", nil
}

// said returns the fingerprint in a generated file.
func said(generated []byte) (string, bool) {
	for line := range bytes.Lines(generated) {
		if have, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), marker); ok {
			return have, true
		}
		if bytes.HasPrefix(line, []byte("package ")) {
			break
		}
	}
	return "", false
}

// Read returns the Go files of a directory that can be sources, by name.
func Read(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if info, err := os.Stat(name); !Source(e.Name()) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the sources of %s: %w", File, err)
		}
		out[e.Name()] = text
	}
	return out, nil
}

// Source reports whether a file of this name can be a source of the generated file.
func Source(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != File && name[0] != '_' && name[0] != '.'
}

// packageName returns the name in the package clause of a file, "" if it has none.
func packageName(text []byte) string {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return file.Name.Name
}
