package hook_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
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

// host keeps nothing; it is there to be recognized.
type host struct {
	hook.NoHost
	name string
}

func (host) Emit(context.Context, hook.Event) {}
