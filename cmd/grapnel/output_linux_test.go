package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// lostModel says a line, begins a command that nobody waits for, and then would make
// a file that says that the turn went on.
const lostModel = `rules:
  - when: {user: {contains: long}, step: 1}
    say: I begin.
    calls: [{tool: bash, args: {command: 'touch started; exec sleep 300'}}]
  - when: {user: {contains: long}}
    calls: [{tool: bash, args: {command: 'touch went-on'}}]
  - {when: always, say: This is the answer.}
`

// lostOutputs are the outputs to which nothing can be written, or soon not any more.
var lostOutputs = map[string]struct {
	open func(t testing.TB, cmd *exec.Cmd) (reader *os.File)
	said string
}{
	"nobody has ever read": {func(t testing.TB, cmd *exec.Cmd) *os.File {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		cmd.Stdout = w
		return nil
	}, "the output could not be written: nobody reads it any more"},
	"the reader leaves": {func(t testing.TB, cmd *exec.Cmd) *os.File {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		cmd.Stdout = w
		return r
	}, "the output could not be written: nobody reads it any more"},
	"a full disk": {func(t testing.TB, cmd *exec.Cmd) *os.File {
		w, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		cmd.Stdout = w
		return nil
	}, "no space left on device"},
}

// lostSite is a project with a daemon, for commands whose output is lost.
type lostSite struct {
	*site
	model string
}

func newLost(t *testing.T) *lostSite {
	s := newSite(t)
	l := &lostSite{s, filepath.Join(s.dir, "model.yaml")}
	require.NoError(t, os.WriteFile(l.model, []byte(lostModel), 0o600))
	return l
}

// run runs the program with the output until that is lost, and it ends. A reader goes
// when the first line has come and ready is closed.
func (l *lostSite) run(output string, stdin string, ready func(), args ...string) (code int, stderr string) {
	t, o := l.t, lostOutputs[output]
	cmd := exec.CommandContext(t.Context(), "grapnel", args...)
	cmd.Dir = filepath.Join(l.dir, "project")
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+l.getenv("GRAPNEL_HOME"), "XDG_RUNTIME_DIR=", "TERM=xterm")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &said
	r := o.open(t, cmd)
	require.NoError(t, cmd.Start())
	require.NoError(t, cmd.Stdout.(io.Closer).Close())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if r != nil {
		_, err := bufio.NewReader(r).ReadString('\n')
		require.NoError(t, err, "%s", &said)
		ready()
		require.NoError(t, r.Close())
	}
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		require.NoError(t, cmd.Process.Kill())
		<-ended
		require.Fail(t, "it has not ended", "%v", args)
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.False(t, status.Signaled(), "%v was ended by %v", args, status.Signal())
	return status.ExitStatus(), said.String()
}

// begun waits until the long command of the model runs.
func (l *lostSite) begun() {
	require.Eventually(l.t, func() bool {
		_, err := os.Stat(filepath.Join(l.dir, "project", "started"))
		return err == nil
	}, 30*time.Second, time.Millisecond)
}

// interrupted returns the conversations with a turn that a daemon would resume.
func (l *lostSite) interrupted() (out []wire.Conversation) {
	data := l.output("conversations", "--all", "--json")
	var all []wire.Conversation
	require.NoError(l.t, json.Unmarshal([]byte(data), &all), data)
	for _, c := range all {
		if c.Interrupted || c.Turn != "" {
			out = append(out, c)
		}
	}
	return out
}

// TestALostOutputCancelsTheTurn: of every command that runs one, in this process and
// on the daemon, whether its output breaks or its reader leaves in the silence of a
// long command.
func TestALostOutputCancelsTheTurn(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		stdin  string
		daemon bool
		args   []string
	}{
		"run":           {args: []string{"run", "--yes", "long"}},
		"run --json":    {args: []string{"run", "--yes", "--json", "long"}},
		"run on daemon": {args: []string{"run", "--yes", "long"}, daemon: true},
		"ask":           {args: []string{"ask", "--yes", "long"}, daemon: true},
		"ask --json":    {args: []string{"ask", "--yes", "--json", "long"}, daemon: true},
		"chat":          {args: []string{"chat", "--yes"}, stdin: "long\nlong again\n"},
	} {
		for output, o := range lostOutputs {
			t.Run(name+", "+output, func(t *testing.T) {
				t.Parallel()
				l := newLost(t)
				args := tt.args
				if tt.daemon {
					l.start()
				} else {
					args = append(args[:len(args):len(args)], "--model", "script:"+l.model)
				}
				code, stderr := l.run(output, tt.stdin, l.begun, args...)
				assert.Equal(t, exitFailed, code, stderr)
				assert.Contains(t, stderr, o.said)
				assert.Equal(t, 1, strings.Count(stderr, "the output could not be written"), stderr)
				if output == "the reader leaves" && name != "chat" {
					assert.Contains(t, stderr, "; the turn was cancelled, and what had finished is kept in the conversation")
				}
				assert.Empty(t, l.interrupted(), "a daemon would resume it")
				assert.NoFileExists(t, filepath.Join(l.dir, "project", "went-on"))
			})
		}
	}
}

// TestALostOutputEndsACommand that runs no turn: it ends, and says why.
func TestALostOutputEndsACommand(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	l := newLost(t)
	l.start()
	conv, err := l.client.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	for range 3 {
		l.turn(conv.ID, "hello", nil)
	}
	for _, args := range [][]string{
		{"events", conv.ID, "--after", conv.LastEventID}, {"events", conv.ID, "--json", "--after", conv.LastEventID},
		{"conversations"}, {"conversations", "--json"}, {"conversations", conv.ID}, {"conversations", "export", conv.ID},
		{"agents"}, {"tools"}, {"plan"}, {"plan", "--json"}, {"--help"}, {"run", "--help"},
	} {
		for output, o := range lostOutputs {
			if output == "the reader leaves" && args[0] != "events" {
				continue // all of it may have been written by then
			}
			t.Run(strings.Join(args, " ")+", "+output, func(t *testing.T) {
				code, stderr := l.run(output, "", func() {}, args...)
				assert.Equal(t, exitFailed, code, stderr)
				assert.Contains(t, stderr, o.said)
			})
		}
	}
}

// TestADaemonOutlivesItsOutput: nobody has to read what it says.
func TestADaemonOutlivesItsOutput(t *testing.T) {
	t.Parallel()
	for output := range lostOutputs {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			l := newLost(t)
			ended := make(chan int, 1)
			served := func() {
				require.Eventually(t, func() bool { _, err := l.client.Health(t.Context()); return err == nil }, 30*time.Second, time.Millisecond)
			}
			go func() {
				code, _ := l.run(output, "", served, "serve", "--model", "script:"+l.model)
				ended <- code
			}()
			served()
			conv, err := l.client.Conversation(t.Context(), "", "ann")
			require.NoError(t, err)
			events := l.turn(conv.ID, "hello", nil)
			assert.Equal(t, event.TurnEnd, events[len(events)-1].Kind)
			health, err := l.client.Health(t.Context())
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(health.PID, syscall.SIGTERM))
			assert.Equal(t, 0, <-ended, "it ends in order, when it is told to")
		})
	}
}
