package programs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook/event"
)

const answer = "I am here."

// build compiles a program of this repository as a user would.
func build(tb testing.TB, dir, pkg string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), filepath.Base(pkg))
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-o", path, pkg)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, "%s", out)
	return path
}

// firstAnswer starts the daemon with an empty store, all its subsystems and a model
// that needs no time, has it run a turn, and returns how long that took from the
// start of the process to the answer.
func firstAnswer(ctx context.Context, program string) (took time.Duration, err error) {
	dir, err := os.MkdirTemp("", "grapnel-") // short enough for a socket
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	project, model := filepath.Join(dir, "project"), filepath.Join(dir, "model.yaml")
	err = errors.Join(os.Mkdir(project, 0o700), os.WriteFile(model, []byte("rules:\n  - {when: always, say: "+answer+"}\n"), 0o600))
	if err != nil {
		return 0, err
	}
	state := filepath.Join(dir, "state")
	cmd := exec.CommandContext(ctx, program, "serve", "--dir", project, "--model", "script:"+model)
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+state, "XDG_RUNTIME_DIR=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
		_, _ = io.Copy(io.Discard, out)
		err = errors.Join(err, cmd.Wait())
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "grapnel: serving ") {
		return 0, fmt.Errorf("the daemon says %q: %w", line, err)
	}
	text, err := turn(ctx, client.New(filepath.Join(state, "run", "grapnel.sock"), nil))
	if err == nil && text != answer {
		err = fmt.Errorf("the agent answers %q", text)
	}
	return time.Since(began), err
}

// turn returns what the agent of the project answers.
func turn(ctx context.Context, c *client.Client) (text string, err error) {
	conv, err := c.Conversation(ctx, "", "ann")
	if err != nil {
		return "", err
	}
	begun, err := c.Send(ctx, conv.ID, "Are you there?")
	if err != nil {
		return "", err
	}
	for item, err := range c.Follow(ctx, begun) {
		if err != nil {
			return "", err
		}
		if item.Event.Kind == event.TurnEnd {
			text = item.Event.Text
		}
	}
	return text, nil
}

// BenchmarkServe is grapnel serve from the start of the process to the answer of
// its first turn, in an empty state directory. Ending it is not part of the time.
func BenchmarkServe(b *testing.B) {
	program := build(b, "../..", "./cmd/grapnel")
	var all time.Duration
	for b.Loop() {
		took, err := firstAnswer(b.Context(), program)
		if err != nil {
			b.Fatal(err)
		}
		all += took
	}
	b.ReportMetric(float64(all.Nanoseconds())/float64(b.N), "ns/op")
}

// BenchmarkEmbedder builds the two programs and says by how many bytes the one with
// the agent is larger.
func BenchmarkEmbedder(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(added(b), "added-B")
	}
}

// added is by how many bytes the program with the agent is larger.
func added(tb testing.TB) float64 {
	return size(tb, build(tb, ".", "./embedder")) - size(tb, build(tb, ".", "./empty"))
}

func size(tb testing.TB, path string) float64 {
	info, err := os.Stat(path)
	require.NoError(tb, err)
	return float64(info.Size())
}

func TestServe(t *testing.T) {
	took, err := firstAnswer(t.Context(), build(t, "../..", "./cmd/grapnel"))
	require.NoError(t, err)
	assert.Positive(t, took)
}

// A daemon that cannot start is told of, and is not a short time: the go command
// has no subcommand serve.
func TestServeFails(t *testing.T) {
	_, err := firstAnswer(t.Context(), "go")
	require.ErrorContains(t, err, "the daemon says")
}

func TestTheEmbedderIsLarger(t *testing.T) {
	assert.Greater(t, added(t), 100e3)
}
