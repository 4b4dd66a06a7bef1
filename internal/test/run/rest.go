package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// writeRest writes the tests that were left out: a line for each package, which names it and
// then its tests.
func (r *report) writeRest(file string) error {
	var b strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(r.rest)) {
		names := slices.Sorted(slices.Values(r.rest[pkg]))
		fmt.Fprintln(&b, pkg, strings.Join(slices.Compact(names), " "))
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// rest replaces -rest FILE at the beginning of the arguments by what runs the tests of that file.
func rest(args []string) ([]string, error) {
	if len(args) < 2 || args[0] != "-rest" {
		return args, nil
	}
	text, err := os.ReadFile(args[1])
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: make test writes it", err)
	}
	if err != nil {
		return nil, err
	}
	var packages, names []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		packages, names = append(packages, words[0]), append(names, words[1:]...)
	}
	if len(names) == 0 {
		return nil, errors.New("make test left nothing out")
	}
	slices.Sort(names)
	pattern := "^(" + strings.Join(slices.Compact(names), "|") + ")$"
	return slices.Concat([]string{"-run", pattern}, args[2:], packages), nil
}
