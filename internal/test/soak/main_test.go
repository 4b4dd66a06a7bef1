package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const output = `=== RUN   TestLoss
    loss_test.go:12: FIGURE seed=1
    loss_test.go:13: FIGURE lost=0 acknowledged writes
    loss_test.go:14: no FIGURE at all
=== RUN   TestLoss/bad
    loss_test.go:20: FIGURE bad.no-sync=12 writes lost
--- PASS: TestLoss (1.00s)
    --- PASS: TestLoss/bad (0.50s)
PASS
ok  	example.org/loss	1.0s
`

var loss = gate{name: "loss", shows: "Nothing is lost.", pkg: "./loss", tests: "TestLoss", bad: map[string]string{"no-sync": "a lying disk"}}

func TestFigures(t *testing.T) {
	assert.Equal(t, []figure{{"seed", "1", ""}, {"lost", "0", "acknowledged writes"}, {"bad.no-sync", "12", "writes lost"}}, figures(output))
}

func TestJudge(t *testing.T) {
	without := func(old, new string) string { return strings.Replace(output, old, new, 1) }
	cases := []struct {
		name, output string
		err          error
		want         verdict
		why          string
	}{
		{"as it should be", output, nil, passed, ""},
		{"the test failed", output, errors.New("exit status 1"), failed, "exit status 1"},
		{"skipped", without("--- PASS: TestLoss ", "--- SKIP: TestLoss "), nil, skipped, "a test of it was skipped"},
		{"a part is skipped", without("--- PASS: TestLoss/bad", "--- SKIP: TestLoss/bad"), nil, skipped, "a test of it was skipped"},
		{"no such test", "testing: warning: no tests to run\nPASS\n", nil, skipped, "there is no TestLoss"},
		{"no figures", strings.ReplaceAll(output, "FIGURE", "figure"), nil, skipped, "it printed no figure"},
		{"the wrong one passed", without("bad.no-sync=12", "bad.no-sync=0"), nil, failed, "it did not find a lying disk (bad.no-sync)"},
		{"the wrong one was not tried", without("bad.no-sync=12", "no-sync=12"), nil, failed, "it did not find a lying disk (bad.no-sync)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := loss.judge(c.output, c.err)
			assert.Equal(t, c.want, r.verdict)
			assert.Equal(t, c.why, r.why)
		})
	}
}

func TestPage(t *testing.T) {
	ran := loss.judge(output, nil)
	ran.took = 1400 * time.Millisecond
	other := gate{name: "other", shows: "Other.", pkg: "./other", tests: "TestA|TestB", noBad: "it is fine."}
	fresh := gate{name: "new"}
	r := run{results: []result{ran}, machine: "go9, plan9/mips, 2 processors", commit: "abcdef0123", now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	page := writePage([]gate{other, loss, fresh}, r, "text\n| loss | old |\n| other | kept |\n")
	assert.Contains(t, page, "\nMeasured with go9, plan9/mips, 2 processors.\n")
	assert.Contains(t, page, `|---|---|---|---|
| other | kept |
| loss | passed in 1s, 2026-01-02, abcdef0123 | seed 1, lost 0 acknowledged writes | a lying disk: 12 writes lost |
| new | **not run yet** | | |
`)
	assert.Contains(t, page, "\n**loss.** Nothing is lost.\nRun it alone: `go test ./loss -run '^(TestLoss)$' -count=1 -v -timeout 10m`\n")
	assert.Contains(t, page, "\n**other.** Other. Nothing that is known to be wrong is tried: it is fine.\nRun it alone: ")

	r.results[0] = loss.judge("", nil)
	assert.Contains(t, writePage([]gate{loss}, r, ""), "| loss | **SKIPPED**: there is no TestLoss, 2026-01-02, abcdef0123 |  | a lying disk: not found |\n")
}

// A short run adds the lines of gates that have had no long run, and changes no
// other.
func TestPageOfAShortRun(t *testing.T) {
	ran := loss.judge(output, nil)
	ran.took = 1400 * time.Millisecond
	r := run{results: []result{ran}, short: true, commit: "abcdef0123", now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	line := "| loss | short form only so far: passed in 1s, 2026-01-02, abcdef0123 | seed 1, lost 0 acknowledged writes | a lying disk: 12 writes lost |\n"
	for _, old := range []string{"", "| loss | **not run yet** | | |\n", "| loss | short form only so far: passed in 2s, … |\n"} {
		assert.Contains(t, writePage([]gate{loss}, r, old), line)
	}
	long := "| loss | passed in 9m, 2025-12-31, 0123456789 | lost 0 | |\n"
	assert.Contains(t, writePage([]gate{loss}, r, long), long)
	r.short = false
	assert.NotContains(t, writePage([]gate{loss}, r, line), soFar)
}

// Two gates of a package share its binary. What is known to be wrong here is a
// gate that takes too long.
func TestTrial(t *testing.T) {
	var out strings.Builder
	tr := trial{short: true, out: &out, dir: t.TempDir(), built: map[string]string{}}
	g := gate{name: "figures", pkg: ".", tests: "TestFigures"}
	for range 2 {
		assert.Equal(t, "it printed no figure", tr.try(t.Context(), g).why)
	}
	assert.Len(t, tr.built, 1)
	assert.Contains(t, out.String(), "--- PASS: TestFigures ")
}

// -args come behind the flags of a gate, so that they count.
func TestFlags(t *testing.T) {
	g := gate{tests: "TestX", long: []string{"-x.n", "1"}}
	args := []string{"-x.n", "2"}
	common := []string{"-test.run=^(TestX)$", "-test.count=1", "-test.v", "-test.timeout=10m"}
	assert.Equal(t, append(slices.Clone(common), "-x.n", "1", "-x.n", "2"), trial{args: args}.flags(g))
	assert.Equal(t, common, trial{short: true, args: args}.flags(g))
}

func TestTooLong(t *testing.T) {
	r := result{verdict: passed, took: 61 * time.Second}
	assert.Equal(t, "its short form took 1m1s; a gate may take 30s", r.inTime().why)
	r.took = time.Minute
	assert.Equal(t, passed, r.inTime().verdict)
}

// A gate whose package does not build has failed, and says so at once.
func TestAGateThatDoesNotBuildHasFailed(t *testing.T) {
	r := trial{out: io.Discard, dir: t.TempDir()}.try(t.Context(), gate{pkg: "./no-such-directory", tests: "TestX"})
	assert.Equal(t, failed, r.verdict)
}

// TestGates finds rows that name nothing: a test that is gone would be skipped
// only when somebody runs the program.
func TestGates(t *testing.T) {
	known := map[string]bool{}
	for _, g := range gates {
		assert.False(t, known[g.name], "two gates are named %q", g.name)
		known[g.name] = true
		assert.NotEmpty(t, g.shows, g.name)
		assert.Equal(t, len(g.bad) == 0, g.noBad != "", "%s: what is known to be wrong, and found? Or why is there none?", g.name)
		sources := tests(t, filepath.Join("..", "..", "..", g.pkg))
		for name := range strings.SplitSeq(g.tests, "|") {
			assert.True(t, strings.Contains(sources, "\nfunc "+name+"("), "%s: there is no %s in %s", g.name, name, g.pkg)
		}
		for name := range g.bad {
			assert.True(t, strings.Contains(sources, "bad."+name), "%s: nothing in %s prints bad.%s", g.name, g.pkg, name)
		}
	}
}

// The page has a line for every gate: when it passed, which commit, and the counts.
// Whoever adds a gate runs soak -only, or -short -write -only, which says that the
// long form has not run yet.
func TestPageIsOfTheseGates(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reliability.md"))
	require.NoError(t, err)
	page := string(text)
	for _, g := range gates {
		line := regexp.MustCompile(`^\| ` + regexp.QuoteMeta(g.name) + ` \| (` + soFar + `)?passed in \S+, \d{4}-\d\d-\d\d, [0-9a-f]{7,40}( with changes)? \| .*\d.* \|`)
		assert.Regexp(t, line, oldLine(g, page), "docs/reliability.md does not say that %s passed, on which commit: go run ./internal/test/soak -short -write -only '%s'", g.name, g.name)
	}
	assert.Equal(t, writePage(gates, run{machine: machineOf(page)}, page), page, "docs/reliability.md is not of this table: make soak")
}

// machineOf returns where the figures of a page come from.
func machineOf(page string) string {
	_, after, _ := strings.Cut(page, "\nMeasured with ")
	machine, _, _ := strings.Cut(after, ".\n")
	return machine
}

func tests(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	var sb strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		sb.Write(text)
	}
	return sb.String()
}
