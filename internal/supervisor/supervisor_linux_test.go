package supervisor_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var kills = flag.Int("supervisor.n", 10, "how often TestAKilledProgramLeavesNoProcess kills a program")

func TestMain(m *testing.M) {
	if play := os.Getenv("SUPERVISOR_TEST_PROGRAM"); play != "" {
		os.Exit(program(play))
	}
	goleak.VerifyTestMain(m)
}

func newSupervisor(t testing.TB) *supervisor.Supervisor {
	t.Helper()
	s := supervisor.New()
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// shell starts a script with its output in a pipe.
func shell(t testing.TB, s *supervisor.Supervisor, script string, env ...string) (*supervisor.Process, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	p, err := s.Start(supervisor.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: append(env, "PATH="+os.Getenv("PATH")), Stdout: w, Stderr: w,
	})
	_ = w.Close()
	require.NoError(t, err)
	return p, r
}

// output runs a script to its end and returns what it printed.
func output(t testing.TB, s *supervisor.Supervisor, script string, env ...string) string {
	t.Helper()
	p, r := shell(t, s, script, env...)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	<-p.Done()
	return strings.TrimSpace(string(text))
}

func TestStart(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ends := []struct {
		name, script string
		want         supervisor.Status
		shell        int
		text         string
	}{
		{"success", "exit 0", supervisor.Status{}, 0, "exit status 0"},
		{"a code", "exit 3", supervisor.Status{Code: 3}, 3, "exit status 3"},
		{"a signal", "kill -9 $$", supervisor.Status{Code: -1, Signal: 9}, 137, "signal 9 (killed)"},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := shell(t, s, tt.script)
			<-p.Done()
			assert.Equal(t, tt.want, p.Status())
			assert.Equal(t, tt.shell, p.Status().Shell())
			assert.Equal(t, tt.text, p.Status().String())
			p.Kill() // after the end: nothing happens
		})
	}
	t.Run("environment, directory, arguments and bytes", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		p, err := s.Start(supervisor.Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", `env; pwd; printf '%s' "$1"; cat`, "x", "\xff<\u2028>"},
			Env: []string{"A=0", "B=\xfe", "A=1"}, Dir: dir, Stdout: w,
		})
		_ = w.Close()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		<-p.Done()
		assert.Contains(t, string(text), "B=\xfe\n")
		assert.Contains(t, string(text), "A=1\n")
		assert.NotContains(t, string(text), "A=0")
		assert.NotContains(t, string(text), "HOME=")
		assert.True(t, strings.HasSuffix(string(text), dir+"\n\xff<\u2028>"), "%q", text)
	})
	t.Run("what cannot be started", func(t *testing.T) {
		_, err := s.Start(supervisor.Command{Path: filepath.Join(dir, "none")})
		assert.ErrorIs(t, err, fs.ErrNotExist)
		_, err = s.Start(supervisor.Command{Path: dir})
		assert.ErrorIs(t, err, fs.ErrPermission)
		_, err = s.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"sh", "a\x00b"}})
		assert.ErrorIs(t, err, syscall.EINVAL)
		for _, size := range []int{3 << 20, 17 << 20} {
			_, err = s.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"sh", "-c", strings.Repeat(" ", size)}})
			assert.ErrorIs(t, err, syscall.E2BIG)
		}
		assert.Equal(t, "on", output(t, s, "echo on"), "the supervisor goes on")
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			p, r := shell(t, s, fmt.Sprintf("echo %d; exit %d", i, i))
			text, err := io.ReadAll(r)
			assert.NoError(t, err)
			<-p.Done()
			assert.Equal(t, fmt.Sprintf("%d\n", i), string(text))
			assert.Equal(t, i, p.Status().Code)
		})
	}
	wg.Wait()
}

// A command has what it was given: no terminal, no descriptor and no variable of the
// program, neither of its own nor through its parent.
func TestACommandGetsNothingOfTheProgram(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "inherited"))
	require.NoError(t, err)
	defer file.Close()
	inherited, err := syscall.Dup(int(file.Fd())) // not close-on-exec, as if a careless shell had left it open
	require.NoError(t, err)
	defer syscall.Close(inherited)
	t.Setenv("SECRET", "canary")

	s := newSupervisor(t)
	for _, of := range []string{"self", "$PPID"} {
		assert.NotContains(t, output(t, s, "ls -l /proc/"+of+"/fd"), "inherited", of)
		assert.NotContains(t, output(t, s, "cat /proc/"+of+"/environ"), "canary", of)
	}
	assert.Equal(t, "0\n1\n2\n3", output(t, s, "exec ls /proc/self/fd"), "the last one is the directory that ls reads")
	assert.Empty(t, output(t, s, "cat"), "no input")
	p, r := shell(t, s, "cat /proc/$$/stat; : </dev/tty")
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	<-p.Done()
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	assert.Equal(t, []string{strconv.Itoa(p.Pid()), strconv.Itoa(p.Pid()), "0"}, fields[2:5], "group, session and terminal")
	assert.NotZero(t, p.Status().Code, "/dev/tty cannot be opened without a terminal")
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 2*time.Millisecond, "process %d is still alive", pid)
	}
}

// family is a script that leaves processes in every way and prints their ids: in the
// background, in another session, forked twice in another session, and ignoring what
// it is asked.
const family = `
sleep 1000 & echo $!
setsid sh -c 'echo $$; exec sleep 1000' &
setsid sh -c 'sh -c "echo \$\$; exec sleep 1000" &' &
sh -c 'trap "" TERM HUP INT; echo $$; while :; do sleep 1000; done' &
echo $$
wait; sleep 1000
`

// members reads the ids that family prints.
func members(t testing.TB, r io.Reader) []int {
	t.Helper()
	var pids []int
	for len(pids) < 5 {
		var pid int
		_, err := fmt.Fscanln(r, &pid)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func TestCloseKillsEverything(t *testing.T) {
	t.Parallel()
	needs.Program(t, "setsid")
	s := supervisor.New()
	p, r := shell(t, s, family)
	pids := members(t, r)
	for _, pid := range pids {
		assert.True(t, alive(pid))
	}
	require.NoError(t, s.Close())
	<-p.Done()
	assert.True(t, p.Status().Lost || p.Status().Signal == 9, "%v", p.Status())
	for _, pid := range pids {
		assert.False(t, alive(pid), "Close waits")
	}
	_, err := s.Start(supervisor.Command{Path: "/bin/sh"})
	assert.ErrorIs(t, err, supervisor.ErrClosed)
	assert.NoError(t, s.Close())
}

func TestKillEndsTheGroup(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	p, r := shell(t, s, "sleep 1000 & echo $!; sleep 1000 & echo $!; wait")
	var a, b int
	_, err := fmt.Fscanln(r, &a)
	require.NoError(t, err)
	_, err = fmt.Fscanln(r, &b)
	require.NoError(t, err)
	p.Kill()
	<-p.Done()
	assert.Equal(t, supervisor.Status{Code: -1, Signal: 9}, p.Status())
	gone(t, a, b)

	p, r = shell(t, s, "trap 'echo asked; exit 4' TERM; echo ready; while :; do sleep 0.01; done")
	_, err = io.ReadFull(r, make([]byte, len("ready\n")))
	require.NoError(t, err)
	p.Terminate()
	<-p.Done()
	assert.Equal(t, supervisor.Status{Code: 4}, p.Status())
}

// The rest of a group ends with its leader, and nobody becomes a zombie.
func TestTheGroupEndsWithItsLeader(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	p, r := shell(t, s, "sleep 1000 & echo $! $PPID")
	var pid, parent int
	_, err := fmt.Fscanln(r, &pid, &parent)
	require.NoError(t, err)
	<-p.Done()
	assert.Zero(t, p.Status().Code)
	gone(t, pid)
	output(t, s, "sh -c 'sh -c true & exit' &")
	assert.Eventually(t, func() bool {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
		return err != nil || len(bytes.TrimSpace(children)) == 0 // not every kernel lists them
	}, time.Minute, 2*time.Millisecond, "zombies")
}

// attack starts a script that waits until Start has returned.
func attack(t *testing.T, s *supervisor.Supervisor, script string) (*supervisor.Process, *os.File) {
	t.Helper()
	in, start, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer start.Close()
	out, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = out.Close() })
	p, err := s.Start(supervisor.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", "read x; " + script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdin: in, Stdout: w,
	})
	_ = w.Close()
	require.NoError(t, err)
	_, err = start.WriteString("x\n")
	require.NoError(t, err)
	return p, out
}

// A command is the same user's as the supervisor and may attack it.
func TestACommandKillsTheSupervisor(t *testing.T) {
	t.Parallel()
	s := newSupervisor(t)
	other, r := shell(t, s, "sleep 1000 & echo $!; wait")
	var pid int
	_, err := fmt.Fscanln(r, &pid)
	require.NoError(t, err)
	p, _ := attack(t, s, "kill -9 $PPID; sleep 1000")
	<-p.Done()
	<-other.Done()
	assert.True(t, p.Status().Lost)
	assert.True(t, other.Status().Lost)
	assert.Equal(t, 137, other.Status().Shell())
	gone(t, pid, p.Pid(), other.Pid())
	assert.Equal(t, "on", output(t, s, "echo on"), "the next command gets a new supervisor")
}

func TestACommandStopsTheSupervisor(t *testing.T) {
	t.Parallel()
	s := supervisor.NewImpatientForTest(200 * time.Millisecond)
	defer s.Close()
	p, r := attack(t, s, "kill -STOP $PPID; echo stopped; sleep 1000")
	_, err := io.ReadFull(r, make([]byte, len("stopped\n")))
	require.NoError(t, err)
	_, err = s.Start(supervisor.Command{Path: "/bin/sh"})
	assert.ErrorContains(t, err, "try again")
	<-p.Done()
	assert.True(t, p.Status().Lost)
	gone(t, p.Pid())

	p, r = attack(t, s, "kill -STOP $PPID; echo stopped; sleep 1000")
	_, err = io.ReadFull(r, make([]byte, len("stopped\n")))
	require.NoError(t, err)
	p.Kill()
	<-p.Done()
	gone(t, p.Pid())
}

// program is a program that runs the family and is killed meanwhile. "direct" is known
// to be wrong: it starts the command as its own child. "hidden" also hides its memory.
func program(play string) int {
	if play == "hidden" {
		if err := supervisor.HideMemory(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	script := os.Getenv("SUPERVISOR_TEST_SCRIPT")
	if play == "direct" {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Run(); err != nil {
			return 1
		}
		return 0
	}
	p, err := supervisor.New().Start(supervisor.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "PROGRAM=" + strconv.Itoa(os.Getpid())},
		Stdout: os.Stdout, Stderr: os.Stdout,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-p.Done()
	return p.Status().Shell()
}

// survivors starts such a program, kills it with SIGKILL and returns how many of its
// processes live on.
func survivors(t *testing.T, play string) int {
	t.Helper()
	needs.Program(t, "setsid")
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "SUPERVISOR_TEST_PROGRAM="+play, "SUPERVISOR_TEST_SCRIPT="+family)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pids := members(t, out)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	deadline := time.Now().Add(time.Minute)
	if play == "direct" {
		deadline = time.Now().Add(200 * time.Millisecond) // nobody comes to end them
	}
	for {
		left := 0
		for _, pid := range pids {
			if alive(pid) {
				left++
			}
		}
		if left == 0 || time.Now().After(deadline) {
			for _, pid := range pids {
				_ = syscall.Kill(-pid, syscall.SIGKILL) // with what it has started meanwhile
				if alive(pid) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			return left
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestAKilledProgramLeavesNoProcess(t *testing.T) {
	needs.Proof(t)
	rounds := *kills
	left := 0
	for range rounds {
		left += survivors(t, "supervised")
	}
	assert.Zero(t, left)
	t.Logf("FIGURE killed=%d programs", rounds)
	t.Logf("FIGURE left=%d of %d processes", left, 5*rounds)
}

func TestKilledProgramsFindWhoStartsDirectly(t *testing.T) {
	needs.Proof(t)
	left := survivors(t, "direct")
	assert.NotZero(t, left)
	t.Logf("FIGURE bad.direct=%d processes left", left)
}

// As an ordinary user, whom the kernel does not let read what is hidden. The command can
// still be put into a user namespace: its parent, the supervisor, is readable.
func TestHideMemory(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	copied := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(copied, data, 0o755))
	run := func(play string) string {
		cmd := exec.Command(copied)
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SECRET=canary", "SUPERVISOR_TEST_PROGRAM=" + play,
			"SUPERVISOR_TEST_SCRIPT=cat /proc/$PROGRAM/environ 2>&1; ls /proc/$PROGRAM/fd >/dev/null 2>&1 && echo descriptors; readlink /proc/$PPID/exe"}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	open := run("supervised")
	assert.Contains(t, open, "canary", "without it the key can be read: the test can tell")
	assert.Contains(t, open, "descriptors")
	hidden := run("hidden")
	assert.NotContains(t, hidden, "canary")
	assert.NotContains(t, hidden, "descriptors")
	assert.Contains(t, hidden, copied, "the supervisor itself stays readable")
}

func BenchmarkStart(b *testing.B) {
	b.Run("supervised", func(b *testing.B) {
		s := newSupervisor(b)
		for b.Loop() {
			p, err := s.Start(supervisor.Command{Path: "/bin/true"})
			require.NoError(b, err)
			<-p.Done()
		}
	})
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command("/bin/true").Run())
		}
	})
}
