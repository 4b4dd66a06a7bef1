package edit_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/term/edit"
)

func TestHistoryFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "project.jsonl")
	h, err := edit.OpenHistory(path)
	require.NoError(t, err)
	assert.NoFileExists(t, path)
	for _, entry := range []string{
		"one", "one", "two\nlines\x1b", " secret", "\tsecret", "", "  ", strings.Repeat("x", 20<<10), "three é",
	} {
		require.NoError(t, h.Add(entry))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "\"one\"\n\"two\\nlines\\u001b\"\n\"three é\"\n", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	again, err := edit.OpenHistory(path)
	require.NoError(t, err)
	require.NoError(t, again.Add("three é"), "the last one again, from the file")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(data), string(after))
}

func TestHistoryFileThatIsOddOrLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "h")
	var sb strings.Builder
	sb.WriteString("no JSON\n17\n\"\"\n{}\n")
	for i := range 2100 {
		sb.WriteString(strconv.Quote(strconv.Itoa(i)) + "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(sb.String()), 0o644))
	_, err := edit.OpenHistory(path)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 1000, strings.Count(string(data), "\n"))
	assert.True(t, strings.HasPrefix(string(data), "\"1100\"\n"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	_, err = edit.OpenHistory(filepath.Dir(path))
	require.ErrorContains(t, err, "read the history")
	h, err := edit.OpenHistory(filepath.Join(path, "below a file"))
	if err == nil {
		err = h.Add("x")
	}
	require.ErrorContains(t, err, "the history")
}

func TestNoHistory(t *testing.T) {
	t.Parallel()
	var h *edit.History
	assert.NoError(t, h.Add("x"))
}
