//go:build unix

package snapshot_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// TestAHostileProject: it runs nothing, waits for nothing and fills no disk.
func TestAHostileProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write(".gitattributes", "* filter=evil text eol=crlf ident export-subst")
	w.write(".git/config", "[filter \"evil\"]\n\tclean = touch evil\n\tsmudge = touch evil\n[core]\n\tfsmonitor = touch evil\n\thooksPath = .\n")
	w.write(".git/HEAD", "ref: refs/heads/main")
	w.write(".git/objects/ab/"+strings.Repeat("0", 38), "an object")
	w.write("text", "line\nline\r\n$Id$")
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("outside"), 0o600))
	require.NoError(t, os.Symlink(outside, w.path("link")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), w.path("dirlink")))
	require.NoError(t, os.Symlink("/dev/zero", w.path(".gitignore")))
	require.NoError(t, syscall.Mkfifo(w.path("pipe"), 0o600))
	sparse, err := os.Create(w.path("sparse"))
	require.NoError(t, err)
	require.NoError(t, sparse.Truncate(1<<30))
	require.NoError(t, sparse.Close())
	w.write("a\nb\x1b[31m", "name")
	w.write("\xff\xfe", "name")
	require.NoError(t, os.MkdirAll(w.path("closed"), 0o755))
	w.write("closed/in", "x")
	require.NoError(t, os.Chmod(w.path("closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(w.path("closed"), 0o755) })
	root := os.Geteuid() == 0 // who may read everything

	before, report, err := w.s.Take(t.Context())
	require.NoError(t, err)
	var left []string
	for _, l := range report.LeftOut {
		left = append(left, l.Path)
	}
	want := []string{"pipe", "sparse"}
	if !root {
		want = append([]string{"closed"}, want...)
	}
	assert.Equal(t, want, left)
	assert.Less(t, report.Copied, int64(1<<20))
	if !root {
		require.NoError(t, os.Chmod(w.path("closed"), 0o755)) //nolint:gosec // for the test, which looks at everything
	}
	state := tree(t, w.project)

	w.clear()
	require.NoError(t, os.Remove(w.path(".gitattributes")))
	r := w.undo(before, w.take())
	assert.Empty(t, r.Conflicts)
	assert.Len(t, r.Lost, len(want))
	delete(state, "pipe")
	delete(state, "sparse")
	if !root {
		delete(state, "closed/in")
		require.NoError(t, os.Chmod(w.path("closed"), 0o755)) //nolint:gosec // the same
	}
	assert.Equal(t, state, tree(t, w.project))
	assert.NoFileExists(t, w.path("evil"))
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "outside", string(data))
}

// TestADirectoryBecomesALink: while Take and Restore run, a directory turns into a link out of the project and back. Nothing outside is
// read or changed.
func TestADirectoryBecomesALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "canary"), []byte("canary"), 0o600))
	for i := range 20 {
		w.write(fmt.Sprintf("d/%d", i), "x")
	}
	before := w.take()
	for i := range 20 {
		w.write(fmt.Sprintf("d/%d", i), "y")
	}
	after := w.take()
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(w.path("d"), w.path("e"))
				_ = os.Symlink(outside, w.path("d"))
				_ = os.Remove(w.path("d"))
				_ = os.Rename(w.path("e"), w.path("d"))
			}
		}
	})
	for range 200 {
		now, _, err := w.s.Take(t.Context())
		require.NoError(t, err)
		_, err = w.s.Restore(t.Context(), now, snapshot.Pair{Before: before, After: after})
		require.NoError(t, err)
		_, err = w.s.Restore(t.Context(), now, snapshot.Pair{Before: after, After: before})
		require.NoError(t, err)
		changes, err := w.s.Changes(t.Context(), before, now)
		require.NoError(t, err)
		for _, c := range changes {
			assert.NotContains(t, c.Path, "canary")
		}
	}
	close(stop)
	swapper.Wait()
	names, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Len(t, names, 1, "only the canary")
}

// TestKilledInTheMiddle: of Take and of Restore, at many moments. The next Take works, and Restore goes on where it ended.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	w := newWorld(t, nil)
	furnish(t, w)
	for i := range 1500 {
		w.write(fmt.Sprintf("many/%d/%d", i%40, i), fmt.Sprint(i))
	}
	want := tree(t, w.project)
	for i := range 10 {
		w.kill(time.Duration(i) * 12 * time.Millisecond)
	}
	before := w.take()
	w.clear()
	after := w.take()
	for round := range 6 {
		for i := range 4 { // each goes on with what the last one left
			w.kill(time.Duration(round*15+i*10)*time.Millisecond, string(before), string(after))
		}
		r := w.undoUnchecked(before, after)
		assert.Empty(t, r.Conflicts)
		assert.Equal(t, want, tree(t, w.project))
		assert.NoFileExists(t, filepath.Join(w.dir, "restoring"))
		w.clear()
	}
}

// kill starts a child, and kills it some time after it has begun.
func (w *world) kill(after time.Duration, pair ...string) {
	w.t.Helper()
	exe, err := os.Executable()
	require.NoError(w.t, err)
	cmd := exec.Command(exe, append([]string{w.project, w.dir}, pair...)...) //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, cmd.Start())
	begun, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(w.t, err)
	require.Equal(w.t, "begin\n", begun)
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	if err != nil {
		require.Contains(w.t, err.Error(), "killed")
	}
}

// until is a context that is cancelled when it was asked a number of times.
type until struct {
	context.Context //nolint:containedctx // of one call
	left            int
}

func (u *until) Err() error {
	if u.left--; u.left < 0 {
		return context.Canceled
	}
	return u.Context.Err()
}

// A directory that had to be opened has its mode again after the next call, wherever the first was interrupted. root opens none.
func TestModesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	t.Cleanup(func() { _ = os.Chmod(w.path("closed"), 0o755) }) //nolint:gosec // so that it can be removed
	for i := 0; ; i++ {
		require.Less(t, i, 100, "it never ends")
		w.write("closed/a", "1")
		w.write("closed/b", "1")
		require.NoError(t, os.Chmod(w.path("closed"), 0o555))
		before := w.take()
		require.NoError(t, os.Chmod(w.path("closed"), 0o755))
		w.write("closed/a", "2")
		require.NoError(t, os.Remove(w.path("closed/b")))
		require.NoError(t, os.Chmod(w.path("closed"), 0o555))
		after := w.take()
		pair := snapshot.Pair{Before: before, After: after}
		_, err := w.s.Restore(&until{t.Context(), i}, w.take(), pair)
		if err == nil {
			assert.Greater(t, i, 2)
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		w.s, err = snapshot.Open(w.project, w.dir, nil)
		require.NoError(t, err)
		_, err = w.s.Restore(t.Context(), w.take(), pair)
		require.NoError(t, err)
		info, err := os.Stat(w.path("closed"))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o555), info.Mode().Perm(), i)
		text, err := os.ReadFile(w.path("closed/b"))
		require.NoError(t, err)
		assert.Equal(t, "1", string(text), i)
		require.NoError(t, os.Chmod(w.path("closed"), 0o755))
	}
}
