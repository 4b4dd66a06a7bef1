package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench"
)

var update = flag.Bool("update", false, "write the page of the fixed results anew")

func TestPage(t *testing.T) {
	charts, err := fixed().charts()
	require.NoError(t, err)
	got, golden := fixed().page(charts), filepath.Join("testdata", "fixed.md")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./yardstick -update writes it anew")
}

// The page that is committed is what the results that are committed say.
func TestCommittedPage(t *testing.T) {
	docs, dir := filepath.Join("..", "..", "docs"), t.TempDir()
	results, err := os.ReadFile(filepath.Join(docs, "performance.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "performance.json"), results, 0o644))
	require.NoError(t, renderPage(dir))
	got, want := tree(t, docs), tree(t, dir)
	assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	for name, text := range want {
		assert.True(t, text == got[name], "%s is another one now: go run ./yardstick page, in bench, writes it anew", name)
	}
}

// tree is the page and its charts by name.
func tree(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	for _, pattern := range []string{"performance.md", "performance/*.svg"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			files[filepath.Base(name)] = string(text)
		}
	}
	require.NotEmpty(t, files)
	return files
}

func TestChartsAreWellFormed(t *testing.T) {
	charts, err := fixed().charts()
	require.NoError(t, err)
	require.Len(t, charts, 2, "tools and shares: the fixed results have no others")
	for _, c := range charts {
		text := texts(t, c.svg)
		assert.Contains(t, text, c.title)
		want := []string{"grapnel", "limit", "eino-react", "genkit", "512", "10 µs", "registered tools"}
		if c.file == "shares.svg" {
			want = []string{classModel, classOther, "50 %", "100 %"}
		}
		for _, w := range want {
			assert.Contains(t, text, w, c.file)
		}
	}
}

// texts reads a picture as XML and returns what is written in it.
func texts(t *testing.T, svg []byte) (all []string) {
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
}

// A peer that has no figure and no reason is told of, on the page and at the end.
func TestNobodyIsLeftOutSilently(t *testing.T) {
	r := fixed()
	assert.Equal(t, []string{"Turn/tools=512/genkit"}, r.unexplained())
	assert.Contains(t, r.page(nil), "- `genkit`, 512 tools: **no reason is written down.**")
	require.ErrorContains(t, r.complete(), "Turn/tools=512/genkit")
	require.ErrorContains(t, r.complete(), "three wraps of a composite (allocations)")
}

// Whoever is measured is described.
func TestEverySubjectIsDescribed(t *testing.T) {
	for _, s := range bench.Subjects {
		assert.GreaterOrEqual(t, rank(s.Name), 0, s.Name)
	}
	results, err := readResults(filepath.Join("..", "..", "docs", "performance.json"))
	require.NoError(t, err)
	for _, b := range results.Benchmarks {
		if p, ok := split(b.Name); ok {
			assert.GreaterOrEqual(t, rank(p.subject), 0, "%s is not in the table of subjects", p.subject)
			assert.Contains(t, scenarioNames(), p.scenario, "no scenario of that name in the table")
		}
	}
}

func scenarioNames() (names []string) {
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

func TestGroupsAreInTheOrderOfTheirSizes(t *testing.T) {
	r := &Results{}
	for _, name := range []string{"TurnHistory/messages=10000/grapnel", "TurnHistory/messages=100/limit", "TurnHistory/messages=1/grapnel", "TurnHistory/messages=100/grapnel"} {
		r.Benchmarks = append(r.Benchmarks, Benchmark{Name: "bench." + name})
	}
	p, _ := split(r.Benchmarks[0].Name)
	assert.Equal(t, []string{"TurnHistory/messages=1", "TurnHistory/messages=100", "TurnHistory/messages=10000"}, r.groups(p.scenario))
	assert.Equal(t, "1,057/s", inUnit("turns/s")(1057))
}
