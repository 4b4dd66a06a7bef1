package cookbook

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/hooktest"
)

var update = flag.Bool("update", false, "write docs/cookbook.md")

// recipes are the files, in the order of the page.
var recipes = []string{"functions", "audit", "guardrail", "rewrite", "stop"}

// What hookgen wrote is of the sources as they are.
func TestGenerated(t *testing.T) { hooktest.Generated(t) }

// TestPage holds docs/cookbook.md to the recipes, which run as examples.
func TestPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("# Cookbook\n\nA recipe each for what no subsystem does for you yet. All of them run as tests, in `examples/cookbook`; the agent there has one\n" +
		"tool, `order`, and a scripted model. `composite.Of` puts hooks together at run time; with a struct and `hookgen` the same is\ngenerated: [hookgen.md](hookgen.md).\n")
	for _, name := range recipes {
		b.WriteString("\n" + recipe(t, name+"_test.go"))
	}
	const page = "../../docs/cookbook.md"
	if *update {
		require.NoError(t, os.WriteFile(page, b.Bytes(), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(got), b.String(), "run the test with -update")
}

// recipe is a file as a section: its title, what is said of it, and the code behind
// the imports.
func recipe(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "\n)\n\n")
	require.True(t, ok, "%s has no imports", file)
	title, said := "", []string{}
	lines := strings.Split(rest, "\n")
	for i, line := range lines {
		comment, ok := strings.CutPrefix(line, "//")
		if !ok {
			rest = strings.TrimSpace(strings.Join(lines[i:], "\n"))
			break
		}
		if comment = strings.TrimSpace(comment); title == "" {
			title = comment
			continue
		}
		said = append(said, comment)
	}
	require.NotEmpty(t, title, file)
	return fmt.Sprintf("## %s\n%s\n\n```go\n%s\n```\n", title, strings.TrimRight(strings.Join(said, "\n"), "\n"), rest)
}
