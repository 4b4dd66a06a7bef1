//go:build unix

package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// bombs put something in the place of a file that a naive reader waits for, or takes all
// memory for.
func bombs() map[string]func(path string) error {
	text := func(s string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(s), 0o600) }
	}
	to := func(target string) func(string) error {
		return func(path string) error { return os.Symlink(target, path) }
	}
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	return map[string]func(string) error{
		"endless":   to("/dev/zero"),
		"stdin":     to("/dev/stdin"),
		"terminal":  to("/dev/tty"),
		"itself":    func(path string) error { return os.Symlink(path, path) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"sparse":    func(path string) error { return errors.Join(text("")(path), os.Truncate(path, 1<<30)) },
		"lists":     text(strings.Repeat("[", 100_000)),
		"objects":   text(strings.Repeat(`{"a":`, 100_000)),
		"front":     text("---\na: " + strings.Repeat("[", 60_000) + "\n---\n"),
		"steps":     text("---\n" + strings.Repeat("- ", 30_000) + "\n---\n"),
		"aliases":   text("---\n" + aliases.String() + "---\n"),
		"NUL":       text("{\"a\x00\": 1}"),
		"encoding":  text("---\nname: a\ndescription: \xff\xfe\n---\n"),
	}
}

// readers are all files that configure the program: where each is, and what is said of it.
func readers() map[string]struct {
	path func(p app.Paths) string
	read func(t *testing.T, p app.Paths, path string) string
} {
	type reader = struct {
		path func(p app.Paths) string
		read func(t *testing.T, p app.Paths, path string) string
	}
	in := func(name string) func(app.Paths) string {
		return func(p app.Paths) string { return filepath.Join(p.Root, name) }
	}
	home := func(name string) func(app.Paths) string {
		return func(p app.Paths) string { return filepath.Join(p.Home, name) }
	}
	state := func(name string) func(app.Paths) string {
		return func(p app.Paths) string { return filepath.Join(p.State, name) }
	}
	return map[string]reader{
		"agent":          {in(".grapnel/agents/a.md"), openAll},
		"Claude's agent": {in(".claude/agents/a.md"), openAll},
		"hooks":          {in(".grapnel/hooks.json"), openAll},
		"rules":          {in(".grapnel/policy.json"), openAll},
		"servers":        {in(".mcp.json"), openAll},
		"skill":          {in(".claude/skills/s/SKILL.md"), openAll},
		"own hooks":      {home(".grapnel/hooks.json"), openAll},
		"own rules":      {home(".grapnel/policy.json"), openAll},
		"own prices":     {home(".grapnel/prices.json"), openAll},
		"own models": {home(".grapnel/models.json"), func(_ *testing.T, p app.Paths, _ string) string {
			_, err := p.Catalog()
			return fmt.Sprint(err)
		}},
		"own skill": {home(".agents/skills/s/SKILL.md"), openAll},
		"trust":     {state("trusted-servers.json"), openAll},
		"script": {in("script.yaml"), func(_ *testing.T, _ app.Paths, path string) string {
			_, err := script.Load(path)
			return fmt.Sprint(err)
		}},
		"approval": {state("approvals/x.json"), func(t *testing.T, p app.Paths, path string) string {
			list, err := approval.List(approval.Dir(p.Approvals()))
			require.NoError(t, err)
			if len(list) == 0 {
				return path + " is none of the answers"
			}
			return path + list[0].Problem
		}},
	}
}

// openAll opens and closes everything and returns what was said.
func openAll(t *testing.T, p app.Paths, _ string) string {
	var said []string
	opened, err := app.Open(t.Context(), app.Options{Paths: p, Note: func(n string) { said = append(said, n) }})
	if err != nil {
		return strings.Join(append(said, err.Error()), "\n")
	}
	require.NoError(t, opened.Close(t.Context()))
	return strings.Join(said, "\n")
}

// TestNoFileOfConfigurationIsABomb: whatever is in the place of a file, the program says
// so soon, and takes little memory for it.
func TestNoFileOfConfigurationIsABomb(t *testing.T) {
	needs.Time(t)
	for name, r := range readers() {
		for kind, put := range bombs() {
			t.Run(name+"/"+kind, func(t *testing.T) {
				p := project(t, map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "a"}}}`})
				path := r.path(p)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				_ = os.Remove(path)
				require.NoError(t, put(path))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				said := make(chan string, 1)
				go func() { said <- r.read(t, p, path) }()
				select {
				case text := <-said:
					runtime.ReadMemStats(&after)
					if named := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)); kind != "directory" || filepath.Ext(path) != ".md" {
						assert.Contains(t, text, named)
					} // a directory a.md is no file of an agent's
					assert.Less(t, len(text), 2000, "%.300s", text)
					assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(100), "MiB")
				case <-time.After(time.Minute):
					t.Fatal("it waits")
				}
			})
		}
	}
}

func TestAHistoryIsNoBomb(t *testing.T) {
	t.Parallel()
	for kind, put := range bombs() {
		path := filepath.Join(t.TempDir(), "history")
		require.NoError(t, put(path))
		h, err := edit.OpenHistory(path)
		assert.True(t, err != nil || h != nil, kind)
	}
}
