package hostile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// Ten tasks of a day, played with the defaults and with the ordinary rules of a developer: how often the person is asked.
func TestQuestionsOfTenTasks(t *testing.T) {
	needs.Proof(t)
	needs.Program(t, "git")
	tasks := scenarios(t, "tasks.yaml")
	assert.Len(t, tasks, 10)
	for name, rules := range map[string]string{
		"defaults":  `{}`,
		"safe":      `{"allow_safe_commands": true}`,
		"developer": `{"allow": ["Bash(git *)", "Bash(go *)", "Bash(make *)", "Write", "Edit", "mcp__srv__*"], "allow_safe_commands": true}`,
	} {
		asked := 0
		for _, s := range tasks {
			t.Run(name+"/"+s.Name, func(t *testing.T) {
				w := newWorld(t, &s, s.Turns, "", true)
				w.rules, w.sandbox = rules, ""
				cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
				require.NoError(t, err)
				require.NoError(t, os.MkdirAll(filepath.Join(w.home, ".cache"), 0o700))
				require.NoError(t, os.Symlink(strings.TrimSpace(string(cache)), filepath.Join(w.home, ".cache", "go-build"))) // commands know no GOCACHE
				w.play()
				asked += len(w.questions)
				for _, q := range w.questions {
					t.Logf("ASKED %s: %s", q.Approval.Tool, q.Approval.Reason)
				}
				assert.Empty(t, w.refused)
			})
		}
		t.Logf("FIGURE asked.%s=%d questions in ten tasks", name, asked)
	}
}
