package scale_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// disk is a small file system for the database, which can be full. Only root can mount one.
type disk struct{ dir string }

// mount returns nil if this user may not.
func mount(t testing.TB) *disk {
	t.Helper()
	dir, err := os.MkdirTemp("", "disk")
	require.NoError(t, err)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=384m,mode=0777"); err != nil {
		require.NoError(t, os.Remove(dir))
		return nil
	}
	t.Cleanup(func() { assert.NoError(t, errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir))) })
	return &disk{dir}
}

// fill leaves no room.
func (d *disk) fill(t testing.TB) {
	t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "filler"))
	require.NoError(t, err)
	for _, n := range []int{1 << 20, 4 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	require.NoError(t, f.Close())
}

// free takes back what fill took.
func (d *disk) free(t testing.TB) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(d.dir, "filler")))
}

// startCluster starts a cluster, on the disk if there is one.
func startCluster(t *testing.T, d *disk) *pgtest.Cluster {
	t.Helper()
	if d != nil {
		before := os.Getenv("TMPDIR")
		t.Setenv("TMPDIR", d.dir)
		defer t.Setenv("TMPDIR", before)
	}
	return pgtest.Start(t, &pgtest.Options{Sync: true, Settings: []string{"max_wal_size = '64MB'", "wal_recycle = off"}})
}

// socketOf returns the socket of a cluster.
func socketOf(c *pgtest.Cluster) string {
	return filepath.Join(c.Dir(), ".s.PGSQL."+strconv.Itoa(5432))
}

// answers reports whether the database answers soon.
func answers(ctx context.Context, c *pgtest.Cluster) bool {
	for range 20 {
		conn, err := pgx.Connect(ctx, c.DSN(""))
		if err == nil {
			_ = conn.Close(ctx)
			return true
		}
		pause(ctx, 100*time.Millisecond)
	}
	return false
}
