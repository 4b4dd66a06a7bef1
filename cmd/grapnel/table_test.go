package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

func TestTable(t *testing.T) {
	t.Parallel()
	got := aligned([][]string{
		{"AGENT", "FOR"},
		{"a", "one\n  two\tthree"},
		{"日本語", "wide"},
		{"e\u0301", "combined"},
		{"b", strings.Repeat("語", 50)},
	}, maxCell)
	assert.Equal(t, "AGENT   FOR\n"+
		"a       one two three\n"+
		"日本語  wide\n"+
		"e\u0301       combined\n"+
		"b       "+strings.Repeat("語", 39)+"…\n", got.String())
}

// TestFlagsOfHelp: what a flag takes is one word; backquotes in a usage would make
// it something else.
func TestFlagsOfHelp(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			name, usage := pflag.UnquoteUsage(f)
			assert.NotContains(t, name, " ", "%s --%s", cmd.CommandPath(), f.Name)
			assert.NotContains(t, usage, "`", "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&command{}).root())
}
