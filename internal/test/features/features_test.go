package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

const root = "../../.."

var (
	update = flag.Bool("update", false, "write docs/features.md")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every row is in the table once, in order.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, g := range groups {
		for n := 1; n <= g.size; n++ {
			want = append(want, fmt.Sprintf("%s%d", g.letter, n))
		}
	}
	for _, r := range rows {
		got = append(got, r.id)
		assert.True(t, strings.HasSuffix(r.what, "."), "%s: say in a sentence what works", r.id)
	}
	assert.Equal(t, want, got)
}

// What the table names is there: each test, and once in its file the text that a change replaces.
func TestProofsAndChangesFitTheSources(t *testing.T) {
	t.Parallel()
	for _, r := range proved(rows) {
		files, err := r.files(root)
		require.NoError(t, err, r.id)
		for _, name := range r.names() {
			assert.Contains(t, files, whole(name), "%s: %s has no such test", r.id, r.pkg)
		}
		assert.Contains(t, []kind{leftOut, off, mutant}, r.kind, r.id)
		assert.NotEmpty(t, r.wrong, r.id)
		assert.NotEqual(t, r.old, r.new, r.id)
		assert.NotContains(t, r.file, "_test.go", "%s: a change is one of the code, not of its tests", r.id)
		text, err := os.ReadFile(filepath.Join(root, r.file))
		if assert.NoError(t, err, r.id) {
			_, err = r.apply(string(text))
			assert.NoError(t, err, r.id)
		}
	}
	for _, r := range rows {
		if r.tests == "" {
			assert.Zero(t, r.change, "%s: a row that is not there yet claims nothing", r.id)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	const page = root + "/docs/features.md"
	want := writePage(rows)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(got), want, "run the test with -update")
}

// module writes a module with one feature, which two tests look at.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.org/m\n\ngo 1.26\n",
		"m.go":         "package m\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n\n// Idle is of no use.\nfunc Idle() int { return 1 }\n",
		"m_test.go":    "package m\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n",
		"more_test.go": "package m\n\nimport \"testing\"\n\nfunc TestSkipped(t *testing.T) { t.Skip() }\n\nfunc TestRed(t *testing.T) { t.Error(\"red\") }\n\nfunc TestBoth(t *testing.T) {\n\tt.Run(\"add\", TestAdd)\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// Rows that show nothing are found, whatever is wrong with them.
func TestRowsThatShowNothingAreFound(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	dir := module(t)
	sum := func(to string) change { return change{mutant, "a wrong sum", "m.go", "a + b", to} }
	add := proof{".", "TestAdd"}
	cases := []struct {
		name, figure, want string
		row                row
	}{
		{"good", "", "", row{"X1", "", add, sum("a - b")}},
		{"good by a subtest", "", "", row{"X2", "", proof{".", "TestBoth/add"}, sum("a - b")}},
		{"nothing notices the change", "bad.unnoticed", "nothing notices its change", row{"X3", "", add, change{mutant, "", "m.go", "return 1", "return 2"}}},
		{"the change does not compile", "bad.broken", "it does not compile", row{"X4", "", add, sum("a +")}},
		{"the change panics", "bad.panics", "it panics", row{"X5", "", add, sum("a + b + []int{}[a]")}},
		{"the text is not there", "", "0 times", row{"X6", "", add, change{mutant, "", "m.go", "nowhere", ""}}},
		{"the text is there twice", "", "2 times", row{"X7", "", add, change{mutant, "", "m.go", "return", "x"}}},
		{"the proof is red", "bad.red", "did not pass", row{"X8", "", proof{".", "TestRed"}, sum("a - b")}},
		{"the proof is skipped", "bad.skipped", "did not pass", row{"X9", "", proof{".", "TestSkipped"}, sum("a - b")}},
		{"the proof is not there", "", "did not pass", row{"X10", "", proof{".", "TestNowhere"}, sum("a - b")}},
		{"the subtest is not there", "bad.absent", "did not pass", row{"X11", "", proof{".", "TestBoth/nowhere"}, sum("a - b")}},
	}
	var chosen []row
	for _, c := range cases {
		chosen = append(chosen, c.row)
	}
	var out bytes.Buffer
	found, err := newTrial(dir, &out).run(t.Context(), chosen)
	require.NoError(t, err)
	for _, c := range cases {
		i := slices.IndexFunc(found, func(err error) bool { return strings.HasPrefix(err.Error(), c.row.id+":") })
		if c.want == "" {
			assert.Negative(t, i, c.name)
			continue
		}
		if assert.GreaterOrEqual(t, i, 0, "%s was not found", c.name) && assert.ErrorContains(t, found[i], c.want, c.name) && c.figure != "" {
			t.Logf("FIGURE %s=1 row", c.figure)
		}
	}
}

// What a test prints when its time is over is no assertion.
func TestATimeoutShowsNothing(t *testing.T) {
	t.Parallel()
	p := proof{".", "TestAdd"}
	failed := errors.New("exit status 1")
	assert.NoError(t, p.noticed("\n--- FAIL: TestAdd (0.00s)\n", failed))
	assert.ErrorContains(t, p.noticed("\n--- FAIL: TestAdd (0.00s)\npanic: test timed out after 3m0s\n", failed), "too long")
	assert.ErrorContains(t, p.noticed("\n--- FAIL: TestAdd (0.00s)\nfatal error: all goroutines are asleep\n", failed), "panics")
	assert.ErrorContains(t, p.noticed("\n--- FAIL: TestAddition (0.00s)\n", failed), "none of its tests")
	assert.ErrorContains(t, p.noticed("\n--- PASS: TestAdd (0.00s)\n", nil), "nothing notices")
}
