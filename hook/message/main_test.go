package message_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), got, "names and shapes on the wire are a promise; run with -update if the change is meant")
}

// noAllocs fails if f allocates.
func noAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	assert.Zero(t, allocs.PerRun(100, f), "allocations of %s", what)
}

// recoded returns v after a round through encoding/json.
func recoded[T any](t require.TestingT, v T) T {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var back T
	require.NoError(t, json.Unmarshal(data, &back))
	return back
}
