package main

import (
	"os"
	"path/filepath"
	"regexp"
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

// Every step of .ci/run has a row in the table of CONTRIBUTING.md, which .ci/run reads, and
// every row a step.
func TestEveryStepHasATime(t *testing.T) {
	script := source(t, filepath.Join(".ci", "run"))
	var steps []string
	for _, m := range regexp.MustCompile(`(?m)^\s*step "([^"$]+)"`).FindAllStringSubmatch(script, -1) {
		steps = append(steps, m[1])
	}
	_, targets, found := strings.Cut(source(t, "Makefile"), "\nci: ")
	require.True(t, found)
	targets, _, _ = strings.Cut(targets, "\n")
	for target := range strings.FieldsSeq(targets) {
		steps = append(steps, "make "+target)
	}
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| \d+ min \|`).FindAllStringSubmatch(source(t, "CONTRIBUTING.md"), -1) {
		rows = append(rows, m[1])
	}
	assert.ElementsMatch(t, steps, rows)
}
