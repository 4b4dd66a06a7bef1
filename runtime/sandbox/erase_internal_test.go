package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErasingAProjectLeavesTheOthers(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	require.NoError(t, os.Chmod(state, 0o700))
	freed, err := Erase(state, "/p", false)
	require.NoError(t, err)
	assert.Zero(t, freed)
	mine, err := openDirs(state, "/p")
	require.NoError(t, err)
	other, err := openDirs(state, "/q")
	require.NoError(t, err)
	for _, d := range []dirs{mine, other} {
		require.NoError(t, os.WriteFile(filepath.Join(d.quarantine, "x"), []byte("12345"), 0o600))
	}
	s, err := mine.take(false)
	require.NoError(t, err)
	_, err = Erase(state, "/p", false)
	require.ErrorContains(t, err, "still uses")
	assert.FileExists(t, filepath.Join(mine.quarantine, "x"))
	s.free()
	for _, dry := range []bool{true, false} {
		freed, err = Erase(state, "/p", dry)
		require.NoError(t, err)
		assert.EqualValues(t, 5, freed)
	}
	assert.NoDirExists(t, filepath.Dir(mine.temp))
	assert.FileExists(t, filepath.Join(other.quarantine, "x"))
}
