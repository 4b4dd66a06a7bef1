package gen_test

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/load"
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

// Whatever is on disk where the output belongs, the output is the same.
func TestStates(t *testing.T) {
	dir := newModule(t, one(t, "composite"))
	run(t, dir, false)
	want := outputs(t, dir)
	require.Len(t, want, 3)
	states := map[string]func(old string) string{
		"absent":    nil,
		"empty":     func(string) string { return "" },
		"stale":     func(old string) string { return strings.Replace(old, "Recall", "Remember", -1) },
		"truncated": func(old string) string { return old[:len(old)/2] },
		"conflict": func(old string) string {
			return "<<<<<<< HEAD\n" + old + "\n=======\n" + old[:200] + "\n>>>>>>> branch\n"
		},
		"conflict inside": func(old string) string {
			return strings.Replace(old, "import (", "<<<<<<< HEAD\nimport (\n=======\nimport (\n>>>>>>> branch\n", 1)
		},
		"header only": func(string) string { return load.Header + "\n" },
		"other":       func(string) string { return load.Header + "\n\npackage wrong\n\nvar x = undefined\n" },
	}
	for name, change := range states {
		for _, which := range []string{"all", "a", "z"} {
			if which != "all" && name != "absent" && name != "conflict" {
				continue // one file alone matters where it changes what the go command says
			}
			t.Run(name+" "+which, func(t *testing.T) {
				for file, text := range want {
					if which != "all" && path.Base(path.Dir(file)) != which {
						continue
					}
					if change == nil {
						require.NoError(t, os.Remove(filepath.Join(dir, file)))
						continue
					}
					write(t, dir, file, change(text))
				}
				done, stderr := run(t, dir, false)
				assert.NotEmpty(t, done.Changes)
				assert.Empty(t, stderr)
				assert.Equal(t, want, outputs(t, dir))
			})
		}
	}
}

// The text does not depend on the order of patterns, the place of the module, or the number of processors.
func TestDeterminism(t *testing.T) {
	s := one(t, "composite")
	first := newModule(t, s)
	run(t, first, false)
	want := outputs(t, first)
	for _, procs := range []int{1, 4} {
		before := runtime.GOMAXPROCS(procs)
		dir := newModule(t, s)
		for _, pattern := range []string{"inner", "a", "z"} {
			run(t, dir, false, "./composite/"+pattern)
		}
		runtime.GOMAXPROCS(before)
		assert.Equal(t, want, outputs(t, dir))
	}
	sub := newModule(t, s)
	_, err := gen.Run(t.Context(), gen.Options{Dir: filepath.Join(sub, "composite", "a"), Patterns: []string{"../z", "../inner", "."}})
	require.NoError(t, err)
	assert.Equal(t, want, outputs(t, sub))
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
	assert.Contains(t, stderr, "error HG004: hookgen wants packages, not files: \"prose/p/p.go\"\n\tfix: hookgen ./prose/p\n")
	_, err := gen.Run(t.Context(), gen.Options{Dir: filepath.Join(dir, "nowhere")})
	assert.Error(t, err)
}
