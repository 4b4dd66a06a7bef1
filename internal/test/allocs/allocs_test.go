package allocs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

var kept []byte

func TestPerRun(t *testing.T) {
	n, runs := 0.0, 0
	if allocs.Counted {
		n = 2
	}
	assert.InDelta(t, n, allocs.PerRun(10, func() {
		kept = make([]byte, 100)
		kept = make([]byte, 200)
		runs++
	}), 0)
	assert.Equal(t, 11, runs, "once to warm up")
}
