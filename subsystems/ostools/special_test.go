//go:build unix

package ostools_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

const mb = 1 << 20

var levels = flag.Int("ostools.levels", 1_000, "so many levels has the deepest directory")

var entries = flag.Int("ostools.entries", 5_000, "so many files are in one directory; beyond 200,000 a search leaves some out")

// costs returns how much f allocates in all, and what it takes.
func costs(f func()) (allocated uint64, took time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	f()
	took = time.Since(began)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took
}

func grepped(t *testing.T, o *ostools.OS, pattern string) string {
	t.Helper()
	r, err := o.Grep(t.Context(), env, ostools.GrepInput{Pattern: pattern, OutputMode: ostools.ModeContent})
	require.NoError(t, err)
	return r.Text()
}

// Huge files are refused before anything of them is read. It does not run beside other tests, because it measures memory.
func TestHugeFiles(t *testing.T) {
	o, root := newOS(t, map[string]string{"small": "a needle\n"})
	sparse := filepath.Join(root, "sparse")
	require.NoError(t, os.WriteFile(sparse, []byte("text\n"), 0o644))
	if err := os.Truncate(sparse, 10<<30); err != nil {
		needs.Lacking(t, "the file system has no sparse files")
	}
	allocated, _ := costs(func() {
		for _, call := range []func() error{
			func() error { _, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "sparse"}); return err },
			func() error {
				_, err := o.Edit(t.Context(), env, ostools.EditInput{FilePath: "sparse", OldString: "text", NewString: "x"})
				return err
			},
		} {
			kind, text := failure(t, call())
			assert.Equal(t, message.FailOperation, kind)
			assert.Equal(t, "sparse has 10737418240 bytes; the limit is 52428800", text)
		}
		assert.Equal(t, "small:1:a needle\n[1 files could not be searched: too large, hard links or not readable]\n", grepped(t, o, "needle"))
	})
	assert.Less(t, allocated, uint64(4*mb))
	r, err := o.Write(t.Context(), env, ostools.WriteInput{FilePath: "sparse", Content: "x"})
	require.NoError(t, err, "what is too large can be replaced")
	assert.Equal(t, "Replaced sparse: 1 bytes, before 10737418240.", r.Text())
}

// A line of 49 MB is searched and shown in bounded memory; a file with a line of 100 MB is beyond the limit of a file.
func TestLongLines(t *testing.T) {
	o, root := newOS(t, nil)
	line := bytes.Repeat([]byte("0123456789abcde "), 49*mb/16)
	require.NoError(t, os.WriteFile(filepath.Join(root, "one"), append(line, "\nneedle\n"...), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "two"), bytes.Repeat(line, 2)[:100*mb-mb*2], 0o644))
	line = nil
	var text string
	allocated, took := costs(func() { text = grepped(t, o, "needle|^0123") })
	assert.Regexp(t, `^one:1:0123456789abcde .*… \[the line has 51380224 bytes\]\none:2:needle\n\[1 files could not be searched: .*\]\n$`, text)
	assert.Less(t, len(text), 2000)
	assert.Less(t, allocated, uint64(2*mb), "grep")
	t.Logf("grep: %d KB, %s", allocated>>10, took)
	allocated, took = costs(func() {
		r, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "one"})
		require.NoError(t, err)
		text = r.Text()
	})
	assert.Contains(t, text, "--- 2 total lines (showing lines 1-2) ---")
	assert.Less(t, len(text), 3000)
	assert.Less(t, allocated, uint64(2*mb), "read")
	t.Logf("read: %d KB, %s", allocated>>10, took)
}

// A directory with more entries than a search visits: it says that it left some out, in bounded memory and time.
func TestManyEntries(t *testing.T) {
	o, root := newOS(t, map[string]string{"zz/last": "a needle"})
	dir := filepath.Join(root, "many")
	require.NoError(t, os.Mkdir(dir, 0o755))
	made, err := os.OpenRoot(dir)
	require.NoError(t, err)
	for n := range *entries {
		f, err := made.OpenFile(fmt.Sprintf("f%06d", n), os.O_CREATE|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.NoError(t, made.Close())
	cut := "[not everything was searched: too many files; narrow the search]\n"
	if *entries <= 200_000 {
		cut = "\n"
	}
	for name, call := range map[string]func() (message.ToolResult, error){
		"glob": func() (message.ToolResult, error) {
			return o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**/none"})
		},
		"grep": func() (message.ToolResult, error) {
			return o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "none"})
		},
	} {
		var text string
		allocated, took := costs(func() {
			r, err := call()
			require.NoError(t, err)
			text = r.Text()
		})
		assert.True(t, strings.HasSuffix(text, cut), "%s: %s", name, text)
		assert.Less(t, allocated, uint64(400*mb), name)
		t.Logf("FIGURE entries.%s=%d ms and %d MB allocated for %d entries of a directory", name, took.Milliseconds(), allocated>>20, *entries)
	}
	r, err := o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "many/*"})
	require.NoError(t, err)
	assert.Equal(t, 1001, strings.Count(r.Text(), "\n"))
	assert.True(t, strings.HasSuffix(r.Text(), "[there is more; narrow the search]\n"))
	r, err = o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "zz/*"})
	require.NoError(t, err)
	assert.Equal(t, "zz/last\n", r.Text(), "narrowed")
}

// deep makes a directory with so many levels, each named d, and a file at the bottom. Its path is too long for the system, so it grows at the top.
func deep(t *testing.T, root string, levels int) {
	t.Helper()
	at := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Mkdir(at("d"), 0o755))
	require.NoError(t, os.WriteFile(at("d/bottom"), []byte("needle"), 0o644))
	for range levels - 1 {
		require.NoError(t, os.Mkdir(at("up"), 0o755))
		require.NoError(t, os.Rename(at("d"), at("up/d")))
		require.NoError(t, os.Rename(at("up"), at("d")))
	}
	t.Cleanup(func() {
		for os.Rename(at("d/d"), at("up")) == nil {
			assert.NoError(t, os.RemoveAll(at("d")))
			assert.NoError(t, os.Rename(at("up"), at("d")))
		}
	})
}

func TestDeepDirectories(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{"e/" + strings.Repeat("x/", 99) + "last": "needle", "f/" + strings.Repeat("x/", 100) + "last": "needle"})
	deep(t, root, *levels)
	const cut = "[not everything was searched: directories are too deep; narrow the search]\n"
	assert.Equal(t, "e/"+strings.Repeat("x/", 99)+"last:1:needle\n"+cut, grepped(t, o, "needle"))
	r, err := o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**/last"})
	require.NoError(t, err)
	assert.Equal(t, "e/"+strings.Repeat("x/", 99)+"last\n"+cut, r.Text())
	t.Logf("FIGURE levels=%d of directories, searched down to the hundredth", *levels)
	for parts, want := range map[int]message.FailureKind{250: message.FailNotFound, 300: message.FailArguments, 10_000: message.FailArguments} {
		path := strings.Repeat("d/", parts) + "bottom"
		_, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
		kind, _ := failure(t, err)
		assert.Equal(t, want, kind, parts)
		_, err = o.Edit(t.Context(), env, ostools.EditInput{FilePath: path, OldString: "a", NewString: "b"})
		kind, _ = failure(t, err)
		assert.Equal(t, want, kind, parts)
	}
	path := strings.Repeat("d/", 250) + "made"
	_, err = o.Write(t.Context(), env, ostools.WriteInput{FilePath: path, Content: "a"})
	require.NoError(t, err)
	_, err = o.Edit(t.Context(), env, ostools.EditInput{FilePath: path, OldString: "a", NewString: "b"})
	require.NoError(t, err)
}

// allTools calls each tool at the path, and fails if one does not end.
func allTools(t *testing.T, o *ostools.OS, path string) (texts []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	done := make(chan []string, 1)
	go func() {
		var said []string
		add := func(r message.ToolResult, err error) { said = append(said, fmt.Sprint(r.Text(), err)) }
		add(o.Read(ctx, env, ostools.ReadInput{FilePath: path}))
		add(o.Edit(ctx, env, ostools.EditInput{FilePath: path, OldString: "line", NewString: "row", ReplaceAll: true}))
		add(o.Edit(ctx, env, ostools.EditInput{FilePath: path, OldString: "row", NewString: "line", ReplaceAll: true}))
		add(o.Grep(ctx, env, ostools.GrepInput{Pattern: "line", OutputMode: ostools.ModeCount}))
		add(o.Grep(ctx, env, ostools.GrepInput{Pattern: "line", Path: path}))
		add(o.Glob(ctx, env, ostools.GlobInput{Pattern: "**"}))
		done <- said
	}()
	select {
	case texts = <-done:
		return texts
	case <-ctx.Done():
		require.Fail(t, "a tool hangs", path)
		return nil
	}
}

// A file that is a pipe for moments, between a look at it and its use, holds up no tool.
func TestAFileThatBecomesAPipe(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{"file": "line\n"})
	var stop atomic.Bool
	var swapper sync.WaitGroup
	swapper.Go(func() {
		at := func(name string) string { return filepath.Join(root, name) }
		for !stop.Load() {
			_ = syscall.Mkfifo(at("pipe"), 0o644)
			_ = os.Rename(at("file"), at("away"))
			_ = os.Rename(at("pipe"), at("file"))
			_ = os.Rename(at("away"), at("file"))
		}
	})
	pipes, files := 0, 0
	for n := 0; n < 100 || (pipes == 0 || files == 0) && n < 20_000; n++ {
		for _, text := range allTools(t, o, "file") {
			pipes += strings.Count(text, "named pipe")
			files += strings.Count(text, "1\tline")
		}
	}
	stop.Store(true)
	swapper.Wait()
	assert.Positive(t, pipes)
	assert.Positive(t, files)
}

// A file that is cut off and filled again while it is read: each tool ends, with what it saw or with a sentence.
func TestAFileThatShrinks(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, nil)
	full := []byte(strings.Repeat("line\n", 20_000))
	name := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(name, full, 0o644))
	var stop atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		for n := 0; !stop.Load(); n++ {
			_ = os.Truncate(name, int64(n%len(full)))
			if n%10 == 0 {
				_ = os.WriteFile(name, full, 0o644)
			}
		}
	})
	for range 100 {
		for _, text := range allTools(t, o, "file") {
			assert.NotContains(t, text, "panic")
			assert.NotContains(t, text, "EOF")
		}
	}
	stop.Store(true)
	other.Wait()
}

// A file that grows as fast as it is read has an end for each tool: that of the limit for files.
func TestAFileThatGrows(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, nil)
	name := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(name, []byte("line\n"), 0o644))
	chunk := []byte(strings.Repeat("line\n", 13_000))
	var stop atomic.Bool
	var other sync.WaitGroup
	other.Go(func() {
		for !stop.Load() {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				continue // an edit is replacing it
			}
			if info, err := f.Stat(); err == nil && info.Size() < 200*mb {
				_, _ = f.Write(chunk)
			} else {
				_ = f.Truncate(0)
			}
			_ = f.Close()
		}
	})
	for range 5 {
		allTools(t, o, "file")
	}
	stop.Store(true)
	other.Wait()
}
