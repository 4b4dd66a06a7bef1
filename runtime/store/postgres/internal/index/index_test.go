package index_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/runtime/store/internal/search"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/index"
)

func TestVector(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		texts  search.Texts
		want   string
		length int32
	}{
		{"nothing", search.Texts{}, "", 0},
		{"each source has its label", search.Texts{Title: "a b", User: "b c", Tools: "c", Assistant: "d", Summary: "e"}, "'a':1A 'b':1A,2B 'c':1B,2C 'd':1D 'e':1D ", 7},
		{"diacritics and case are folded", search.Texts{User: "Café CAFE naïve Ärger"}, "'arger':1B 'cafe':1B,2B 'naive':1B ", 4},
		{"quotes and operators are no words", search.Texts{User: `it's a \ 'b':1A & c|d`}, "'1a':1B 'a':1B 'b':1B 'c':1B 'd':1B 'it':1B 's':1B ", 7},
		{"a word that is too long is counted and not found", search.Texts{User: "a " + strings.Repeat("x", 3000)}, "'a':1B ", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, length := index.Vector(tt.texts)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.length, length)
		})
	}
}

// PostgreSQL refuses a tsvector of 1 MiB, and a word with 256 positions loses some.
func TestAVectorIsBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&many, "word%d ", i)
	}
	got, length := index.Vector(search.Texts{User: many.String()})
	assert.Equal(t, int32(300_000), length)
	assert.Less(t, len(got), 1_300_000, "quotes, colons and positions as text included")
	got, length = index.Vector(search.Texts{User: strings.Repeat("same ", 1000)})
	assert.Equal(t, int32(1000), length)
	assert.Equal(t, 255, strings.Count(got, "B"))
}

func TestSort(t *testing.T) {
	t.Parallel()
	hits := []index.Hit{
		{Conversation: 1, Seq: 1, Length: 4, Counts: []float64{1, 0}},
		{Conversation: 2, Seq: 1, Length: 4, Counts: []float64{1, 0}},
		{Conversation: 3, Seq: 1, Length: 4, Counts: []float64{0, 1}},
		{Conversation: 4, Seq: 1, Length: 40, Counts: []float64{1, 0}},
	}
	index.Sort(hits, []int64{50, 1}, 1000, 4)
	var got []int64
	for _, h := range hits {
		got = append(got, h.Conversation)
	}
	assert.Equal(t, []int64{3, 2, 1, 4}, got, "a rare word, then the newer of two equal ones, then the long message")
}
