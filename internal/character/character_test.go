package character_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func TestCut(t *testing.T) {
	cases := []struct {
		name, text string
		n          int
		want       string
	}{
		{"short", "abc", 3, "abc"},
		{"long", "abcd", 3, "ab…"},
		{"runes count, not bytes", "äöü", 3, "äöü"},
		{"blanks in front of the cut go", "ab  cd", 5, "ab…"},
		{"an accent stays with its letter", "abe\u0301xyz", 4, "ab…"},
		{"a family stays together", "ab👨‍👩‍👧cd", 5, "ab…"},
		{"a flag stays whole", "a🇩🇪bcd", 3, "a…"},
		{"one", "abcd", 1, "…"},
		{"none", "abcd", 0, ""},
		{"negative", "abcd", -1, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, cut := character.Cut(c.text, c.n)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.want != c.text, cut)
		})
	}
}

func TestCutStaysWithinItsBoundAndIsDoneOnce(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		s := strings.ToValidUTF8(rapid.StringOf(rapid.SampledFrom([]rune("ab e\u0301\u200d👩👧🇩🇪한\n"))).Draw(t, "text"), "")
		n := rapid.IntRange(0, 12).Draw(t, "n")
		got, cut := character.Cut(s, n)
		assert.LessOrEqual(t, utf8.RuneCountInString(got), n)
		assert.True(t, utf8.ValidString(got))
		assert.Equal(t, utf8.RuneCountInString(s) > n, cut)
		again, cut := character.Cut(got, n)
		assert.Equal(t, got, again)
		assert.False(t, cut)
	})
}
