package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// base is the commit that budgets add to; base.json has its figures, so that the test needs no history.
const base = "b488cd3a"

type budget struct {
	issue, area    string
	product, proof int
}

// budgets are what issues may add to the product and to the proof of base, less than nothing included. An issue that moves tests
// from one area to another has a row for each.
var budgets = []budget{
	// The ratchet, make prove, and the gates of visits and strangers: what the issue took out of tests of the runtime pays for them.
	{"CI in twenty minutes", other, 0, 1950},
	{"CI in twenty minutes", "runtime without stores and providers", 0, -2050},
	{"CI in twenty minutes", "generator, vet, their harness", 0, -500},
	{"CI in twenty minutes", "providers and their stand-ins", 0, -850},
	{"CI in twenty minutes", "several machines", 0, 50},
	{"CI in twenty minutes", "sandbox, supervisor, proxy", 0, 60},
	{"CI in twenty minutes", "daemon, API, client", 0, 60},
	{"CI in twenty minutes", "app, command, configuration", 0, 40},
	{"CI in twenty minutes", "stores (mem, sqlite, jsonl, kit)", 0, 10},
	{"CI in twenty minutes", "other subsystems", 0, 10},
	{"CI in twenty minutes", "secure, sensitive, redact, guardrail, audit, critique", 0, 30},
	{"CI in twenty minutes", "composite, plan, args", 0, 5},
}

// ratios are the lines of proof that a new line of product may have, by area; others may have 0.6.
var ratios = map[string]float64{"hook": 1, "composite, plan, args": 1, "runtime without stores and providers": 1}

var update = flag.Bool("update", false, "write base.json from the history")

func committed(t *testing.T) (out sizes) {
	text, err := os.ReadFile("base.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// over says by how many lines of proof or product an area, or the sum, is above what the budgets allow.
func over(budgets []budget, now, old sizes) map[string]float64 {
	productMore, proofMore := map[string]int{}, map[string]int{}
	for _, b := range budgets {
		for _, where := range []string{b.area, sum} {
			productMore[where] += b.product
			proofMore[where] += b.proof
		}
	}
	out := map[string]float64{}
	check := func(what string, n int, allowed float64) {
		if by := float64(n) - allowed; by > 0 {
			out[what] = by
		}
	}
	for _, area := range areas {
		ratio, ok := ratios[area]
		if !ok {
			ratio = 0.6
		}
		grown := max(0, now[area][product]-old[area][product])
		check("proof of "+area, now[area][proof], float64(old[area][proof]+proofMore[area])+ratio*float64(grown))
	}
	check("product", now[sum][product], float64(old[sum][product]+productMore[sum]))
	check("proof", now[sum][proof], float64(old[sum][proof]+proofMore[sum]))
	return out
}

func TestBudgets(t *testing.T) {
	files, err := onDisk("../../..")
	require.NoError(t, err)
	for what, by := range over(budgets, measure(files), committed(t)) {
		t.Errorf("%s: %.0f lines more than since %s is allowed: take something out, or add a row with the issue's name to budgets", what, by, base)
	}
	for _, b := range budgets {
		assert.NotEmpty(t, b.issue)
		assert.Contains(t, append([]string{""}, areas...), b.area)
	}
	for name := range files {
		if path.Ext(name) == ".go" {
			assert.NotEmpty(t, areaOf(path.Dir(name)), "%s is in no area of trees", name)
		}
	}
}

func TestOver(t *testing.T) {
	old := sizes{"hook": {100, 50}, "memory": {100, 50}, sum: {200, 100}}
	budgets := []budget{{"an issue", other, 0, 7}}
	assert.Empty(t, over(budgets, old, old))
	assert.Equal(t, map[string]float64{"proof of hook": 5, "proof of memory": 9, "product": 20},
		over(budgets, sizes{"hook": {110, 65}, "memory": {110, 65}, sum: {220, 100}}, old))
	assert.Equal(t, map[string]float64{"proof of hook": 1, "proof": 1}, over(budgets, sizes{"hook": {90, 51}, sum: {190, 108}}, old))
}

// TestBase measures base again: LEAN's figures for it are 138.8k lines of product, 151.9k of proof, 3.9k generated, 8.9k in nested
// modules, 198,630 and 153,787 lines in all, and 243 packages.
func TestBase(t *testing.T) {
	needs.Program(t, "git")
	if exec.CommandContext(t.Context(), "git", "cat-file", "-e", base+"^{commit}").Run() != nil {
		needs.Lacking(t, "the history since "+base+" is not here")
	}
	files, err := atCommit("../../..", base)
	require.NoError(t, err)
	got := measure(files)
	if *update {
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("base.json", bytes.ReplaceAll(append(text, '\n'), []byte("],"), []byte("],\n")), 0o600))
	}
	assert.Equal(t, committed(t), got, "go test ./internal/test/size -update writes base.json")
	for column, want := range map[int]int{product: 138_800, proof: 151_900, generated: 3_900, nested: 8_900, lines: 198_630, testLines: 153_787, packages: 243} {
		assert.InEpsilon(t, want, got[sum][column], 0.01, columns[column])
	}
}

func TestCode(t *testing.T) {
	source := "// Package p.\npackage p\n\n/* a\nb */\nvar s = `// text\n\nmore` // why\n\nvar q = \"/* no comment\"\n/* x */ var z = 1\n"
	assert.Equal(t, 5, code([]byte(source)))
	got := measure(map[string][]byte{
		"hook/a.go": []byte(source), "hook/a_test.go": []byte("package p\n"), "hook/testdata/a.json": []byte("{\n\n}\n"),
		"hook/a_gen.go": []byte("// Code generated by x. DO NOT EDIT.\npackage p\n"), "internal/test/run/a.go": []byte("package p\n"),
		"bench/go.mod": nil, "bench/x/a_test.go": []byte("package p\n"), "web/a.js": []byte("a\n"), "web/lib/b.js": []byte("b\n"),
	})
	assert.Equal(t, [width]int{product: 5, proof: 2, testData: 2, generated: 1, javaScript: 1, nested: 1,
		lines: strings.Count(source, "\n") + 1, testLines: 2, packages: 2}, got[sum])
}
