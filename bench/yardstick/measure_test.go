package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const fake = `package fake

import "testing"

func BenchmarkGood(b *testing.B) {
	for _, name := range []string{"one", "two"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
			}
		})
	}
}

func BenchmarkBad(b *testing.B) { b.Fatal("the answer is wrong") }

func BenchmarkNothing(b *testing.B) { b.Skip("not today") }
`

// A module with three benchmarks is measured as the repository is.
func TestMeasure(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "fake"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module fake.test\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "fake", "fake_test.go"), []byte(fake), 0o644))
	measure := func(only string, u unit) ([]Benchmark, error) {
		wanted, err := choose(only)
		require.NoError(t, err)
		u.dir, u.time = "fake", "10x"
		m := &measurer{root: root, dir: t.TempDir(), out: t.Output(), wanted: wanted}
		return m.measure(t.Context(), []unit{u})
	}
	got, err := measure("", unit{names: "Good", rounds: 3})
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, []string{"fake.Good/one", "fake.Good/two"}, []string{got[0].Name, got[1].Name})
	for _, b := range got {
		assert.Equal(t, 3, b.Units[nanoseconds].N)
		assert.Equal(t, newFigure([]float64{0, 0, 0}), b.Units[allocs])
	}
	got, err = measure("Good/two", unit{names: "Good", rounds: 1})
	require.NoError(t, err)
	require.Len(t, got, 1)
	got, err = measure("", unit{names: "Good", rounds: 2, whole: true})
	require.NoError(t, err)
	require.Len(t, got, 2)

	_, err = measure("", unit{names: "Good Bad", rounds: 1})
	require.ErrorContains(t, err, "the answer is wrong")
	for _, nothing := range []unit{{names: "Nothing", rounds: 1}, {names: "Nothing", rounds: 1, whole: true}, {names: "Gone", rounds: 1}} {
		_, err = measure("", nothing)
		require.Error(t, err, nothing.names)
	}
	_, err = measure("Other", unit{names: "Good", rounds: 1})
	require.ErrorContains(t, err, "no benchmark has such a name")
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wait := filepath.Join(t.TempDir(), "wait.sh") // says when it runs, and would wait for an hour
	require.NoError(t, os.WriteFile(wait, []byte("touch \"$0.runs\"; exec sleep 3600\n"), 0o644))
	ended := make(chan error)
	go func() {
		_, err := command(ctx, ".", "sh", wait)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(wait + ".runs")
		return err == nil
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
