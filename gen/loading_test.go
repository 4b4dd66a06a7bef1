package gen_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// subsystem is a package with a subsystem of one tool.
func subsystem(pkg, typ string) string {
	return fmt.Sprintf(`// Package %[1]s has a subsystem.
package %[1]s

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// In is what Ping takes.
type In struct {
	// Text to send back.
	Text string `+"`json:\"text\"`"+`
}

// %[2]s is a subsystem.
//
//hook:subsystem prefix=%[1]s_
type %[2]s struct{ hook.Nop }

// Ping answers.
//
//hook:tool
func (*%[2]s) Ping(_ context.Context, in In) (string, error) { return in.Text, nil }
`, pkg, typ)
}

// composed is a package with a composite of one member.
func composed(importPath, member string) string {
	return "// Package app joins.\npackage app\n\nimport " + importPath + "\n\n// App joins.\n//\n//hook:composite\ntype App struct {\n\t" + member + "\n}\n"
}

// require adds modules that lie beside the one in dir to its go.mod.
func requireModules(t *testing.T, dir string, modules map[string]string) {
	t.Helper()
	text := read(t, dir, "go.mod")
	for path, at := range modules {
		version := "v0.0.0"
		if strings.HasSuffix(path, "/v2") {
			version = "v2.0.0"
		}
		text += fmt.Sprintf("\nrequire %[1]s %[2]s\nreplace %[1]s => %[3]s\n", path, version, at)
	}
	write(t, dir, "go.mod", text)
}

// newOther makes a module with other files, which requires what ours does.
func newOther(t *testing.T, path string, files map[string]string) string {
	t.Helper()
	dir := newModule(t)
	write(t, dir, "go.mod", strings.Replace(read(t, dir, "go.mod"), "module "+module, "module "+path, 1))
	for name, text := range files {
		write(t, dir, name, text)
	}
	return dir
}

func build(t *testing.T, dir string) {
	t.Helper()
	out, err := command(t.Context(), dir, "go", "build", "./...")
	require.NoError(t, err, out)
}

// A run asks the go command for export data once, wherever the contract comes from and however little there is, and never for that of
// the main module: it would be compiled.
func TestOneExport(t *testing.T) {
	goTool, err := exec.LookPath("go")
	require.NoError(t, err)
	dir := newModule(t)
	write(t, dir, "notes/notes.go", subsystem("notes", "Notes"))
	write(t, dir, "app/app.go", composed(`"example.com/test/notes"`, "Notes *notes.Notes"))
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script := "#!/bin/sh\necho \"$*\" >> " + log + "\nexec " + goTool + " \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, check := range []bool{false, true} {
		require.NoError(t, os.RemoveAll(log))
		_, stderr := run(t, dir, check)
		assert.Empty(t, stderr)
		asked := read(t, bin, "log")
		assert.Equal(t, 1, strings.Count(asked, "-deps=true"), asked)
		assert.Equal(t, 1, strings.Count(asked, "-find=true"), asked)
		for line := range strings.Lines(asked) {
			if strings.Contains(line, "-export=true") {
				assert.NotContains(t, line, "example.com/test")
				assert.NotContains(t, line, "./...")
			}
		}
	}
	build(t, dir)
}

// A subsystem of another module is known by the constant that was generated there, also below /v2 and under another name.
func TestOtherModule(t *testing.T) {
	needs.Time(t)
	files := map[string]string{
		"kit.go":         subsystem("kit", "Kit"),
		"broken/bad.go":  subsystem("broken", "Broken") + "\nvar x int = \"no number\"\n\nfunc f() { undefined() }\n",
		"older/older.go": subsystem("older", "Older"),
	}
	other := newOther(t, "example.com/go-kit/v2", files)
	_, stderr := run(t, other, false)
	require.Empty(t, stderr)
	dir := newModule(t)
	requireModules(t, dir, map[string]string{"example.com/go-kit/v2": other})

	write(t, dir, "app/app.go", composed(`"example.com/go-kit/v2"`, "Kit *kit.Kit"))
	_, stderr = run(t, dir, false)
	require.Empty(t, stderr)
	assert.Contains(t, read(t, dir, "app/hook_gen.go"), "kit.ToolKitPing")
	build(t, dir)

	// What does not compile elsewhere in that package is no matter; the type that is used is good.
	write(t, dir, "app/app.go", composed(`"example.com/go-kit/v2/broken"`, "Broken broken.Broken"))
	_, stderr = run(t, dir, false)
	require.Empty(t, stderr)
	assert.Contains(t, read(t, dir, "app/hook_gen.go"), "broken.ToolBrokenPing")

	for name, text := range map[string]string{"not generated": "", "of another version": strings.ReplaceAll(read(t, other, "older/hook_gen.go"), `"hook1 rev`, `"hook0 rev`)} {
		t.Run(name, func(t *testing.T) {
			if require.NoError(t, os.Remove(filepath.Join(other, "older/hook_gen.go"))); text != "" {
				write(t, other, "older/hook_gen.go", text)
			}
			write(t, dir, "app/app.go", composed(`"example.com/go-kit/v2/older"`, "Older *older.Older"))
			_, stderr := run(t, dir, false)
			assert.Contains(t, stderr, "app/app.go:10:2: error HG025: older.Older has //hook:tool methods, but package example.com/go-kit/v2/older has no list of them")
			assert.Contains(t, stderr, "older.go:23:1: a tool is declared here")
			write(t, dir, "app/app.go", composed(`"example.com/go-kit/v2/older"`, "Older *older.Older `hook:\"dynamic\"`"))
			_, stderr = run(t, dir, false)
			assert.Empty(t, stderr)
			build(t, dir)
			write(t, other, "older/hook_gen.go", "package older\n")
		})
	}

	result, stderr := run(t, dir, true, "example.com/go-kit/v2")
	assert.Empty(t, result.Changes)
	assert.Contains(t, stderr, "error HG042: package example.com/go-kit/v2 is not in the main module")
	_, stderr = run(t, dir, true, "std", "example.com/go-kit/...", "./...")
	assert.NotContains(t, stderr, "HG042")
}

// What a build tag leaves out is not read, and what it lets in is.
func TestTags(t *testing.T) {
	dir := newModule(t)
	write(t, dir, "app/app.go", "// Package app joins.\npackage app\n\nimport \"example.com/test/notes\"\n\nvar _ notes.Notes\n")
	write(t, dir, "app/special.go", "//go:build special\n\n"+composed(`"example.com/test/notes"`, "Notes *notes.Notes"))
	write(t, dir, "notes/notes.go", subsystem("notes", "Notes"))
	write(t, dir, "notes/notes_test.go", "package notes\n\nfunc (*Notes) tested() {}\n")
	write(t, dir, "notes/notes_plan9.go", strings.ReplaceAll(subsystem("notes", "Plan9"), "type In", "type In9"))
	result, stderr := run(t, dir, false)
	assert.Equal(t, 3, strings.Count(stderr, "warning HG019"), stderr) // what is left out is said
	require.NotContains(t, stderr, "error")
	assert.Equal(t, []gen.Change{{Path: "notes/hook_gen.go", Kind: gen.Missing}}, result.Changes)
	for name, set := range map[string]func(*testing.T, *gen.Options){
		"option": func(_ *testing.T, o *gen.Options) { o.Tags = "other,special" },
		"GOFLAGS": func(t *testing.T, _ *gen.Options) {
			t.Setenv("GOFLAGS", "-mod=mod -trimpath '-tags=special' -buildvcs=false -race=false")
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := gen.Options{Dir: dir, Check: true}
			set(t, &o)
			result, err := gen.Run(t.Context(), o)
			require.NoError(t, err)
			assert.Equal(t, []gen.Change{{Path: "app/hook_gen.go", Kind: gen.Missing}}, result.Changes)
		})
	}
}

// Flags of the build change where the go command has its files, not what is generated.
func TestBuildModes(t *testing.T) {
	needs.Time(t)
	other := newOther(t, "example.com/kit", map[string]string{
		"kit.go": subsystem("kit", "Kit"), "input.go": "package kit\n\n// Args are shared.\ntype Args struct {\n\t// Count of them.\n\tCount int `json:\"count\"`\n}\n",
	})
	run(t, other, false)
	source := strings.Replace(subsystem("notes", "Notes"), "in In) (string, error) { return in.Text, nil }", "in kit.Args) error { return nil }", 1)
	source = strings.Replace(source, "\t\"context\"\n", "\t\"context\"\n\n\t\"example.com/kit\"\n", 1)
	prepare := func(t *testing.T) string {
		dir := newModule(t)
		requireModules(t, dir, map[string]string{"example.com/kit": other})
		write(t, dir, "app/app.go", composed("(\n\t\"example.com/kit\"\n\t\"example.com/test/notes\"\n)", "Kit *kit.Kit\n\tNotes notes.Notes"))
		write(t, dir, "notes/notes.go", source)
		return dir
	}
	first := prepare(t)
	_, stderr := run(t, first, false)
	require.Empty(t, stderr)
	want := outputs(t, first)
	require.Contains(t, want["notes/hook_gen.go"], "Count of them.")
	build(t, first)

	t.Run("paths are not trimmed", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-mod=mod")
		dir := prepare(t)
		_, stderr := run(t, dir, false)
		assert.Empty(t, stderr)
		assertOutputs(t, want, dir)
	})
	t.Run("vendor", func(t *testing.T) {
		dir := prepare(t)
		out, err := command(t.Context(), dir, "go", "mod", "vendor")
		require.NoError(t, err, out)
		t.Setenv("GOFLAGS", "-mod=vendor -trimpath")
		_, stderr := run(t, dir, false)
		assert.Empty(t, stderr)
		assertOutputs(t, want, dir)
		build(t, dir)
	})
	t.Run("workspace", func(t *testing.T) {
		dir := prepare(t)
		work := t.TempDir()
		write(t, work, "go.work", "go 1.26.0\n\nuse (\n\t"+dir+"\n\t"+other+"\n)\n\nreplace github.com/grapnel-go/grapnel => "+repository(t)+"\n")
		write(t, dir, "go.mod", strings.Replace(read(t, dir, "go.mod"), "\nrequire example.com/kit v0.0.0\nreplace example.com/kit => "+other+"\n", "", 1))
		t.Setenv("GOWORK", filepath.Join(work, "go.work"))
		t.Setenv("GOFLAGS", "-trimpath")
		_, stderr := run(t, dir, false)
		assert.Empty(t, stderr)
		assertOutputs(t, want, dir)
		result, _ := run(t, dir, true, "example.com/kit")
		assert.Empty(t, result.Changes, "a package of the workspace is as good as one of the module")
	})
}

// assertOutputs compares the files that were generated before; others may be there beside them.
func assertOutputs(t *testing.T, want map[string]string, dir string) {
	t.Helper()
	got := outputs(t, dir)
	for name, text := range want {
		if got[name] != text {
			assert.Fail(t, name+" differs", "%d bytes, want %d", len(got[name]), len(text))
		}
	}
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	return root
}

// A package with C in it is generated for as any other.
func TestCgo(t *testing.T) {
	dir := newModule(t)
	write(t, dir, "notes/notes.go", strings.Replace(subsystem("notes", "Notes"), "struct{ hook.Nop }", "struct {\n\thook.Nop\n\tn C.int\n}", 1))
	text := read(t, dir, "notes/notes.go")
	write(t, dir, "notes/notes.go", strings.Replace(text, "import (", "// static int one(void) { return 1; }\nimport \"C\"\n\nimport (", 1)+
		"\n// App joins.\n//\n//hook:composite\ntype App struct {\n\tNotes *Notes\n\tcount C.long\n}\n\nfunc one() C.int { return C.one() }\n")
	t.Setenv("CGO_ENABLED", "1")
	_, stderr := run(t, dir, false)
	require.Empty(t, stderr)
	result, _ := run(t, dir, true)
	assert.Empty(t, result.Changes)
	needs.CGO(t)
	build(t, dir)
}

// Where the compiler's export data is missing, the source does.
func TestMissingExportData(t *testing.T) {
	dir := newModule(t)
	write(t, dir, "p/p.go", "package p\n\nimport (\n\t\"net/http\"\n\t\"time\"\n)\n\ntype P struct {\n\tT time.Time\n\tH http.Handler\n}\n")
	listing, problems, err := load.List(t.Context(), dir, []string{"./..."})
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NoError(t, listing.Ensure(t.Context(), "example.com/test/p"))
	for _, path := range []string{"time", "net/http"} {
		listing.Package(path).ExportFile = filepath.Join(dir, "gone")
	}
	p, err := listing.NewChecker().Package("example.com/test/p")
	require.NoError(t, err)
	assert.Empty(t, p.Errors)
}

// Errors in what a package needs matter only where something is generated from them.
func TestBrokenDependency(t *testing.T) {
	dir := newModule(t)
	write(t, dir, "notes/notes.go", subsystem("notes", "Notes")+"\nvar x int = \"no number\"\n\ntype Bad struct{ F nothing }\n\nfunc f() { undefined() }\n")
	write(t, dir, "gone/gone.go", "package gone\n\nimport \"example.com/test/nowhere\"\n\nvar _ nowhere.T\n")
	write(t, dir, "app/app.go", composed("(\n\t\"example.com/test/notes\"\n\t\"example.com/test/gone\"\n)", "Notes *notes.Notes\n\tother gone.T"))
	_, stderr := run(t, dir, false)
	assert.Contains(t, stderr, "app/app.go:14:2: error HG010: field other has a type that is not valid")
	assert.NotContains(t, stderr, "notes/notes.go")
	write(t, dir, "app/app.go", composed(`"example.com/test/notes"`, "Notes *notes.Notes"))
	_, stderr = run(t, dir, false)
	assert.Empty(t, stderr)
	assert.Contains(t, read(t, dir, "app/hook_gen.go"), "notes.ToolNotesPing")
}
