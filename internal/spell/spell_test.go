package spell_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/spell"
)

func TestClosest(t *testing.T) {
	candidates := []string{"before", "after", "optional", "Memory", "go"}
	tests := []struct{ word, want string }{
		{"befor", "before"},
		{"BEFORE", "before"},
		{"Memry", "Memory"},
		{"memroy", "Memory"}, // two letters swapped are one edit
		{"optinoal", "optional"},
		{"aftr", "after"},
		{"og", ""}, // half of its letters
		{"xyzzy", ""},
		{"", ""},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, spell.Closest(tt.word, candidates), tt.word)
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "ABC", 0}, {"abc", "abd", 1},
		{"abc", "acb", 1}, {"kitten", "sitting", 3}, {strings.Repeat("a", 500), strings.Repeat("a", 400), 0},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, spell.Distance(tt.a, tt.b), "%q %q", tt.a, tt.b)
		assert.Equal(t, tt.want, spell.Distance(tt.b, tt.a), "%q %q", tt.b, tt.a)
	}
}
