package instructions_test

import (
	"os"
	"path/filepath"
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
	dir := project(t, files{"AGENTS.md": "one"})
	file := filepath.Join(dir, "AGENTS.md")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(file, past, past))
	ahead := func() time.Time { return time.Now().Add(time.Minute) } // no file has just changed
	in := instructions.New(&instructions.Options{Root: dir, Now: ahead})
	text, _ := given(t, in, "")
	assert.Contains(t, text, "one")
	before, err := os.Stat(file)
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond) // a tick of the file system's clock
	add(t, dir, files{"AGENTS.md": "two"})
	require.NoError(t, os.Chtimes(file, past, past))
	after, err := os.Stat(file)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after) && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()))
	text, _ = given(t, in, "")
	assert.Contains(t, text, "two")
}

// TestUnchangedFilesAreNotRead: turns read the files once, as long as these look the same.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "one @a.md", "a.md": "two"})
	past := time.Now().Add(-time.Hour)
	reads := 0
	in := instructions.New(&instructions.Options{Root: dir, Now: func() time.Time { reads++; return time.Now().Add(time.Minute) }})
	for _, name := range []string{"AGENTS.md", "a.md"} {
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), past, past))
	}
	for range 5 {
		text, _ := given(t, in, "")
		assert.Contains(t, text, "two")
	}
	assert.Equal(t, 1, reads, "the clock is looked at when files are read")
}
