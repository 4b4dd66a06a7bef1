package tty_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/tty"
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	w := tty.Open(t, 20, 5)
	before := w.Mode()
	_, err := w.TTY().WriteString("hello\n\x1b[?2004hworld")
	require.NoError(t, err)
	assert.Equal(t, "hello\nworld", w.Wait("world"))
	assert.Equal(t, 1, w.Reads())
	row, column := w.Cursor()
	assert.Equal(t, []int{1, 5}, []int{row, column})
	w.Type("typed\r")
	buf := make([]byte, 80)
	n, err := w.TTY().Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "typed\n", string(buf[:n]), "the terminal ends a line with LF")
	w.Resize(10, 2)
	assert.Equal(t, before, w.Mode())
}
