package needs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// outcome is a test that only records how it ends.
type outcome struct {
	testing.TB
	failed, skipped string
}

func (o *outcome) Helper() {}
func (o *outcome) Fatalf(format string, args ...any) {
	o.failed = fmt.Sprintf(format, args...)
	panic(o)
}
func (o *outcome) Skip(args ...any) {
	o.skipped = fmt.Sprint(args...)
	panic(o)
}

// ended returns how a test ends that calls need.
func ended(t *testing.T, need func(testing.TB)) *outcome {
	t.Helper()
	o := &outcome{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil {
				assert.Same(t, o, r)
			}
		}()
		need(o)
	}()
	return o
}

// onlyGo leaves nothing in PATH but the go command and these programs.
func onlyGo(t *testing.T, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(needs.Program(t, "go"), filepath.Join(dir, "go")))
	for _, name := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	t.Setenv("PATH", dir)
}

func TestWhatTheMachineLacks(t *testing.T) {
	git := func(t testing.TB) { needs.Program(t, "git") }
	tests := []struct {
		name     string
		programs []string
		env      map[string]string
		need     func(testing.TB)
		want     string
	}{
		{"no git", nil, nil, git, "git is not in PATH"},
		{"git", []string{"git"}, nil, git, ""},
		{"no compiler", nil, map[string]string{"CC": "cc1 -m64", "CGO_ENABLED": "1"}, needs.CGO, "there is no C compiler (cc1 -m64) for cgo and the race detector"},
		{"a compiler", []string{"cc1"}, map[string]string{"CC": "cc1 -m64", "CGO_ENABLED": "1"}, needs.CGO, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onlyGo(t, tt.programs...)
			for key, value := range tt.env {
				t.Setenv(key, value)
			}
			t.Setenv("CI", "")
			skipped := ended(t, tt.need)
			t.Setenv("CI", "true")
			failed := ended(t, tt.need)
			assert.Empty(t, skipped.failed)
			assert.Empty(t, failed.skipped)
			if tt.want == "" {
				assert.Empty(t, skipped.skipped+failed.failed)
				return
			}
			assert.Equal(t, needs.Missing+tt.want, skipped.skipped)
			assert.Equal(t, tt.want+"; in CI nothing may be missing", failed.failed)
		})
	}
}

// A long test is left out by -short and by nothing else, in CI as well.
func TestTime(t *testing.T) {
	t.Setenv("CI", "true")
	o := ended(t, needs.Time)
	assert.Empty(t, o.failed)
	assert.Equal(t, testing.Short(), o.skipped != "")
}
