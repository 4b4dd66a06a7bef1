// Package needs skips a test if the machine lacks something. It is for tests only, and the
// only place that skips tests. A skip has its reason in one line; internal/test/run collects
// these lines. If CI is "true", the test fails instead.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The word that a skip begins with says why: the machine lacks something, -short leaves the
// test out, only make prove runs it, or only root can.
const (
	Missing = "SKIPPED: "
	Long    = "LONG: "
	Proven  = "PROVE: "
	Rooted  = "ROOT: "
)

// Program returns the path of a program in PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Lacking(t, name+" is not in PATH")
	}
	return path
}

// CGO needs a C compiler, without which the race detector does not work either. The test
// sets CGO_ENABLED=1 for the go command that it runs.
func CGO(t testing.TB) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "CC").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	compiler := strings.TrimSpace(string(out))
	words := strings.Fields(compiler)
	if len(words) > 0 {
		_, err = exec.LookPath(words[0])
	}
	if len(words) == 0 || err != nil {
		Lacking(t, fmt.Sprintf("there is no C compiler (%s) for cgo and the race detector", compiler))
	}
}

// Lacking skips the test because the machine lacks something, which reason says
// in one line: "git is not in PATH". In CI the test fails.
func Lacking(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; in CI nothing may be missing", reason)
	}
	t.Skip(Missing + reason)
}

// Time skips a test that mostly waits, for the go command or a disk, if go test runs with
// -short: in make test, and in the run with the race detector, which finds nothing in such a
// test.
func Time(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip(Long + t.Name())
	}
}

// Proof skips a test that draws, searches, measures time or loads the machine, unless PROVE is 1:
// only make prove runs it. No such test may block a merge.
func Proof(t testing.TB) {
	t.Helper()
	if os.Getenv("PROVE") != "1" {
		t.Skip(Proven + t.Name())
	}
}

// Root skips a test that needs the superuser, who can start processes of other users and make
// networks. It skips in CI as well, where a second run as root catches up on it.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip(Rooted + t.Name())
	}
}
