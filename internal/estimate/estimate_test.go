package estimate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/estimate"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]int64{0: 0, 1: 1, 4: 1, 5: 2, 4000: 1000} {
		assert.Equal(t, want, estimate.Tokens(bytes))
		assert.Equal(t, want, estimate.Tokens(int64(bytes)))
	}
}
