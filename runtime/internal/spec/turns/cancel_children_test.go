package turns_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

// A cancelled turn leaves nothing behind that still works: not the model, and not
// what tools have started, down to the children of their children.

func TestSpecACancelEndsWhatToolsHaveStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tools, err := ostools.New(dir, nil)
	require.NoError(t, err)
	fifo := filepath.Join(dir, "pids")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	// It is open for writing here too, so that there is a reader whenever a shell writes,
	// and no end between two of them.
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	defer pipe.Close()
	require.NoError(t, pipe.SetReadDeadline(time.Now().Add(time.Minute)))

	// The shell starts a shell, which starts a process that ignores what can be
	// ignored; each writes down its id.
	command := `echo $$ > pids; sh -c 'echo $$ > pids; trap "" HUP INT TERM; (trap "" HUP INT TERM; sleep 1000) & echo $! > pids; wait' & wait`
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "bash", `{"command":`+strconv.Quote(command)+`}`))), tools)
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.Try(t.Context(), "1"); ended <- out }()
	var pids []int
	for lines := bufio.NewScanner(pipe); len(pids) < 3 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	require.Len(t, pids, 3)
	require.True(t, dialog.Stop(w.Conv))
	assert.Equal(t, hook.StopUserRequested, (<-ended).Stop)
	for _, pid := range pids {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.True(c, gone(pid), "process %d still runs", pid)
		}, time.Minute, 10*time.Millisecond)
	}
	lines := w.History()
	require.Len(t, lines, 3)
	assert.Contains(t, lines[2], "tool c1 bash cancelled: ")
}

// gone reports whether the process has ended, also if nobody has asked how.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
