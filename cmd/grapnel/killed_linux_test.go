package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

const leavingModel = `rules:
  - when: {step: 1}
    calls:
      - tool: bash
        args:
          command: |
            setsid sleep %s &
            sleep %s
  - say: done
`

// TestAKilledRunLeavesNoCommand: the program is killed while a command runs that has
// put a process into another session, in the sandbox and without it.
func TestAKilledRunLeavesNoCommand(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	for i, mode := range []string{"project", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// Ids of processes are others in the sandbox, so they are known by how long they sleep.
			names := []string{fmt.Sprintf("1000.%d%d1", os.Getpid(), i), fmt.Sprintf("1000.%d%d2", os.Getpid(), i)}
			model := fmt.Sprintf(leavingModel, names[0], names[1])
			require.NoError(t, os.WriteFile(filepath.Join(dir, "model.yaml"), []byte(model), 0o600))
			cmd := exec.CommandContext(t.Context(), "grapnel", "run", "--yes", "--sandbox", mode, "--dir", dir, "--model", "script:"+filepath.Join(dir, "model.yaml"), "leave")
			cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+filepath.Join(dir, ".state"))
			require.NoError(t, cmd.Start())
			for _, name := range names {
				require.Eventually(t, func() bool { return sleeps(name) }, 60*time.Second, 10*time.Millisecond)
			}
			require.NoError(t, cmd.Process.Kill())
			assert.Error(t, cmd.Wait())
			for _, name := range names {
				assert.Eventually(t, func() bool { return !sleeps(name) }, time.Minute, 10*time.Millisecond, "sleep %s is still there", name)
			}
		})
	}
}

// sleeps reports whether a process sleeps for a time.
func sleeps(seconds string) bool {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(entries, func(e string) bool {
		line, _ := os.ReadFile(e) // it may have ended
		return string(line) == "sleep\x00"+seconds+"\x00"
	})
}
