package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

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
