package ostools_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func TestEditReplaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, before, old, repl string
		all                     bool
		after, said             string
	}{
		{"once", "a\nb\nc\n", "b", "x", false, "a\nx\nc\n", "Edited f at line 2."},
		{"deletes", "a\nb\n", "a\n", "", false, "b\n", "Edited f at line 1."},
		{"all", "a b a\na", "a", "x", true, "x b x\nx", "Edited f: 3 replacements, the first at line 1."},
		{"all of one", "ab", "a", "x", true, "xb", "Edited f at line 1."},
		{"keeps CR LF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", "Edited f at line 1."},
		{"CR LF given as it is", "a\r\nb\r\n", "a\r\nb", "x", false, "x\r\n", "Edited f at line 1."},
		{"new lines in a CR LF file", "a\r\nb\r\n", "a", "x\ny", false, "x\r\ny\r\nb\r\n", "Edited f at line 1."},
		{"mixed, the LF part", "a\nb\r\nc\n", "a\nb", "x", false, "x\r\nc\n", "Edited f at line 1."},
		{"mixed, the CR LF part", "a\nb\r\nc\n", "b\nc", "x\ny", false, "a\nx\r\ny\n", "Edited f at line 2."},
		{"keeps what is not UTF-8", "caf\xe9 a", "a\x00"[:1] + "", "", true, "cf\xe9 ", "Edited f: 2 replacements, the first at line 1."},
		{"keeps the byte order mark", "\xef\xbb\xbfa\n", "a", "b", false, "\xef\xbb\xbfb\n", "Edited f at line 1."},
		{"a dollar is no pattern", "cost", "cost", "$1 \\1 &", false, "$1 \\1 &", "Edited f at line 1."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, root := newOS(t, map[string]string{"f": tt.before})
			got, err := o.Edit(t.Context(), env, ostools.EditInput{FilePath: "f", OldString: tt.old, NewString: tt.repl, ReplaceAll: tt.all})
			require.NoError(t, err)
			assert.Equal(t, tt.said, got.Text())
			assert.Equal(t, tt.after, content(t, root, "f"))
		})
	}
}

func TestEditRefusesAndChangesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, before, path, old, repl string
		kind                          message.FailureKind
		want                          string
	}{
		{"empty old text", "a", "f", "", "x", message.FailArguments, "old_string is empty"},
		{"nothing to change", "a", "f", "a", "a", message.FailArguments, "the same"},
		{"not there", "a", "f", "b", "x", message.FailOperation, "old_string is not in f"},
		{"twice", "a\nb\na\n", "f", "a", "x", message.FailOperation, "more than once, at lines 1 and 3"},
		{"twice, overlapping", "aaa", "f", "aa", "x", message.FailOperation, "more than once, at lines 1 and 1"},
		{"binary", "a\x00b", "f", "a", "x", message.FailOperation, "no text"},
		{"missing", "a", "g", "a", "x", message.FailNotFound, "g does not exist"},
		{"directory", "a", ".", "a", "x", message.FailOperation, "is a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, root := newOS(t, map[string]string{"f": tt.before})
			_, err := o.Edit(t.Context(), env, ostools.EditInput{FilePath: tt.path, OldString: tt.old, NewString: tt.repl})
			kind, text := failure(t, err)
			assert.Equal(t, tt.kind, kind)
			assert.Contains(t, text, tt.want)
			assert.Equal(t, tt.before, content(t, root, "f"))
			onlyFiles(t, root, "f")
		})
	}
}

// onlyFiles fails if something else was left, a temporary file for instance.
func onlyFiles(t *testing.T, root string, want ...string) {
	t.Helper()
	var got []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			got = append(got, rel)
		}
		return err
	}))
	assert.ElementsMatch(t, want, got)
}

func TestEditsOfOneFileDoNotGetLost(t *testing.T) {
	t.Parallel()
	const n = 24
	var before strings.Builder
	for i := range n {
		fmt.Fprintf(&before, "<%d>\n", i)
	}
	o, root := newOS(t, map[string]string{"dir/f": before.String()})
	require.NoError(t, os.Symlink("dir/f", filepath.Join(root, "link")))
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			path := []string{"dir/f", "link", filepath.Join(root, "dir", "f")}[i%3]
			_, errs[i] = o.Edit(t.Context(), env, ostools.EditInput{
				FilePath: path, OldString: fmt.Sprintf("<%d>", i), NewString: fmt.Sprintf("[%d]", i),
			})
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	assert.Equal(t, strings.NewReplacer("<", "[", ">", "]").Replace(before.String()), content(t, root, "dir", "f"))
	assert.Equal(t, "dir/f", readlink(t, root, "link"), "the link is still one")
	onlyFiles(t, root, "dir/f", "link")
}

func readlink(t *testing.T, path ...string) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(path...))
	require.NoError(t, err)
	return target
}

func TestWrite(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{"old.sh": "before", "locked": "x", "dir/x": ""})
	require.NoError(t, os.Chmod(filepath.Join(root, "old.sh"), 0o750))
	require.NoError(t, os.Chmod(filepath.Join(root, "locked"), 0o444))
	require.NoError(t, os.Symlink("deep/target", filepath.Join(root, "link")))

	said := func(path, text string) string {
		got, err := o.Write(t.Context(), env, ostools.WriteInput{FilePath: path, Content: text})
		require.NoError(t, err)
		return got.Text()
	}
	assert.Equal(t, "Made a/b/new: 3 bytes.", said("a/b/new", "new"))
	assert.Equal(t, "new", content(t, root, "a/b/new"))
	assert.Equal(t, "Replaced old.sh: 5 bytes, before 6.", said("old.sh", "after"))
	info, err := os.Stat(filepath.Join(root, "old.sh"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o750), info.Mode().Perm(), "the permissions are kept")
	assert.Equal(t, "Made deep/target: 1 bytes.", said("link", "x"), "through a link to what is not there yet")
	assert.Equal(t, "deep/target", readlink(t, root, "link"))
	assert.Equal(t, "Made empty: 0 bytes.", said("empty", ""))

	for path, want := range map[string]string{
		"locked":   "locked is write-protected",
		"dir":      "dir is a directory",
		".":        ". is a directory",
		"old.sh/x": "old.sh/x: not a directory",
	} {
		_, err := o.Write(t.Context(), env, ostools.WriteInput{FilePath: path, Content: "y"})
		kind, text := failure(t, err)
		assert.Equal(t, message.FailOperation, kind, path)
		assert.Equal(t, want, text)
	}
	onlyFiles(t, root, "a/b/new", "old.sh", "locked", "dir/x", "link", "deep/target", "empty")
}
