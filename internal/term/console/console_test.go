package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/term/console"
)

// file returns a file with the text, to be read from its beginning.
func file(t *testing.T, text string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

func TestAPromptIsTheArgumentOrStandardInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arg, in, want, problem string }{
		{"the argument", "Go.", "unread", "Go.", ""},
		{"standard input", "-", "Go on.\n", "Go on.\n", ""},
		{"nothing", " \n", "", "", "the prompt is empty"},
		{"nothing on standard input", "-", "", "", "the prompt is empty"},
		{"no text", "-", "\xff", "", "no UTF-8 text"},
		{"too long", "-", strings.Repeat("a", 4<<20+1), "", "longer than 4194304 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &console.Console{In: file(t, tt.in)}
			got, err := c.Prompt(tt.arg)
			if tt.problem != "" {
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestWhatIsWrittenAndNoted(t *testing.T) {
	t.Parallel()
	out, notes := file(t, ""), file(t, "")
	c := &console.Console{Out: out, Err: notes, Written: stdout.New(out)}
	require.NoError(t, c.Print(screen.Lit("one\n")))
	require.NoError(t, c.Say("two\x1b[2J"))
	require.NoError(t, c.Tables([][]string{{"A", "B"}, {"a", "b"}}, [][]string{{"ONLY A HEAD"}}))
	require.NoError(t, c.JSON(map[string]string{"a": "<b>"}))
	c.Note("odd")
	c.Remark("small")
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\\x1b[2J\nA  B\na  b\n{\n  \"a\": \"<b>\"\n}\n", string(text))
	text, err = os.ReadFile(notes.Name())
	require.NoError(t, err)
	assert.Equal(t, "note: odd\n· small\n", string(text))
	assert.False(t, c.Approver(nil).Attended(), "no terminal, nobody to ask")
	c.Close()
}

func TestStopWaitsForTheListeners(t *testing.T) {
	ctx, stop := console.Listen()
	handled := console.Interrupts(func() {}, func(error) {})
	require.NoError(t, ctx.Err())
	handled()
	stop()
	require.Error(t, ctx.Err())
}
