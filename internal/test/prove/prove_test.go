package main

import (
	"errors"
	"flag"
	"io"
	"io/fs"
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

var update = flag.Bool("update", false, "write docs/evidence.md")

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
		{"the wrong one passed", without("bad.no-sync=12", "bad.no-sync=0"), nil, failed, "it did not find a lying disk (bad.no-sync)"},
		{"the wrong one was not tried", without("bad.no-sync=12", "no-sync=12"), nil, failed, "it did not find a lying disk (bad.no-sync)"},
	}
	for _, c := range cases {
		r := loss.judge(c.output, c.err)
		assert.Equal(t, c.want, r.verdict, c.name)
		assert.Equal(t, c.why, r.why, c.name)
	}
}

// A new result replaces the gate's line, and passedAt reads the commit back; other lines stay.
func TestPage(t *testing.T) {
	r := loss.judge(output, nil)
	r.took, r.commit, r.day = 1400*time.Millisecond, "abcdef0123", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	other := gate{name: "other", shows: "Other.", pkg: "./other", noBad: "it is fine."}
	page := writePage([]gate{other, loss, {name: "new"}}, &r, "text\n| loss | old |\n| other | **FAILED**: x | 0123456 | 2026-01-01 | a | b |\n")
	assert.Contains(t, page, "| other | **FAILED**: x | 0123456 | 2026-01-01 | a | b |\n| loss | passed in 1s, "+machine()+
		" | abcdef0123 | 2026-01-02 | seed 1, lost 0 acknowledged writes | a lying disk: 12 writes lost |\n| new | **not run yet** | | | | |\n")
	assert.Equal(t, "abcdef0123", passedAt(loss, page))
	assert.Empty(t, passedAt(other, page), "it failed")
	assert.Empty(t, passedAt(gate{name: "new"}, page))
}

func TestWhatMakesAGateStale(t *testing.T) {
	dirs := []string{"hook", "runtime", "runtime/store", "subsystems/x", "runtime/store/schema/1.sql"}
	for file, want := range map[string]bool{
		"runtime/turn.go":         true,
		"runtime/turn_test.go":    true,
		"runtime/testdata/a/b":    true,
		"hook/hook.go":            true,
		"hook/hook_test.go":       false, // the tests of another package
		"hook/testdata/x":         false,
		"runtime/store/s_test.go": true, // a package below it that its tests import
		"subsystems/y/y.go":       false,
		"docs/page.md":            false,
		"shared/data/x":           true,

		"runtime/store/schema/1.sql": true, // embedded
		"runtime/store/schema/2.sql": false,
		"go.sum":                     true,
	} {
		assert.Equal(t, want, counts(file, "./runtime", dirs, []string{"shared/data"}), file)
	}
}

// A gate whose package does not build has failed, and says so at once.
func TestAGateThatDoesNotBuildHasFailed(t *testing.T) {
	tr := trial{out: io.Discard, dir: t.TempDir(), built: map[string]string{}}
	assert.Equal(t, failed, tr.run(t.Context(), gate{pkg: "./no-such-directory", tests: "TestX"}).verdict)
}

// A row that names a test that is gone would fail only when somebody runs make prove.
func TestGates(t *testing.T) {
	known := map[string]bool{}
	for _, g := range gates {
		assert.False(t, known[g.name], "two gates are named %q", g.name)
		known[g.name] = true
		assert.NotEmpty(t, g.shows, g.name)
		assert.Equal(t, len(g.bad) == 0, g.noBad != "", "%s: what is known to be wrong, and found? Or why is there none?", g.name)
		assert.Equal(t, g.tests == "", len(g.command) > 0, "%s: tests or a command", g.name)
		for _, path := range slices.Concat(g.judged(), g.data) {
			_, err := os.Stat(filepath.Join("..", "..", "..", path))
			assert.NoError(t, err, g.name)
		}
		if g.tests == "" {
			continue
		}
		sources := tests(t, filepath.Join("..", "..", "..", g.pkg))
		for name := range strings.SplitSeq(g.tests, "|") {
			assert.True(t, strings.Contains(sources, "\nfunc "+name+"("), "%s: there is no %s in %s", g.name, name, g.pkg)
		}
		for name := range g.bad {
			assert.True(t, strings.Contains(sources, "bad."+name), "%s: nothing in %s prints bad.%s", g.name, g.pkg, name)
		}
	}
}

// A proof that no gate runs would never run.
func TestEveryProofHasAGate(t *testing.T) {
	begins := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, part := range strings.Split(string(text), "\n}\n") {
			m := begins.FindStringSubmatch(part)
			if m == nil || !strings.Contains(part, "\tneeds.Proof(t)") {
				continue
			}
			assert.True(t, slices.ContainsFunc(gates, func(g gate) bool {
				return slices.Contains(strings.Split(g.tests, "|"), m[1]) && filepath.Join("..", "..", "..", g.pkg) == filepath.Dir(path)
			}), "%s: no gate runs %s", path, m[1])
		}
		return err
	}))
}

// docs/evidence.md is of this table.
func TestPageIsOfTheseGates(t *testing.T) {
	path := filepath.Join("..", "..", "..", page)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if want := writePage(gates, nil, string(text)); *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	} else {
		assert.Equal(t, want, string(text), "go test ./internal/test/prove -update")
	}
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
