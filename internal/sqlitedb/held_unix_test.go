//go:build unix

package sqlitedb_test

import (
	"fmt"
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

// TestALinkIsFollowed: the log and the mark are beside the file that it leads to, so they
// are looked for there.
func TestALinkIsFollowed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		for _, held := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", held), func(t *testing.T) {
				t.Parallel()
				real := killed(t)
				if !held {
					require.NoError(t, os.Remove(real+"-held"))
				}
				require.NoError(t, spoil(real))
				before := snapshot(t, filepath.Dir(real))
				top := filepath.Dir(filepath.Dir(real))
				link := filepath.Join(top, "links", "deep", "x.db")
				require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
				require.NoError(t, os.Symlink("links/deep", filepath.Join(top, "short")))
				require.NoError(t, os.Symlink("../../"+filepath.Base(filepath.Dir(real))+"/x.db", link))
				for _, path := range []string{link, filepath.Join(top, "short", "x.db")} {
					_, err := sqlitedb.Open(t.Context(), path, one)
					require.ErrorIs(t, err, sqlitedb.ErrLost)
					require.ErrorContains(t, err, "note store "+path+": ")
					assert.Equal(t, before, snapshot(t, filepath.Dir(real)))
				}
			})
		}
	}
}

// TestALinkToANewFile makes the file where the link leads to.
func TestALinkToANewFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "links", "x.db")
	require.NoError(t, os.Mkdir(filepath.Dir(link), 0o700))
	require.NoError(t, os.Symlink("../y.db", link))
	db := open(t, link, one)
	require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES ('x')`))
	for _, name := range []string{"y.db", "y.db-held", "y.db-wal"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	loop := filepath.Join(dir, "loop.db")
	require.NoError(t, os.Symlink("loop.db", loop))
	_, err := sqlitedb.Open(t.Context(), loop, one)
	require.ErrorContains(t, err, "a link that leads to itself")
}
