package gitignore_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/gitignore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMatch(t *testing.T) {
	t.Parallel()
	var none *gitignore.Rules
	top := none.With(strings.NewReader("# comment\n\nnode_modules/\n*.log\n!keep.log\n/build\na/b\n**/deep/x\ntrail  \nspace\\ \n{braces}\n[!a]z\r\n[\n"), "")
	for _, tc := range []struct {
		path string
		dir  bool
		want bool
	}{
		{"node_modules", true, true}, {"node_modules", false, false}, {"sub/node_modules", true, true},
		{"x.log", false, true}, {"sub/x.log", false, true}, {"keep.log", false, false}, {"sub/keep.log", false, false},
		{"build", true, true}, {"sub/build", true, false}, {"a/b", false, true}, {"sub/a/b", false, false},
		{"p/q/deep/x", false, true}, {"trail", false, true}, {"space ", false, true}, {"{braces}", false, true}, {"braces", false, false},
		{"bz", false, true}, {"az", false, false}, {"# comment", false, false}, {"caf\xe9.log", false, true},
	} {
		assert.Equal(t, tc.want, top.Match(tc.path, path.Base(tc.path), tc.dir), "%q", tc.path)
		assert.False(t, none.Match(tc.path, path.Base(tc.path), tc.dir))
	}
	sub := top.With(strings.NewReader("!x.log\n/only\n"), "sub")
	assert.False(t, sub.Match("sub/x.log", "x.log", false), "the deeper file decides")
	assert.True(t, sub.Match("sub/y.log", "y.log", false))
	assert.True(t, sub.Match("sub/only", "only", false))
	assert.False(t, sub.Match("sub/more/only", "only", false))
	assert.Same(t, sub, sub.With(strings.NewReader("# nothing\n"), "sub/more"))
}
