package memory

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// all returns the rows of the memories by table.
func all(t *testing.T, m *Memory) map[string][][]any {
	t.Helper()
	out := map[string][][]any{}
	require.NoError(t, m.Rows(t.Context(), func(table string, values []any) error {
		out[table] = append(out[table], values)
		return nil
	}))
	return out
}

func TestMemoriesAreCopiedThereAndBack(t *testing.T) {
	t.Parallel()
	from, to, back := aFile(t).open(t, nil), aDatabase(t).open(t, nil), aFile(t).open(t, nil)
	h, always := home{"/p", "agent:a"}, func(version) bool { return true }
	e := entry{name: "Boat", aliases: []string{"sloop"}, content: "The lantern is gr\x00en.", conversation: "c", turn: "t", confidence: 0.1 + 0.2}
	_, err := from.table.put(t.Context(), h, e, always)
	require.NoError(t, err)
	require.NoError(t, from.table.write(t.Context(), []string{"/p"}, func(tx sqldb.Tx) error { return from.table.wait(tx, h, entry{name: "pier", content: "Seven."}) }))
	_, _, err = from.table.keep(t.Context(), task{Turn: "done"}, nil)
	require.NoError(t, err)
	want := all(t, from)
	for _, table := range tables {
		assert.NotEmpty(t, want[table.Name], "%s has something, so that nothing is equal by having nothing", table.Name)
	}

	require.NoError(t, to.Load(t.Context(), from.Rows))
	require.NoError(t, back.Load(t.Context(), to.Rows))
	for name, m := range map[string]*Memory{"PostgreSQL": to, "a file": back} {
		assert.Equal(t, want, all(t, m), name)
		damaged, err := m.Damaged(t.Context())
		require.NoError(t, err)
		assert.Empty(t, damaged)
		require.ErrorIs(t, m.Load(t.Context(), from.Rows), sqldb.ErrNotEmpty, name)
		for _, word := range []string{"lantern", "sloop"} {
			found, err := m.table.find(t.Context(), []home{h}, search{query: word, limit: 5})
			require.NoError(t, err)
			assert.Len(t, found, 1, "%s: the index has %s", name, word)
		}
		require.NoError(t, m.table.write(t.Context(), []string{"/q"}, func(tx sqldb.Tx) error {
			return m.table.wait(tx, home{"/q", "agent:a"}, entry{name: "mast", content: "High."})
		}), "%s: numbers go on behind those that were copied", name)
	}
}

func TestACopyOfMemoriesThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, db database) {
		from, to := aFile(t).open(t, nil), db.open(t, nil)
		_, err := from.table.put(t.Context(), home{"/p", "agent:a"}, entry{name: "Boat", content: "Green."}, func(version) bool { return true })
		require.NoError(t, err)
		require.ErrorIs(t, to.Load(t.Context(), func(ctx context.Context, each sqldb.Each) error {
			if err := from.Rows(ctx, each); err != nil {
				return err
			}
			return context.Canceled
		}), context.Canceled)
		assert.Empty(t, all(t, to))
	})
}

func TestADamagedMemoryIsNamed(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, db database) {
		m := db.open(t, nil)
		_, err := m.table.put(t.Context(), home{"/p", "agent:a"}, entry{name: "Boat", content: "Green."}, func(version) bool { return true })
		require.NoError(t, err)
		require.NoError(t, m.table.db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := tx.Exec(`UPDATE memory SET sources = '[' WHERE key = 'boat'`)
			return err
		}))
		damaged, err := m.Damaged(t.Context())
		require.NoError(t, err)
		require.Len(t, damaged, 1)
		assert.Regexp(t, `^memory \d+: sources is no JSON$`, damaged[0])
	})
}
