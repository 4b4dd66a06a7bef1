package memory_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// kind is a kind of database.
type kind struct {
	// open opens the database of the path as one more process.
	open func(t *testing.T, path string, o *memory.Options) *memory.Memory
}

// inEach runs a test with files, and with PostgreSQL databases.
func inEach(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, kind{openFile})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		dsns := map[string]string{}
		whole := t
		test(t, kind{func(t *testing.T, path string, o *memory.Options) *memory.Memory {
			t.Helper()
			mu.Lock()
			if dsns[path] == "" {
				dsns[path] = databases.DSN(whole) // other parts of the test may open it, too
			}
			dsn := dsns[path]
			mu.Unlock()
			return memory.OpenIn(databases.Open(t, dsn).SQL(), o)
		}})
	})
}

func openFile(t *testing.T, path string, o *memory.Options) *memory.Memory {
	t.Helper()
	m, err := memory.Open(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.OnClose(context.Background())) })
	return m
}

// in opens the database of the path for a project.
func (k kind) in(t *testing.T, path, project string) *memory.Memory {
	t.Helper()
	return k.open(t, path, &memory.Options{Project: project})
}

// fresh returns the memories of a new database.
func (k kind) fresh(t *testing.T) *memory.Memory {
	t.Helper()
	return k.in(t, filepath.Join(t.TempDir(), "memory.db"), "")
}
