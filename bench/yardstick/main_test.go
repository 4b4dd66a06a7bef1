package main

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A command line that makes no sense is told as such, before anything is built.
func TestMisuse(t *testing.T) {
	t.Chdir("..")
	for _, tt := range []struct {
		args []string
		says string
	}{
		{nil, "say what to do"},
		{[]string{"chek"}, `"chek" is none of peers, check and page`},
		{[]string{"peers", "-only", "["}, "-only: error parsing regexp"},
		{[]string{"peers", "-rounds", "-1"}, "-rounds -1"},
		{[]string{"peers", "-time", "3x"}, "-time 3x: it is a duration"},
		{[]string{"peers", "-x"}, "not defined: -x"},
		{[]string{"check", "more"}, `"more" is too much`},
	} {
		err := run(t.Context(), tt.args, io.Discard)
		require.ErrorContains(t, err, tt.says, tt.args)
		assert.ErrorAs(t, err, new(misuse), tt.args)
	}
	err := run(t.Context(), []string{"page", "-page", t.TempDir()}, io.Discard)
	require.ErrorContains(t, err, "read the results")
	assert.False(t, errors.As(err, new(misuse)), "the command line makes sense")
	t.Chdir("yardstick")
	assert.ErrorAs(t, run(t.Context(), []string{"page"}, io.Discard), new(misuse))
}
