package limits

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// TestMemory: a process that uses too much is killed, and the sentence says how much.
func TestMemory(t *testing.T) {
	t.Parallel()
	c := helper(t, "hog 200")
	assert.Regexp(t, `^it used 2\d\d(\.\d)? MiB of memory; the limit is 64 MiB$`, watched(t, c.Process.Pid, Limits{Memory: 64 << 20}))
}

// TestForkBomb: processes are counted, those of children too.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	needs.Program(t, "sh")
	n := 2000
	if testing.Short() {
		n = 200
	}
	c := exec.Command("sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do (sleep 60) & i=$((i+1)); done; wait", n))
	started(t, c)
	assert.Equal(t, "it had more than 50 processes; that is the limit", watched(t, c.Process.Pid, Limits{Processes: 50}))
}

// TestThreads: a program in Go has several, and they are counted.
func TestThreads(t *testing.T) {
	t.Parallel()
	c := helper(t, "wait")
	w := newWatcher("/proc", Limits{Processes: 1})
	require.True(t, w.walk(c.Process.Pid))
	assert.Greater(t, w.threads, 1)
	assert.Len(t, w.tree, 1)
}

// TestOrphan: a process whose parent has ended is counted below the one that adopts it, by both ways to read the tree.
func TestOrphan(t *testing.T) {
	t.Parallel()
	needs.Program(t, "sh")
	c := helper(t, "orphan")
	for _, scan := range []bool{false, true} {
		w := newWatcher("/proc", Limits{Processes: 10})
		w.scan = scan
		require.True(t, w.walk(c.Process.Pid))
		assert.Len(t, w.tree, 2, "scan %v", scan)
		assert.Positive(t, w.resident)
	}
}

// TestShared: memory that processes share counts once, so it does not end them.
func TestShared(t *testing.T) {
	t.Parallel()
	const mib = 100
	fd, err := unix.MemfdCreate("shared", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), "shared")
	defer file.Close()
	require.NoError(t, file.Truncate(mib<<20))
	w := newWatcher("/proc", Limits{Memory: 250 << 20})
	for range 4 {
		w.walkMore(t, helper(t, fmt.Sprintf("share %d", mib), file).Process.Pid)
	}
	assert.Greater(t, w.resident, int64(4*mib<<20), "what each has")
	used := w.shares()
	assert.Greater(t, used, int64(mib<<20))
	assert.Less(t, used, int64(250<<20), "what all have")
}

// walkMore adds a tree to those that were read.
func (w *watcher) walkMore(t *testing.T, pid int) {
	t.Helper()
	tree, resident := w.tree, w.resident
	w.tree = nil
	require.True(t, w.walk(pid))
	w.tree, w.resident = append(tree, w.tree...), w.resident+resident
}

// TestLook: the decisions, over a fake of /proc.
func TestLook(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	page := int64(os.Getpagesize())
	add := func(pid, threads int, pages int64, share, children string) {
		at := filepath.Join(proc, strconv.Itoa(pid))
		for i := range threads {
			task := filepath.Join(at, "task", strconv.Itoa(pid+i))
			require.NoError(t, os.MkdirAll(task, 0o700))
			if i == 0 {
				require.NoError(t, os.WriteFile(filepath.Join(task, "children"), []byte(children), 0o600))
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(at, "statm"), fmt.Appendf(nil, "9999 %d 3 0 0 0 0\n", pages), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(at, "smaps_rollup"), []byte(share), 0o600))
	}
	add(100, 1, 1000, "Rss: 4000 kB\nPss:  3000 kB\nPss_Anon: 2000 kB\nPss_File: 1000 kB\n", "200 300 ")
	add(200, 40, 1000, "", "400 100 ")
	add(300, 1, 10, "Pss: 40 kB\n", "999 ")
	add(400, 1, 10, "Pss: 40 kB\n", "")
	now := time.Now()
	tests := []struct {
		name   string
		limits Limits
		want   string
	}{
		{"nothing reached", Limits{Memory: 2020 * page, Processes: 6}, ""},
		{"processes", Limits{Processes: 3}, "it had more than 3 processes; that is the limit"},
		{"threads", Limits{Processes: 5}, "it had more than 40 threads; that is the limit"},
		{"resident is more, used is not", Limits{Memory: 2019 * page}, ""},
		{"used", Limits{Memory: 1 << 20}, "it used " + size(2000<<10+997*page+80<<10) + " of memory; the limit is 1 MiB"},
	}
	for _, tt := range tests {
		w := newWatcher(proc, tt.limits)
		w.scan = false
		why, ok := w.look(100, now)
		assert.True(t, ok, tt.name)
		assert.Equal(t, tt.want, why, tt.name)
		if tt.name == "resident is more, used is not" {
			assert.Equal(t, now.Add(interval), w.exactAt, "the next exact sum")
		}
		if tt.limits.Processes != 3 {
			assert.Equal(t, []int{100, 200, 300, 400, 999}[:len(w.tree)], w.tree, tt.name)
			assert.Equal(t, 43, w.threads, tt.name)
			assert.Equal(t, 2020*page, w.resident, tt.name)
		}
	}
	_, ok := newWatcher(proc, Limits{Processes: 3}).look(5, now)
	assert.False(t, ok, "the process is gone")
}

// TestPause: it looks more often near a limit, and does not make the exact sum at each look.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWatcher("/proc", Limits{Memory: 1000, Processes: 10})
	w.tree, w.resident = make([]int, 5), 500
	assert.Equal(t, interval, w.pause())
	w.resident = 501
	assert.Equal(t, near, w.pause())
	w.exactAt = time.Now()
	assert.Equal(t, interval, w.pause(), "the sum is too high by what they share")
	w.tree = make([]int, 6)
	assert.Equal(t, near, w.pause())

	c := helper(t, "hog 20")
	w = newWatcher("/proc", Limits{Memory: 1 << 20})
	now := time.Now()
	w.exactAt = now.Add(interval)
	why, ok := w.look(c.Process.Pid, now)
	assert.True(t, ok)
	assert.Empty(t, why)
	why, _ = w.look(c.Process.Pid, now.Add(interval))
	assert.NotEmpty(t, why)
}

// TestWatchEnds with its context, with the process, and without limits.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	never := func(why string) { t.Error(why) }
	Watch(t.Context(), os.Getpid(), Limits{FileSize: 1}, never)
	Watch(t.Context(), 1<<30, Limits{Processes: 1}, never)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Watch(ctx, os.Getpid(), Limits{Processes: 1 << 20}, never)
}

// TestFileSize: a file does not grow beyond its limit.
func TestFileSize(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "big"))
	require.NoError(t, err)
	defer file.Close()
	var said bytes.Buffer
	c := exec.Command(os.Args[0])
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), helperVariable+"=write 2"), file, &said
	require.Error(t, c.Run())
	assert.Contains(t, said.String(), "file too large")
	info, err := file.Stat()
	require.NoError(t, err)
	assert.Equal(t, int64(1<<20), info.Size())
	assert.Equal(t, []Rlimit{{unix.RLIMIT_CORE, 0}}, Rlimits(Limits{}))
}

// BenchmarkLook is one look at 50 processes; there are five in a second.
func BenchmarkLook(b *testing.B) {
	needs.Program(b, "sh")
	c := exec.Command("sh", "-c", "i=0; while [ $i -lt 49 ]; do sleep 60 & i=$((i+1)); done; echo ready; wait")
	r := started(b, c)
	_, err := r.Read(make([]byte, 1))
	require.NoError(b, err)
	for _, scan := range []bool{false, true} {
		b.Run(fmt.Sprintf("scan=%v", scan), func(b *testing.B) {
			w := newWatcher("/proc", Limits{Memory: 1 << 40, Processes: 1000})
			w.scan = scan
			b.ReportAllocs()
			for b.Loop() {
				w.look(c.Process.Pid, time.Now())
			}
			require.Len(b, w.tree, 50)
		})
	}
	b.Run("shares", func(b *testing.B) {
		w := newWatcher("/proc", Limits{Memory: 1 << 40, Processes: 1000})
		w.walk(c.Process.Pid)
		for b.Loop() {
			w.shares()
		}
	})
}
