package snapshot_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// world is a project and its store.
type world struct {
	t       *testing.T
	project string
	dir     string
	s       *snapshot.Store
}

func newWorld(t *testing.T, o *snapshot.Options) *world {
	t.Helper()
	top := t.TempDir()
	w := &world{t: t, project: filepath.Join(top, "project"), dir: filepath.Join(top, "state", "store")}
	require.NoError(t, os.MkdirAll(filepath.Dir(w.dir), 0o700))
	require.NoError(t, os.Mkdir(w.project, 0o755))
	var err error
	w.s, err = snapshot.Open(w.project, w.dir, o)
	require.NoError(t, err)
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.project, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	require.NoError(w.t, os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) take() snapshot.ID {
	w.t.Helper()
	id, _, err := w.s.Take(w.t.Context())
	require.NoError(w.t, err)
	return id
}

// undo restores a pair, and checks that the preview says the same.
func (w *world) undo(before, after snapshot.ID) snapshot.Result {
	w.t.Helper()
	now := w.take()
	pair := snapshot.Pair{Before: before, After: after}
	preview, err := w.s.Preview(w.t.Context(), now, pair)
	require.NoError(w.t, err)
	r, err := w.s.Restore(w.t.Context(), now, pair)
	require.NoError(w.t, err)
	assert.Equal(w.t, preview, r)
	return r
}

// clear does what rm -rf ./* .git does.
func (w *world) clear() {
	w.t.Helper()
	names, err := os.ReadDir(w.project)
	require.NoError(w.t, err)
	for _, n := range names {
		if !strings.HasPrefix(n.Name(), ".") || n.Name() == ".git" {
			require.NoError(w.t, os.RemoveAll(w.path(n.Name())))
		}
	}
}

// tree returns every path below a directory with its mode, and its content or target.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		is := info.Mode().String()
		switch {
		case info.Mode().IsRegular() && info.Size() < 1<<20:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			is += fmt.Sprintf(" %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			is += " " + target
		}
		out[rel] = is
		return nil
	}))
	return out
}

func paths(cs []snapshot.Conflict) (out []string) {
	for _, c := range cs {
		out = append(out, c.Path)
	}
	return out
}

// furnish makes a project with one of everything.
func furnish(t *testing.T, w *world) {
	t.Helper()
	w.write("README", "read me")
	w.write("src/a.go", "package a")
	w.write("src/deep/er/b.go", strings.Repeat("package b\n", 100_000)) // more than is read into memory
	w.write("run.sh", "#!/bin/sh")
	w.write("secret", "s")
	w.write("space here/new\nline", "n")
	w.write("caf\xe9", "latin 1")
	w.write("empty file", "")
	w.write(".hidden", "stays")
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o755, "secret": 0o600, "src/deep": 0o711} {
		require.NoError(t, os.Chmod(w.path(name), mode))
	}
	require.NoError(t, os.MkdirAll(w.path("empty/inner"), 0o700))
	require.NoError(t, os.Chmod(w.path("empty"), 0o1777|fs.ModeSticky))
	require.NoError(t, os.Symlink("README", w.path("link")))
	require.NoError(t, os.Symlink("/etc/passwd", w.path("out")))
	require.NoError(t, os.Symlink("..", w.path("src/up")))
}

func git(t *testing.T, w *world, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "git"), args...)
	cmd.Dir = w.project
	cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + w.dir, "PATH=" + os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return string(out)
}

func TestEverythingComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	furnish(t, w)
	want := tree(t, w.project)
	before := w.take()
	w.clear()
	after := w.take()
	r := w.undo(before, after)
	assert.Empty(t, r.Conflicts)
	assert.Empty(t, r.Lost)
	assert.Empty(t, r.Removed)
	assert.Equal(t, want, tree(t, w.project))
	assert.Equal(t, w.take(), w.take(), "nothing changed in between")
}

func TestARepositoryComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	furnish(t, w)
	git(t, w, "init", "-q")
	git(t, w, "add", "-A")
	git(t, w, "commit", "-qm", "one")
	want := tree(t, w.project)
	before := w.take()
	w.clear()
	r := w.undo(before, w.take())
	assert.Empty(t, r.Conflicts)
	assert.Equal(t, want, tree(t, w.project))
	git(t, w, "fsck", "--strict")
	assert.Empty(t, git(t, w, "status", "--short"))
}

// TestACommitIsUndoneAndItsObjectsStay: so that nothing that was made later lacks them.
func TestACommitIsUndoneAndItsObjectsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "1")
	git(t, w, "init", "-q")
	git(t, w, "add", "-A")
	git(t, w, "commit", "-qm", "one")
	before := w.take()
	w.write("a", "2")
	git(t, w, "commit", "-qam", "two")
	after := w.take()
	git(t, w, "branch", "later")
	r := w.undo(before, after)
	assert.Empty(t, r.Conflicts)
	assert.Equal(t, "one\n", git(t, w, "log", "--format=%s"))
	assert.Equal(t, "two\none\n", git(t, w, "log", "--format=%s", "later"))
	git(t, w, "fsck", "--strict")

	require.NoError(t, os.RemoveAll(w.path(".git")))
	before = w.take()
	git(t, w, "init", "-q")
	git(t, w, "add", "-A")
	r = w.undo(before, w.take())
	assert.Empty(t, r.Conflicts)
	assert.NoDirExists(t, w.path(".git"), "a repository that was not there before goes as a whole")
}

func TestWhatSomebodyElseChangedStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, name := range []string{"both", "mine", "gone", "kept/x", "dir/x", "turned"} {
		w.write(name, "before")
	}
	before := w.take()
	w.write("both", "the agent's")
	w.write("mine", "the agent's")
	w.write("new/agent", "the agent's")
	w.write("turned", "the agent's")
	require.NoError(t, os.Remove(w.path("gone")))
	require.NoError(t, os.RemoveAll(w.path("dir")))
	require.NoError(t, os.Remove(w.path("kept/x")))
	after := w.take()
	w.write("both", "a person's")
	w.write("gone", "a person's")
	w.write("new/person", "a person's")
	w.write("dir", "a person's file")
	w.write("elsewhere", "a person's")
	require.NoError(t, os.RemoveAll(w.path("kept")))
	require.NoError(t, os.Chmod(w.path("turned"), 0o755))
	r := w.undo(before, after)
	assert.Equal(t, []string{"mine"}, r.Restored)
	assert.Equal(t, []string{"new/agent"}, r.Removed)
	assert.Equal(t, []string{"both", "dir", "dir/x", "gone", "kept/x", "new", "turned"}, paths(r.Conflicts))
	for name, want := range map[string]string{
		"both": "a person's", "gone": "a person's", "new/person": "a person's", "mine": "before", "dir": "a person's file", "turned": "the agent's",
	} {
		got, err := os.ReadFile(w.path(name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), name)
	}
	assert.NoDirExists(t, w.path("kept"))
}

func TestFilesAndDirectoriesTurnIntoEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("file", "f")
	w.write("dir/in", "d")
	require.NoError(t, os.Symlink("file", w.path("link")))
	want := tree(t, w.project)
	before := w.take()
	for _, name := range []string{"file", "dir", "link"} {
		require.NoError(t, os.RemoveAll(w.path(name)))
	}
	w.write("file/in", "x")
	w.write("dir", "y")
	require.NoError(t, os.Mkdir(w.path("link"), 0o755))
	after := w.take()
	changed := tree(t, w.project)
	r := w.undo(before, after)
	assert.Empty(t, r.Conflicts)
	assert.Equal(t, want, tree(t, w.project))

	now := w.take() // and the undo is undone
	r = w.undo(after, now)
	assert.Empty(t, r.Conflicts)
	assert.Equal(t, changed, tree(t, w.project))
}

func TestSeveralPairsAndExceptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "0")
	w.write("b", "0")
	first := w.take()
	w.write("a", "1")
	second := w.take()
	w.write("a", "2")
	w.write("b", "2")
	third := w.take()
	r, err := w.s.Restore(t.Context(), w.take(), snapshot.Pair{Before: second, After: third, Except: map[string]string{"b": "another did that"}},
		snapshot.Pair{Before: first, After: second})
	require.NoError(t, err)
	assert.Equal(t, snapshot.Result{Restored: []string{"a"}, Conflicts: []snapshot.Conflict{{Path: "b", Why: "another did that"}}}, r)
	got, err := os.ReadFile(w.path("a"))
	require.NoError(t, err)
	assert.Equal(t, "0", string(got))
}

func TestChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "1")
	w.write("b", "1")
	before := w.take()
	w.write("a", "2")
	require.NoError(t, os.Remove(w.path("b")))
	w.write("c", "1")
	got, err := w.s.Changes(t.Context(), before, w.take())
	require.NoError(t, err)
	assert.Equal(t, []snapshot.Change{{"a", snapshot.Changed}, {"b", snapshot.Removed}, {"c", snapshot.Created}}, got)
	_, err = w.s.Changes(t.Context(), before, "../../etc")
	require.ErrorIs(t, err, snapshot.ErrNoSnapshot)
}

// TestAChangeThatKeepsSizeAndTimeIsSeen: by the time of the change, which programs cannot set.
func TestAChangeThatKeepsSizeAndTimeIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "1")
	before := w.take()
	info, err := os.Stat(w.path("a"))
	require.NoError(t, err)
	w.write("a", "2")
	require.NoError(t, os.Chtimes(w.path("a"), info.ModTime(), info.ModTime()))
	got, err := w.s.Changes(t.Context(), before, w.take())
	require.NoError(t, err)
	assert.Equal(t, []snapshot.Change{{"a", snapshot.Changed}}, got)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &snapshot.Options{FileBytes: 60, IgnoredFiles: 2, IgnoredBytes: 1000})
	w.write(".gitignore", "node_modules/\n*.log\n!keep.log\n")
	w.write("large", strings.Repeat("more than sixty bytes", 3))
	for i := range 5 {
		w.write(fmt.Sprintf("node_modules/%d", i), "x")
	}
	w.write("sub/node_modules/1", "x")
	w.write("one.log", "x")
	w.write("sub/two.log", "x")
	w.write("keep.log", "x")
	before, report, err := w.s.Take(t.Context())
	require.NoError(t, err)
	var left []string
	for _, l := range report.LeftOut {
		left = append(left, l.Path)
		assert.NotEmpty(t, l.Why)
	}
	assert.Equal(t, []string{"large", "node_modules", "sub/node_modules"}, slices.Sorted(slices.Values(left)))
	w.clear()
	r := w.undo(before, w.take())
	assert.FileExists(t, w.path("keep.log"))
	assert.FileExists(t, w.path("sub/two.log"))
	assert.Len(t, r.Lost, 3, "it says what it cannot bring back")
	assert.NoDirExists(t, w.path("node_modules"))

	w = newWorld(t, &snapshot.Options{Files: 2})
	for _, name := range []string{"a", "b", "c"} {
		w.write(name, "")
	}
	_, _, err = w.s.Take(t.Context())
	require.ErrorIs(t, err, snapshot.ErrTooLarge)
}

// TestWhatIsLeftOutIsNeverRemoved: neither a large file of the turn nor the directory around it.
func TestWhatIsLeftOutIsNeverRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &snapshot.Options{FileBytes: 10})
	before := w.take()
	w.write("made/large", "more than ten bytes")
	w.write("made/small", "x")
	r := w.undo(before, w.take())
	assert.Equal(t, []string{"made/small"}, r.Removed)
	assert.Equal(t, []string{"made"}, paths(r.Conflicts))
	assert.FileExists(t, w.path("made/large"))
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	_, err := snapshot.Open(project, filepath.Join(project, "store"), nil)
	require.ErrorContains(t, err, "cannot be kept in it")
	other := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(project, other))
	_, err = snapshot.Open(project, filepath.Join(other, "store"), nil)
	require.ErrorContains(t, err, "cannot be kept in it")
	_, err = snapshot.Open(filepath.Join(project, "missing"), t.TempDir(), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestAnExcludedDirectoryHasTheStore: it is no part of the project, and stays.
func TestAnExcludedDirectoryHasTheStore(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	state := filepath.Join(project, "state")
	s, err := snapshot.Open(project, filepath.Join(state, "store"), &snapshot.Options{Exclude: []string{state}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(project, "a"), []byte("1"), 0o600))
	before, report, err := s.Take(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, report.Entries)
	assert.Empty(t, report.LeftOut)
	require.NoError(t, os.Remove(filepath.Join(project, "a")))
	after, _, err := s.Take(t.Context())
	require.NoError(t, err)
	r, err := s.Restore(t.Context(), after, snapshot.Pair{Before: before, After: after})
	require.NoError(t, err)
	assert.Equal(t, snapshot.Result{Restored: []string{"a"}}, r)
}

func TestACancelledTakeLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := w.s.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	w.take()
}

// TestADamagedStoreIsReported: Restore writes nothing that is not what was stored.
func TestADamagedStoreIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.write("a", "some content")
	before := w.take()
	require.NoError(t, os.Remove(w.path("a")))
	after := w.take()
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("some content")))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "objects", sum[:2], sum), []byte("other conten"), 0o600))
	r := w.undoUnchecked(before, after)
	assert.Equal(t, []snapshot.Conflict{{Path: "a", Why: "the copy in the store is missing or damaged"}}, r.Conflicts)
	assert.Empty(t, tree(t, w.project)["a"])
	assert.Len(t, tree(t, w.project), 1, "no temporary file stays")
}

func (w *world) undoUnchecked(before, after snapshot.ID) snapshot.Result {
	w.t.Helper()
	r, err := w.s.Restore(w.t.Context(), w.take(), snapshot.Pair{Before: before, After: after})
	require.NoError(w.t, err)
	return r
}

func TestPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var ids []snapshot.ID
	for i := range 4 {
		w.write("a", strings.Repeat(fmt.Sprint(i), 1000))
		ids = append(ids, w.take())
	}
	lists, err := os.ReadDir(filepath.Join(w.dir, "snapshots"))
	require.NoError(t, err)
	for _, l := range lists { // they are older than what nobody has a record of
		path := filepath.Join(w.dir, "snapshots", l.Name())
		info, err := os.Stat(path)
		require.NoError(t, err)
		old := info.ModTime().Add(-1e12)
		require.NoError(t, os.Chtimes(path, old, old))
	}
	full, err := w.s.Size(t.Context())
	require.NoError(t, err)
	out, err := w.s.Prune(t.Context(), [][]snapshot.ID{{ids[2]}, {ids[1]}, {ids[0]}}, 2500)
	require.NoError(t, err)
	assert.Equal(t, 2, out.Kept)
	assert.Greater(t, out.Freed, int64(1000))
	rest, err := w.s.Size(t.Context())
	require.NoError(t, err)
	assert.Equal(t, full-out.Freed, rest)
	_, err = w.s.Changes(t.Context(), ids[0], ids[1])
	require.ErrorIs(t, err, snapshot.ErrNoSnapshot)
	r := w.undo(ids[1], ids[3])
	assert.Equal(t, []string{"a"}, r.Restored)
	got, err := os.ReadFile(w.path("a"))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("1", 1000), string(got))
}
