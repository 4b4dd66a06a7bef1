package instructions_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/instructions"
)

// TestAChangeThatHidesItself: a text of the same size whose time was set back counts all the
// same.
func TestAChangeThatHidesItself(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "alpha"})
	file := filepath.Join(dir, "AGENTS.md")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(file, past, past))
	ahead := func() time.Time { return time.Now().Add(time.Minute) } // no file has just changed
	in := instructions.New(&instructions.Options{Root: dir, Fresh: -1, Now: ahead})
	text, _ := given(t, in, "")
	assert.Contains(t, text, "alpha")
	before, err := os.Stat(file)
	require.NoError(t, err)
	after := before
	for ctime(after) == ctime(before) { // until the file system's clock has ticked
		add(t, dir, files{"AGENTS.md": "gamma"})
		require.NoError(t, os.Chtimes(file, past, past))
		after, err = os.Stat(file)
		require.NoError(t, err)
	}
	require.True(t, os.SameFile(before, after) && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()))
	text, _ = given(t, in, "")
	assert.Contains(t, text, "gamma")
}

func ctime(info os.FileInfo) syscall.Timespec { return info.Sys().(*syscall.Stat_t).Ctim }

// TestUnchangedFilesAreNotRead: turns read the files once, as long as these look the same;
// but again while a change may hide behind the tick of a clock.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "one @a.md", "a.md": "gamma"})
	info, err := os.Stat(filepath.Join(dir, "a.md"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		after time.Duration
		texts int
	}{"at rest": {time.Minute, 1}, "just changed": {time.Second, 5}} {
		in := instructions.New(&instructions.Options{Root: dir, Fresh: -1, Now: func() time.Time { return info.ModTime().Add(c.after) }})
		texts := map[*byte]bool{} // files that are read make a text of their own
		for range 5 {
			text, _ := given(t, in, "")
			assert.Contains(t, text, "gamma")
			texts[unsafe.StringData(text)] = true
		}
		assert.Len(t, texts, c.texts, name)
	}
}

// TestTurnsInAHurryDoNotLook: files count as unchanged for a moment, for turns alone.
func TestTurnsInAHurryDoNotLook(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "alpha"})
	now := time.Now()
	in := instructions.New(&instructions.Options{Root: dir, Now: func() time.Time { return now }})
	text, _ := given(t, in, "")
	assert.Contains(t, text, "alpha")
	add(t, dir, files{"AGENTS.md": "gamma"})
	now = now.Add(instructions.DefaultFresh - 1)
	text, _ = given(t, in, "")
	assert.Contains(t, text, "alpha", "a moment later")
	now = now.Add(1)
	text, _ = given(t, in, "")
	assert.Contains(t, text, "gamma", "after that moment")
	add(t, dir, files{"AGENTS.md": "delta, which is longer"})
	found, err := in.Files(t.Context(), agent(""))
	require.NoError(t, err)
	assert.Equal(t, len("delta, which is longer"), found[0].Size, "people who look see the files as they are")
}
