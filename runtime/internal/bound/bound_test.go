package bound_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
)

func TestResultKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	long := "begin " + strings.Repeat("ä😀", 1000) + " end"
	for limit := 100; limit < 110; limit++ {
		got := bound.Result(message.TextResult(long), limit).Text()
		assert.True(t, utf8.ValidString(got))
		assert.True(t, strings.HasPrefix(got, "begin ä"))
		assert.True(t, strings.HasSuffix(got, " end"))
		assert.Less(t, len(got), limit+50)
	}
	assert.Equal(t, long, bound.Result(message.TextResult(long), len(long)).Text())
}

func TestValidReplacesBytesAndCutsNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1_000_000)
	got := bound.Valid(message.ToolResult{Content: message.ListOf(
		message.TextBlock(long), message.TextBlock("a\xff\xfeb"), message.Block{Kind: message.BlockJSON, JSON: "\"\xff\""},
		message.Block{Kind: message.BlockResource, URI: "file:///\xff"},
	)})
	assert.Equal(t, long, got.Content.At(0).Text)
	assert.Equal(t, "a\uFFFDb", got.Content.At(1).Text)
	assert.Equal(t, message.JSON("\"\uFFFD\""), got.Content.At(2).JSON)
	assert.Equal(t, "file:///\uFFFD", got.Content.At(3).URI)
}

func TestCutSaysHowMuchIsLeftOut(t *testing.T) {
	t.Parallel()
	short, omitted := bound.Cut("0123456789", 4)
	assert.Equal(t, "01\n[… 6 bytes left out …]\n89", short)
	assert.Equal(t, 6, omitted)
	short, omitted = bound.Cut("0123456789", 10)
	assert.Equal(t, "0123456789", short)
	assert.Zero(t, omitted)
}

func TestTheBoundIsForAllBlocksTogether(t *testing.T) {
	t.Parallel()
	r := message.ToolResult{Content: message.ListOf(
		message.TextBlock(strings.Repeat("a", 80)), message.TextBlock(strings.Repeat("b", 80)),
		message.Block{Kind: message.BlockJSON, JSON: message.JSON(`["` + strings.Repeat("c", 80) + `"]`)},
	)}
	got := bound.Result(r, 100)
	assert.Less(t, len(got.Text()), 250)
	assert.Equal(t, strings.Repeat("a", 80), got.Content.At(0).Text)
	assert.Equal(t, message.BlockText, got.Content.At(2).Kind, "half a JSON text is none")
}

// marker is what stands in the place of what was cut out of a text.
var marker = regexp.MustCompile(`^(?s)(.*)\n\[… (\d+) bytes left out …\]\n(.*)$`)

func TestWhatIsSeenAsOneCharacterIsNotCutInTwo(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]string{
		"an emoji":                         "😀",
		"a family":                         "👨‍👩‍👧‍👦",
		"a hand with its hue":              "👍🏽",
		"a heart in red":                   "❤️",
		"a flag":                           "🇨🇭",
		"a flag of a country in a country": "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
		"a letter and its accent":          "e\u0301",
		"a letter and many accents":        "Z̵̡̢̛̗̘̙̜̝̞̟̠͇̊̋̌̍̎̏",
		"a syllable of Hindi":              "नि",
		"a syllable of Hangul in parts":    "한",
		"a line end of Windows":            "\r\n",
	} {
		for limit := 1; limit < 2*len(one)+3; limit++ {
			got := bound.Result(message.TextResult(strings.Repeat(one, 20)), limit).Text()
			parts := marker.FindStringSubmatch(got)
			require.NotNil(t, parts, "%s: there is no marker: %q", name, got)
			left, err := strconv.Atoi(parts[2])
			require.NoError(t, err)
			require.Equal(t, 20*len(one), len(parts[1])+left+len(parts[3]), "%s: %q", name, got)
			require.LessOrEqual(t, len(parts[1])+len(parts[3]), limit)
			for _, kept := range []string{parts[1], parts[3]} {
				require.Equal(t, strings.Repeat(one, len(kept)/len(one)), kept, "%s at %d", name, limit)
			}
		}
	}
}

func TestATextOfNothingButAccentsIsCutAtRunes(t *testing.T) {
	t.Parallel()
	const accent = "\u0301"
	got := bound.Result(message.TextResult(strings.Repeat(accent, 1000)), 501).Text()
	parts := marker.FindStringSubmatch(got)
	require.NotNil(t, parts)
	assert.True(t, utf8.ValidString(got))
	assert.Greater(t, len(parts[1])+len(parts[3]), 490, "it is no reason to give up the text")
}

func TestAnyResultIsBoundedValidAndSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "é", "e\u0301", "😀", "👨‍👩‍👧‍👦", "🇨🇭", "\n", "\xff", "\xf0\x9f", "\u200d", "[…", "\x00"}
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) {
		var blocks []message.Block
		total := 0
		for range rapid.IntRange(1, 40).Draw(rt, "blocks") {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(rt, "text"), "")
			total += len(strings.ToValidUTF8(text, "\uFFFD"))
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				blocks = append(blocks, message.Block{Kind: message.BlockJSON, JSON: message.JSON(text)})
			case 1:
				blocks = append(blocks, message.Block{Kind: message.BlockResource, URI: "file:///x", Text: text}, message.Block{Kind: message.BlockImage, Data: "aGk="})
			default:
				blocks = append(blocks, message.TextBlock(text))
			}
		}
		limit := rapid.IntRange(1, 2000).Draw(rt, "limit")
		got := bound.Result(message.ToolResult{Content: message.Freeze(blocks)}, limit)
		size, images, said := 0, 0, false
		for _, b := range got.Content.All() {
			require.True(rt, utf8.ValidString(b.Text) && utf8.ValidString(string(b.JSON)))
			size += len(b.Text) + len(b.JSON)
			if b.Kind == message.BlockImage {
				images++
			}
			said = said || strings.Contains(b.Text, "left out …]")
		}
		want := 0
		for _, b := range blocks {
			if b.Kind == message.BlockImage {
				want++
			}
		}
		require.Equal(rt, want, images, "images are no text")
		require.Equal(rt, total > limit, said, "what is cut is said, and nothing else: %q", got.Content)
		require.LessOrEqual(rt, size, limit+100, "two markers at most")
		if total <= limit {
			require.Equal(rt, total, size)
		}
	})
}
