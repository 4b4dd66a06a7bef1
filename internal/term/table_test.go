package term_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/term"
)

func TestTable(t *testing.T) {
	t.Parallel()
	got := term.Aligned([][]string{
		{"AGENT", "FOR"},
		{"a", "one\n  two\tthree"},
		{"日本語", "wide"},
		{"e\u0301", "combined"},
		{"b", strings.Repeat("語", 50)},
	}, term.MaxCell)
	assert.Equal(t, "AGENT   FOR\n"+
		"a       one two three\n"+
		"日本語  wide\n"+
		"e\u0301       combined\n"+
		"b       "+strings.Repeat("語", 39)+"…\n", got.String())
}
