package term_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	put("a.go", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	put("crlf.txt", "one\r\ntwo\r\n")
	put("binary", "a\x00b")
	put("large", strings.Repeat("x", 1<<20+1))
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "link")))
	tests := []struct {
		name, tool string
		args       message.JSON
		lines      int
		want       string
		cut        bool
	}{
		{"edit", "edit", `{"file_path":"a.go","old_string":"5","new_string":"five\u001b[2J"}`, 0,
			"  a.go\n  @@ -2,7 +2,7 @@\n   2\n   3\n   4\n  -5\n  +five\\x1b[2J\n   6\n   7\n   8\n", false},
		{"absolute path", "edit", message.JSON(`{"file_path":"` + root + `/a.go","old_string":"9\n","new_string":""}`), 0,
			"  " + root + "/a.go\n  @@ -6,4 +6,3 @@\n   6\n   7\n   8\n  -9\n", false},
		{"cut", "edit", `{"file_path":"a.go","old_string":"5","new_string":"five"}`, 2, "  a.go\n  @@ -2,7 +2,7 @@\n   2\n    … 7 more lines\n", true},
		{"CR LF", "edit", `{"file_path":"crlf.txt","old_string":"one\ntwo","new_string":"one\n2"}`, 0,
			"  crlf.txt\n  @@ -1,2 +1,2 @@\n   one\n  -two\n  +2\n", false},
		{"all", "edit", `{"file_path":"crlf.txt","old_string":"o","new_string":"0","replace_all":true}`, 0,
			"  crlf.txt\n  @@ -1,2 +1,2 @@\n  -one\n  -two\n  +0ne\n  +tw0\n", false},
		{"new file", "write", `{"file_path":"new/b","content":"x\ny"}`, 0,
			"  new/b (new)\n  @@ -0,0 +1,2 @@\n  +x\n  +y\n  \\ No newline at end of file\n", false},
		{"line ends changed", "write", `{"file_path":"crlf.txt","content":"one\ntwo\r\n"}`, 0,
			"  crlf.txt\n  @@ -1,2 +1,2 @@\n  -one\\x0d\n  +one\n   two\\x0d\n", false},
		{"no change", "write", `{"file_path":"crlf.txt","content":"one\r\ntwo\r\n"}`, 0, "  crlf.txt (no change)\n", false},

		{"twice", "edit", `{"file_path":"crlf.txt","old_string":"o","new_string":"0"}`, 0, "", false},
		{"not there", "edit", `{"file_path":"a.go","old_string":"x","new_string":"0"}`, 0, "", false},
		{"no such file", "edit", `{"file_path":"x","old_string":"x","new_string":"0"}`, 0, "", false},
		{"binary", "write", `{"file_path":"binary","content":""}`, 0, "", false},
		{"large", "write", `{"file_path":"large","content":""}`, 0, "", false},
		{"directory", "write", `{"file_path":".","content":""}`, 0, "", false},
		{"outside", "write", message.JSON(`{"file_path":"` + outside + `","content":""}`), 0, "", false},
		{"through a link", "write", `{"file_path":"link","content":""}`, 0, "", false},
		{"another tool", "mcp__x__write", `{"file_path":"a.go","content":""}`, 0, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, cut, ok := term.Diff(root, call("1", tt.tool, tt.args, message.Annotations{}), tt.lines, false)
			assert.Equal(t, tt.want, text.String())
			assert.Equal(t, tt.want != "", ok)
			assert.Equal(t, tt.cut, cut)
		})
	}
	text, _, _ := term.Diff(root, call("1", "edit", tests[0].args, message.Annotations{}), 0, true)
	assert.Contains(t, text.String(), "\x1b[31m  -5\x1b[0m\n\x1b[32m  +five\\x1b[2J\x1b[0m\n")
}
