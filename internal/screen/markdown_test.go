package screen

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

func rendered(color bool, parts ...string) string {
	m := Markdown{Color: color}
	var sb strings.Builder
	for _, part := range parts {
		sb.WriteString(m.Add(part).s)
	}
	sb.WriteString(m.End().s)
	return sb.String()
}

func source(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join("testdata", "markdown.md"))
	require.NoError(t, err)
	return string(data)
}

// visible writes escape sequences as text, so that a golden file can be read.
func visible(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }

func TestMarkdownGolden(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "markdown.golden")
	got := visible(rendered(true, source(t)))
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestMarkdownDoesNotDependOnTheCut(t *testing.T) {
	t.Parallel()
	text := source(t)
	for _, color := range []bool{true, false} {
		want := rendered(color, text)
		for i := range len(text) {
			require.Equal(t, want, rendered(color, text[:i], text[i:]), "cut at %d, %q", i, text[max(0, i-10):i])
		}
		assert.Equal(t, want, rendered(color, strings.Split(text, "")...), "by character")
		bytes := make([]string, len(text))
		for i := range len(text) {
			bytes[i] = text[i : i+1]
		}
		assert.Equal(t, want, rendered(color, bytes...), "by byte")
	}
}

// TestMarkdownOfAnything tries texts that are made of everything that means
// something, also such as are longer than what is held back.
func TestMarkdownOfAnything(t *testing.T) {
	t.Parallel()
	words := []string{
		"*", "**", "_", "`", "```", "~~", "~~~", "[", "](", ")", "#", "# ", "- ", "> ", "+", "\\", "\n", "\r", "\r\n", " ", "   ", "\t",
		"a", "word", "1. ", "---", "é", "日", "\xff", "\xe6", "\x1b[1m", "***", "!", "(", "]",
		strings.Repeat("x ", maxHeld/2), strings.Repeat("`", maxHeld), strings.Repeat(" ", maxHeld), strings.Repeat("-", maxHeld-1),
	}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		var sb strings.Builder
		for range 1 + r.IntN(30) {
			n := len(words)
			if r.IntN(10) > 0 { // the long ones are rare
				n -= 4
			}
			sb.WriteString(words[r.IntN(n)])
		}
		text := sb.String()
		want := rendered(true, text)
		for range 5 {
			var parts []string
			for rest := text; rest != ""; {
				n := 1 + r.IntN(len(rest))
				if r.IntN(2) == 0 {
					n = min(len(rest), 1+r.IntN(4))
				}
				parts = append(parts, rest[:n])
				rest = rest[n:]
			}
			if got := rendered(true, parts...); got != want {
				require.Equal(t, visible(want), visible(got), "seed %d, parts %q", seed, parts)
			}
		}
		for st := Bold; st <= Cyan; st++ {
			on := strings.Count(want, st.Begin().s)
			require.LessOrEqual(t, on, strings.Count(want, st.End().s), "a style that is begun is ended")
		}
	}
}

func TestMarkdownWithoutColorIsTheSource(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Flow(source(t)).s, rendered(false, source(t)))
}

// TestMarkdownComesAsItComes says what can be shown after each part, so that
// holding back stays short.
func TestMarkdownComesAsItComes(t *testing.T) {
	t.Parallel()
	m := Markdown{Color: true}
	for _, step := range []struct{ in, out string }{
		{"Hello wor", "Hello wor"},
		{"ld, **bo", "ld, "},
		{"ld** x", "\x1b[1mbold\x1b[22m x"},
		{"\n#", "\n"},
		{"# He", "\x1b[1mHe"},
		{"ad\n", "ad\x1b[22m\n"},
		{"-", ""},
		{" item", "• item"},
		{"\n```", "\n"},
		{"go\n", "\x1b[2m```go\x1b[22m\n"},
		{"x :=", "\x1b[36mx :="},
		{" 1\n``", " 1\x1b[39m\n"},
		{"`\n", "\x1b[2m```\x1b[22m\n"},
		{"\xc3", ""},
		{"\xa9", "é"},
	} {
		assert.Equal(t, step.out, m.Add(step.in).s, "after %q", step.in)
	}
	assert.Empty(t, m.End().s)
}
