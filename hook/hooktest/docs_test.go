package hooktest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/hooktest"
)

var update = flag.Bool("update", false, "write the table of rules and the example of a turn into docs/adding-a-hook.md")

const page = "../../docs/adding-a-hook.md"

// hold compares a part of the manual with what it should be, or writes it.
func hold(t *testing.T, part, want string) {
	t.Helper()
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	from, to := "<!-- "+part+": written by go test ./hook/hooktest -update -->\n", "<!-- end of "+part+" -->\n"
	head, rest, ok := strings.Cut(string(data), from)
	require.True(t, ok, from)
	got, tail, ok := strings.Cut(rest, to)
	require.True(t, ok, to)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+from+want+to+tail), 0o644))
		return
	}
	assert.Equal(t, want, got, "go test ./hook/hooktest -run Docs -update writes it")
}

// TestDocsTurn: the manual's turn is the example, which runs.
func TestDocsTurn(t *testing.T) {
	source, err := os.ReadFile("example_turn_test.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(source), "\n)\n\n")
	require.True(t, ok)
	hold(t, "turn", "\n```go\n"+code+"```\n\n")
}

// TestDocsRules: the manual's table of rules is made of Rules.
func TestDocsRules(t *testing.T) {
	var want strings.Builder
	want.WriteString("\n| rule | what breaks without it |\n|---|---|\n")
	for _, r := range hooktest.Rules() {
		fmt.Fprintf(&want, "| `%s` | %s |\n", r.ID, r.Reason)
	}
	want.WriteString("\n")
	hold(t, "rules", want.String())
}

// TestDocsLinks: everything that the page points at is there, and the commands are
// those that the README has.
func TestDocsLinks(t *testing.T) {
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	links := regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(string(data), -1)
	assert.NotEmpty(t, links)
	for _, m := range links {
		_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
		assert.NoError(t, err)
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, line := range regexp.MustCompile(`(?m)^\$ go (?:get|tool) .*$`).FindAllString(string(data), -1) {
		assert.Contains(t, string(readme), line)
	}
}
