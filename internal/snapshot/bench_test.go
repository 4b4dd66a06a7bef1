package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// BenchmarkTake takes snapshots of a project of 10,000 files of 1 to 16 KiB: the first one, and later ones after nothing or one file
// changed. "reopened" is a later one of a program that was started again.
func BenchmarkTake(b *testing.B) {
	project := filepath.Join(b.TempDir(), "project")
	for i := range 10_000 {
		dir := filepath.Join(project, fmt.Sprint(i%20), fmt.Sprint(i%500))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		text := make([]byte, 1024*(1+i%16))
		copy(text, fmt.Sprint(i))
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), text, 0o644))
	}
	open := func(b *testing.B, dir string) *snapshot.Store {
		s, err := snapshot.Open(project, dir, nil)
		require.NoError(b, err)
		return s
	}
	take := func(b *testing.B, s *snapshot.Store) {
		_, report, err := s.Take(b.Context())
		require.NoError(b, err)
		require.Equal(b, 10_000+500+20, report.Entries)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := open(b, filepath.Join(b.TempDir(), "s"))
			b.StartTimer()
			take(b, s)
		}
	})
	dir := filepath.Join(b.TempDir(), "s")
	s := open(b, dir)
	take(b, s)
	take(b, s)
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			take(b, s)
		}
	})
	b.Run("reopened", func(b *testing.B) {
		for b.Loop() {
			take(b, open(b, dir))
		}
	})
	b.Run("changed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			require.NoError(b, os.WriteFile(filepath.Join(project, "0", "0", "0"), []byte(fmt.Sprint(i)), 0o644))
			take(b, s)
		}
	})
}
