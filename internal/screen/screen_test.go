package screen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/screen/screentest"
)

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, flow, exact string }{
		{"plain", "Grüße,\t世界", "Grüße,\t世界", "Grüße,\t世界"},
		{"lines", "a\nb\r\nc", "a\nb\nc", `a\x0ab\x0d\x0ac`},
		{"escape sequence", "a\x1b[2Jb\a", `a\x1b[2Jb\x07`, `a\x1b[2Jb\x07`},
		{"carriage return", "rm -rf /\rls", `rm -rf /\x0dls`, `rm -rf /\x0dls`},
		{"8-bit control", "a\u009b2J", `a\u{9b}2J`, `a\u{9b}2J`},
		{"8-bit byte", "a\x9b2J", `a\x9b2J`, `a\x9b2J`},
		{"bidi", "a\u202eb\u2066c", `a\u{202e}b\u{2066}c`, `a\u{202e}b\u{2066}c`},
		{"invisible", "a\u200b\ufeff\u00ad\u3164\u2800\u034fz", `a\u{200b}\u{feff}\u{ad}\u{3164}\u{2800}\u{34f}z`, `a\u{200b}\u{feff}\u{ad}\u{3164}\u{2800}\u{34f}z`},
		{"blanks", "a\u00a0b\u3000c", "a\u00a0b\u3000c", `a\u{a0}b\u{3000}c`},
		{"an emoji", "❤️", "❤️", `❤\u{fe0f}`},
		{"a family", "👩🏽‍❤️‍👩", "👩🏽‍❤️‍👩", `👩🏽\u{200d}❤\u{fe0f}\u{200d}👩`},
		{"a flag of a country", "🇩🇪", "🇩🇪", "🇩🇪"},
		{"a flag with tags", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F!", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F!",
			`🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}!`},
		{"a flag that hides text", "🏴\U000E0072\U000E006D", `🏴\u{e0072}\u{e006d}`, `🏴\u{e0072}\u{e006d}`},
		{"a keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3", `1\u{fe0f}` + "\u20e3"},
		{"a selector behind nothing", "a\ufe0fb 1\ufe0f", `a\u{fe0f}b 1\u{fe0f}`, `a\u{fe0f}b 1\u{fe0f}`},
		{"two selectors", "❤\ufe0f\ufe0f", "❤\ufe0f" + `\u{fe0f}`, `❤\u{fe0f}\u{fe0f}`},
		{"joiners between letters", "ad\u200dmin\u200c", `ad\u{200d}min\u{200c}`, `ad\u{200d}min\u{200c}`},
		{"joiners of a script", "می\u200cخواهم क\u094d\u200dष", "می\u200cخواهم क\u094d\u200dष", `می\u{200c}خواهم क` + "\u094d" + `\u{200d}ष`},
		{"a blank pattern as an emoji", "\u2800\u200d\u2800", `\u{2800}\u{200d}\u{2800}`, `\u{2800}\u{200d}\u{2800}`},
		{"not assigned", "\ufdd0\U000e0fff\U0010ffff", `\u{fdd0}\u{e0fff}\u{10ffff}`, `\u{fdd0}\u{e0fff}\u{10ffff}`},
		{"an emoji of tomorrow", "\U0001faef", "\U0001faef", "\U0001faef"},
		{"marks", "e" + strings.Repeat("\u0301", 10), "e" + strings.Repeat("\u0301", 8) + `\u{301}\u{301}`, "e" + strings.Repeat("\u0301", 8) + `\u{301}\u{301}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.flow, screen.Flow(tt.in).String())
			assert.Equal(t, tt.exact, screen.Exact(tt.in).String())
			assert.Equal(t, tt.flow, screen.Flow(tt.flow).String(), "what is shown stays as it is")
			assert.Equal(t, tt.exact, screen.Exact(tt.exact).String())
		})
	}
	assert.Equal(t, `a b c\x0dd`, screen.Line(" a\t\tb\r\nc\rd\n").String())
	assert.Equal(t, "a\n  │ b\\x1b\n  │ c", screen.Rows("a\nb\x1b\nc\n").String())
	assert.Equal(t, `3 a\x0ab <nil>`, screen.Format("%d %s %v", 3, "a\nb", nil).String())
	assert.Equal(t, "abc…", screen.Line("abcdef").Cut(4).String())
}

func TestPaint(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "\x1b[31m\\x1b\x1b[0m", screen.Paint(screen.Red, screen.Exact("\x1b")).String())
	assert.Equal(t, "x", screen.Paint(screen.Plain, screen.Lit("x")).String())
	assert.Empty(t, screen.Paint(screen.Red, screen.Text{}).String())
}

func TestOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := screen.New(&out)
	require.NoError(t, o.Print(screen.Format("%s\n", "\x1b")))
	n, err := io.WriteString(o, "\x1b\u202e\n")
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	assert.Equal(t, "\\x1b\n\\x1b\\u{202e}\n", out.String())
	_, err = screen.New(failing{}).Write([]byte("x"))
	require.Error(t, err)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no") }

// TestJSON: the value is the same, however the bytes were cut.
func TestJSON(t *testing.T) {
	t.Parallel()
	in := map[string]string{"a": strings.ToValidUTF8(screentest.Hostile(), "?") + "👩‍💻 \u00a0é"}
	data, err := json.MarshalIndent(in, "", "\t")
	require.NoError(t, err)
	var whole, bytewise bytes.Buffer
	_, err = screen.JSONWriter(&whole).Write(data)
	require.NoError(t, err)
	_, err = io.Copy(screen.JSONWriter(&bytewise), iotest.OneByteReader(bytes.NewReader(data)))
	require.NoError(t, err)
	assert.Equal(t, whole.String(), bytewise.String())
	screentest.Check(t, whole.String(), false, true)
	for _, r := range "\u200d\u00a0\u2800" {
		assert.NotContains(t, whole.String(), string(r))
	}
	var got map[string]string
	require.NoError(t, json.Unmarshal(whole.Bytes(), &got))
	assert.Equal(t, in, got)
}

// pass is how text reaches the terminal.
type pass func(s string) string

// raw is the known-bad variant: what a program says goes to the terminal as it is.
func raw(s string) string { return s }

// probe is a test that may fail.
type probe struct{ failed bool }

func (p *probe) Helper()               {}
func (p *probe) Errorf(string, ...any) { p.failed = true }

// finds reports whether the check finds something in what comes out for s.
func finds(p pass, s string) bool {
	var t probe
	screentest.Check(&t, p(s), false, true)
	return t.failed
}

func TestTheCheckFindsTheRawPath(t *testing.T) {
	t.Parallel()
	found := 0
	for _, s := range append(screentest.Escapes(), screentest.Invisible()...) {
		if strings.HasPrefix(s, "\n") {
			continue // a line break is no escape where text flows
		}
		if finds(raw, s) {
			found++
		} else {
			t.Errorf("%q passes raw and is not found", s)
		}
		assert.False(t, finds(func(s string) string { return screen.Flow(s).String() }, s), "%q", s)
	}
	t.Logf("FIGURE bad.raw=%d texts that would act on the terminal", found)
}

var (
	texts = flag.Int("screen.n", 3000, "how many random texts are shown")
	seed  = flag.Uint64("screen.seed", 1, "what they are made from")
)

// TestNothingRandomActsOnATerminal: texts of everything that acts, or could become
// a part of it, are safe in every form and however they are cut.
func TestNothingRandomActsOnATerminal(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*seed, 7))
	pieces := slices.Concat(screentest.Escapes(), screentest.Invisible(), []string{
		"a", "word ", "**", "`", "```", "[x](y)", "\n", "# ", "1", "\u20e3", "❤", "👩", "🏴", "\U000E0067", "\U000E0062", "م", "क", "\u094d", "\x1b", "\xc2", "\xe2\x80", "\xf3\xa0", "日",
	})
	for range *texts {
		var sb strings.Builder
		for range 1 + r.IntN(12) {
			sb.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := sb.String()
		safe(t, s, r.IntN(len(s)+1))
		if t.Failed() {
			t.Fatalf("%q", s)
		}
	}
	t.Logf("FIGURE texts=%d of which none acts", *texts)
	t.Logf("FIGURE seed=%d", *seed)
}

func FuzzScreen(f *testing.F) {
	f.Add(screentest.Hostile(), 3)
	f.Add("👩🏽‍❤️‍👩 🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F **می\u200cخواهم**", 7)
	f.Fuzz(safe)
}

// safe checks every form of a text that comes in two parts.
func safe(t *testing.T, s string, at int) {
	t.Helper()
	flow, exact := screen.Flow(s).String(), screen.Exact(s).String()
	assert.Equal(t, exact, screen.Exact(exact).String())
	assert.NotContains(t, exact, "\n")
	screentest.Check(t, exact, false, true)
	screentest.CheckFlow(t, flow)
	at = max(0, min(len(s), at))
	var st screen.Stream
	parts := screen.Join(st.Add(s[:at]), st.Add(s[at:]), st.End())
	assert.Equal(t, flow, parts.String(), "cut at %d", at)
	m := screen.Markdown{Color: true}
	screentest.CheckFlow(t, screentest.Unstyled(screen.Join(m.Add(s[:at]), m.Add(s[at:]), m.End()).String()))
}
