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

// A file that does not fit what it was generated from does not compile.
func TestStaleOutputDoesNotCompile(t *testing.T) {
	const guard = "// Guard denies or panics."
	tests := []struct{ name, file, from, to, message string }{
		{"a tool is added", "z/z.go", "// SystemPrompt names", "// More is one more tool.\n//\n//hook:tool\nfunc (m *Memory) More(context.Context) error { return nil }\n\n// SystemPrompt names", "invalid argument: index"},
		{"a tool is renamed", "z/z.go", "//hook:tool readonly", "//hook:tool readonly name=remember", "undefined: z.ToolRecall"},
		{"a field is gone", "a/a.go", "\tUsers  *z.Memory   `hook:\"prefix=users_\"`\n", "", "d.Users undefined"},
		{"a field is added", "a/a.go", "\tDebug  bool\n", "\tDebug bool\n\tNew *z.Guard\n", "cannot use Daemon{}"},
		{"a tag is changed", "a/a.go", "before=Memory; BeforeTool: failopen", "before=Memory", "cannot use Daemon{}"},
		{"a field has another type", "a/a.go", "Plug   hook.Hook", "Plug *z.Guard", "cannot use Daemon{}"},
		{"a subsystem gains a point", "z/z.go", guard, "// OnClose closes.\nfunc (m *Memory) OnClose(context.Context) error { return nil }\n\n" + guard, "invalid argument: index"},
		{"a member gains a point", "z/z.go", guard, "// AfterTurn is new.\nfunc (g *Guard) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) {}\n\n" + guard,
			"cannot use staleCoreGuard.AfterTurn"},
		{"a member gains a method of the facade", "z/z.go", guard, "// OnEvent is new.\nfunc (g *Guard) OnEvent(context.Context, hook.Event) {}\n\n" + guard,
			"ambiguous selector staleCoreGuard.OnEvent"},
		{"what a member embeds gains a point", "z/z.go", "// OnEvent does nothing.", "// WrapTool is new.\nfunc (Mixin) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) hook.ToolResult { return next.Run(ctx) }\n\n// OnEvent does nothing.",
			"cannot use staleDaemonDeep.WrapTool"},
		{"what a member has Nop from gains a method", "z/z.go", "// OnEvent does nothing.", "// Preprocess is new.\nfunc (Mixin) Preprocess(_ context.Context, _ *hook.Turn, in hook.Input) (hook.Input, error) { return in, nil }\n\n// OnEvent does nothing.",
			"ambiguous selector staleDaemonDeep.Preprocess"},
		{"a member embeds a mixin beside Nop", "z/z.go", "\thook.Nop\n\tPanics bool", "\thook.Nop\n\tMixin\n\tPanics bool", "z.Guard"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := one(t, "composite")
			dir := newModule(t, s)
			text := read(t, dir, "composite/a/a.go")
			write(t, dir, "composite/a/a.go", strings.Replace(text, "\tDebug  bool\n", "\tDeep z.Deep\n\tDebug  bool\n", 1))
			text = read(t, dir, "composite/z/z.go") + "\n// Mixin has Nop for others.\ntype Mixin struct{ hook.Nop }\n\n" +
				"// OnEvent does nothing.\nfunc (Mixin) OnEvent(context.Context, hook.Event) {}\n\n// Deep has Nop from below.\ntype Deep struct{ Mixin }\n"
			write(t, dir, "composite/z/z.go", text)
			_, stderr := run(t, dir, false)
			require.Empty(t, stderr)
			out, err := command(t.Context(), dir, "go", "build", "./...")
			require.NoError(t, err, out)
			text = read(t, dir, "composite/"+tt.file)
			require.Contains(t, text, tt.from)
			write(t, dir, "composite/"+tt.file, strings.Replace(strings.ReplaceAll(text, "ToolRecall", `"recall"`), tt.from, tt.to, 1))
			run(t, dir, false, "./composite/z") // the subsystem is up to date, the composites are not
			out, err = command(t.Context(), dir, "go", "build", "-gcflags=-e", "./composite/a", "./composite/inner")
			assert.Error(t, err)
			assert.Contains(t, out, tt.message)
		})
	}
}

// A composite around another one notices that the inner one has more.
func TestStaleNestedComposite(t *testing.T) {
	dir := newModule(t, one(t, "composite"))
	run(t, dir, false)
	text := read(t, dir, "composite/inner/inner.go")
	write(t, dir, "composite/inner/inner.go", strings.Replace(text, "\tGuard  *z.Guard\n", "\tGuard *z.Guard\n\tMore *z.Memory `hook:\"prefix=more_\"`\n", 1))
	run(t, dir, false, "./composite/inner")
	out, err := command(t.Context(), dir, "go", "build", "./composite/a")
	assert.Error(t, err)
	assert.Contains(t, out, "invalid argument: index")
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
