package conn

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRingKeepsTheEnd(t *testing.T) {
	t.Parallel()
	r := ring{max: 8}
	var all strings.Builder
	for _, part := range []string{"ab", "", "cdefg", "hi", "jklmnopqrst", "u", "vwxyz012"} {
		n, err := r.Write([]byte(part))
		assert.NoError(t, err)
		assert.Equal(t, len(part), n)
		all.WriteString(part)
		whole := all.String()
		assert.Equal(t, whole[max(0, len(whole)-8):], r.String())
	}
	r.reset()
	assert.Empty(t, r.String())
	_, _ = r.Write([]byte("new"))
	assert.Equal(t, "new", r.String())
}
