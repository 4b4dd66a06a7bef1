//go:build unix

package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// process is a holder in another process.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

func start(t *testing.T, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0]) // which ends with its input
	cmd.Env = append(os.Environ(), holderFile+"="+path)
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, r.Close())
	p := &process{t, cmd, w, bufio.NewScanner(out)}
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		assert.NoError(t, w.Close())
		assert.NoError(t, cmd.Wait(), "the process ends with its input")
	})
	return p
}

// tell sends a line.
func (p *process) tell(line string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, line)
	require.NoError(p.t, err)
}

// answer waits for the answer to a line.
func (p *process) answer() string {
	p.t.Helper()
	require.True(p.t, p.out.Scan(), "the process has ended: %v", p.out.Err())
	return p.out.Text()
}

func (p *process) ask(line string) string {
	p.t.Helper()
	p.tell(line)
	return p.answer()
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// stop stops the process and returns when it stands still.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			require.NoError(p.t, err)
			break
		}
	}
	require.True(p.t, status.Stopped())
}

// A process that is stopped for longer than its lease and goes on then, as after
// the sleep of a machine, finds itself fenced: it writes nothing, and what the
// other one has written in the meantime is there once.
func TestAProcessThatSleptPastItsLeaseIsFenced(t *testing.T) {
	t.Parallel()
	path := file(t)
	a, b := start(t, path), start(t, path)
	require.Equal(t, "done", a.ask("claim 1m"))
	require.Equal(t, "done", a.ask("append a1"))
	require.Equal(t, "leased", b.ask("claim 1m"))
	require.Equal(t, "done", a.ask("free"))
	require.Equal(t, "done", a.ask("claim 50ms"))
	a.stop()
	for line := range strings.SplitSeq("append a2,note a2,compact a2,rewind a2,append a2", ",") {
		a.tell(line) // it hears of it when it goes on
	}
	require.Eventually(t, func() bool { return b.ask("claim 1m") == "done" }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "done", b.ask("append b1"))
	a.signal(syscall.SIGCONT)
	for range 5 {
		assert.Equal(t, "fenced", a.answer())
	}
	assert.Equal(t, "leased", a.ask("claim 1m"))
	assert.Equal(t, "done", b.ask("append b2"))

	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	assert.Equal(t, int64(3), rec.Version)
	assert.Equal(t, int64(3), rec.Lease.Epoch)
	assert.Equal(t, fmt.Sprint(b.cmd.Process.Pid), rec.Lease.Owner)
	assert.Equal(t, []string{"a1", "b1", "b2"}, texts(t, s, rec.ID))
	entries, err := s.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	var calls []string
	for _, e := range entries {
		calls = append(calls, e.CallID)
	}
	assert.Equal(t, []string{"a1", "b1", "b2"}, calls)
}

// Four processes want one lease, two hundred times over: one gets it, and only
// that one can write.
func TestOfFourProcessesOneHasTheLease(t *testing.T) {
	t.Parallel()
	path := file(t)
	var ps [4]*process
	for i := range ps {
		ps[i] = start(t, path)
	}
	const rounds = 200
	var want []string
	for round := range rounds {
		for _, p := range ps {
			p.tell("claim 1m")
		}
		holder := -1
		for i, p := range ps {
			switch got := p.answer(); got {
			case "done":
				require.Equal(t, -1, holder, "two holders in round %d", round)
				holder = i
			default:
				require.Equal(t, "leased", got)
			}
		}
		require.NotEqual(t, -1, holder, "no holder in round %d", round)
		text := fmt.Sprintf("%d by %d", round, holder)
		for _, p := range ps {
			p.tell("append " + text)
		}
		for i, p := range ps {
			if i == holder {
				require.Equal(t, "done", p.answer())
			} else {
				require.Equal(t, "fenced", p.answer())
			}
		}
		want = append(want, text)
		require.Equal(t, "done", ps[holder].ask("free"))
	}
	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	assert.Equal(t, int64(rounds), rec.Lease.Epoch)
	assert.Equal(t, int64(rounds), rec.Version)
	assert.Equal(t, want, texts(t, s, rec.ID))
}
