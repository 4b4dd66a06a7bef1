package retention_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/retention"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// TestOneLargeConversationTakesNotAllOthersWithIt: who may converse, and so import, may not delete. What is larger than the limit by
// itself goes, or stays; the others that fit stay.
func TestOneLargeConversationTakesNotAllOthersWithIt(t *testing.T) {
	t.Parallel()
	w := &world{store: mem.New(nil)}
	ann, bob := w.talk(t, "/p", "ann", 1000), w.talk(t, "/p", "bob", 1000)
	w.talk(t, "/p", "filler", 2<<20)
	require.NoError(t, w.keeper(t.TempDir(), retention.Limits{Bytes: 1 << 20}).Sweep(t.Context()))
	for _, rec := range []string{ann.ID, bob.ID} {
		_, err := w.store.Find(t.Context(), rec)
		assert.NoError(t, err, "a small conversation went, to make room for one that has none")
	}
}
