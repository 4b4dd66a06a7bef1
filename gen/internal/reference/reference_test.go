package reference_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/reference"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

const page = "../../../docs/hookgen-reference.md"

var update = flag.Bool("update", false, "write docs/hookgen-reference.md")

// The page in docs is what the declarations say.
func TestPageIsUpToDate(t *testing.T) {
	want := reference.Markdown()
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "go test ./gen/internal/reference -update writes it")
}

// Every word that is understood and every code is on the page, and no table is broken.
func TestPageIsComplete(t *testing.T) {
	text := reference.Markdown()
	for _, verb := range directive.Verbs() {
		assert.Contains(t, text, "### //hook:"+verb+"\n")
	}
	for _, w := range plan.Words() {
		assert.Contains(t, text, "| `"+strings.ReplaceAll(w.Word, "|", "\\|")+"` | ")
	}
	for _, w := range schema.TagWords() {
		assert.Contains(t, text, "| `"+w.Word+"` | ")
	}
	for _, code := range diag.Codes() {
		assert.Contains(t, text, "\n### "+code+": ")
	}
	assert.Zero(t, strings.Count(text, "```")%2)
}
