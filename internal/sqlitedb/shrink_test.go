package sqlitedb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

// shrinking is a schema whose files can shrink.
func shrinking() sqlitedb.Schema {
	s := one
	s.Secure, s.Shrinks = true, true
	return s
}

func TestShrinkGivesFreePagesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, shrinking())
	for range 50 {
		require.NoError(t, exec(t, db, `INSERT INTO note (body) VALUES (?)`, strings.Repeat("canary", 20_000)))
	}
	_, err := db.Shrink(t.Context())
	require.NoError(t, err)
	full, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, exec(t, db, `DELETE FROM note`))
	freed, err := db.Shrink(t.Context())
	require.NoError(t, err)
	left, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, left.Size(), int64(200_000))
	assert.GreaterOrEqual(t, freed, full.Size()-left.Size(), "the log counts too")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		assert.NotContains(t, string(data), "canary")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = db.Shrink(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAFullFileIsToldAndGoesOn(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), shrinking())
	insert := func() error { return exec(t, db, `INSERT INTO note (body) VALUES (?)`, strings.Repeat("x", 100_000)) }
	require.NoError(t, insert())
	require.NoError(t, exec(t, db, `PRAGMA max_page_count = 40`))
	var err error
	for range 10 {
		if err = insert(); err != nil {
			break
		}
	}
	require.Error(t, err)
	assert.True(t, sqlitedb.Full(err), "%v", err)
	assert.False(t, sqlitedb.Damaged(err))
	require.NoError(t, exec(t, db, `PRAGMA max_page_count = 100000`))
	require.NoError(t, insert())

	assert.True(t, sqlitedb.Full(fmt.Errorf("write: %w", syscall.ENOSPC)))
	assert.False(t, sqlitedb.Full(errors.New("else")))
	assert.False(t, sqlitedb.Full(nil))
}
