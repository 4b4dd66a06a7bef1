package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
	require.NoError(t, err)
	return string(text)
}

// Every step of .ci/run has a row in the table of CONTRIBUTING.md, which .ci/run
// reads, and every row a step; together they take no longer than the last row says.
func TestEveryStepHasATime(t *testing.T) {
	script := source(t, filepath.Join(".ci", "run"))
	var steps []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:step|within) "([^"$]+)"`).FindAllStringSubmatch(script, -1) {
		steps = append(steps, m[1])
	}
	_, targets, found := strings.Cut(source(t, "Makefile"), "\nci: ")
	require.True(t, found)
	targets, _, _ = strings.Cut(targets, "\n")
	for target := range strings.FieldsSeq(targets) {
		steps = append(steps, "make "+target)
	}
	times, sum := map[string]int{}, 0
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| (\d+) min \|`).FindAllStringSubmatch(source(t, "CONTRIBUTING.md"), -1) {
		minutes, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		times[m[1]] = minutes
		if m[1] != "everything" && m[1] != "modules" { // the modules are tested at the same time
			sum += minutes
		}
	}
	var rows []string
	for name := range times {
		rows = append(rows, name)
	}
	assert.ElementsMatch(t, steps, rows)
	assert.LessOrEqual(t, sum, times["everything"])
	assert.LessOrEqual(t, times["everything"], 35)
}
