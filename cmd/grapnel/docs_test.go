package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func source(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(data)
}

// section returns what stands between two texts.
func section(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, ok := strings.Cut(text, from)
	require.True(t, ok, from)
	text, _, ok = strings.Cut(text, to)
	require.True(t, ok, to)
	return text
}

// named are the first matches of a pattern, sorted, each once.
func named(pattern, text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rows are the words in backquotes in the first cells of a table.
func rows(table string) []string {
	var cells strings.Builder
	for _, cell := range named(`(?m)^\| ([^|]*)\|`, table) {
		cells.WriteString(cell)
	}
	return named("`([^`]+)`", cells.String())
}

// TestDocsJSON: the documented members are those that are written.
func TestDocsJSON(t *testing.T) {
	t.Parallel()
	docs := source(t, "docs/files.md")
	const tag = "json:\"([a-z0-9_]+)"
	events := section(t, source(t, "hook/event_json.go"), "type writtenEvent struct", "\n}\n")
	assert.Equal(t, named(tag, events), rows(section(t, docs, "| member of an event |", "\n\n")))
	outcome := section(t, source(t, "internal/term/json.go"), "func (p *JSONPrinter) Outcome", "\n}\n")
	assert.Equal(t, named(tag, outcome), rows(docs[strings.Index(docs, "| member of the last line |"):]))
}

func TestDocsExitCodes(t *testing.T) {
	t.Parallel()
	var want []string
	for _, code := range []int{0, exitFailed, exitWrong, exitHungUp, exitInterrupted, exitTerminated} {
		want = append(want, fmt.Sprint(code))
	}
	slices.Sort(want)
	assert.Equal(t, want, named(`(?m)^\| ([0-9]+) \|`, source(t, "docs/files.md")))
}

func TestDocsBuiltInSkills(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(root, "subsystems", "skills", "bundled"))
	require.NoError(t, err)
	var want []string
	for _, e := range entries {
		want = append(want, e.Name())
	}
	text := section(t, source(t, "docs/files.md"), "skills are built in, ", ".")
	assert.Equal(t, want, named("`([^`]+)`", text))
}
