package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// TestASecretIsMaskedAtTheTerminal: what commands print of a turn, of an error and of what is stored. Without the section it is there.
func TestASecretIsMaskedAtTheTerminal(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	const token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
	for _, conf := range []string{"redact: {secrets: true}\n", ""} {
		s := &canarySession{t: t, dir: shortDir(t)}
		s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"), "GRAPNEL_HOME=" + filepath.Join(s.dir, "state")}
		for name, text := range map[string]string{
			"home/.grapnel/config.yaml": conf,
			"project/model.yaml":        "rules:\n- {when: {user: fail}, error: refused " + token + "}\n- {when: always, say: \"it is " + token + " and done\"}\n",
		} {
			file := filepath.Join(s.dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		}
		for name, out := range map[string]string{
			"text":   s.run("", "run", "--model", "script:model.yaml", "take "+token),
			"json":   s.run("", "run", "--json", "--model", "script:model.yaml", "take "+token),
			"fails":  s.run("", "run", "--model", "script:model.yaml", "fail"),
			"chat":   s.run("take "+token+"\n", "chat", "--model", "script:model.yaml"),
			"stored": s.run("", "conversations", "--json"),
		} {
			if conf == "" {
				assert.Contains(t, out, token, name)
				continue
			}
			assert.NotContains(t, out, token, name)
			assert.Contains(t, out, "[secret: github-token]", name)
		}
	}
}
