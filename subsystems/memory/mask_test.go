package memory_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// TestWhatIsMaskedIsInNoFile: names, contents and aliases; and with masking off the file has them.
func TestWhatIsMaskedIsInNoFile(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		dir := t.TempDir()
		o := &memory.Options{Project: "/one"}
		if on {
			o.Mask = func(text string) string {
				return strings.NewReplacer("kestrel", "[bird]", "osprey", "[bird]").Replace(text)
			}
		}
		m, err := memory.Open(t.Context(), filepath.Join(dir, "memory.db"), o)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, m.OnClose(context.Background())) })
		c := as(t, m, "a", "")
		c.remember("the kestrel", "Its friend is the osprey.", "osprey")
		if on {
			assert.Empty(t, found(t, dir, secrets...))
			assert.Contains(t, c.recall("friend"), "Its friend is the [bird].")
			continue
		}
		assert.NotEmpty(t, found(t, dir, secrets...))
	}
}
