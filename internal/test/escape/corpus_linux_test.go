package escape

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var rows = flag.Int("escape.rows", 32, "of so many rows of the corpus of commands one is run; with -short of four times as many")

// corpus are the rows of the corpus of commands that a person or the sandbox may let run: what is denied never runs.
func corpus(t *testing.T) (commands []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "subsystems", "policy", "internal", "shell", "testdata", "commands.tsv"))
	require.NoError(t, err)
	part := *rows
	if testing.Short() {
		part *= 4
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[1:] {
		f := strings.Split(line, "\t")
		require.Len(t, f, 8, line)
		if f[1] == "deny" || i%part != 0 {
			continue
		}
		var command string
		require.NoError(t, json.Unmarshal([]byte(f[4]), &command))
		commands = append(commands, command)
	}
	return commands
}

// outside is what a command must not change: the home directory but for the program's own state, what is beside the project, and what has
// reached the sockets.
func (w *World) outside(t *testing.T) string {
	t.Helper()
	text := state(w.Outside) + state(w.places["run"])
	entries, err := os.ReadDir(w.Home)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != ".local" {
			text += state(filepath.Join(w.Home, e.Name()))
		}
	}
	w.sinks.mu.Lock()
	defer w.sinks.mu.Unlock()
	for name, got := range w.sinks.got {
		if name != "leaked" && name != "terminal" {
			text += name + " got " + got + "\n"
		}
	}
	return text
}

// TestTheCorpusInTheSandbox: every command of the corpus runs for three seconds in the mode project; files outside, sockets and processes
// are the same before and after.
func TestTheCorpusInTheSandbox(t *testing.T) {
	needs.Time(t)
	for name, id := range users() {
		t.Run(name, func(t *testing.T) {
			m := prepared(t, id)
			run := confined(t, m, false)
			commands := corpus(t)
			changed := 0
			for len(commands) > 0 {
				batch := commands[:min(len(commands), 20)]
				commands = commands[len(batch):]
				w, err := m.world(t.Context(), &Case{Name: "corpus"})
				require.NoError(t, err)
				for _, command := range batch {
					before := w.outside(t)
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					_, _ = run(ctx, w, command+" # "+w.mark) // whatever it comes to
					cancel()
					if !assert.Equal(t, before, w.outside(t), "%q", command) {
						changed++
					}
					assert.Eventually(t, func() bool { return len(w.marked()) == 0 }, time.Minute, 10*time.Millisecond, "%q leaves a process", command)
				}
				require.NoError(t, w.close())
			}
			t.Logf("FIGURE changed=%d", changed)
		})
	}
}
