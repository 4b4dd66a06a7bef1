//go:build unix

package sqlitedb_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// What is in the place of the mark and is no file is neither waited for nor followed.
func TestTheMarkIsARegularFile(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "target")
	for name, lay := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink(target, path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			require.NoError(t, lay(path+"-held"))
			_, err := sqlitedb.Open(t.Context(), path, one)
			require.ErrorContains(t, err, "is no regular file")
			assert.NoFileExists(t, target)
		})
	}
}
