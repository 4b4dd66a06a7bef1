package history_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

func TestCheckingAValidHistoryAllocatesASetAndABuffer(t *testing.T) {
	ms := long(10_000)
	assert.Nil(t, history.Check(ms))
	// A map of Go 1.26 is made of tables: their number grows with the messages, but
	// nothing is allocated for a message.
	assert.LessOrEqual(t, allocs.PerRun(5, func() { history.Check(ms) }), 60.0)
	assert.LessOrEqual(t, allocs.PerRun(100, func() { history.Check(ms[:5]) }), 4.0)
}
