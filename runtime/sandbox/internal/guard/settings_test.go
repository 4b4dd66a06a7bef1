package guard

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
)

// TestSettings: what git takes for a setting is one here.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[core]\n# c\\\n\tfsmonitor = x\n",
		"[core]\n\tbare = false ; c\\\n\tfsmonitor = x\n",
	} {
		keys := map[string]bool{}
		for _, kv := range settings(text) {
			keys[kv.key] = true
		}
		assert.True(t, keys["core.fsmonitor"] || keys["?"], text)
	}
	for _, text := range []string{"[core", "[core]\n\t= x\n", "[core]\n\ta b\n", "[core]\n\ta = \"x\n", "[core]\n\ta = \\x\n", "[core]\n\ta # c\n"} {
		got := settings(text)
		if assert.NotEmpty(t, got, text) {
			assert.Equal(t, "?", got[0].key, text)
		}
	}
	assert.Equal(t, []setting{{"remote.url", "a   b"}, {"remote.fetch", `+x:"y"`}, {"core.bare", ""}},
		settings("\ufeff[remote \"o]\\\"\"] url = a \\\n  b  ; c\r\n\tfetch = \"+x:\\\"y\\\"\"\n[CORE]bare"))
	for text, want := range map[string]string{
		"[core]\n\thooksPath = githooks ; ours\n":     "githooks",
		"[core]\n\thooksPath = git\"hooks\" # ours\n": "githooks",
	} {
		assert.Equal(t, []setting{{"core.hookspath", want}}, settings(text))
	}
}

// TestSettingsAsGitReadsThem: of drawn texts, what git takes for a setting is one here, with the same value; what git refuses is not
// understood here either, or is more than git reads. So nothing hides.
func TestSettingsAsGitReadsThem(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	parts := []string{
		"[core]", "[remote \"o\"]", "[a.b]", "[", "]", "\n", "\n", "\n\t", "fsmonitor", "hooksPath", "x-1", " = ", "=", "value", "\"", "\\", "\\\n", "\\\"",
		"#", ";", " ", "c", "\r\n", "\\t", "1", "[core]\n", "[core]\n\tbare = false\n",
	}
	draw := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same texts every time
	file := filepath.Join(t.TempDir(), "config")
	accepted := 0
	for range 400 {
		var text strings.Builder
		text.WriteString("[core]\n")
		for range 1 + draw.IntN(12) {
			text.WriteString(parts[draw.IntN(len(parts))])
		}
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		cmd := exec.CommandContext(t.Context(), "git", "config", "--file", file, "--list", "-z", "--no-includes")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := cmd.Output()
		got := map[setting]bool{}
		unknown := false
		for _, kv := range settings(text.String()) {
			got[kv] = true
			unknown = unknown || kv.key == "?"
		}
		if err != nil || unknown {
			continue // git uses nothing of such a file, or the guard trusts nothing of it
		}
		accepted++
		for kv := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			key, value, _ := strings.Cut(kv, "\n")
			if i, j := strings.Index(key, "."), strings.LastIndex(key, "."); i != j && !strings.HasPrefix(key, "a.b.") {
				key = key[:i] + key[j:]
			}
			if kv != "" {
				require.True(t, got[setting{key, value}], "%q: git has %q", text.String(), kv)
			}
		}
	}
	assert.Greater(t, accepted, 50)
}
