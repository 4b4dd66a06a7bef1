// Package stranger_test does what the pages tell somebody who has the go command and nothing of this repository: it runs their
// commands in modules that get Grapnel from a module proxy, with no replace and no go.sum of ours.
package stranger_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/gomod"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var update = flag.Bool("update", false, "write what is generated in testdata/outside")

// step writes files into the module and then runs the commands of a page, and lines beyond them.
type step struct {
	files map[string]string
	page  string
	lines []string
}

func TestStranger(t *testing.T) {
	needs.Time(t)
	root := gomod.Root(t)
	outside := filepath.Join(root, "testdata", "outside")
	pantry := step{files: tree(t, outside), lines: []string{
		"go mod edit -module example.com/pantry", "go get -tool " + grapnel + "/cmd/hookgen", "go mod tidy",
	}}
	current := []string{"go tool hookgen -check ./...", "go vet ./...", "go test ./..."}
	embedding := program(t, "docs/embedding.md", "// Command embedded ")
	daemon := "package daemon\n\n// Daemon joins.\n//\n//hook:composite\ntype Daemon struct{}\n"
	journeys := map[string][]step{
		"a subsystem, then a program": {
			{page: "README.md", lines: append([]string{"go generate ./..."}, current...)},
			{page: "docs/embedding.md", files: map[string]string{"main.go": embedding, "tide/tide_test.go": gomod.Read(t, root, "hook/tool/example_test.go")}, lines: current},
		},
		"programs": {{page: "docs/embedding.md", files: map[string]string{
			"main.go": embedding, "ask/main.go": program(t, "docs/models.md", "// Command anthropic "),
		}, lines: []string{"go vet ./..."}}},
		"a subsystem": {{page: "docs/adding-a-hook.md"}},
		"a composite": {{page: "docs/hookgen.md", files: map[string]string{
			"main.go": program(t, "docs/hookgen.md", "// Command harbour "), "notes/notes.go": program(t, "docs/hookgen.md", "// Package notes "),
		}}},
		"a subsystem in a composite": {
			{page: "examples/subsystem/README.md", files: map[string]string{"daemon/daemon.go": daemon}},
			{page: "docs/plan.md"}, {page: "docs/hookvet.md"},
		},
		"testdata/outside": {pantry, {lines: current}},
	}
	m := newMachine(t)
	if *update {
		made := m.walk(t, []step{pantry, {lines: []string{"go tool hookgen ./...", "go test ./subsystems/... -update"}}})
		for name := range pantry.files {
			gomod.Write(t, outside, name, gomod.Read(t, made, name))
		}
		return
	}
	pages := map[string]bool{}
	for name, steps := range journeys {
		for _, s := range steps {
			pages[s.page] = true
		}
		t.Run(name, func(t *testing.T) { m.walk(t, steps) })
	}
	for _, page := range everyPage(t, root) {
		if len(commands(t, page)) > 0 {
			assert.True(t, pages[page], "no journey runs the commands of %s", page)
		}
	}
}

// walk takes the steps in an empty module, and returns its directory.
func (m machine) walk(t *testing.T, steps []step) string {
	t.Helper()
	dir := t.TempDir()
	m.shell(t, dir, "go mod init example.com/harbour")
	for _, s := range steps {
		for name, text := range s.files {
			gomod.Write(t, dir, name, text)
		}
		lines := s.lines
		if s.page != "" {
			own := commands(t, s.page)
			require.NotEmpty(t, own, s.page)
			lines = append(own, lines...)
		}
		for _, line := range lines {
			m.shell(t, dir, line)
		}
	}
	return dir
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// program returns the Go code of a page that begins with these words.
func program(t *testing.T, page, begin string) string {
	t.Helper()
	for _, block := range fence.FindAllStringSubmatch(gomod.Read(t, gomod.Root(t), page), -1) {
		if block[1] == "go" && strings.HasPrefix(block[2], begin) {
			return block[2]
		}
	}
	t.Fatalf("%s has no Go code that begins with %q", page, begin)
	return ""
}

var (
	// inModule is in blocks that are for a module of the reader's own.
	inModule = regexp.MustCompile(`(?m)^\$ .*\bgo (get|mod|tool)\b`)
	typed    = regexp.MustCompile(`(?m)^(?:\$ |\t)((?:\w+=\S+ )*go .*)$`)
)

// commands returns the lines of a page that a reader types into a module of their own, those that hookgen new prints as next among
// them.
func commands(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for _, block := range fence.FindAllStringSubmatch(gomod.Read(t, gomod.Root(t), page), -1) {
		if block[1] == "console" && inModule.MatchString(block[2]) {
			for _, line := range typed.FindAllStringSubmatch(block[2], -1) {
				out = append(out, line[1])
			}
		}
	}
	return out
}

// everyPage returns the pages that strangers read.
func everyPage(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"README.md", "docs/*.md", "examples/*/README.md"} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		require.NoError(t, err)
		out = append(out, names...)
	}
	return out
}
