package character_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func TestRemarks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                      {"git log --oneline\nmake test\n", nil},
		"an indented file":             {"func f() {\n\tif x {\n\t\treturn\n\t}\n}\n", nil},
		"a text in another script":     {"привет, мир: γειά σου, 日本語 and naïve", nil},
		"an invisible character":       {"ls \u200b-l", []string{`1 invisible character, such as \u{200b}`}},
		"several":                      {"l\u200bs\u2060 \ufeff-l", []string{`3 invisible characters, such as \u{200b}`}},
		"direction":                    {"ls \u202e fr- mr \u2066#", []string{`2 characters that turn the direction of text, such as \u{202e}`}},
		"tags":                         {"ls\U000e0072\U000e006d", []string{`2 tag characters, which hide text, such as \u{e0072}: "rm"`}},
		"an unusual blank":             {"rm\u00a0-rf x", []string{`1 blank of an unusual kind, such as \u{a0}`}},
		"a blank of Hangul":            {"a\u3164b", []string{`1 blank of an unusual kind, such as \u{3164}`}},
		"a carriage return":            {"rm -rf /\rls      ", []string{`1 carriage return, such as \x0d`, "a line ends with blanks"}},
		"an escape":                    {"ls\x1b[2K\x1b[1G", []string{`2 control characters, such as \x1b`}},
		"a control character of C1":    {"ls\u009b2K", []string{`1 control character, such as \u{9b}`}},
		"a byte that is none":          {"ls \xff", []string{`1 byte that is not UTF-8, such as \xff`}},
		"marks":                        {"a" + strings.Repeat("\u0301", 10), []string{`2 marks piled on one character, such as \u{301}`}},
		"blanks at the end":            {"ls  \npwd\t\ntrue", []string{"2 lines end with blanks"}},
		"text far to the right":        {"ls" + strings.Repeat(" ", 200) + "; rm -rf x", []string{"a line has text far to the right, behind blanks or tabs"}},
		"behind tabs":                  {"ls\t\t\t; rm -rf x", []string{"a line has text far to the right, behind blanks or tabs"}},
		"far to the right at once":     {"ls\n" + strings.Repeat("\t", 60) + "rm x", []string{"a line has text far to the right, behind blanks or tabs"}},
		"text far below":               {"ls" + strings.Repeat("\n", 60) + "rm -rf x", []string{"there is text behind 59 empty lines"}},
		"a long line":                  {"echo " + strings.Repeat("x", 5000), []string{"a line is very long, up to 5005 characters"}},
		"two long lines":               {strings.Repeat("x", 1001) + "\n" + strings.Repeat("y", 2000), []string{"2 lines are very long, up to 2000 characters"}},
		"a Cyrillic letter in a word":  {"curl https://p\u0430ypal.com", []string{`a word mixes letters of several scripts that look alike: p\u{430}ypal`}},
		"a Greek letter in each":       {"s\u03bfurce g\u03bf", []string{`2 words mix letters of several scripts that look alike: s\u{3bf}urce, g\u{3bf}`}},
		"letters of full width":        {"\uff52\uff4d -rf", []string{`2 characters that look like ASCII ones, such as \u{ff52}`}},
		"a slash that is none":         {"curl https://good.example\u2215@bad.example", []string{`1 character that looks like an ASCII one, such as \u{2215}`}},
		"everything has its own place": {"a\u200b\u202e", []string{`1 character that turns the direction of text, such as \u{202e}`, `1 invisible character, such as \u{200b}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, character.Remarks(tt.text))
		})
	}
}

// TestNothingHiddenIsWithoutARemark: a text that a person cannot read whole has a remark, and no
// remark hides anything itself.
func TestNothingHiddenIsWithoutARemark(t *testing.T) {
	t.Parallel()
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("a\u200b\u202e\U000e0041\u00a0\r\x1b\n\t \u0430")))).Draw(t, "text")
		got := character.Remarks(text)
		if odd := character.Odd(strings.NewReplacer("\n", "", "\t", "").Replace(text)); odd != "" {
			assert.NotEmpty(t, got, odd)
		}
		for _, remark := range got {
			assert.Empty(t, character.Odd(remark))
		}
	})
}
