package tty_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/tty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScreen(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\r\nb":                      "a\nb",
		"abc\rX":                      "Xbc",
		"abc\r\x1b[K":                 "",
		"\x1b[31mred\x1b[0m":          "red",
		"one\r\ntwo\x1b[1A\r\x1b[J":   "",
		"1\r\n2\r\n3\r\n4\r\n5":       "1\n2\n3\n4\n5",
		"0123456789ab":                "0123456789\nab",
		"日本語日本語":                      "日本語日本\n語",
		"日\x1b[2Cx":                   "日  x",
		"e\u0301":                     "e\u0301",
		"a\tb":                        "a       b",
		"\x07":                        "<0x7>",
		"\x1b[5n":                     "<CSI 5n>",
		"\x1b[?2004hx\x1b[?2004l":     "x",
		"abc\x1b[3D\x1b[1C-\x1b[0m":   "a-c",
		"x\x1b[Hy":                    "y",
		"one\r\ntwo\x1b[9A\r\x1b[9B!": "one\ntwo\n\n!",
	} {
		s := tty.NewScreen(10, 4)
		for i := range len(in) { // also when it comes byte by byte
			s.Write([]byte(in[i : i+1]))
		}
		assert.Equal(t, want, s.Text(), "%q", in)
	}
}
