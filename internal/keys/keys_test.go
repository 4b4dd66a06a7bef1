package keys_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/keys"
	"github.com/grapnel-go/grapnel/internal/supervisor"
)

const canary = "sk-canary-0123456789"

// env returns a look-up of these variables.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

func commands(t *testing.T) *supervisor.Supervisor {
	t.Helper()
	s := supervisor.New()
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func shell(script string) keys.Source { return keys.Source{Command: []string{"sh", "-c", script}} }

func TestAKeyIsReadFromWhereItIs(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "key"), []byte(canary+"\n"), 0o600))
	k := keys.New(&keys.Options{
		Commands: commands(t),
		Getenv:   env(map[string]string{"THE_KEY": " " + canary + "\n", "HOME": home}),
		Keyring: func(service, account string) (string, error) {
			assert.Equal(t, []string{"grapnel", "work"}, []string{service, account})
			return canary, nil
		},
	})
	for name, s := range map[string]keys.Source{
		"variable": {Env: "THE_KEY"}, "file": {File: write(t, canary+"\n", 0o400)}, "file at home": {File: "~/key"}, "keyring": {Keyring: "work"},
		"command": shell("pwd >&2; echo " + canary), "much beside it": shell("head -c 1000000 /dev/zero >&2; echo " + canary),
	} {
		got, err := k.Read(t.Context(), s)
		require.NoError(t, err, name)
		assert.Equal(t, canary, got.Reveal(), name)
		present, hint := k.Present(s)
		assert.True(t, present, name)
		assert.Equal(t, s.String(), hint, name)
	}
}

func TestAKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	open := write(t, canary, 0o644)
	k := keys.New(&keys.Options{
		Commands: commands(t), Getenv: env(map[string]string{"TWO_LINES": canary + "\n" + canary, "ODD": canary + "é", "HOME": t.TempDir()}),
		Keyring: func(string, string) (string, error) { return "", errors.New("it is locked") },
	})
	for want, s := range map[string]keys.Source{
		"the key from the variable NONE: it is not set":                                                                                              {Env: "NONE"},
		"the key from the variable TWO_LINES: it must be a key in one line":                                                                          {Env: "TWO_LINES"},
		"the key from the variable ODD: it has a blank or another character that no key has":                                                         {Env: "ODD"},
		"the key from the file " + open + ": others can read or change " + open + "; run: chmod 600 " + open:                                         {File: open},
		"the key from the file /dev/zero: /dev/zero: is a device, no regular file; put a file with the text in its place":                            {File: "/dev/zero"},
		"the key from the keyring's entry work: it is locked":                                                                                        {Keyring: "work"},
		"the key from nowhere: no source is named":                                                                                                   {},
		"the key from the command no-such-program: there is no program no-such-program in the PATH":                                                  {Command: []string{"no-such-program", canary}},
		"the key from the command helper: bin/helper depends on the working directory; write an absolute path, or the name of a program in the PATH": {Command: []string{"bin/helper"}},
		"the key from the command sh: it failed with exit status 3: no [hidden] today, \\x1b[31m sorry":                                              shell("echo " + canary + "; printf 'no " + canary + "\\n today, \\033[31m sorry' >&2; exit 3"),
		"the key from the command sh: it is empty":                                                                                                   shell("true"),
		"the key from the command sh: it is longer than 16384 bytes":                                                                                 shell("head -c 100000 /dev/zero | tr '\\0' x"),
		"the key from the command sh: it must be a key in one line":                                                                                  shell("echo " + canary + "; echo more"),
		"the key from the command sh: it failed with signal 9 (killed)":                                                                              shell("kill -9 $$"),
	} {
		got, err := k.Read(t.Context(), s)
		assert.EqualError(t, err, want)
		assert.Equal(t, keys.Secret{}, got, want)
		assert.NotContains(t, fmt.Sprint(err), canary)
	}
}

// TestACommandHasATime: a command that does not end is killed with what it started, and says
// why in its own words.
func TestACommandHasATime(t *testing.T) {
	t.Parallel()
	k := keys.New(&keys.Options{Commands: commands(t)})
	begun := filepath.Join(t.TempDir(), "begun")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for {
			if _, err := os.Stat(begun); err == nil || ctx.Err() != nil {
				cancel(errors.New("the user left"))
				return
			}
			<-time.After(time.Millisecond)
		}
	}()
	_, err := k.Read(ctx, shell("echo waiting for a finger >&2; touch "+begun+"; sleep 600 & sleep 600"))
	assert.EqualError(t, err, "the key from the command sh: it did not end in time and was killed: the user left: waiting for a finger")
	_, err = keys.New(&keys.Options{Commands: commands(t), Timeout: time.Millisecond}).Read(t.Context(), shell("sleep 600"))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestAKeyIsReadOnce: however many ask at the same time.
func TestAKeyIsReadOnce(t *testing.T) {
	t.Parallel()
	var read atomic.Int32
	answers := make(chan string)
	k := keys.New(&keys.Options{Keyring: func(string, string) (string, error) {
		read.Add(1)
		return <-answers, nil
	}})
	s := keys.Source{Keyring: "work"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := k.Read(t.Context(), s)
			assert.NoError(t, err)
			assert.Equal(t, canary, got.Reveal())
		})
	}
	answers <- canary
	all.Wait()
	assert.EqualValues(t, 1, read.Load())

	k.Forget(s)
	go func() { answers <- canary + "-new" }()
	got, err := k.Read(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, canary+"-new", got.Reveal())
}

// TestAKeyringThatHangs: who waits can leave, and the answer that comes later counts.
func TestAKeyringThatHangs(t *testing.T) {
	t.Parallel()
	answers := make(chan string)
	k := keys.New(&keys.Options{Timeout: time.Millisecond, Keyring: func(string, string) (string, error) { return <-answers, nil }})
	s := keys.Source{Keyring: "work"}
	_, err := k.Read(t.Context(), s)
	assert.EqualError(t, err, "the key from the keyring's entry work: the keyring did not answer: context deadline exceeded; unlock it and try again")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = k.Read(ctx, s)
	assert.ErrorIs(t, err, context.Canceled)
	answers <- canary
	got, err := k.Read(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, canary, got.Reveal())
}

// TestASecretIsNeverShown: with any verb, in JSON, in logs, within other values.
func TestASecretIsNeverShown(t *testing.T) {
	t.Parallel()
	secret, err := keys.New(&keys.Options{Getenv: env(map[string]string{"K": canary})}).Read(t.Context(), keys.Source{Env: "K"})
	require.NoError(t, err)
	holder := struct{ Key keys.Secret }{secret}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v"} {
		args := []any{secret, &secret, holder, &holder, []keys.Secret{secret}, map[string]keys.Secret{"a": secret}}
		for _, a := range args {
			if strings.HasPrefix(verb, "%T") {
				fmt.Fprintf(&out, verb, a, a)
				continue
			}
			fmt.Fprintf(&out, verb, a)
		}
	}
	text, err := json.Marshal(holder)
	require.NoError(t, err)
	out.Write(text)
	slog.New(slog.NewTextHandler(&out, nil)).Info("log", "key", secret, "holder", holder)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("log", "key", secret, "holder", holder)
	assert.NotContains(t, out.String(), canary)
	assert.NotContains(t, out.String(), fmt.Sprintf("%x", canary))
	assert.Contains(t, out.String(), `{"Key":"[hidden]"}`)
}

func TestTheVariablesOfAKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		vars map[string]string
		want keys.Source
		err  string
	}{
		"none":   {nil, keys.Source{}, ""},
		"first":  {map[string]string{"A": "1", "B": "2"}, keys.Source{Env: "A"}, ""},
		"second": {map[string]string{"B": "2"}, keys.Source{Env: "B"}, ""},
		"file":   {map[string]string{"A_FILE": "/k", "B": "2"}, keys.Source{File: "/k"}, ""},
		"both":   {map[string]string{"A_FILE": "/k", "A": "2"}, keys.Source{}, "both A and A_FILE are set; unset one of them"},
	} {
		got, err := keys.FromEnv(env(c.vars), "A", "B")
		assert.Equal(t, c.want, got, name)
		if c.err != "" {
			assert.EqualError(t, err, c.err, name)
		}
	}
}

func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	k := keys.New(&keys.Options{Getenv: env(nil)})
	for want, s := range map[string]keys.Source{
		"no key": {}, "A is not set": {Env: "A"}, "/nowhere/key: does not exist": {File: "/nowhere/key"},
		"~ has no meaning without HOME; write the whole path": {File: "~/key"},
	} {
		present, hint := k.Present(s)
		assert.False(t, present)
		assert.Equal(t, want, hint)
	}
}
