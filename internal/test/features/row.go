package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// row is a feature that the five published designs have and this project owes. A row of the
// table whose tests are empty is not there yet. The others look like this:
//
//	{"A1", "One facade of nine methods, and a hook that does nothing.",
//		proof{"./hook", "TestNopIsTheIdentity"},
//		change{mutant, "a Nop that swallows the input", "hook/hook.go", "return in, nil", "return nil, nil"}},
//
// A proof is best a test of the package that the change is in: it compiles little.
type row struct {
	id string
	// what says in a sentence what works, or what is missing.
	what string
	proof
	change
}

// proof is tests that show a feature.
type proof struct {
	// pkg is their package's directory from the root of the module: "./hook".
	pkg string
	// tests are their names: "TestA|TestB/one of its subtests".
	tests string
}

// change takes a feature away: at least one of the tests must then fail, by an assertion.
type change struct {
	kind kind
	// wrong is the thing that is then wrong.
	wrong string
	// file is that of the source from the root of the module. In it, old is there exactly
	// once; new takes its place, and the package still compiles.
	file, old, new string
}

// kind is how a change takes a feature away.
type kind string

const (
	// leftOut takes a subsystem or a part of it out.
	leftOut kind = "left out"
	// off turns an option off.
	off kind = "off"
	// mutant makes a mistake in the framework.
	mutant kind = "mutant"
)

// group is the features of one letter. Their ids are the letter and a number from 1 to size.
type group struct {
	letter, title string
	size          int
}

var groups = []group{
	{"A", "Contract and composition", 14},
	{"B", "Ordering", 7},
	{"C", "Outcomes", 9},
	{"D", "Failure, time, concurrency", 12},
	{"E", "State", 5},
	{"F", "Tools", 16},
	{"G", "Prompt", 7},
	{"H", "Runtime", 13},
	{"I", "Guards", 5},
	{"J", "Policy and security", 9},
	{"K", "Subsystems", 18},
	{"L", "Persistence", 5},
	{"M", "Observability, tests, tooling", 6},
	{"N", "Daemon", 4},
}

// rows is the table.
var rows = slices.Concat(composition, running, parts)

// names are the tests of the proof.
func (p proof) names() []string {
	if p.tests == "" {
		return nil
	}
	return strings.Split(p.tests, "|")
}

// proved are the rows that have a proof.
func proved(all []row) []row { return filter(all, func(r row) bool { return r.tests != "" }) }

func filter(all []row, keep func(row) bool) (out []row) {
	for _, r := range all {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// whole is the test that a subtest belongs to.
func whole(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// files are the files of the proof's tests, from the root of the module, by the names of the
// tests. A test that does not exist has none.
func (p proof) files(root string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, p.pkg, "*_test.go"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && slices.ContainsFunc(p.names(), func(name string) bool { return whole(name) == fn.Name.Name }) {
				out[fn.Name.Name] = filepath.ToSlash(filepath.Join(p.pkg, filepath.Base(path)))
			}
		}
	}
	return out, nil
}
