package undo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/undo"
)

// filesWith returns the files below dir that have the text.
func filesWith(t *testing.T, dir, text string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			out = append(out, path)
		}
		return err
	}))
	return out
}

func TestForgottenTurnsHaveNoSnapshots(t *testing.T) {
	t.Parallel()
	project, dir := t.TempDir(), filepath.Join(t.TempDir(), "book")
	b := undo.NewBook(project, dir, nil)
	change := func(turn undo.Turn, text string) {
		_, err := b.Begin(t.Context(), turn)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(project, "file"), []byte(text), 0o600))
		require.NoError(t, b.Done(t.Context(), turn))
		_, err = b.Finish(t.Context(), turn)
		require.NoError(t, err)
	}
	change(turn("mine", "t1", 1), "of mine 1")
	change(turn("theirs", "t2", 1), "of theirs")
	change(turn("mine", "t3", 2), "of mine 2")
	change(turn("mine", "t4", 3), "now")
	require.NotEmpty(t, filesWith(t, dir, "of mine 2"))

	turns, _, err := b.Forget(t.Context(), []string{"mine"}, true)
	require.NoError(t, err)
	assert.Equal(t, 3, turns)
	require.NotEmpty(t, filesWith(t, dir, "of mine 2"), "it only counts")
	turns, _, err = b.Forget(t.Context(), []string{"mine"}, false)
	require.NoError(t, err)
	assert.Equal(t, 3, turns)
	assert.Empty(t, filesWith(t, dir, "of mine 2"))
	assert.Empty(t, filesWith(t, dir, `"mine"`))
	_, err = b.Undo(t.Context(), "mine", undo.Request{})
	require.ErrorIs(t, err, undo.ErrNothing)
	assert.NotEmpty(t, filesWith(t, dir, "of theirs"), "what another turn needs stays")
	out, err := b.Undo(t.Context(), "theirs", undo.Request{Dry: true})
	require.NoError(t, err)
	assert.Len(t, out.Turns, 1)
	turns, _, err = b.Forget(t.Context(), []string{"mine"}, false)
	require.NoError(t, err, "again")
	assert.Zero(t, turns)
	change(turn("theirs", "t5", 2), "it goes on")

	turns, err = b.Clear(t.Context(), false)
	require.NoError(t, err)
	assert.Positive(t, turns)
	assert.NoDirExists(t, dir)
	change(turn("theirs", "t6", 3), "it begins anew")
}

func TestForgettingMakesNoBook(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "book")
	b := undo.NewBook(t.TempDir(), dir, nil)
	_, _, err := b.Forget(t.Context(), []string{"c"}, false)
	require.NoError(t, err)
	_, err = b.Clear(t.Context(), false)
	require.NoError(t, err)
	assert.NoDirExists(t, dir)
}
