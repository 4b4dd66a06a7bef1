package pointdoc_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/pointdoc"
)

var update = flag.Bool("update", false, "write docs/points")

// TestPages holds the pages to the declarations.
func TestPages(t *testing.T) {
	t.Parallel()
	s, err := pointdoc.Read("../../hook")
	require.NoError(t, err)
	want := s.Pages()
	const dir = "../../docs/points"
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err, "run the test with -update")
		assert.True(t, want[name] == string(got), "%s is not what the declarations say: run the test with -update", name)
	}
	there, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, there, len(want), "a page of no point")
}

// TestEveryPointHasAPage, and every decider's page has its answers.
func TestEveryPointHasAPage(t *testing.T) {
	t.Parallel()
	s, err := pointdoc.Read("../../hook")
	require.NoError(t, err)
	pages, answers := s.Pages(), s.Answers()
	for p, info := range point.All() {
		page := pages[p.String()+".md"]
		require.NotEmpty(t, page, "%s", p)
		assert.Contains(t, page, "```go\n"+p.String()+"(", "%s: its signature", p)
		assert.Equal(t, info.Kind == "decide", len(answers[p.String()]) > 0, "%s: its answers", p)
		for _, a := range answers[p.String()] {
			assert.Contains(t, page, "| "+a+" |")
		}
	}
	assert.Subset(t, s.Silent(), []string{"OnModelError", "OnInvalidTool", "OnStop", "OnTurnError", "BeforeCompaction"})
	assert.NotContains(t, s.Silent(), "BeforeTool")
	assert.Equal(t, []string{"stop", "deny", "ask", "answer", "narrow"}, answers["BeforeTool"])
}

func TestReadWhatDeclaresNothing(t *testing.T) {
	t.Parallel()
	_, err := pointdoc.Read(t.TempDir())
	assert.ErrorContains(t, err, "declares no points")
}
