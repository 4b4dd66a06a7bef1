package escape

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"hash/fnv"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var every = flag.Int("escape.every", 16, "of so many escapes and jobs one is played; with -short of four times as many")

func TestMain(m *testing.M) {
	if os.Getenv(sandboxed) != "" {
		os.Exit(inSandbox())
	}
	goleak.VerifyTestMain(m)
}

// plain is a runner without a sandbox: an escape that does not work with it proves nothing.
func plain(ctx context.Context, w *World, command string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = w.Project, w.Environ, w.Inherited, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: w.Terminal == nil, Setsid: w.Terminal != nil, Setctty: w.Terminal != nil}
	if w.Terminal != nil {
		cmd.Stdin = w.Terminal
	}
	if w.ID != Myself() {
		cmd.SysProcAttr.Credential = w.ID.Credential()
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond // a process that is left behind may hold the pipes
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return Result{}, err
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, err
}

// chosen are the cases that are played.
func chosen(t *testing.T, load func() ([]Case, error)) []Case {
	t.Helper()
	cases, err := load()
	require.NoError(t, err)
	part := *every
	if testing.Short() {
		part *= 4
	}
	return slices.DeleteFunc(cases, func(c Case) bool {
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.Name))
		return int(h.Sum32()%uint32(part)) != 0 //nolint:gosec // a small number
	})
}

// TestTheBatteryAsRoot plays it once more for a root who has run the other tests as an ordinary user, as CI does.
func TestTheBatteryAsRoot(t *testing.T) {
	needs.Root(t)
	needs.Time(t)
	t.Run("escapes", TestNoEscapeSucceeds)
	t.Run("jobs", TestJobsSucceedInTheSandbox)
	t.Run("reduced", TestReduced)
}

// users are those as whom the battery can be played: who runs the test and, if that is root, an ordinary user.
func users() map[string]Identity {
	out := map[string]Identity{"myself": Myself()}
	if os.Getuid() == 0 {
		out["ordinary user"] = Nobody()
	}
	return out
}

// prepared is a machine for the worlds of a user, in a directory that goes when the test ends.
func prepared(t *testing.T, id Identity) *Machine {
	t.Helper()
	for _, program := range []string{"bash", "git", "go", "cp"} {
		needs.Program(t, program)
	}
	dir, err := os.MkdirTemp("/var/tmp", "escape") // a sandbox hides /tmp
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	m, err := Prepare(t.Context(), dir, id)
	require.NoError(t, err)
	return m
}

// play plays cases at once, each in a test of its own, and gives what each has come to to a function. It leaves out those for which the
// machine lacks something and says how many; it returns the number of the others.
func play(t *testing.T, m *Machine, cases []Case, r Runner, judge func(t *testing.T, c *Case, p *Played)) int {
	t.Helper()
	cases = slices.DeleteFunc(cases, func(c Case) bool {
		lacks := m.Lacks(t.Context(), &c)
		if lacks != "" {
			t.Logf("LEFT OUT: %s: this machine has no %s", c.Name, lacks)
		}
		return lacks != ""
	})
	t.Run("play", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				played, err := m.Play(t.Context(), &c, r)
				require.NoError(t, err)
				judge(t, &c, &played)
			})
		}
	})
	return len(cases)
}

// enough reports whether so many cases are as many as wanted, of a battery of which every chosen part is played.
func enough(t *testing.T, played, wanted int) {
	t.Helper()
	t.Logf("FIGURE played=%d", played)
	if *every == 1 && !testing.Short() {
		assert.GreaterOrEqual(t, played, wanted)
	}
}

// Every escape reaches every goal where nothing confines it.
func TestEscapesWorkWithoutASandbox(t *testing.T) {
	for name, id := range users() {
		t.Run(name, func(t *testing.T) {
			m := prepared(t, id)
			var reached atomic.Int32
			n := play(t, m, chosen(t, Escapes), RunnerFunc(plain), func(t *testing.T, c *Case, p *Played) {
				t.Helper()
				reason := m.Inert(c)
				if reason == "" {
					assert.Empty(t, p.Missed, "%v", p)
					reached.Add(1)
				} else if len(p.Held) > 0 {
					t.Logf("it works here all the same (%s): %v", reason, p)
				}
			})
			t.Logf("FIGURE bad.plain=%d escapes reach their goals", reached.Load())
			enough(t, n, 75)
		})
	}
}

// Every ordinary job succeeds.
func TestJobsSucceedWithoutASandbox(t *testing.T) {
	for name, id := range users() {
		t.Run(name, func(t *testing.T) {
			n := play(t, prepared(t, id), chosen(t, Jobs), RunnerFunc(plain), func(t *testing.T, _ *Case, p *Played) {
				t.Helper()
				assert.Empty(t, p.Missed, "%v", p)
			})
			enough(t, n, 15)
		})
	}
}

// A runner that does nothing reaches no goal and does no job: the conditions do not hold by themselves.
func TestNothingReachesNothing(t *testing.T) {
	nothing := RunnerFunc(func(context.Context, *World, string) (Result, error) { return Result{Exit: -1}, nil })
	m := prepared(t, Myself())
	play(t, m, slices.Concat(chosen(t, Escapes), chosen(t, Jobs)), nothing, func(t *testing.T, c *Case, p *Played) {
		t.Helper()
		if c.Promise != "" {
			assert.Empty(t, p.Held, "%v", p)
		} else {
			assert.NotEmpty(t, p.Missed, "%v", p)
		}
	})
}

// The battery is as large as it promises to be, attacks every promise, and gives no escape its goal.
func TestBattery(t *testing.T) {
	escapes, err := Escapes()
	require.NoError(t, err)
	jobs, err := Jobs()
	require.NoError(t, err)
	t.Logf("FIGURE escapes=%d", len(escapes))
	t.Logf("FIGURE jobs=%d", len(jobs))
	assert.GreaterOrEqual(t, len(escapes), 75)
	assert.GreaterOrEqual(t, len(jobs), 18)
	attacked := map[string]int{}
	root, user, both := 0, 0, 0
	for _, c := range escapes {
		attacked[c.Promise]++
		if c.Inert.Root != "" {
			root++
		}
		if c.Inert.User != "" {
			user++
		}
		if c.Inert.Root != "" && c.Inert.User != "" {
			both++
		}
		assert.NotContains(t, c.Command+c.Again+c.Meanwhile+c.Innocent, "{{secret}}", c.Name)
	}
	for _, promise := range Promises() {
		assert.Positive(t, attacked[promise], promise)
	}
	t.Logf("FIGURE inert=%d for everybody, %d for root, %d for an ordinary user", both, root, user)
	assert.LessOrEqual(t, root, 12)
	for _, c := range slices.Concat(escapes, jobs) {
		for text := range strings.SplitSeq(c.Command+c.Setup+c.Again+c.Meanwhile+c.Innocent, "{{") {
			if name, _, ok := strings.Cut(text, "}}"); ok && !strings.ContainsAny(name, " \"'") {
				assert.Contains(t, places(), name, c.Name)
			}
		}
	}
}

// places are those that a text may have.
func places() []string {
	return []string{
		"project", "home", "outside", "mark", "secret", "gocache", "run", "attacker", "victim", "tmpfile", "key", "socket", "gram", "abstract",
		"tcp", "tcpport", "tcp6", "tcp6port", "udp", "udpport", "pid", "tty", "source", "modcache",
	}
}

// A file of cases in which something is missing or doubtful is an error.
func TestConditionsSayOneThing(t *testing.T) {
	zero := 0
	tests := []struct {
		name string
		cond Condition
		want int
	}{
		{"nothing", Condition{}, 0},
		{"only a detail", Condition{Has: "x", Larger: 1}, 0},
		{"a file with a text", Condition{File: "/x", Has: "x"}, 1},
		{"ends with 0", Condition{Exit: &zero}, 1},
		{"two", Condition{File: "/x", Lives: true}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.cond.kinds()) })
	}
}

// What Changed looks at shows every change that an attacker may make.
func TestStateShowsChanges(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"bytes": func(file string) error { return os.WriteFile(file, []byte("other"), 0o600) },
		"mode":  func(file string) error { return os.Chmod(file, 0o640) },
		"times": func(file string) error { return os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)) },
		"names": func(file string) error { return os.Link(file, file+".same") },
		"new":   func(file string) error { return os.WriteFile(file+".new", nil, 0o600) },
		"gone":  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := dir + "/file"
			require.NoError(t, os.WriteFile(file, []byte("bytes"), 0o600))
			before := state(dir)
			assert.Equal(t, before, state(dir))
			require.NoError(t, change(file))
			assert.NotEqual(t, before, state(dir))
		})
	}
}
