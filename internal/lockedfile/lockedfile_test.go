package lockedfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/lockedfile"
)

func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.json")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			f := lockedfile.File[int]{Path: path}
			assert.NoError(t, f.Change(func(members map[string]int) error { members[fmt.Sprint(i)] = i; return nil }))
		})
	}
	all.Wait()
	got, err := lockedfile.File[int]{Path: path}.Read()
	require.NoError(t, err)
	assert.Len(t, got, 20)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestAChangeThatFailsWritesNothing(t *testing.T) {
	t.Parallel()
	f := lockedfile.File[string]{Path: filepath.Join(t.TempDir(), "f.json")}
	got, err := f.Read()
	require.NoError(t, err)
	assert.Empty(t, got, "no file is no members")
	require.NoError(t, f.Change(func(m map[string]string) error { m["a"] = "1"; return nil }))
	no := errors.New("no")
	require.ErrorIs(t, f.Change(func(m map[string]string) error { m["b"] = "2"; return no }), no)
	got, err = f.Read()
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1"}, got)
	require.NoError(t, os.WriteFile(f.Path, []byte("{"), 0o600))
	_, err = f.Read()
	assert.ErrorContains(t, err, f.Path, "damage is told, with its place")
	assert.Error(t, f.Change(func(map[string]string) error { return nil }), "and never overwritten")
}

// TestWhatCannotBeReadIsNotWritten: one member that is too long or too deep would take all others along.
func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	t.Parallel()
	f := lockedfile.File[json.RawMessage]{Path: filepath.Join(t.TempDir(), "f.json")}
	require.NoError(t, f.Change(func(m map[string]json.RawMessage) error { m["a"] = json.RawMessage(`1`); return nil }))
	for _, bad := range []string{strconv.Quote(strings.Repeat("x", 2<<20)), strings.Repeat("[", 120) + strings.Repeat("]", 120)} {
		assert.Error(t, f.Change(func(m map[string]json.RawMessage) error { m["b"] = json.RawMessage(bad); return nil }))
		assert.NoFileExists(t, f.Path+".new")
		got, err := f.Read()
		require.NoError(t, err)
		assert.Equal(t, map[string]json.RawMessage{"a": json.RawMessage(`1`)}, got)
	}
}
