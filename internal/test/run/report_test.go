package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events are what go test -json prints, as lines of "action package test output".
func events(t *testing.T, text string) <-chan string {
	t.Helper()
	out := make(chan string)
	go func() {
		defer close(out)
		for line := range strings.Lines(text) {
			w := append(strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4), "", "", "")
			data, err := json.Marshal(event{Action: w[0], Package: "github.com/grapnel-go/grapnel/" + w[1], Test: w[2], Output: w[3] + "\n"})
			assert.NoError(t, err)
			out <- string(data)
		}
	}()
	return out
}

// printed returns what a run with these events prints, without times.
func printed(t *testing.T, verbose bool, text string) (string, *report) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out, 3)
	r.verbose = verbose
	r.follow(events(t, text))
	r.summarize()
	return out.String(), r
}

const skipped = `start gen
output gen TestGit     x_test.go:1: SKIPPED: git is not in PATH
skip gen TestGit
output gen TestDiff     x_test.go:1: SKIPPED: git is not in PATH
skip gen TestDiff
output gen TestNew/race     x_test.go:1: SKIPPED: there is no C compiler
skip gen TestNew/race
output gen TestSuccess     x_test.go:1: LONG: TestSuccess
skip gen TestSuccess
output gen TestUser     x_test.go:1: ROOT: TestUser
skip gen TestUser
output gen TestDrawn     x_test.go:1: PROVE: TestDrawn
skip gen TestDrawn
skip gen TestBare
output gen TestGood thousands of lines
pass gen TestGood
output gen  ok  	gen	(cached)
pass gen
skip cmd
`

// What was not run is said at the end, one line for each reason.
func TestSkipped(t *testing.T) {
	text, r := printed(t, false, skipped)
	assert.Equal(t, `[1/3] ok gen 0.0s (cached)
[2/3] no tests cmd 0.0s
2 packages in 0s
not run: git is not in PATH (2: gen TestGit, gen TestDiff)
not run: no reason given (1: gen TestBare)
not run: there is no C compiler (1: gen TestNew/race)
not run: 1 long tests, left for make test-rest
not run: 1 tests that need root, left for make test-rest
not run: 1 proofs, left for make prove
`, text)
	assert.Len(t, r.missing, 3)
	file := filepath.Join(t.TempDir(), "left")
	require.NoError(t, r.writeRest(file))
	args, err := rest([]string{"-rest", file, "-p", "2"})
	require.NoError(t, err)
	assert.Equal(t, []string{"-run", "^(TestBare|TestDiff|TestGit|TestNew|TestSuccess|TestUser)$", "-p", "2", "github.com/grapnel-go/grapnel/gen"}, args,
		"all but the proof")
	text, _ = printed(t, true, skipped)
	assert.Contains(t, text, "thousands of lines\n")
}

// A failure shows what the test printed, and what did not end before the package
// did.
func TestFailed(t *testing.T) {
	text, _ := printed(t, false, `start gen
output gen TestBad     x_test.go:1: not equal
fail gen TestBad
output gen TestHangs panic: test timed out
output gen  FAIL	gen	1s
fail gen
`)
	assert.Equal(t, "gen:\n    x_test.go:1: not equal\nFAIL\tgen\t1s\npanic: test timed out\n[1/3] FAIL gen 0.0s\n1 packages in 0s\n", text)
}

func TestArguments(t *testing.T) {
	assert.Equal(t, []string{"test", "-C", "bench", "-json", "-vet=off", "-short", "./..."}, goTest([]string{"-C", "bench", "-short", "./..."}))
	assert.Equal(t, []string{"test", "-json", "-vet=off", "-short", "./..."}, goTest([]string{"-short", "./..."}))
}

// In CI a skip is a failure; a long test that -short leaves out is none.
func TestCI(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/skips\n\ngo 1.26\n")
	write(t, dir, "x_test.go", "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip(\"LONG: TestX\") }\n\nfunc TestY(t *testing.T) { t.Skip(\"SKIPPED: y is missing\") }\n")
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	for _, tt := range []struct{ ci, run, want string }{
		{"true", "TestX", ""}, {"", "TestY", ""}, {"true", "TestY", "tests were skipped, which in CI is a failure"},
	} {
		t.Setenv("CI", tt.ci)
		var out strings.Builder
		err := test(t.Context(), []string{"-C", dir, "-run", tt.run, "./..."}, &out)
		if tt.want == "" {
			require.NoError(t, err, out.String())
		} else {
			require.EqualError(t, err, tt.want, out.String())
			assert.Contains(t, out.String(), "\nnot run: y is missing (1: example.com/skips TestY)\n")
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}
