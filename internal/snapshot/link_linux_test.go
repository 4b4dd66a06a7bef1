package snapshot_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// TestGitObjectsAreLinked: and come back as the same file.
func TestGitObjectsAreLinked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &snapshot.Options{FileBytes: 100})
	name := ".git/objects/ab/" + strings.Repeat("0", 38)
	w.write(name, strings.Repeat("large", 100))
	was, err := os.Stat(w.path(name))
	require.NoError(t, err)
	before, report, err := w.s.Take(t.Context())
	require.NoError(t, err)
	assert.Empty(t, report.LeftOut, "a link has no limit")
	require.NoError(t, os.RemoveAll(w.path(".git")))
	r := w.undo(before, w.take())
	assert.Empty(t, r.Conflicts)
	is, err := os.Stat(w.path(name))
	require.NoError(t, err)
	assert.True(t, os.SameFile(was, is))
}
