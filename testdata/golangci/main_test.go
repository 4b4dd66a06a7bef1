package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain makes the test's own binary the linter, so that the many packages of golangci-lint are linked once.
func TestMain(m *testing.M) {
	if os.Getenv("BE_GOLANGCI_LINT") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func lint(t *testing.T, pattern string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "run", pattern)
	cmd.Env = append(os.Environ(), "BE_GOLANGCI_LINT=1", "GOLANGCI_LINT_CACHE="+t.TempDir())
	out, err := cmd.CombinedOutput()
	t.Logf("golangci-lint run %s\n%s", pattern, out)
	return string(out), err
}

func TestReports(t *testing.T) {
	out, err := lint(t, "./bad")
	if err == nil {
		t.Error("the exit status is 0")
	}
	for _, want := range []string{
		"bad/bad.go:18:15: HG013: (*bad.Diary).OnEvents looks like the point OnEvent and is never called; fix: call it OnEvent",
		`bad/bad.go:25:1: HG006: "// hook:tool" is a plain comment`,
		"bad/bad.go:34:2: HG029: two fields of type *good.Notes need different prefixes",
		"(hookvet)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %s", want)
		}
	}
}

func TestSilent(t *testing.T) {
	if out, err := lint(t, "./good"); err != nil || !strings.Contains(out, "0 issues.") {
		t.Errorf("it says something: %v", err)
	}
}
