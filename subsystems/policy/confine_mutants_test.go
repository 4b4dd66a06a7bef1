package policy_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// loss is a command that loses something in a repository, and how to see that it did.
type loss struct {
	command string
	// before makes the repository ready, lost reports whether the command did what it does.
	before func(t *testing.T, dir string)
	lost   func(dir string) bool
}

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.example"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func losses() []loss {
	return []loss{
		{"git reset --hard", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "g"), []byte("changed\n"), 0o600))
		}, func(dir string) bool {
			data, err := os.ReadFile(filepath.Join(dir, "g"))
			return err == nil && string(data) != "changed\n"
		}},
		{"rm -rf .git", func(*testing.T, string) {}, func(dir string) bool {
			_, err := os.Lstat(filepath.Join(dir, ".git"))
			return err != nil
		}},
	}
}

// repository is a directory with a file and a repository that has it.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"f", "g"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x\ny\n"), 0o600))
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "f", "g")
	git(t, dir, "commit", "-qm", "x")
	return dir
}

// TestConfinedMutants: no line that loses something in a repository runs unasked in a sandbox, whatever stands around the command, if the
// line has its words.
func TestConfinedMutants(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	needs.Program(t, "bash")
	needs.Program(t, "git")
	p, err := policy.New([]policy.Rules{{}}, &policy.Options{Default: policy.DefaultAnnotations, Confined: confining(policy.Confinement{On: true})})
	require.NoError(t, err)
	wanted := max(*mutantsFlag/16, 20)
	for _, l := range losses() {
		t.Run(l.command, func(t *testing.T) {
			t.Parallel()
			c := composer{rand.New(rand.NewPCG(*mutantSeed, 99))}
			dir, judged, worked := repository(t), 0, 0
			seen := map[string]bool{}
			for worked < wanted {
				text := c.compose("mark")
				if !strings.Contains(text, "touch mark") || seen[text] {
					continue
				}
				seen[text] = true
				command := strings.ReplaceAll(text, "touch mark", l.command)
				judged++
				l.before(t, dir)
				works(t, dir, command, "mark")
				did := l.lost(dir)
				if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
					dir = repository(t)
				}
				if !did {
					continue
				}
				worked++
				e, err := p.Explain(nil, bash, args("command", command))
				require.NoError(t, err)
				assert.Equal(t, policy.Ask, e.Effect, "runs unasked: %q", command)
			}
			figure(t, "confined."+strings.ReplaceAll(l.command, " ", "-"), worked, "lines that lose it in bash, none of which runs unasked in a sandbox")
			figure(t, "confined.composed", judged, "lines altogether")
		})
	}
}
