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
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var every = flag.Int("escape.every", 1, "of so many escapes and jobs one is played; with -short of eight times as many")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	cmd.WaitDelay = 100 * time.Millisecond // a process that is left behind may hold the pipes
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
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
		part *= 8
	}
	return slices.DeleteFunc(cases, func(c Case) bool {
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.Name))
		return int(h.Sum32()%uint32(part)) != 0 //nolint:gosec // a small number
	})
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

// Every escape reaches every goal where nothing confines it.
func TestEscapesWorkWithoutASandbox(t *testing.T) {
	for name, id := range users() {
		t.Run(name, func(t *testing.T) {
			m := prepared(t, id)
			t.Run("play", func(t *testing.T) {
				for _, c := range chosen(t, Escapes) {
					t.Run(c.Name, func(t *testing.T) {
						t.Parallel()
						if lacks := m.Lacks(t.Context(), &c); lacks != "" {
							needs.Lacking(t, lacks+" is missing")
						}
						played, err := m.Play(t.Context(), &c, RunnerFunc(plain))
						require.NoError(t, err)
						if reason := m.Inert(&c); reason != "" {
							if len(played.Held) > 0 {
								t.Logf("it works here all the same (%s): %v", reason, &played)
							}
							return
						}
						assert.Empty(t, played.Missed, "%v", &played)
					})
				}
			})
		})
	}
}

// Every ordinary job succeeds.
func TestJobsSucceedWithoutASandbox(t *testing.T) {
	for name, id := range users() {
		t.Run(name, func(t *testing.T) {
			m := prepared(t, id)
			t.Run("play", func(t *testing.T) {
				for _, c := range chosen(t, Jobs) {
					t.Run(c.Name, func(t *testing.T) {
						t.Parallel()
						if lacks := m.Lacks(t.Context(), &c); lacks != "" {
							needs.Lacking(t, lacks+" is missing")
						}
						played, err := m.Play(t.Context(), &c, RunnerFunc(plain))
						require.NoError(t, err)
						assert.Empty(t, played.Missed, "%v", &played)
					})
				}
			})
		})
	}
}

// A runner that does nothing reaches no goal and does no job: the conditions do not hold by themselves.
func TestNothingReachesNothing(t *testing.T) {
	m := prepared(t, Myself())
	nothing := RunnerFunc(func(context.Context, *World, string) (Result, error) { return Result{Exit: -1}, nil })
	t.Run("play", func(t *testing.T) {
		for _, load := range []func() ([]Case, error){Escapes, Jobs} {
			for _, c := range chosen(t, load) {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					if lacks := m.Lacks(t.Context(), &c); lacks != "" {
						needs.Lacking(t, lacks+" is missing")
					}
					played, err := m.Play(t.Context(), &c, nothing)
					require.NoError(t, err)
					if c.Promise != "" {
						assert.Empty(t, played.Held, "%v", &played)
					} else {
						assert.NotEmpty(t, played.Missed, "%v", &played)
					}
				})
			}
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
		assert.NotContains(t, c.Command+c.Again+c.Innocent, "{{secret}}", c.Name)
	}
	for _, promise := range Promises() {
		assert.Positive(t, attacked[promise], promise)
	}
	t.Logf("FIGURE inert=%d for everybody, %d for root, %d for an ordinary user", both, root, user)
	assert.LessOrEqual(t, root, 12)
	for _, c := range slices.Concat(escapes, jobs) {
		for text := range strings.SplitSeq(c.Command+c.Setup+c.Again+c.Innocent, "{{") {
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
