package supervisor_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func whole(base string, more ...jail.Mount) *jail.Spec {
	m := []jail.Mount{
		{Op: jail.Bind, Source: "/usr", Target: "/usr", ReadOnly: true},
		{Op: jail.Bind, Source: "/bin", Target: "/bin", ReadOnly: true},
		{Op: jail.Bind, Source: "/lib", Target: "/lib", ReadOnly: true, Optional: true},
		{Op: jail.Bind, Source: "/lib64", Target: "/lib64", ReadOnly: true, Optional: true},
		{Op: jail.Bind, Source: "/dev/null", Target: "/dev/null"},
		{Op: jail.Processes, Target: "/proc"},
		{Op: jail.Empty, Target: "/tmp"},
	}
	return &jail.Spec{Namespaces: true, Base: base, Mounts: append(m, more...), Write: []string{"/tmp", "/dev"}}
}

// jailed runs a script in a jail and returns what it printed, and its end.
func jailed(t testing.TB, s *supervisor.Supervisor, spec *jail.Spec, script string) (string, supervisor.Status, error) {
	t.Helper()
	needs.Namespaces(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	p, err := s.Start(supervisor.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Stdout: w, Stderr: w, Jail: spec,
	})
	_ = w.Close()
	if err != nil {
		return "", supervisor.Status{}, err
	}
	if door := p.Door(); door != nil {
		l, err := net.FileListener(door)
		require.NoError(t, err)
		_ = door.Close()
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = c.Write([]byte("hello\n"))
				_ = c.Close()
			}
			_ = l.Close()
		}()
	}
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	<-p.Done()
	return string(text), p.Status(), nil
}

func TestJail(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	base := t.TempDir()
	out, status, err := jailed(t, s, whole(base), `
		echo root: $(ls /)
		echo processes: $(ls /proc | grep -c '^[0-9]')
		echo x > /tmp/x && cat /tmp/x
		touch /usr/x 2>&1
		echo user: $(id -u)
		grep -c 'Cap.*0000000000000000' /proc/self/status
		grep NoNewPrivs /proc/self/status
		exit 7`)
	require.NoError(t, err)
	assert.Equal(t, 7, status.Code)
	for _, want := range []string{"root: bin dev", "x\n", "Read-only file system", "user: " + strconv.Itoa(os.Getuid()), "5\n", "NoNewPrivs:\t1"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "home")
	entries, err := os.ReadDir(base)
	require.NoError(t, err)
	assert.Empty(t, entries, "the new root was seen by the process alone")
}

func TestAJailThatCannotBeMade(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	spec := whole(t.TempDir(), jail.Mount{Op: jail.Bind, Source: "/there/is/none", Target: "/x"})
	_, _, err := jailed(t, s, spec, "touch /tmp/ran")
	var failed *supervisor.JailError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "open /there/is/none", failed.Step)
	assert.ErrorIs(t, err, os.ErrNotExist)

	_, err = s.Start(supervisor.Command{Path: "/there/is/none", Dir: "/", Jail: whole(t.TempDir())})
	require.ErrorIs(t, err, os.ErrNotExist, "a command that is not there is no fault of the jail")
	assert.NotErrorAs(t, err, &failed)
}

// waiting returns the processes that wait for a command with a jail: the children, with that name, of this program's supervisors.
func waiting(t *testing.T) (out []int) {
	t.Helper()
	parents, names := map[int]int{}, map[int]string{}
	all, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(t, err)
	for _, path := range all {
		text, _ := os.ReadFile(path) // it may have ended
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		for line := range strings.Lines(string(text)) {
			if parent, is := strings.CutPrefix(line, "PPid:"); is {
				parents[pid], _ = strconv.Atoi(strings.TrimSpace(parent))
			}
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		names[pid] = string(line)
	}
	for pid, name := range names {
		if name == "grapnel-jail\x00" && parents[parents[pid]] == os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// TestTheProcessThatWaits: the next command runs if somebody has killed the process that waited for it, and if it wants another jail;
// with its supervisor that process ends. It is not parallel: it kills all that wait in this program.
func TestTheProcessThatWaits(t *testing.T) {
	needs.Namespaces(t)
	s := newSupervisor(t)
	run := func(spec *jail.Spec) {
		t.Helper()
		out, status, err := jailed(t, s, spec, "echo here")
		require.NoError(t, err)
		assert.Equal(t, supervisor.Status{}, status)
		assert.Equal(t, "here\n", out)
	}
	run(whole(t.TempDir()))
	for range 30 {
		require.Eventually(t, func() bool { return len(waiting(t)) > 0 }, time.Minute, time.Millisecond)
		for _, pid := range waiting(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		run(whole(t.TempDir()))
	}
	run(&jail.Spec{Unlocked: true})
	run(whole(t.TempDir()))
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { return len(waiting(t)) == 0 }, time.Minute, time.Millisecond)
}

// A process in a jail ends with it, however it was started.
func TestNothingOutlivesAJail(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	s := newSupervisor(t)
	out, _, err := jailed(t, s, whole(t.TempDir()), `(setsid sh -c 'sleep 1234 & sleep 1234' </dev/null >/dev/null 2>&1 &); sleep 0.1; echo done`)
	require.NoError(t, err)
	assert.Equal(t, "done\n", out)
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, e := range entries {
		line, _ := os.ReadFile(e) // it may have ended
		assert.NotEqual(t, "sleep\x001234\x00", string(line), e)
	}
}

// The door is a listener inside, which the program has outside.
func TestDoor(t *testing.T) {
	t.Parallel()
	needs.Program(t, "bash")
	s := newSupervisor(t)
	spec := whole(t.TempDir())
	spec.Door = 3128
	out, _, err := jailed(t, s, spec, `bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; cat <&3'`)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", out)
}
