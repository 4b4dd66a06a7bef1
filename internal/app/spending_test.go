package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

func TestPricesOfTheCatalog(t *testing.T) {
	t.Parallel()
	known, err := catalog.Default().With("models.json", []byte(`{"models": [{"vendor": "openai", "id": "test-model",
		"prices": [{"input": 1, "output": 2}, {"above": 100, "input": 3, "output": 4}]}]}`))
	require.NoError(t, err)
	small, ok := catalogPrice(known, "openai:test-model", 100, time.Now())
	assert.True(t, ok)
	assert.InDelta(t, 1, small.Input, 0)
	large, ok := catalogPrice(known, "openai:test-model", 101, time.Now())
	assert.True(t, ok)
	assert.InDelta(t, 3, large.Input, 0)
	for _, model := range []string{"test-model", "openai:nothing-like-it", "script:x.yaml", ""} {
		_, ok = catalogPrice(known, model, 1, time.Now())
		assert.False(t, ok, model)
	}
}
