package edit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/test/tty"
)

// TestKeyboard: keys come as they are pressed, also Ctrl-C, and the terminal is given back as it was.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	w := tty.Open(t, 70, 9)
	before := w.Mode()
	ctx, cancel := context.WithCancel(t.Context())
	keys, err := edit.OpenKeyboard(ctx, w.TTY())
	require.NoError(t, err)
	assert.NotEqual(t, before, w.Mode())
	columns, rows := edit.Size(w.TTY())
	assert.Equal(t, []int{70, 9}, []int{columns, rows})

	pressed, err := keys.Wait(time.Millisecond)
	require.NoError(t, err)
	assert.Empty(t, pressed)
	w.Type("q\x03")
	var got []byte
	for len(got) < 2 {
		pressed, err = keys.Wait(tty.Patience)
		require.NoError(t, err)
		got = append(got, pressed...)
	}
	assert.Equal(t, "q\x03", string(got))
	cancel()
	pressed, err = keys.Wait(tty.Patience)
	require.NoError(t, err)
	assert.Empty(t, pressed)
	require.NoError(t, keys.Close())
	assert.Equal(t, before, w.Mode())
	assert.Empty(t, w.Text())
}
