package gen_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// one returns the scenario with a composite whose members are generated in the same run.
func one(t *testing.T, name string) *scenario {
	t.Helper()
	all := scenarios(t)
	return all[slices.IndexFunc(all, func(s *scenario) bool { return s.name == name })]
}

// outputs returns the generated files below a directory.
func outputs(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == load.Output {
			text, readErr := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			out[filepath.ToSlash(rel)] = string(text)
			return readErr
		}
		return err
	}))
	return out
}

func TestCheckAndOrphans(t *testing.T) {
	dir := newModule(t, one(t, "composite"))
	checked, _ := run(t, dir, true)
	assert.Equal(t, []gen.Change{
		{Path: "composite/a/hook_gen.go", Kind: gen.Missing},
		{Path: "composite/inner/hook_gen.go", Kind: gen.Missing},
		{Path: "composite/z/hook_gen.go", Kind: gen.Missing},
	}, checked.Changes)
	assert.Empty(t, outputs(t, dir), "a check writes nothing")
	done, _ := run(t, dir, false)
	assert.Equal(t, checked.Changes, done.Changes)

	info, err := os.Stat(filepath.Join(dir, "composite/z/hook_gen.go"))
	require.NoError(t, err)
	write(t, dir, "gone/gone.go", "package gone\n")
	write(t, dir, "gone/hook_gen.go", load.Header+"\n\npackage gone\n")
	write(t, dir, "composite/a/old_gen.go", load.Header+"\n\npackage a\n")
	write(t, dir, "gone/by_hand.go", "// Written by hand.\n\npackage gone\n")
	want := []gen.Change{
		{Path: "composite/a/old_gen.go", Kind: gen.Orphaned},
		{Path: "gone/hook_gen.go", Kind: gen.Orphaned},
	}
	checked, _ = run(t, dir, true)
	assert.Equal(t, want, checked.Changes)
	done, _ = run(t, dir, false)
	assert.Equal(t, want, done.Changes)
	checked, _ = run(t, dir, true)
	assert.Empty(t, checked.Changes)
	again, err := os.Stat(filepath.Join(dir, "composite/z/hook_gen.go"))
	require.NoError(t, err)
	assert.Equal(t, info.ModTime(), again.ModTime(), "what is right is not written again")
}

func TestPatterns(t *testing.T) {
	dir := newModule(t, one(t, "prose"))
	_, stderr := run(t, dir, false, "./nowhere")
	assert.Contains(t, stderr, `error HG003: pattern "./nowhere" matches no package`)
	_, stderr = run(t, dir, false, "prose/p/p.go")
	assert.Contains(t, stderr, "error HG004: hookgen takes packages, not files: \"prose/p/p.go\"\n\tfix: hookgen ./prose/p\n")
	_, err := gen.Run(t.Context(), gen.Options{Dir: filepath.Join(dir, "nowhere")})
	assert.Error(t, err)
}
