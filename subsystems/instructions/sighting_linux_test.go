package instructions_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
	in := instructions.New(&instructions.Options{Root: dir, Now: ahead})
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
	for _, c := range []struct {
		name  string
		after time.Duration
		reads int
	}{{"at rest", time.Minute, 1}, {"just changed", time.Second, 5}} {
		reads := 0 // the clock is looked at when files are read
		in := instructions.New(&instructions.Options{Root: dir, Now: func() time.Time { reads++; return info.ModTime().Add(c.after) }})
		for range 5 {
			text, _ := given(t, in, "")
			assert.Contains(t, text, "gamma")
		}
		assert.Equal(t, c.reads, reads, c.name)
	}
}
