// Package mutants checks tests: it builds copies of generated code, each with a mistake, into the
// test binary of a package, and reports which of them fail. [Overlay] is for any other code.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// Mistake replaces the first match of a pattern in code by with, like
// [regexp.Regexp.Expand]. Without a pattern the code stays as it is. A pattern that does not
// match fails the test; the failure names the mistake.
func Mistake(t testing.TB, name, code, pattern, with string) string {
	t.Helper()
	if pattern == "" {
		return code
	}
	re := regexp.MustCompile(pattern)
	at := re.FindStringSubmatchIndex(code)
	if at == nil {
		t.Fatalf("%s: the generated code has no %s", name, pattern)
	}
	return code[:at[0]] + string(re.ExpandString(nil, with, code, at)) + code[at[1]:]
}

// Killed adds code and trial to the package in the working directory for one run, as
// mutants.go and mutants_test.go. It runs TestMutant of that package, which has a subtest
// 00, 01 and so on for each of n mutants, and returns which of them failed. flags are for
// the test binary.
func Killed(t testing.TB, n int, code, trial string, flags ...string) []bool {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	must(t, err)
	overlay, err := Overlay(dir, map[string]string{filepath.Join(here, "mutants.go"): code, filepath.Join(here, "mutants_test.go"): trial})
	must(t, err)

	args := append([]string{"test", "-vet=off", "-overlay", overlay, "-run", "^TestMutant$", "-v", "-rapid.nofailfile", "-rapid.shrinktime=1ns"}, flags...)
	out, _ := exec.CommandContext(t.Context(), "go", append(args, ".")...).CombinedOutput() // it must fail, because mutants do
	results := regexp.MustCompile(`(?m)^ +--- (PASS|FAIL): TestMutant/(\d+) `).FindAllSubmatch(out, -1)
	if len(results) != n {
		t.Fatalf("%d of %d mutants have a result:\n%s", len(results), n, out)
	}
	killed := make([]bool, n)
	for i, r := range results {
		if got, err := strconv.Atoi(string(r[2])); err != nil || got != i {
			t.Fatalf("result %d is that of mutant %s", i, r[2])
		}
		killed[i] = string(r[1]) == "FAIL"
	}
	return killed
}

// Overlay writes texts and an overlay into dir, which it makes, and returns the overlay's path. With
// -overlay the go command compiles each text instead of the file at its path; a file need not
// exist.
func Overlay(dir string, texts map[string]string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range texts {
		instead := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		replace[file] = instead
		if err := os.WriteFile(instead, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o644)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
