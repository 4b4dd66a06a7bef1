package schedule

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/test/databases"
)

func TestSchedulesAreCopiedThereAndBack(t *testing.T) {
	t.Parallel()
	file := func() *Schedule {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), &Options{Project: "/p"})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.OnClose(context.Background())) })
		return s
	}
	rows := func(s *Schedule) map[string][][]any {
		out := map[string][][]any{}
		require.NoError(t, s.Rows(t.Context(), func(table string, values []any) error {
			out[table] = append(out[table], values)
			return nil
		}))
		return out
	}
	from, to, back := file(), OpenIn(databases.Postgres(t).SQL(), &Options{Project: "/p"}), file()
	_, err := from.Add(t.Context(), morning())
	require.NoError(t, err)
	require.NoError(t, from.RunNow(t.Context(), "news", func(_ context.Context, task Task) (hook.StopReason, error) {
		task.Begun("c", "t")
		return hook.StopCompleted, nil
	}))
	want := rows(from)
	require.Len(t, want["schedule"], 1)
	require.Len(t, want["run"], 1)

	require.NoError(t, to.Load(t.Context(), from.Rows))
	require.NoError(t, back.Load(t.Context(), to.Rows))
	for name, s := range map[string]*Schedule{"PostgreSQL": to, "a file": back} {
		assert.Equal(t, want, rows(s), name)
		require.ErrorIs(t, s.Load(t.Context(), from.Rows), sqldb.ErrNotEmpty, name)
		damaged, err := s.Damaged(t.Context())
		require.NoError(t, err)
		assert.Empty(t, damaged)
		runs, err := s.Runs(t.Context(), "news")
		require.NoError(t, err)
		assert.Len(t, runs, 1, name)
		evening := morning()
		evening.Name = "evening"
		_, err = s.Add(t.Context(), evening)
		require.NoError(t, err, "%s: numbers go on behind those that were copied", name)
	}
}
