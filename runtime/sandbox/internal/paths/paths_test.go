package paths_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dir, p, rel     string
		below, overlaps bool
	}{
		{"/a", "/a", ".", true, true},
		{"/a", "/a/b/c", "b/c", true, true},
		{"/a/b", "/a", "..", false, true},
		{"/a", "/ab", "../ab", false, false},
		{"/", "/x", "x", true, true},
		{"", "/x", "", false, false},
		{"/a", "b", "", false, false},
	} {
		rel, ok := paths.Below(tt.dir, tt.p)
		assert.Equal(t, tt.rel, rel, tt)
		assert.Equal(t, tt.below, ok, tt)
		assert.Equal(t, tt.overlaps, paths.Overlap(tt.dir, tt.p), tt)
	}
}
