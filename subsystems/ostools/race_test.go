//go:build unix

package ostools_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

var opens = flag.Int("ostools.opens", 20_000, "so many files are opened in the race")

// race is a root in which somebody swaps a file and a directory for links that lead out.
type race struct {
	o         *ostools.OS
	root, out string
	// made counts opens, inside those that were read, and escapes what came from outside.
	made, inside, escapes atomic.Int64
}

func newRace(t *testing.T) *race {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &race{root: filepath.Join(base, "root"), out: filepath.Join(base, "out")}
	fill(t, base, map[string]string{"out/secret": secret, "out/sub/secret": secret, "root/dir/secret": "inside", "root/dir/sub/secret": "inside", "root/file": "inside"})
	require.NoError(t, os.Symlink("../out", filepath.Join(r.root, "link")))
	r.o, err = ostools.New(r.root, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.o.Close()) })
	return r
}

// swap puts into the places of dir and file what leads out, and back, until stop. Now and then it makes anew what a write has replaced.
func (r *race) swap(stop *atomic.Bool) {
	at := func(name string) string { return filepath.Join(r.root, name) }
	move := func(from, to string) {
		if os.Rename(at(from), at(to)) != nil {
			_ = os.RemoveAll(at(to))
			_ = os.Rename(at(from), at(to))
		}
	}
	_ = os.Symlink(filepath.Join(r.out, "secret"), at("file-link"))
	for n := 0; !stop.Load(); n++ {
		if n%100 == 0 {
			_ = os.MkdirAll(at("dir/sub"), 0o755)
			_ = os.WriteFile(at("dir/secret"), []byte("inside"), 0o644)
			_ = os.WriteFile(at("dir/sub/secret"), []byte("inside"), 0o644)
			_ = os.RemoveAll(at("link"))
			_ = os.Symlink([]string{"../out", r.out}[n/100%2], at("link"))
			_ = os.WriteFile(at("file-inside"), []byte("inside"), 0o644)
		}
		move("dir", "away")
		move("link", "dir")
		move("dir", "link")
		move("away", "dir")
		move("file", "file-inside")
		move("file-link", "file")
		move("file", "file-link")
		move("file-inside", "file")
	}
}

// turn is a call of one of the tools. Most calls read; what they say is counted, and so are their opens.
func (r *race) turn(t *testing.T, n int) {
	path := []string{"file", "dir/secret", "dir/sub/secret"}[n%3]
	said, count := "", int64(1)
	switch {
	case n%1000 == 7:
		got, err := r.o.Edit(t.Context(), env, ostools.EditInput{FilePath: path, OldString: "inside", NewString: "inside!"})
		said, count = fmt.Sprint(got.Text(), err), 2
	case n%1000 == 517:
		_, err := r.o.Write(t.Context(), env, ostools.WriteInput{FilePath: []string{"file", "dir/secret", "dir/new/file"}[n/1000%3], Content: "inside"})
		said, count = fmt.Sprint(err), 2
	case n%50 == 9:
		got, err := r.o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "canary", Path: []string{"", "dir", "file"}[n/50%3], OutputMode: ostools.ModeContent})
		said, count = fmt.Sprint(got.Text(), err), 3
	case n%50 == 19:
		got, err := r.o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**", Path: []string{"", "dir"}[n/50%2]})
		said, count = fmt.Sprint(got.Text(), err), 2
	default:
		got, err := r.o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
		said = got.Text()
		if err == nil {
			r.inside.Add(1)
		}
	}
	r.made.Add(count)
	if strings.Contains(said, secret) || strings.Contains(said, "only-outside") {
		r.escapes.Add(1)
	}
}

// While somebody swaps a directory and a file for links that lead out, no tool gets there. The naive way, to check and then to open, is
// raced beside it: it leaks, so the race is one.
func TestRacingOpens(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	r := newRace(t)
	fill(t, r.out, map[string]string{"only-outside": secret})
	var stop atomic.Bool
	var swapper, callers sync.WaitGroup
	swapper.Go(func() { r.swap(&stop) })
	var naive, tried atomic.Int64
	for range 2 {
		callers.Go(func() {
			for n := 0; r.made.Load() < int64(*opens); n++ {
				r.turn(t, n)
				if n%8 == 0 {
					tried.Add(1)
					naive.Add(int64(strings.Count(checkThenOpen(r.root, []string{"file", "dir/secret"}[n/8%2]), secret)))
				}
			}
			for n := 0; naive.Load() == 0 && t.Context().Err() == nil && n < 1_000_000; n++ {
				tried.Add(1)
				naive.Add(int64(strings.Count(checkThenOpen(r.root, "dir/secret"), secret)))
			}
		})
	}
	callers.Wait()
	stop.Store(true)
	swapper.Wait()

	for _, path := range []string{"secret", "sub/secret", "only-outside"} {
		assert.Equal(t, secret, content(t, r.out, path), "nothing is written outside")
	}
	onlyFiles(t, r.out, "secret", "sub/secret", "only-outside")
	assert.Zero(t, r.escapes.Load())
	assert.Positive(t, r.inside.Load(), "the race was one")
	assert.Positive(t, naive.Load(), "the naive way leaks")
	t.Logf("FIGURE opens=%d under a swap of links, by read, edit, write, grep and glob", r.made.Load())
	t.Logf("FIGURE inside=%d of them read what is inside", r.inside.Load())
	t.Logf("FIGURE escapes=%d", r.escapes.Load())
	t.Logf("FIGURE bad.check-then-open=%d leaks of %d reads that check the path first", naive.Load(), tried.Load())
}

// checkThenOpen is how it must not be done.
func checkThenOpen(root, name string) string {
	path := filepath.Join(root, name)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(real, root+"/") {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}
