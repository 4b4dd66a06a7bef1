package ostools_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

// isOpen reports whether this process has the file open.
func isOpen(path string) bool {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
			return true
		}
	}
	return false
}

// What is appended to a file while grep reads it is searched up to the limit of a file, and no further.
func TestGrepEndsAtTheLimit(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	o, root := newOS(t, nil)
	name := filepath.Join(root, "file")
	full := bytes.Repeat([]byte("a line without it\n"), 50*mb/18-10)
	require.NoError(t, os.WriteFile(name, full, 0o644))
	var writer sync.WaitGroup
	writer.Go(func() {
		for !isOpen(name) {
			runtime.Gosched()
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if assert.NoError(t, err) {
			_, err = f.WriteString("near\n" + string(full[:mb]) + "needle\n")
			assert.NoError(t, err)
			assert.NoError(t, f.Close())
		}
	})
	r, err := o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "ne(ar|edle)$", OutputMode: ostools.ModeContent})
	writer.Wait()
	require.NoError(t, err)
	assert.Equal(t, "file:2912702:near\n", r.Text(), "it was open when it grew")
}
