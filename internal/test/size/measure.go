package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The columns. Lines of code are in the first six: nested is Go of nested modules, generated is that of the product alone, and
// JavaScript is that of this project. Lines counts every line that people write in Go, test lines those of _test.go files,
// nested modules included in both.
const (
	product = iota
	proof
	testData
	generated
	javaScript
	nested
	lines
	testLines
	packages
	width
)

var columns = [width]string{"product", "proof", "test data", "generated", "JavaScript", "nested", "lines", "test lines", "packages"}

// sum is the row of all areas.
const sum = "sum"

// sizes are rows by area.
type sizes map[string][width]int

func (s sizes) minus(old sizes) sizes {
	out := sizes{}
	for _, area := range append([]string{sum}, areas...) {
		row := s[area]
		for i, n := range old[area] {
			row[i] -= n
		}
		out[area] = row
	}
	return out
}

// measure counts what is in the files, by name from the module's root.
func measure(files map[string][]byte) sizes {
	out, seen := sizes{}, map[string]bool{}
	for name, text := range files {
		var row [width]int
		if inner := inNested(files, name); path.Ext(name) == ".go" {
			row = measureGo(name, text, inner)
			if dir := path.Dir(name); !inner && !inTestData(name) && !seen[dir] {
				seen[dir] = true
				row[packages]++
			}
		} else if inTestData(name) && utf8.Valid(text) {
			row[testData] = filled(text)
		} else if ext := path.Ext(name); (ext == ".js" || ext == ".mjs") && !strings.HasPrefix(name, "web/lib/") {
			row[javaScript] = filled(text)
		}
		if row == [width]int{} {
			continue
		}
		for _, area := range []string{areaOf(path.Dir(name)), sum} {
			have := out[area]
			for i, n := range row {
				have[i] += n
			}
			out[area] = have
		}
	}
	return out
}

var byMachine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func measureGo(name string, text []byte, inner bool) (row [width]int) {
	test, machine, data := strings.HasSuffix(name, "_test.go"), byMachine.Match(text), inTestData(name)
	column := product
	switch {
	case inner:
		column = nested
	case data:
		column = testData
	case test || strings.HasPrefix(name, "internal/test/"):
		column = proof
	case machine:
		column = generated
	}
	row[column] = code(text)
	switch n := bytes.Count(text, []byte("\n")); {
	case machine || data:
	case test:
		row[testLines] = n
	default:
		row[lines] = n
	}
	return row
}

func inTestData(name string) bool { return strings.Contains("/"+name, "/testdata/") }

// inNested reports whether the file belongs to a module below the root.
func inNested(files map[string][]byte, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := files[dir+"/go.mod"]; ok {
			return true
		}
	}
	return false
}

// code counts the lines of Go that have a token other than a comment.
func code(text []byte) (n int) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for last := 0; ; {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		for i, part := range strings.Split(literal, "\n") { // a text over several lines may have blank ones
			if line := file.Line(pos) + i; line > last && (i == 0 || strings.TrimSpace(part) != "") {
				last = line
				n++
			}
		}
	}
}

// filled counts the lines that are not blank.
func filled(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	return n
}
