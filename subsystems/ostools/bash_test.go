package ostools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

type output struct {
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  int    `json:"exit_code"`
	Truncated bool   `json:"truncated"`
	TimedOut  bool   `json:"timed_out"`
}

// outputOf returns the JSON of a result, its last block.
func outputOf(t testing.TB, r message.ToolResult) output {
	t.Helper()
	var out output
	last := r.Content.At(r.Content.Len() - 1)
	require.Equal(t, message.BlockJSON, last.Kind)
	require.NoError(t, json.Unmarshal([]byte(last.JSON), &out))
	return out
}

func bash(t testing.TB, o *ostools.OS, in ostools.BashInput) (message.ToolResult, output) {
	t.Helper()
	r, err := o.Bash(t.Context(), env, in)
	require.NoError(t, err)
	return r, outputOf(t, r)
}

func TestBash(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, map[string]string{"here": "x"})
	tests := []struct {
		name string
		in   ostools.BashInput
		want output
	}{
		{"both outputs and the code", ostools.BashInput{Command: "echo out; echo err >&2; exit 3"}, output{Stdout: "out\n", Stderr: "err\n", ExitCode: 3}},
		{"in the root", ostools.BashInput{Command: "pwd; ls"}, output{Stdout: root + "\nhere\n"}},
		{"no input", ostools.BashInput{Command: "cat; echo end"}, output{Stdout: "end\n"}},
		{"several lines", ostools.BashInput{Command: "x=1\nif [ $x = 1 ]; then\n echo yes\nfi"}, output{Stdout: "yes\n"}},
		{"a variable of the call", ostools.BashInput{Command: `echo "$A $B"`, Env: map[string]string{"A": "1 2", "B": "$A"}}, output{Stdout: "1 2 $A\n"}},
		{"a signal", ostools.BashInput{Command: "kill -9 $$"}, output{ExitCode: 137}},
		{"unknown command", ostools.BashInput{Command: "exec 2>/dev/null; nosuchcommand"}, output{ExitCode: 127}},
		{"bytes that are not UTF-8", ostools.BashInput{Command: `printf 'a\377\000b'`}, output{Stdout: "a\uFFFD\x00b"}},
		{"markup stays readable", ostools.BashInput{Command: `echo '<a> & "b"'`}, output{Stdout: "<a> & \"b\"\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, got := bash(t, o, tt.in)
			assert.Equal(t, tt.want, got)
			assert.False(t, r.IsError(), "an exit code is no failure")
			assert.Equal(t, message.TrustExternal, r.Trust, "what a command prints may be from anywhere")
		})
	}
	r, _ := bash(t, o, ostools.BashInput{Command: "echo '<&>'"})
	assert.Equal(t, `{"stdout":"<&>\n","stderr":"","exit_code":0}`, r.Text())
}

func TestBashInheritsNoSecrets(t *testing.T) {
	t.Parallel()
	o, err := ostools.New(t.TempDir(), &ostools.Options{Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "TERM=dumb", "TMPDIR=/t", "SHELL=/s", "TZ=UTC",
		"OPENAI_API_KEY=canary", "AWS_SECRET_ACCESS_KEY=canary", "PATHS=canary", "LD_PRELOAD=canary", "BASH_ENV=canary",
	}})
	require.NoError(t, err)
	defer o.Close()
	_, got := bash(t, o, ostools.BashInput{Command: "env", Env: map[string]string{"MINE": "1"}})
	assert.NotContains(t, got.Stdout, "canary")
	for _, want := range []string{"HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "TERM=dumb", "TMPDIR=/t", "TZ=UTC", "MINE=1"} {
		assert.Contains(t, strings.Split(got.Stdout, "\n"), want)
	}
}

func TestBashRefuses(t *testing.T) {
	t.Parallel()
	o, root := newOS(t, nil)
	tests := []struct {
		name  string
		grant hook.Grant
		in    ostools.BashInput
		kind  message.FailureKind
	}{
		{"what cannot be kept read-only", hook.Grant{ReadOnly: true}, ostools.BashInput{Command: "true"}, message.FailDenied},
		{"what cannot be kept off the network", hook.Grant{NoNetwork: true}, ostools.BashInput{Command: "true"}, message.FailDenied},
		{"what cannot be confined", hook.Grant{Root: root}, ostools.BashInput{Command: "true"}, message.FailDenied},
		{"everything", hook.Grant{Void: true}, ostools.BashInput{Command: "true"}, message.FailDenied},
		{"a variable without a name", hook.Grant{}, ostools.BashInput{Command: "true", Env: map[string]string{"": "x"}}, message.FailArguments},
		{"two variables in one", hook.Grant{}, ostools.BashInput{Command: "true", Env: map[string]string{"A=B": "x"}}, message.FailArguments},
		{"NUL", hook.Grant{}, ostools.BashInput{Command: "true\x00"}, message.FailArguments},
		{"a command that is too long to start", hook.Grant{}, ostools.BashInput{Command: strings.Repeat(":\n", 1<<20)}, message.FailOperation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := o.Bash(t.Context(), granted(tt.grant), tt.in)
			kind, _ := failure(t, err)
			assert.Equal(t, tt.kind, kind)
		})
	}
}

// gone waits until no process of the id is left that still runs. A zombie counts
// as gone: it waits for whoever adopted it.
func gone(t *testing.T, pid string) {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(pid))
	require.NoError(t, err)
	assert.Eventually(t, func() bool {
		if syscall.Kill(id, 0) != nil {
			return true
		}
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, time.Minute, time.Millisecond, "process %d is still alive", id)
}

func TestBashKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	// A child whose own child holds both outputs; the file tells who it is.
	const family = `sh -c 'sleep 1000 & echo $! > grandchild; echo started; wait' `
	const started = `; while [ ! -s grandchild ]; do :; done`
	t.Run("on timeout", func(t *testing.T) {
		t.Parallel()
		o, root := newOS(t, nil)
		r, got := bash(t, o, ostools.BashInput{Command: family, Timeout: 3000})
		assert.Equal(t, message.FailTimeout, r.Failure)
		assert.Equal(t, output{Stdout: "started\n", ExitCode: 137, TimedOut: true}, got)
		assert.Contains(t, r.Text(), "The command took longer than 3s and was killed")
		gone(t, content(t, root, "grandchild"))
	})
	t.Run("on cancel", func(t *testing.T) {
		t.Parallel()
		o, root := newOS(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for ctx.Err() == nil {
				if data, err := os.ReadFile(filepath.Join(root, "grandchild")); err == nil && strings.HasSuffix(string(data), "\n") {
					return
				}
			}
		}()
		r, err := o.Bash(ctx, env, ostools.BashInput{Command: family})
		require.NoError(t, err)
		assert.Equal(t, message.FailCancelled, r.Failure)
		gone(t, content(t, root, "grandchild"))
	})
	t.Run("when the shell ends first", func(t *testing.T) {
		t.Parallel()
		o, root := newOS(t, nil)
		r, got := bash(t, o, ostools.BashInput{Command: family + "&" + started[1:] + "; echo done"})
		assert.False(t, r.IsError())
		assert.Contains(t, got.Stdout, "done\n")
		gone(t, content(t, root, "grandchild"))
	})
	t.Run("when the shell ends first and nobody holds the outputs", func(t *testing.T) {
		t.Parallel()
		o, root := newOS(t, nil)
		_, got := bash(t, o, ostools.BashInput{Command: `sleep 1000 >/dev/null 2>&1 & echo $! > grandchild; echo done`})
		assert.Equal(t, "done\n", got.Stdout)
		gone(t, content(t, root, "grandchild"))
	})
	t.Run("a deadline of the caller is a timeout too", func(t *testing.T) {
		t.Parallel()
		o, _ := newOS(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		r, err := o.Bash(ctx, env, ostools.BashInput{Command: "echo a; sleep 1000"})
		require.NoError(t, err)
		assert.Equal(t, message.FailTimeout, r.Failure)
		assert.True(t, outputOf(t, r).TimedOut)
		assert.Contains(t, r.Text(), "The time for this call ran out")
	})
	t.Run("nothing is started when it is cancelled before", func(t *testing.T) {
		t.Parallel()
		o, root := newOS(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := o.Bash(ctx, env, ostools.BashInput{Command: "touch started"})
		assert.ErrorIs(t, err, context.Canceled)
		assert.NoFileExists(t, filepath.Join(root, "started"))
	})
	t.Run("a process that left the group does not hold the call", func(t *testing.T) {
		t.Parallel()
		needs.Program(t, "setsid")
		o, root := newOS(t, nil)
		_, got := bash(t, o, ostools.BashInput{Command: `setsid sh -c 'echo $$ > grandchild; exec sleep 1000' & ` + started[2:]})
		assert.Zero(t, got.ExitCode)
		id, err := strconv.Atoi(strings.TrimSpace(content(t, root, "grandchild")))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(id, syscall.SIGKILL), "it is out of reach and said to be")
	})
}

// The output is bounded while it comes, not when it is complete: the whole of
// it never exists. The shell is told to be fast, the test measures bytes.
func TestBashOutputIsBounded(t *testing.T) {
	o, _ := newOS(t, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, got := bash(t, o, ostools.BashInput{Command: `echo first; head -c 104857600 /dev/zero | tr '\0' 'x'; echo; echo last`, Timeout: 120_000})
	runtime.ReadMemStats(&after)
	assert.False(t, r.IsError())
	assert.True(t, got.Truncated)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), "bytes allocated for 100 MB of output")
	assert.Less(t, len(got.Stdout), 33<<10)
	assert.True(t, strings.HasPrefix(got.Stdout, "first\nxxx"))
	assert.True(t, strings.HasSuffix(got.Stdout, "xxx\nlast\n"))
	assert.Contains(t, got.Stdout, "\n[… 104824844 bytes left out …]\n", "104857600 + 12 − 32768")
}

func TestBashCutsBetweenRunes(t *testing.T) {
	t.Parallel()
	o, _ := newOS(t, map[string]string{"text": strings.Repeat("€", 50_000)})
	for _, grant := range []hook.Grant{{}, {MaxOutput: 1000}, {MaxOutput: 1001}, {MaxOutput: 1002}, {MaxOutput: 7}, {MaxOutput: 1}} {
		r, err := o.Bash(t.Context(), granted(grant), ostools.BashInput{Command: "cat text"})
		require.NoError(t, err)
		got := outputOf(t, r)
		assert.True(t, got.Truncated)
		assert.True(t, utf8.ValidString(got.Stdout))
		assert.NotContains(t, got.Stdout, "\uFFFD")
		if grant.MaxOutput > 0 {
			assert.LessOrEqual(t, len(got.Stdout), grant.MaxOutput+50)
		}
	}
}

func BenchmarkBash(b *testing.B) {
	o, _ := newOS(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		_, err := o.Bash(b.Context(), env, ostools.BashInput{Command: "true"})
		require.NoError(b, err)
	}
}
