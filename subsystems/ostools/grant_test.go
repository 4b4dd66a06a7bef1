package ostools_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func TestGrantNarrows(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{"top": "x", "a/in": "x", "a/sub/in": "x", "ab/in": "x", "b/in": "x"})
	require.NoError(t, os.Symlink("../b/in", filepath.Join(root, "a", "out")))
	below := granted(hook.Grant{Root: root + "/a"})

	for path, want := range map[string]message.FailureKind{
		"a/in": "", "a/sub/in": "", filepath.Join(root, "a/in"): "",
		"top": message.FailDenied, "ab/in": message.FailDenied, "b/in": message.FailDenied, "a/../top": message.FailDenied,
		"a/out": message.FailDenied, "a/missing": message.FailNotFound,
	} {
		_, err := o.Read(t.Context(), below, ostools.ReadInput{FilePath: path})
		if want == "" {
			require.NoError(t, err, path)
			continue
		}
		kind, _ := failure(t, err)
		assert.Equal(t, want, kind, path)
	}
	r, err := o.Glob(t.Context(), below, ostools.GlobInput{Pattern: "**/in"})
	require.NoError(t, err)
	assert.Equal(t, "a/in\na/sub/in\n", r.Text(), "without a path the search starts where the grant does")
	r, err = o.Write(t.Context(), below, ostools.WriteInput{FilePath: "a/new/f", Content: "y"})
	require.NoError(t, err)
	assert.Equal(t, "Made a/new/f: 1 bytes.", r.Text())
	_, err = o.Write(t.Context(), below, ostools.WriteInput{FilePath: "b/in", Content: "y"})
	kind, _ := failure(t, err)
	assert.Equal(t, message.FailDenied, kind)

	for name, g := range map[string]hook.Grant{"read-only": {ReadOnly: true}, "void": {Void: true}, "elsewhere": {Root: "/etc"}} {
		_, err := o.Edit(t.Context(), granted(g), ostools.EditInput{FilePath: "top", OldString: "x", NewString: "y"})
		kind, _ := failure(t, err)
		assert.Equal(t, message.FailDenied, kind, name)
	}
	for name, g := range map[string]hook.Grant{"read-only": {ReadOnly: true}, "wider": {Root: filepath.Dir(root)}} {
		_, err := o.Read(t.Context(), granted(g), ostools.ReadInput{FilePath: "top"})
		assert.NoError(t, err, name)
	}
}

func TestReadableDirectories(t *testing.T) {
	t.Parallel()
	root, lib := t.TempDir(), t.TempDir()
	fill(t, lib, map[string]string{"skill/SKILL.md": "how to\n"})
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(lib, "out")))
	o, err := ostools.New(root, &ostools.Options{Readable: []string{lib, filepath.Join(lib, "missing")}})
	require.NoError(t, err)
	defer o.Close()
	path := filepath.Join(lib, "skill", "SKILL.md")

	r, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
	require.NoError(t, err)
	assert.Contains(t, r.Text(), "1\thow to\n")
	r, err = o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**/*.md", Path: lib})
	require.NoError(t, err)
	assert.Equal(t, path+"\n", r.Text(), "named so that read takes it")
	_, err = o.Write(t.Context(), env, ostools.WriteInput{FilePath: path, Content: "x"})
	kind, text := failure(t, err)
	assert.Equal(t, message.FailDenied, kind)
	assert.Equal(t, path+" can be read but not changed", text)
	_, err = o.Read(t.Context(), env, ostools.ReadInput{FilePath: filepath.Join(lib, "out")})
	kind, _ = failure(t, err)
	assert.Equal(t, message.FailDenied, kind)
}
