package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
            setsid sh -c 'echo $$ >left.new; mv left.new left; exec sleep 1000' &
            echo $$ >shell.new; mv shell.new shell; sleep 1000
  - say: done
`

// TestAKilledRunLeavesNoCommand: the program is killed while a command runs that has
// put a process into another session.
func TestAKilledRunLeavesNoCommand(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.yaml"), []byte(leavingModel), 0o600))
	cmd := exec.CommandContext(t.Context(), "grapnel", "run", "--yes", "--dir", dir, "--model", "script:"+filepath.Join(dir, "model.yaml"), "leave")
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+filepath.Join(dir, ".state"))
	require.NoError(t, cmd.Start())
	var pids []string
	for _, name := range []string{"left", "shell"} {
		require.Eventually(t, func() bool {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				pids = append(pids, strings.TrimSpace(string(data)))
			}
			return err == nil
		}, 60*time.Second, time.Millisecond)
	}
	for _, pid := range pids {
		assert.True(t, runs(pid))
	}
	require.NoError(t, cmd.Process.Kill())
	assert.Error(t, cmd.Wait())
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return !runs(pid) }, 20*time.Second, time.Millisecond, "process %s is still there", pid)
	}
}

// runs reports whether a process runs; a zombie does not.
func runs(pid string) bool {
	if _, err := strconv.Atoi(pid); err != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
