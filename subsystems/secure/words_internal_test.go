package secure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A word without end costs what it is long, not its square.
func TestAWordWithoutEnd(t *testing.T) {
	t.Parallel()
	s := said{}.with(strings.Repeat("a", 1<<20))
	assert.True(t, s.word(strings.Repeat("a", 1<<20)))
	assert.Len(t, s.parts[0].stems, longStem-shortStem+1)
}
