package composite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPromptsAreJoinedByOneBlankLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "one\n\n two\n\nthree", joinPrompts([]string{"one\n", "", "\n", "\n two\n\n", "three"}))
	inner := joinPrompts([]string{"one\n", "two\n"})
	assert.Equal(t, joinPrompts([]string{"one\n", "two\n", "three\n"}), joinPrompts([]string{inner, "three\n"}))
	assert.Empty(t, joinPrompts(nil))
}
