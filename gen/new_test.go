package gen_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/test/gomod"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// tree returns all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			out[filepath.ToSlash(rel)+"/"] = ""
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			out[filepath.ToSlash(rel)], err = os.Readlink(name)
			return err
		}
		text, err := os.ReadFile(name)
		out[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	return out
}

func create(t *testing.T, o gen.NewOptions) (gen.NewResult, string) {
	t.Helper()
	result, err := gen.New(t.Context(), o)
	require.NoError(t, err)
	var stderr bytes.Buffer
	diag.Print(&stderr, result.Problems)
	return result, stderr.String()
}

// joined is a package with composites of every form that a field may be added to.
const joined = `
-- daemon/daemon.go --
// Package daemon joins hooks.
package daemon

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// Guard watches.
type Guard struct{ hook.Nop }

// OnEvent sees events.
func (*Guard) OnEvent(context.Context, hook.Event) {}

// Daemon is the one.
//
//hook:composite
type Daemon struct {
	Guard *Guard // first
	More  []hook.Hook

	debug bool // no hook
}

// Debug tells.
func (d *Daemon) Debug() bool { return d.debug }

var _ hook.Hook = (*Daemon)(nil)
`

// ownEnviron is the environment before TestMain closes the network to the go
// command.
var ownEnviron = os.Environ()

// staticcheck returns the path of the program that go.mod pins. On a fresh
// machine the go command downloads and builds it first.
func staticcheck(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-n", "staticcheck")
	cmd.Dir, cmd.Env = repository(t), ownEnviron
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	return strings.TrimSpace(string(out))
}

// Whatever is written compiles, passes its own tests, vet and staticcheck, and is up to date; a second run changes nothing.
func TestNew(t *testing.T) {
	needs.Time(t)
	dir := newModule(t)
	for _, f := range txtar.Parse([]byte(joined)).Files {
		write(t, dir, f.Name, string(f.Data))
	}
	twelve := strings.Split("put,get,list_all,http-get,findById,drop,move,copy,count,main,conformance,string", ",")
	asked := []gen.NewOptions{
		{Name: "one", Tools: []string{"one"}},
		{Name: "notes", Tools: []string{"add", "list", "delete"}, Into: "./daemon.Daemon"},
		{Name: "store", Tools: twelve, Below: "internal/parts", Into: module + "/daemon.Daemon"},
		{Name: "bare"},
		{Name: "plug", Tools: []string{"listAll", "x"}, Dynamic: true, Into: "daemon.Daemon"},
		{Name: "hooktest", Tools: []string{"run"}, Into: "./daemon.Daemon"},
		{Name: "plan", Tools: []string{"make"}, Into: "./daemon.Daemon"},
		{Name: "daemon", Tools: []string{"start"}, Into: "./daemon.Daemon"},
	}
	for c := range "id" { // receivers that the templates' own names must not meet
		asked = append(asked, gen.NewOptions{Name: string("id"[c]) + "x", Tools: []string{"a"}, Dynamic: true, Below: "letters"})
	}
	for i := range asked {
		asked[i].Dir = dir
		result, stderr := create(t, asked[i])
		assert.Empty(t, stderr, asked[i].Name)
		assert.NotEmpty(t, result.Written)
		assert.Equal(t, asked[i].Into != "", result.Field != "", asked[i].Name)
	}
	want := tree(t, dir)
	for _, o := range asked {
		result, stderr := create(t, o)
		assert.Empty(t, stderr, o.Name)
		assert.True(t, result.Whole, o.Name)
		assert.Empty(t, result.Written)
	}
	checked, stderr := run(t, dir, true)
	assert.Empty(t, checked.Changes, "hookgen would write something else")
	assert.Empty(t, stderr)
	ran := func(t *testing.T, line string) string {
		words := strings.Fields(line)
		out, err := command(t.Context(), dir, words[0], words[1:]...)
		assert.NoError(t, err, "%s\n%s", line, out)
		return out
	}
	ran(t, "go vet ./...")
	assert.Empty(t, ran(t, "gofmt -s -l ."))
	// Linking takes its time, and with the race detector twice that: one of them is enough.
	ran(t, "go test -vet=off -ldflags=-s ./subsystems/one ./subsystems/notes ./internal/parts/store")
	t.Run("staticcheck", func(t *testing.T) { ran(t, staticcheck(t)+" ./...") })
	t.Run("race detector", func(t *testing.T) {
		needs.CGO(t)
		ran(t, "env CGO_ENABLED=1 go test -race -vet=off -ldflags=-s ./subsystems/plug")
	})
	assert.Equal(t, want, tree(t, dir))
	daemon := read(t, dir, "daemon/daemon.go")
	for _, field := range []string{"Notes *notes.Notes", "Store *store.Store", "Plug  *plug.Plug", "Plan *plan.Plan", "Daemon   *daemon.Daemon"} {
		assert.Contains(t, strings.Join(strings.Fields(daemon), " "), strings.Join(strings.Fields(field), " "))
	}
}

// The test that is written notices what the compiler cannot see: that nobody has generated after a change of the tools.
func TestNewNoticesWhatIsNotGenerated(t *testing.T) {
	needs.Time(t)
	dir := newModule(t)
	create(t, gen.NewOptions{Dir: dir, Name: "notes", Tools: []string{"add", "list"}})
	const file, said = "subsystems/notes/notes.go", `hook_gen.go was generated from other sources than those beside it: run "go tool hookgen ./..."`
	const generated = "subsystems/notes/hook_gen.go"
	before, current := read(t, dir, file), read(t, dir, generated)
	for _, tt := range []struct{ name, from, to string }{
		{"a tool is added", "// List is not", "// More is not written yet.\n//\n//hook:tool\nfunc (n *Notes) More(ctx context.Context) (string, error) { return \"\", nil }\n\n// List is not"},
		{"a tool is removed", "//hook:tool\nfunc (n *Notes) List", "func (n *Notes) List"},
		{"an option of a tool", "//hook:tool\n", "//hook:tool readonly\n"},
		{"a comment that a model reads", "Text is what notes_list works on.", "Text is what to look for."},
	} {
		require.Contains(t, before, tt.from, tt.name)
		write(t, dir, generated, current)
		write(t, dir, file, strings.Replace(before, tt.from, tt.to, 1))
		out, err := command(t.Context(), dir, "go", "test", "-vet=off", "-ldflags=-s", "-run", "TestConformance/generated-current", "./subsystems/notes")
		assert.Error(t, err, tt.name)
		assert.Contains(t, out, "rule generated-current: "+said, tt.name)
		result, stderr := run(t, dir, false, "./...")
		assert.Empty(t, stderr, tt.name)
		assert.NotEmpty(t, result.Changes, tt.name)
	}
	out, err := command(t.Context(), dir, "go", "test", "-vet=off", "-ldflags=-s", "-run", "TestConformance/generated-current", "./subsystems/notes")
	assert.NoError(t, err, out)
}

// What is written for a subsystem of two tools, whole.
func TestNewGolden(t *testing.T) {
	const golden = "testdata/new/notes.txtar"
	dir := newModule(t)
	create(t, gen.NewOptions{Dir: dir, Name: "notes", Tools: []string{"add", "list"}})
	var got txtar.Archive
	all := tree(t, filepath.Join(dir, "subsystems"))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasSuffix(name, "/") {
			got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(all[name])})
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll(path.Dir(golden), 0o755))
		require.NoError(t, os.WriteFile(golden, txtar.Format(&got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(txtar.Format(&got)), "go test ./gen -run TestNewGolden -update writes it")
}

// A name that cannot be is refused before anything is written, in one line that does no harm to a terminal.
func TestNewRefusesNames(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "module")
	require.NoError(t, os.Rename(newModule(t), dir))
	write(t, dir, "daemon/daemon.go", "package daemon\n\n// Daemon is a struct.\ntype Daemon struct{}\n")
	write(t, dir, "nested/go.mod", "module example.com/nested\n")
	outside := filepath.Join(root, "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	before := tree(t, root)
	bad := []string{
		"", ".", "..", "../x", "../../etc/x", "/tmp/x", "a/b", `a\b`, "C:x", "Notes", "my-notes", "my_notes", "9lives", "_x", ".x", "x.go", "x_test",
		"x y", " x", "x\x00y", "x\ny", "x\ry", "x\ty", "x\u202ey", "x\u200by", "x`y", "x*/y", "x//y", `x"y`, "x'y", "x;y", "x$y", "x{{.}}", "<x>",
		"-- x --", "\xff\xfe", "ünder", "ﬁ", "日本", strings.Repeat("x", 33), strings.Repeat("x", 1<<20),
		"func", "type", "string", "error", "len", "any", "nil", "true", "new", "append", "main", "internal", "vendor", "testdata", "documentation",
	}
	refuse := func(t *testing.T, o gen.NewOptions, why string) {
		t.Helper()
		o.Dir = dir
		_, err := gen.New(t.Context(), o)
		if !assert.Error(t, err) {
			return
		}
		assert.Contains(t, err.Error(), why)
		assert.Less(t, len(err.Error()), 600)
		for _, r := range err.Error() {
			assert.True(t, r == '\n' || r == '\t' || r >= ' ' && r < 0x7f || r == '…', "%q has %q in it", err, r)
		}
		assert.Equal(t, before, tree(t, root))
	}
	for i, name := range bad {
		t.Run(fmt.Sprintf("name %d", i), func(t *testing.T) { refuse(t, gen.NewOptions{Name: name}, "") })
	}
	tools := []string{"", " ", "a b", "a.b", "a/b", "../a", "9a", "_a", "-a", "a*/", "a`", "a\x00", "a\n//hook:tool", "a\u202eb", "ä", "a{{.}}", strings.Repeat("a", 65),
		strings.Repeat("a", 60)}
	for i, tool := range tools {
		t.Run(fmt.Sprintf("tool %d", i), func(t *testing.T) { refuse(t, gen.NewOptions{Name: "notes", Tools: []string{tool}}, "") })
	}
	for i, below := range []string{"..", "../x", "/tmp", "~", "a/../..", "a/../../b", "nested", "a\x00b", "a b", "a`b", "testdata", "vendor/x", ".git", "_x", "a\u202eb",
		`..\..`, "link/x", strings.Repeat("a/", 1000)} {
		t.Run(fmt.Sprintf("dir %d", i), func(t *testing.T) { refuse(t, gen.NewOptions{Name: "notes", Below: below}, "") })
	}
	tests := []struct {
		name string
		o    gen.NewOptions
		why  string
	}{
		{"a suggestion", gen.NewOptions{Name: "My-Notes"}, "mynotes would do"},
		{"two tools of one name", gen.NewOptions{Name: "notes", Tools: []string{"add", "add"}}, "leave one out"},
		{"two tools of one method", gen.NewOptions{Name: "notes", Tools: []string{"list-all", "listAll"}}, "would both be the method ListAll"},
		{"a tool with the name of a point", gen.NewOptions{Name: "notes", Tools: []string{"add", "before_tool"}}, `"before_tool" cannot be the name of a tool of notes: `},
		{"a tool almost of that name", gen.NewOptions{Name: "notes", Tools: []string{"on_events"}}, "(HG013); choose another, and write"},
		{"a tool with the name of a generated method", gen.NewOptions{Name: "notes", Tools: []string{"schema"}}, `"schema" cannot be`},
		{"dynamic without tools", gen.NewOptions{Name: "notes", Dynamic: true}, "-dynamic -tools example"},
		{"too many tools", gen.NewOptions{Name: "notes", Tools: make([]string, 129)}, "at most 128"},
		{"no such package", gen.NewOptions{Name: "notes", Into: "./demon.Daemon"}, "there are no Go files"},
		{"no such struct", gen.NewOptions{Name: "notes", Into: "./daemon.Demon"}, "did you mean Daemon?"},
		{"no composite at all", gen.NewOptions{Name: "notes", Into: "./daemon."}, "-into"},
		{"no package at all", gen.NewOptions{Name: "notes", Into: "Daemon"}, "-into"},
		{"another module", gen.NewOptions{Name: "notes", Into: "../x.Daemon"}, "outside the module"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refuse(t, tt.o, tt.why) })
	}
}

// What is there is never changed, and what is missing is said.
func TestNewFindsWhatIsThere(t *testing.T) {
	dir := newModule(t)
	for _, f := range txtar.Parse([]byte(joined)).Files {
		write(t, dir, f.Name, string(f.Data))
	}
	// By hand, in another file, with another method's name for the tool.
	write(t, dir, "subsystems/notes/tools.go", "package notes\n\n// Notes is there.\ntype Notes[T any] struct{}\n\n// Put puts.\n//\n//hook:tool readonly name=notes_add\nfunc (n *Notes[T]) Put() {}\n")
	write(t, dir, "subsystems/other/other.go", "package other\n\ntype Other2 struct{}\n")
	write(t, dir, "subsystems/odd/odd_test.go", "package odd\n\ntype Odd struct{}\n")
	before := tree(t, dir)
	tests := []struct {
		name  string
		o     gen.NewOptions
		whole bool
		err   string
	}{
		{"whole", gen.NewOptions{Name: "notes", Tools: []string{"add"}}, true, ""},
		{"whole without tools", gen.NewOptions{Name: "notes"}, true, ""},
		{"a tool is missing", gen.NewOptions{Name: "notes", Tools: []string{"add", "http-get"}}, false,
			"subsystems/notes/tools.go:4:6: error HG060: Notes exists and has no notes_http-get; hookgen new changes no existing code\n"},
		{"and how to add it", gen.NewOptions{Name: "notes", Tools: []string{"http-get"}}, false,
			"\t\t//hook:tool name=notes_http-get\n\t\tfunc (n *Notes) HTTPGet(ctx context.Context, in HTTPGetInput) (string, error) {\n"},
		{"another type", gen.NewOptions{Name: "other", Tools: []string{"add"}}, false,
			"subsystems/other/other.go:1: error HG060: this file exists, and package other declares no type Other; hookgen new overwrites nothing\n"},
		{"only a test", gen.NewOptions{Name: "odd"}, false, "subsystems/odd/odd_test.go:1: error HG060"},
		{"whole, but not in the composite", gen.NewOptions{Name: "notes", Into: "./daemon.Daemon"}, false,
			"daemon/daemon.go:19:6: error HG061: could not add the field for notes to Daemon\n\tnotes exists already, so nothing was changed\n\tfix: add the line yourself, " +
				"with the import \"example.com/test/subsystems/notes\", and run hookgen:  Notes *notes.Notes\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Dir = dir
			result, stderr := create(t, tt.o)
			assert.Equal(t, tt.whole, result.Whole)
			assert.Contains(t, stderr, tt.err)
			assert.Equal(t, tt.whole, stderr == "")
			assert.Equal(t, before, tree(t, dir))
		})
	}
}

// Where the field cannot be added, the subsystem is complete all the same and nothing else was touched.
func TestNewCannotJoin(t *testing.T) {
	const head = "package daemon\n\nimport \"github.com/grapnel-go/grapnel/hook\"\n\n// Guard guards.\ntype Guard struct{ hook.Nop }\n\n"
	tests := []struct{ name, file, text, why string }{
		{"no composite", "daemon.go", head + "// Daemon is none.\ntype Daemon struct {\n\tGuard *Guard\n}\n", "Daemon has no //hook:composite above it"},
		{"the tool has an owner", "daemon.go", head + "// Add adds.\n//\n//hook:tool name=notes_add\nfunc (g *Guard) Add(ctx context.Context) error { return nil }\n\n" +
			"// Daemon joins.\n//\n//hook:composite\ntype Daemon struct {\n\tGuard *Guard\n}\n", "(HG020)"},
		{"another platform's", "daemon_plan9.go", head + "// Daemon joins.\n//\n//hook:composite\ntype Daemon struct {\n\tGuard *Guard\n}\n",
			"daemon/daemon_plan9.go is not built here"},
		{"it cannot be parsed", "daemon.go", head + "// Daemon joins.\n//\n//hook:composite\ntype Daemon struct {\n\tGuard *Guard\n}\n\nfunc f( {\n", "daemon.go:15:"},
		{"a composite that is wrong", "daemon.go", head + "// Daemon joins.\n//\n//hook:composite\ntype Daemon struct {\n\tGuard *Guard `hook:\"befor=x\"`\n}\n", "(HG009)"},
		{"two line endings", "daemon.go", head + "// Daemon joins.\n//\n//hook:composite\ntype Daemon struct {\r\n\tGuard *Guard\n}\n", "end in two ways"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := newModule(t)
			if strings.Contains(tt.text, "context.") {
				tt.text = strings.Replace(tt.text, "import ", "import \"context\"\nimport ", 1)
			}
			write(t, dir, "daemon/x.go", "package daemon\n")
			write(t, dir, "daemon/"+tt.file, tt.text)
			before := tree(t, dir)
			result, stderr := create(t, gen.NewOptions{Dir: dir, Name: "notes", Tools: []string{"add"}, Into: "./daemon.Daemon"})
			assert.Contains(t, stderr, "error HG061: could not add the field for notes to Daemon")
			assert.Contains(t, stderr, tt.why)
			assert.Contains(t, stderr, "Notes *notes.Notes\n")
			assert.Len(t, result.Written, 4)
			assert.Empty(t, result.Field)
			after := tree(t, dir)
			for name, text := range before {
				assert.Equal(t, text, after[name], name)
			}
			assert.Len(t, after, len(before)+7)
			out, err := command(t.Context(), dir, "go", "vet", "./subsystems/...")
			assert.NoError(t, err, out)
		})
	}
}

// If writing fails half way, what was written is removed again.
func TestNewFailsWhole(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
	}{
		{"a file where the directory belongs", func(t *testing.T, dir string) { write(t, dir, "subsystems", "") }},
		{"a file where the subsystem belongs", func(t *testing.T, dir string) { write(t, dir, "subsystems/notes", "") }},
		{"the composite's output cannot be replaced", func(t *testing.T, dir string) {
			write(t, dir, "daemon/hook_gen.go", "// Code generated by hookgen. DO NOT EDIT.\n")
			write(t, dir, "daemon/.hookgen-hook_gen.go", "left by somebody")
		}},
		{"the composite cannot be replaced", func(t *testing.T, dir string) { write(t, dir, "daemon/.hookgen-daemon.go", "left by somebody") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := newModule(t)
			for _, f := range txtar.Parse([]byte(joined)).Files {
				write(t, dir, f.Name, string(f.Data))
			}
			tt.spoil(t, dir)
			before := tree(t, dir)
			_, err := gen.New(t.Context(), gen.NewOptions{Dir: dir, Name: "notes", Tools: []string{"add"}, Into: "./daemon.Daemon"})
			assert.Error(t, err)
			assert.Equal(t, before, tree(t, dir))
		})
	}
}

// A check writes nothing and says what would be there.
func TestNewCheck(t *testing.T) {
	dir := newModule(t)
	before := tree(t, dir)
	result, _ := create(t, gen.NewOptions{Dir: dir, Name: "notes", Tools: []string{"add"}, Check: true})
	assert.Len(t, result.Written, 4)
	assert.Equal(t, before, tree(t, dir))
}

// A module that cannot import the contract is told what to run.
func TestNewWithoutRequirement(t *testing.T) {
	dir := t.TempDir()
	_, err := gen.New(t.Context(), gen.NewOptions{Dir: dir, Name: "notes"})
	assert.ErrorContains(t, err, "\tgo mod init example.com/agent\n")
	write(t, dir, "go.mod", "module example.com/empty\n\ngo 1.26\n")
	_, err = gen.New(t.Context(), gen.NewOptions{Dir: dir, Name: "notes"})
	assert.ErrorContains(t, err, "\n\tgo get -tool github.com/grapnel-go/grapnel/cmd/hookgen\n")
	assert.Len(t, tree(t, dir), 2)

	dir = t.TempDir() // it requires the contract, and does not have it
	write(t, dir, "go.mod", "module example.com/p\n\ngo 1.26\n\nrequire github.com/grapnel-go/grapnel v0.0.1\n")
	t.Setenv("GOPROXY", "off")
	_, err = gen.New(t.Context(), gen.NewOptions{Dir: dir, Name: "notes"})
	assert.ErrorContains(t, err, "does not find it; run this, then the command again:\n\tgo get -tool github.com/grapnel-go/grapnel/cmd/hookgen\n")

	dir = t.TempDir() // it has the contract, and an older Go than that
	write(t, dir, "go.mod", "module example.com/p\n\ngo 1.26\n\nrequire github.com/grapnel-go/grapnel v0.0.0\n\nreplace github.com/grapnel-go/grapnel => "+gomod.Root(t)+"\n")
	t.Setenv("GOFLAGS", "-trimpath")
	_, err = gen.New(t.Context(), gen.NewOptions{Dir: dir, Name: "notes"})
	assert.ErrorContains(t, err, "(the go command says: go: updates to go.mod needed; to update it: go mod tidy)")

	dir = newModule(t) // it has the contract, but not in its vendor directory
	write(t, dir, "vendor/modules.txt", "")
	t.Setenv("GOFLAGS", "-mod=vendor -trimpath")
	_, err = gen.New(t.Context(), gen.NewOptions{Dir: dir, Name: "notes"})
	assert.ErrorContains(t, err, "run this command with GOFLAGS=-mod=mod, and then go mod vendor\n")
}
