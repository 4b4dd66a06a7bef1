package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/internal/test/gomod"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var update = flag.Bool("update", false, "write what comes out into the test data and the guide")

// walk is testdata/walk.txtar.
type walk struct {
	archive *txtar.Archive
	dir     string
}

func (w *walk) text(name string) string {
	for _, f := range w.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// check compares got with the file of the walk, or puts it there.
func (w *walk) check(t *testing.T, name, got string) {
	t.Helper()
	if !*update {
		assert.Equal(t, w.text(name), got, "%s; go test ./cmd/hookgen -run Walk -update writes it", name)
		return
	}
	for i, f := range w.archive.Files {
		if f.Name == name {
			w.archive.Files[i].Data = []byte(got)
		}
	}
}

// edit applies lines to take out and to put in.
func (w *walk) edit(t *testing.T, edits string) {
	t.Helper()
	var file, out string
	for line := range strings.Lines(edits) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "-"):
			out = line[1:]
		case strings.HasPrefix(line, "+"):
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), out+"\n"), "%s: %q", file, out)
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), out+"\n", line[1:]+"\n", 1)), 0o644))
		default:
			file = filepath.Join(w.dir, filepath.FromSlash(line))
		}
	}
}

// hookgen runs the command in the module.
func (w *walk) hookgen(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"gen", "-C", w.dir}, args...), &out, &out)
	return code, out.String()
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/walk.txtar")
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".go") {
			files[f.Name] = string(f.Data)
		}
	}
	return &walk{archive, gomod.New(t, "example.com/harbour", files)}
}

// A new user's module generates and runs, the message of every mistake of the walk is enough to mend it, and the guide
// shows the walk as it goes.
func TestWalk(t *testing.T) {
	needs.Time(t)
	for key, value := range gomod.Environ() {
		t.Setenv(key, value)
	}
	w := newWalk(t)
	code, out := w.hookgen(t)
	require.Equal(t, succeeded, code, out)
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir = w.dir
	stdout, err := cmd.Output()
	require.NoError(t, err)
	w.check(t, "want/stdout", string(stdout))

	for part, file := range map[string]string{"harbour": "main.go", "notes": "notes/notes.go", "generics": "cache/cache.go"} {
		holdGuide(t, part, "\n```go\n"+w.text(file)+"```\n")
	}
	holdGuide(t, "run", fmt.Sprintf("\n```console\n$ go mod tidy\n$ go tool hookgen ./... && go run .\n%s```\n", stdout))

	var guide string
	for i := 1; ; i++ {
		step := fmt.Sprintf("%02d/", i)
		title := strings.TrimSpace(w.text(step + "title"))
		if title == "" {
			require.Greater(t, i, 10)
			break
		}
		w.edit(t, w.text(step+"break"))
		code, out := w.hookgen(t)
		assert.Contains(t, out, "HG", title)
		assert.Equal(t, strings.Contains(out, ": error HG"), code == failed, "%s: exit status %d", title, code)
		w.check(t, step+"want", out)
		w.edit(t, w.text(step+"fix"))
		code, fixed := w.hookgen(t)
		assert.Equal(t, succeeded, code, "%s: %s", title, fixed)
		assert.Empty(t, fixed, title)
		code, fixed = w.hookgen(t, "-check")
		assert.Equal(t, succeeded, code, "%s: %s", title, fixed)
		guide += fmt.Sprintf("\n**%d. %s.**\n\n```diff\n%s```\n\n```text\n%s```\n\nMended by\n\n```diff\n%s```\n",
			i, title, w.text(step+"break"), out, w.text(step+"fix"))
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/walk.txtar", txtar.Format(w.archive), 0o644))
	}
	holdGuide(t, "walk", guide)
}

// holdGuide compares a part of the guide with what it should be, or writes it.
func holdGuide(t *testing.T, part, want string) {
	t.Helper()
	const name = "../../docs/hookgen.md"
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	begin, end := "<!-- "+part+": written by go test ./cmd/hookgen -update -->\n", "\n<!-- end of "+part+" -->"
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "the guide has no part %s", part)
	got, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "the part %s of the guide has no end", part)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(head+begin+want+end+tail), 0o644))
		return
	}
	assert.Equal(t, want, got, "docs/hookgen.md, %s", part)
}
