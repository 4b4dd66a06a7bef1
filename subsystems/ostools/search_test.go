package ostools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

var project = map[string]string{
	"main.go":                 "package main\n\nfunc main() {}\n",
	"cmd/a/a.go":              "package a\n// Func is good\n",
	"cmd/a/a_test.go":         "package a\n",
	"docs/x.md":               "# X\n",
	".git/config":             "package git\n",
	"node_modules/p/index.go": "package p\n",
	".hidden/h.go":            "package h\n",
	"bin":                     "package\x00",
}

func TestGlob(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, project)
	require.NoError(t, os.Symlink("cmd", filepath.Join(root, "loop")))
	tests := []struct {
		name string
		in   ostools.GlobInput
		want []string
	}{
		{"everywhere", ostools.GlobInput{Pattern: "**/*.go"}, []string{".hidden/h.go", "cmd/a/a.go", "cmd/a/a_test.go", "main.go"}},
		{"here", ostools.GlobInput{Pattern: "*.go"}, []string{"main.go"}},
		{"below a directory", ostools.GlobInput{Pattern: "cmd/**/*.go"}, []string{"cmd/a/a.go", "cmd/a/a_test.go"}},
		{"path", ostools.GlobInput{Pattern: "a/*.go", Path: "cmd"}, []string{"cmd/a/a.go", "cmd/a/a_test.go"}},
		{"absolute path", ostools.GlobInput{Pattern: "*.md", Path: filepath.Join(root, "docs")}, []string{"docs/x.md"}},
		{"absolute pattern", ostools.GlobInput{Pattern: filepath.Join(root, "docs", "*")}, []string{"docs/x.md"}},
		{"alternatives", ostools.GlobInput{Pattern: "**/*.{md,go}", Path: "docs"}, []string{"docs/x.md"}},
		{"plain name", ostools.GlobInput{Pattern: "docs/x.md"}, []string{"docs/x.md"}},
		{"starting in what is passed over", ostools.GlobInput{Pattern: "node_modules/**"}, []string{"node_modules/p/index.go"}},
		{"a link is listed", ostools.GlobInput{Pattern: "lo*"}, []string{"loop"}},
		{"through a link as start", ostools.GlobInput{Pattern: "**/*_test.go", Path: "loop"}, []string{"cmd/a/a_test.go"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := o.Glob(t.Context(), env, tt.in)
			require.NoError(t, err)
			assert.Equal(t, strings.Join(tt.want, "\n")+"\n", got.Text())
		})
	}
	t.Run("nothing", func(t *testing.T) {
		got, err := o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "*.rs"})
		require.NoError(t, err)
		assert.Equal(t, "No file fits \"*.rs\".\n", got.Text())
		assert.False(t, got.IsError())
	})
	for pattern, want := range map[string]message.FailureKind{
		"[": message.FailArguments, "../*": message.FailDenied, "/etc/*": message.FailDenied, "*/../x": message.FailArguments, "nope/*": message.FailNotFound,
	} {
		_, err := o.Glob(t.Context(), env, ostools.GlobInput{Pattern: pattern})
		kind, _ := failure(t, err)
		assert.Equal(t, want, kind, pattern)
	}
}

func TestGrep(t *testing.T) {
	t.Parallel()
	o, _ := newOS(t, project)
	tests := []struct {
		name string
		in   ostools.GrepInput
		want string
	}{
		{"files", ostools.GrepInput{Pattern: "^package"}, ".hidden/h.go\ncmd/a/a.go\ncmd/a/a_test.go\nmain.go\n"},
		{"content", ostools.GrepInput{Pattern: "func", OutputMode: ostools.ModeContent}, "main.go:3:func main() {}\n"},
		{"ignore case", ostools.GrepInput{Pattern: "func", I: true, OutputMode: ostools.ModeContent}, "cmd/a/a.go:2:// Func is good\nmain.go:3:func main() {}\n"},
		{"ignore case, the long way", ostools.GrepInput{Pattern: "FUNC", IgnoreCase: true, OutputMode: ostools.ModeCount}, "cmd/a/a.go:1\nmain.go:1\n"},
		{"count", ostools.GrepInput{Pattern: ".", OutputMode: ostools.ModeCount, Path: "cmd"}, "cmd/a/a.go:2\ncmd/a/a_test.go:1\n"},
		{"by name", ostools.GrepInput{Pattern: "package", Glob: "*_test.go"}, "cmd/a/a_test.go\n"},
		{"by path", ostools.GrepInput{Pattern: "package", Glob: "cmd/**/a.go"}, "cmd/a/a.go\n"},
		{"one file", ostools.GrepInput{Pattern: "X", Path: "docs/x.md"}, "docs/x.md\n"},
		{"one file and its glob", ostools.GrepInput{Pattern: "X", Path: "docs/x.md", Glob: "*.md"}, "docs/x.md\n"},
		{"in .git when asked", ostools.GrepInput{Pattern: "git", Path: ".git"}, ".git/config\n"},
		{"nothing", ostools.GrepInput{Pattern: "zzz"}, "No line fits \"zzz\".\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := o.Grep(t.Context(), env, tt.in)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Text())
			assert.Equal(t, message.TrustWorkspace, got.Trust)
		})
	}
	for _, in := range []ostools.GrepInput{{Pattern: "("}, {Pattern: "(?=x)"}, {Pattern: "x", Glob: "["}} {
		_, err := o.Grep(t.Context(), env, in)
		kind, _ := failure(t, err)
		assert.Equal(t, message.FailArguments, kind)
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"long": strings.Repeat("ö", 60_000) + "\n", "lines": strings.Repeat("hit\n", 3000)}
	for i := range 1100 {
		files[fmt.Sprintf("many/%04d", i)] = "hit\n"
	}
	o, _ := newOS(t, files)
	rows := func(r message.ToolResult, err error) (int, string) {
		require.NoError(t, err)
		return strings.Count(r.Text(), "\n"), r.Text()
	}
	const more = "[there is more; narrow the search]\n"
	n, text := rows(o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "many/*"}))
	assert.Equal(t, 1001, n)
	assert.True(t, strings.HasSuffix(text, "many/0999\n"+more), "the first ones in order")
	n, text = rows(o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "hit", OutputMode: ostools.ModeContent}))
	assert.Equal(t, 1001, n)
	assert.True(t, strings.HasSuffix(text, "lines:1000:hit\n"+more))
	_, text = rows(o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "ö", OutputMode: ostools.ModeContent, Path: "long"}))
	assert.Equal(t, "long:1:"+strings.Repeat("ö", 250)+" … [the line has 120000 bytes]\n", text)
	_, text = rows(o.Glob(t.Context(), granted(hook.Grant{MaxOutput: 40}), ostools.GlobInput{Pattern: "many/*"}))
	assert.Equal(t, "many/0000\nmany/0001\nmany/0002\nmany/0003\n"+more, text)
}

func BenchmarkRead(b *testing.B) {
	o, _ := newOS(b, map[string]string{"f": numbered(2000)})
	b.ReportAllocs()
	for b.Loop() {
		_, err := o.Read(b.Context(), env, ostools.ReadInput{FilePath: "f"})
		require.NoError(b, err)
	}
}

func BenchmarkGrep(b *testing.B) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = numbered(500)
	}
	o, _ := newOS(b, files)
	b.ReportAllocs()
	for b.Loop() {
		_, err := o.Grep(b.Context(), env, ostools.GrepInput{Pattern: "line 499"})
		require.NoError(b, err)
	}
}
