package sqlitedb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is in a directory that nobody has synced is lost with it when the power
// fails, however well the file itself was synced.
func TestDirectoriesThatAreMadeAreSynced(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	file := filepath.Join(top, "a", "b", "x.db")
	var synced []string
	sync := func(dir string) error {
		synced = append(synced, dir)
		return syncDir(dir)
	}
	require.NoError(t, create(file, sync))
	assert.ElementsMatch(t, []string{top, filepath.Join(top, "a")}, synced, "the file's own is synced by SQLite")
	synced = nil
	require.NoError(t, create(file, sync))
	assert.Empty(t, synced, "nothing was made")

	cause := errors.New("input/output error")
	require.ErrorIs(t, create(filepath.Join(top, "c", "x.db"), func(string) error { return cause }), cause)
	_, err := os.Stat(filepath.Join(top, "c", "x.db"))
	assert.ErrorIs(t, err, os.ErrNotExist, "no file in a directory that may be lost")
	assert.Error(t, syncDir(filepath.Join(top, "gone")))
}
