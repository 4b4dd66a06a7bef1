package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

// BenchmarkFirstDefault is what the first call of Default costs a program.
func BenchmarkFirstDefault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := read()
		require.NoError(b, err)
	}
}

// TestTheTablesAreValid: the built-in tables pass the checks of a user's file.
func TestTheTablesAreValid(t *testing.T) {
	t.Parallel()
	ms, err := message.DecodeStrict[models](message.JSON(modelTable))
	require.NoError(t, err)
	for i := range ms.Models {
		require.NoError(t, ms.Models[i].check(), ms.Models[i].ID)
	}
	fs, err := message.DecodeStrict[families](message.JSON(familyTable))
	require.NoError(t, err)
	for i := range fs.Families {
		require.NoError(t, fs.Families[i].check(), fs.Families[i].Name)
	}
	_, err = read()
	require.NoError(t, err)
}

func TestTheVersionInAnID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]version{
		"claude-opus-4-8":                      {4, 8, true},
		"claude-opus-4.8-20260101":             {4, 8, true},
		"claude-opus-4-20250514":               {4, 0, true},
		"claude-3-5-haiku-20241022":            {3, 5, true},
		"gpt-5-2025-08-07":                     {5, 0, true},
		"gpt-4o-mini":                          {4, 0, true},
		"gpt-4-32k":                            {4, 0, true},
		"gpt-10.12-sol":                        {10, 12, true},
		"gemini-2.5-flash-lite-preview-9-2025": {2, 5, true},
		"o3":                                   {},
		"gpt-2025":                             {},
		"claude-latest":                        {},
		"":                                     {},
		"-":                                    {},
		"4.":                                   {4, 0, true},
	} {
		assert.Equal(t, want, versionOf(id), id)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "a", true}, {"a*", "a", true}, {"a*", "ba", false},
		{"*a", "ba", true}, {"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "axbyc", true}, {"a*b*c", "acb", false},
		{"a**b", "ab", true}, {"a*b*b", "ab", false}, {"gpt-*-pro", "gpt-5.4-pro", true}, {"gpt-*-pro", "gpt-5.4-prod", false},
	} {
		assert.Equal(t, tt.want, glob(tt.pattern, tt.name), "%s on %s", tt.pattern, tt.name)
	}
	assert.False(t, glob(strings.Repeat("*a", 100)+"b", strings.Repeat("a", 200)), "many stars take no time")
}
