package edit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWidth(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｱ": 1, "Ａ": 2, "👍": 2, "👍🏽": 2, "👩‍🚀": 2, "🇩🇰": 2, "❤️": 2, "한": 2, "a\u200bb": 2, "\x1b": 0,
	} {
		assert.Equal(t, want, Width(s), "%q", s)
	}
}

// play edits a text with keys and returns it with the cursor as |.
func play(start string, keys ...key) string {
	var t text
	t.set(start)
	for _, k := range keys {
		t.key(k, 0)
	}
	return string(t.runes[:t.at]) + "|" + string(t.runes[t.at:])
}

func TestKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, start, want string
		keys              []key
	}{
		{"left over a cluster", "a👩‍🚀", "a|👩‍🚀", []key{keyLeft}},
		{"left over an accent", "ae\u0301", "a|e\u0301", []key{keyLeft}},
		{"right over a flag", "🇩🇰🇩🇪", "🇩🇰|🇩🇪", []key{keyHome, keyRight}},
		{"backspace takes a cluster", "日本👍🏽", "日本|", []key{keyBackspace}},
		{"backspace at the beginning", "a", "|a", []key{keyHome, keyBackspace}},
		{"delete", "日本", "|本", []key{keyHome, keyDelete}},
		{"delete at the end", "a", "a|", []key{keyDelete}},
		{"over a line break", "a\nb", "a|\nb", []key{keyLeft, keyLeft}},
		{"home and end of the line", "ab\ncd", "ab\n|cd", []key{keyHome}},
		{"words", "one two_2, three", "one two_2|, three", []key{keyWordLeft, keyWordLeft, keyWordRight}},
		{"cut a word", "one two-three", "one two-|", []key{keyCutWord}},
		{"cut to a blank", "one two-three ", "one |", []key{keyCutBlank}},
		{"cut and put back", "one two", "twoone |", []key{keyCutWord, keyHome, keyPutBack, keyEnd}},
		{"cut to the end of the line", "ab\ncd", "|\ncd", []key{keyLeft, keyLeft, keyLeft, keyHome, keyCutEnd}},
		{"cut to the beginning", "ab\ncd", "ab\n|", []key{keyCutStart}},
		{"a line break", "ab", "ab\n|", []key{keyNewline}},
		{"nothing", "ab", "ab|", []key{keyNone}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, play(tt.start, tt.keys...))
		})
	}
}

func TestVertical(t *testing.T) {
	t.Parallel()
	var x text
	x.set("abcdef\n日本語\nxyz")
	assert.True(t, x.vertical(false))
	assert.Equal(t, 8, x.at, "column 3 is the middle of a wide character: before it")
	assert.True(t, x.vertical(false))
	assert.Equal(t, 2, x.at)
	assert.False(t, x.vertical(false))
	assert.True(t, x.vertical(true))
	assert.True(t, x.vertical(true))
	assert.False(t, x.vertical(true))
}

func TestInsertedTextCannotSteer(t *testing.T) {
	t.Parallel()
	var x text
	x.insert("a\x1b[2Jb\rc\r\nd\x00\u009b\te")
	assert.Equal(t, "a[2Jb\nc\nd\te", x.String())
}

func TestAPasteInParts(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"whole":           {"one\ntwo\x1b[201~"},
		"in parts":        {"one", "\nt", "wo\x1b[20", "1~"},
		"that never ends": {"one\ntwo", "\x03"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &Editor{}
			s := &editing{e: e, pasting: &bytes.Buffer{}}
			for i, part := range parts {
				e.typed = append(e.typed, part...)
				assert.Equal(t, i == len(parts)-1, s.paste())
			}
			assert.Equal(t, "one\ntwo", s.text.String())
			assert.Empty(t, e.typed)
		})
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key key
		n   int
	}{
		"":               {keyNone, 0},
		"a":              {keyRune, 1},
		"日x":             {keyRune, 3},
		"\xe6\x97":       {keyNone, 0},
		"\xffa":          {keyNone, 1},
		"\r":             {keyEnter, 1},
		"\n":             {keyEnter, 1},
		"\x03":           {keyInterrupt, 1},
		"\x00":           {keyNone, 1},
		"\x1b":           {keyNone, 0},
		"\x1b[":          {keyNone, 0},
		"\x1b[1;":        {keyNone, 0},
		"\x1b[A":         {keyUp, 3},
		"\x1bOB":         {keyDown, 3},
		"\x1b[1;5C":      {keyWordRight, 6},
		"\x1b[1;1D":      {keyLeft, 6},
		"\x1b[3~x":       {keyDelete, 4},
		"\x1b[13;2u":     {keyNewline, 7},
		"\x1b\r":         {keyNewline, 2},
		"\x1b[200~":      {keyPaste, 6},
		"\x1b[?1;2c":     {keyNone, 7},
		"\x1b\x1b[A":     {keyNone, 1},
		"\x1bx":          {keyNone, 2},
		"\x1b[1\x03":     {keyNone, 3},
		"\x1b[999;999Zx": {keyNone, 10},
	}
	for in, want := range tests {
		k, _, n := decode([]byte(in))
		assert.Equal(t, want.key, k, "%q", in)
		assert.Equal(t, want.n, n, "%q", in)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt, text string
		left, columns      int
		rows               []string
		row, col           int
	}{
		{"empty", "> ", "", 0, 20, []string{"> "}, 0, 2},
		{"one row", "> ", "abc", 1, 20, []string{"> abc"}, 0, 4},
		{"wrapped", "> ", "abcdefgh", 0, 8, []string{"> abcde", "fgh"}, 1, 3},
		{"full row", "> ", "abcde", 0, 8, []string{"> abcde"}, 0, 7},
		{"cursor at the first of a row", "> ", "abcdefgh", 3, 8, []string{"> abcde", "fgh"}, 1, 0},
		{"wide at the edge", "> ", "abcd日x", 1, 8, []string{"> abcd", "日x"}, 1, 2},
		{"line break", "> ", "a\nb", 0, 20, []string{"> a", "  b"}, 1, 3},
		{"cursor before a line break", "> ", "a\nb", 2, 20, []string{"> a", "  b"}, 0, 3},
		{"long prompt", "Allow it? ", "y", 0, 8, []string{"Allow i", "t? y"}, 1, 4},
		{"tab", "> ", "\tx", 0, 20, []string{"> " + tab + "x"}, 0, 7},
		{"too narrow", "> ", "日本", 0, 1, []string{"> 日", "本"}, 1, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var x text
			x.set(tt.text)
			for range tt.left {
				x.key(keyLeft, 0)
			}
			l := lay(tt.prompt, &x, tt.columns, false)
			assert.Equal(t, tt.rows, l.rows)
			assert.Equal(t, []int{tt.row, tt.col}, []int{l.row, l.col})
			for i, row := range l.rows {
				assert.Equal(t, Width(row), l.widths[i])
			}
		})
	}
}

func TestContinued(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`a\`: "a", `a\\\`: `a\\`} {
		got, more := continued(in)
		assert.True(t, more)
		assert.Equal(t, want, got)
	}
	for _, in := range []string{"", "a", `a\\`, `\a`} {
		got, more := continued(in)
		assert.False(t, more)
		assert.Equal(t, in, got)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "abc", Fit("abc  ", 10))
	assert.Equal(t, "ab…", Fit("abcd", 3))
	assert.Equal(t, "日…", Fit("日本語", 4))
	assert.LessOrEqual(t, Width(Fit(strings.Repeat("日", 50), 19)), 19)
}
