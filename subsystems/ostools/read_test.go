package ostools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func numbered(n int) string {
	var sb strings.Builder
	for i := range n {
		fmt.Fprintf(&sb, "line %d\n", i+1)
	}
	return sb.String()
}

func TestReadShowsLines(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{
		"three":     "a\nb\nc\n",
		"open":      "a\nb",
		"empty":     "",
		"break":     "\n",
		"crlf":      "a\r\nb\r\n",
		"bom":       "\xef\xbb\xbfa\n",
		"latin1":    "caf\xe9\nok\n",
		"many":      numbered(2500),
		"dir/x.txt": "x\n",
	})
	tests := []struct {
		name string
		in   ostools.ReadInput
		want string
	}{
		{"all", ostools.ReadInput{FilePath: "three"}, "1\ta\n2\tb\n3\tc\n--- 3 total lines (showing lines 1-3) ---"},
		{"no line break at the end", ostools.ReadInput{FilePath: "open"}, "1\ta\n2\tb\n--- 2 total lines (showing lines 1-2) ---"},
		{"offset", ostools.ReadInput{FilePath: "three", Offset: 2}, "2\tb\n3\tc\n--- 3 total lines (showing lines 2-3) ---"},
		{"offset and limit", ostools.ReadInput{FilePath: "three", Offset: 2, Limit: 1}, "2\tb\n--- 3 total lines (showing lines 2-2) ---"},
		{"limit past the end", ostools.ReadInput{FilePath: "three", Offset: 3, Limit: 9}, "3\tc\n--- 3 total lines (showing lines 3-3) ---"},
		{"offset past the end", ostools.ReadInput{FilePath: "three", Offset: 4}, "Line 4 is past the end of the file.\n--- 3 total lines (showing none) ---"},
		{"empty", ostools.ReadInput{FilePath: "empty"}, "The file is empty.\n--- 0 total lines (showing none) ---"},
		{"one break", ostools.ReadInput{FilePath: "break"}, "1\t\n--- 1 total lines (showing lines 1-1) ---"},
		{"CR LF", ostools.ReadInput{FilePath: "crlf"}, "1\ta\n2\tb\n2 lines of the file end in CR LF; edit keeps that.\n--- 2 total lines (showing lines 1-2) ---"},
		{"byte order mark", ostools.ReadInput{FilePath: "bom"}, "1\ta\n--- 1 total lines (showing lines 1-1) ---"},
		{"other bytes", ostools.ReadInput{FilePath: "latin1"}, "1\tcaf\uFFFD\n2\tok\nNot all of this is UTF-8: in 1 lines other bytes are shown as \uFFFD.\n--- 2 total lines (showing lines 1-2) ---"},
		{"absolute", ostools.ReadInput{FilePath: filepath.Join(root, "dir", "x.txt")}, "1\tx\n--- 1 total lines (showing lines 1-1) ---"},
		{"roundabout", ostools.ReadInput{FilePath: "./dir/../dir//x.txt"}, "1\tx\n--- 1 total lines (showing lines 1-1) ---"},
		{"negative is the beginning", ostools.ReadInput{FilePath: "open", Offset: -5}, "1\ta\n2\tb\n--- 2 total lines (showing lines 1-2) ---"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := o.Read(t.Context(), env, tt.in)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Text())
			assert.Equal(t, message.TrustWorkspace, got.Trust)
		})
	}
	t.Run("2000 lines unless told", func(t *testing.T) {
		t.Parallel()
		got, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "many"})
		require.NoError(t, err)
		assert.Contains(t, got.Text(), "\n2000\tline 2000\n--- 2500 total lines (showing lines 1-2000) ---")
	})
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	o, _ := newOS(t, map[string]string{
		"long":  strings.Repeat("ü", 40_000) + "\nnext\n",
		"wide":  strings.Repeat(strings.Repeat("x", 1500)+"\n", 1000),
		"full":  strings.Repeat(strings.Repeat("x", 98)+"\r\n", 2000),
		"first": strings.Repeat("ä", 900) + "\nb\n",
	})
	t.Run("a line", func(t *testing.T) {
		got, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "long"})
		require.NoError(t, err)
		assert.Equal(t, "1\t"+strings.Repeat("ü", 1000)+" … [the line has 80000 bytes]\n2\tnext\n--- 2 total lines (showing lines 1-2) ---", got.Text())
	})
	t.Run("all lines", func(t *testing.T) {
		got, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "wide"})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(got.Text()), 100_000)
		assert.Contains(t, got.Text(), "go on with offset 67.\n--- 1000 total lines (showing lines 1-66) ---")
	})
	t.Run("with what it says of the file", func(t *testing.T) {
		got, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "full"})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(got.Text()), 100_000, "a runtime would cut a piece out of its middle")
		assert.Greater(t, len(got.Text()), 99_000)
	})
	t.Run("by the smallest grant", func(t *testing.T) {
		for _, text := range []string{"", "a", "ä", "\xe4"} {
			o, _ := newOS(t, map[string]string{"f": text + "\nb\n"})
			for m := 1; m < 6; m++ {
				got, err := o.Read(t.Context(), granted(hook.Grant{MaxOutput: m}), ostools.ReadInput{FilePath: "f"})
				require.NoError(t, err)
				assert.True(t, utf8.ValidString(got.Text()))
				assert.Contains(t, got.Text(), "--- 2 total lines (showing lines 1-")
			}
		}
	})
	t.Run("by the grant", func(t *testing.T) {
		got, err := o.Read(t.Context(), granted(hook.Grant{MaxOutput: 100}), ostools.ReadInput{FilePath: "first"})
		require.NoError(t, err)
		assert.True(t, utf8.ValidString(got.Text()))
		assert.Contains(t, got.Text(), "go on with offset 2.\n--- 2 total lines (showing lines 1-1) ---")
	})
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{"bin": "ab\x00cd", "dir/x": "", "closed": "x"})
	require.NoError(t, os.Truncate(filepath.Join(root, "bin"), 8))
	big, err := os.Create(filepath.Join(root, "big"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(50<<20+1))
	require.NoError(t, big.Close())
	tests := []struct {
		name, path string
		kind       message.FailureKind
		want       string
	}{
		{"binary", "bin", message.FailOperation, "bin is no text in UTF-8: it has NUL bytes (8 bytes in all)"},
		{"missing", "nope/x", message.FailNotFound, "nope/x does not exist"},
		{"directory", "dir", message.FailOperation, "dir is a directory; list it with a pattern like dir/*"},
		{"a file as directory", "closed/x", message.FailOperation, "closed/x: not a directory"},
		{"too large", "big", message.FailOperation, "big has 52428801 bytes; the limit is 52428800"},
		{"no path", "", message.FailArguments, "the path is empty; give one below " + root},
		{"NUL", "a\x00b", message.FailArguments, "the path has a NUL byte in it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: tt.path})
			kind, text := failure(t, err)
			assert.Equal(t, tt.kind, kind)
			assert.Equal(t, tt.want, text)
		})
	}
}
