package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/tty"
)

const chatModel = `rules:
  - when: {user: never ends}
    say: Beginning **with** this and never coming to an end
    pace: {wait: 0s, delta: 1h, bytes: 20}
  - when: {user: plan}
    say: |
      ## The plan
      - **first** 日本語
      - second
      ` + "```" + `go
      x := 1
      ` + "```" + `
  - when: {user: change, step: 1}
    say: I change it.
    calls: [{tool: edit, args: {file_path: log.txt, old_string: "two\n", new_string: "2\x1b[2J\n"}}]
  - when: {user: change}
    say: It is changed.
  - when: {user: ask me, step: 1}
    calls:
      - {tool: read, args: {file_path: log.txt}}
      - tool: ask_user
        args: {questions: [
          {question: 'Which way?', header: Way, options: [{label: left, description: along the shore}, {label: right}]},
          {question: 'How fast?', header: Speed, options: [{label: slow}, {label: fast}]}]}
  - {when: {user: ask me, result: ask_user}, say: "I heard: ${result:ask_user}"}
  - when: {user: slow, step: 1}
    calls:
      - {tool: read, args: {file_path: log.txt}}
      - {tool: bash, args: {command: "touch started; sleep 600"}}
  - when: always
    say: "You said: ${user}"
`

// talker is the real program at a terminal.
type talker struct {
	*tty.Terminal
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	before any
}

// chatPlace makes a project with a model, a file and a skill.
func chatPlace(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"talk.yaml":                      chatModel,
		"log.txt":                        "one\ntwo\nthree\n",
		".grapnel/skills/knots/SKILL.md": "---\nname: knots\ndescription: Ties knots.\n---\nTie it.\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

// chatAt starts a conversation and waits for its prompt.
func chatAt(t *testing.T, dir string, columns, rows int, env ...string) *talker {
	t.Helper()
	path, err := exec.LookPath("grapnel")
	require.NoError(t, err)
	w := &talker{Terminal: tty.Open(t, columns, rows), t: t, dir: dir}
	w.before = w.Mode()
	w.cmd = exec.Command(path, "chat", "--model", "script:talk.yaml")
	w.cmd.Dir = dir
	w.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GRAPNEL_HOME=" + filepath.Join(dir, ".state"), "TERM=xterm",
	}, env...)
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = w.TTY(), w.TTY(), w.TTY()
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	w.Wait("\n>")
	return w
}

// reads types keys and waits until the program has read a line and reads the
// next one, and returns what has been added to the screen.
func (w *talker) reads(keys string) string {
	w.t.Helper()
	before, n := w.Text(), w.Reads()
	w.Type(keys)
	// The text is looked at behind the count, which may be newer than what Until saw.
	w.Until("the next line is read", func(string) bool { return w.Reads() > n && strings.HasSuffix(w.Text(), "\n>") })
	return strings.TrimPrefix(w.Text(), before)
}

// ends waits for the end of the program, which has given the terminal back.
func (w *talker) ends() int {
	w.t.Helper()
	var exit *exec.ExitError
	if err := w.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	assert.Equal(w.t, w.before, any(w.Mode()), "the terminal's mode")
	w.Finish()
	text := w.Text()
	assert.NotContains(w.t, text, "<CSI")
	assert.NotContains(w.t, text, "<ESC")
	return w.cmd.ProcessState.ExitCode()
}

func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	w := chatAt(t, chatPlace(t), 80, 40)

	assert.Regexp(t, "^ the plan\nThe plan\n• first 日本語\n• second\n```go\nx := 1\n```\n— completed · 1 step · .* tokens in, .* out · .*\n\n>$", w.reads("the plan\r"))

	// An ask with what would change, answered yes.
	n := w.Reads()
	w.Type("change it\r")
	asked := w.Until("it is asked", func(s string) bool { return w.Reads() > n && strings.HasSuffix(s, "[e]dit:") })
	assert.Contains(t, asked, "I change it.\n  → edit  file_path=log.txt old_string=two new_string=2\\x1b[2J\n\n"+
		"edit wants to run: it may change or delete things\n  log.txt\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +2\\x1b[2J\n   three\n"+
		"  Careful:\n    new_string: 1 control character, such as \\x1b\n  It reaches:\n    changes \"log.txt\"\nAllow it? [y]es, [n]o, [a]lways, ne[v]er, [e]dit:")
	done := w.reads("y\r")
	assert.Contains(t, done, "? edit asks first: allowed")
	assert.Contains(t, done, "Edited log.txt at line 2.")
	assert.Contains(t, done, "It is changed.")
	data, err := os.ReadFile(filepath.Join(w.dir, "log.txt"))
	require.NoError(t, err)
	assert.Equal(t, "one\n2\x1b[2J\nthree\n", string(data))

	// Ctrl-C in the middle of a command keeps what has finished, and shows it.
	n = w.Reads()
	w.Type("slow\r")
	w.Until("it is asked", func(s string) bool { return w.Reads() > n && strings.HasSuffix(s, "[e]dit:") })
	w.Type("y\r")
	w.Until("the fast call has ended", func(s string) bool { return strings.Contains(s, "✓ 1 read") })
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "started"))
		return err == nil
	}, tty.Patience, 5*time.Millisecond)
	stopped := w.reads("\x03")
	assert.Contains(t, stopped, "· stopping; what has finished is kept")
	assert.Contains(t, stopped, "✗ 2 bash")
	assert.Contains(t, stopped, "✗ cancelled; what had finished is kept in the conversation\n— cancelled")

	// And in the middle of an answer, which is shown as it comes.
	w.Type("one that never ends\r")
	w.Wait("\nBeginning with t")
	assert.Contains(t, w.reads("\x03"), "— cancelled")
	assert.Contains(t, w.reads("go on 👍\r"), "\nYou said: go on 👍\n— completed")

	assert.Contains(t, w.reads("/help\r"), "\n  /knots                  Ties knots.\n")
	w.Type("/kn\t")
	w.Wait("> /knots")
	assert.Contains(t, w.reads("bowline\r"), "bowline\n  · skill loaded: knots\nYou said: /knots bowline\n")
	w.Type("\x04")
	assert.Zero(t, w.ends())
	assert.Regexp(t, `\n>\n/resume [0-9A-Z]+ continues this conversation\.$`, w.Text())
}

// TestChatAnswersAsks: a reason, other arguments, and what is allowed from now on.
func TestChatAnswersAsks(t *testing.T) {
	t.Parallel()
	w := chatAt(t, chatPlace(t), 100, 60)
	ask := func() {
		n := w.Reads()
		w.Type("change it\r")
		w.Until("it is asked", func(s string) bool { return w.Reads() > n && strings.HasSuffix(s, "[e]dit:") })
	}
	ask()
	done := w.reads("n not while I watch\r")
	assert.Contains(t, done, "? edit asks first: refused")
	assert.Contains(t, done, "The user said no: not while I watch")

	ask()
	n := w.Reads()
	w.Type("e\r")
	w.Until("it can be edited", func(s string) bool {
		return w.Reads() > n && strings.Contains(s, `leaves it): {"file_path":"log.txt"`)
	})
	done = w.reads("\x15" + `{"file_path":"log.txt","old_string":"two\n","new_string":"zwei\n"}` + "\r")
	assert.Contains(t, done, "? edit asks first: allowed with other arguments")
	data, err := os.ReadFile(filepath.Join(w.dir, "log.txt"))
	require.NoError(t, err)
	assert.Equal(t, "one\nzwei\nthree\n", string(data))

	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "log.txt"), []byte("two\n"), 0o600))
	ask()
	n = w.Reads()
	w.Type("a\r")
	w.Until("it is asked what", func(s string) bool { return w.Reads() > n && strings.HasSuffix(s, "(Enter for nothing):") })
	assert.Contains(t, w.Text(), "  1  exactly this call of edit, in this conversation and the tasks that it hands out\n")
	assert.Contains(t, w.reads("1\r"), "It is changed.")
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "log.txt"), []byte("two\n"), 0o600))
	done = w.reads("change it\r")
	assert.Contains(t, done, "? edit asks first: allowed, as was remembered")
	assert.Contains(t, done, "It is changed.")
	w.Type("\x04")
	assert.Zero(t, w.ends())
}

func TestChatPutsQuestions(t *testing.T) {
	t.Parallel()
	w := chatAt(t, chatPlace(t), 80, 40)
	ask := func() {
		n := w.Reads()
		w.Type("ask me\r")
		w.Until("it is asked", func(s string) bool {
			return w.Reads() > n && strings.HasSuffix(s, "1-2, or your own words (Enter for none):")
		})
	}
	ask()
	assert.Contains(t, w.Text(), "\ngrapnel asks:\n[Way] Which way?\n  1  left: along the shore\n  2  right\n")
	n := w.Reads()
	w.Type("7\r")
	w.Until("it is asked again", func(s string) bool { return w.Reads() > n && strings.HasSuffix(s, "(Enter for none):") })
	assert.Contains(t, w.Text(), "There is no option 7.")
	n = w.Reads()
	w.Type("2\r")
	w.Until("the next one", func(s string) bool { return w.Reads() > n && strings.Contains(s, "[Speed] How fast?") })
	done := w.reads("as you like\r")
	assert.Contains(t, done, "? Which way? right\n  ? How fast? \"as you like\"\n")
	assert.Contains(t, done, "I heard: Which way? → right\nHow fast? → in their own words: as you like\n— completed")

	// Ctrl-D leaves the questions out, Ctrl-C interrupts the turn.
	ask()
	done = w.reads("\x04")
	assert.Contains(t, done, "? the question is left unanswered")
	assert.Contains(t, done, "I heard: The user put the questions aside without an answer.")
	ask()
	done = w.reads("\x03")
	assert.Contains(t, done, "— cancelled")
	assert.Contains(t, w.reads("go on\r"), "\nYou said: go on\n")

	// A signal ends the question, too, and the next line is read when that is over.
	ask()
	n = w.Reads()
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGINT))
	w.Until("the next line is read", func(string) bool { return w.Reads() > n && strings.HasSuffix(w.Text(), "\n>") })
	assert.Contains(t, w.reads("and on\r"), "\nYou said: and on\n")
	assert.Contains(t, w.reads("/continue\r"), "no turn of this conversation was interrupted; write what the agent is to do")
	w.Type("\x04")
	assert.Zero(t, w.ends())
}

func TestChatCommandsAtATerminal(t *testing.T) {
	t.Parallel()
	dir := chatPlace(t)
	w := chatAt(t, dir, 80, 40)
	w.reads("hello\r")
	w.reads(" a secret\r")
	w.Type("/hlep me\r")
	w.Wait("There is no command and no skill /hlep; did you mean /help?\nSend it to the agent as it is? [y]es, [n]o:")
	w.Type("n\r")
	w.Wait("\n> /hlep me")
	w.Type("\x15/tmp\r")
	w.Wait("There is no command and no skill /tmp.\nSend it to the agent as it is? [y]es, [n]o:")
	assert.Contains(t, w.reads("y\r"), "\nYou said: /tmp\n")
	w.Type("half\x03\x03")
	w.Wait("^C\n> ^C\nCtrl-C once more, or Ctrl-D, leaves.\n>")
	w.Type("\x03")
	assert.Zero(t, w.ends())

	// Another time the lines are still there, but not the secret.
	w = chatAt(t, dir, 80, 40)
	assert.Contains(t, w.reads("\x1b[A\x1b[A\x1b[A\r"), " hello\nYou said: hello\n")
	list := w.reads("/resume\r")
	assert.Regexp(t, `(?m)^  [0-9A-Z]{26}  .* grapnel hello$`, list)
	id := strings.Fields(list[strings.LastIndex(list, "\n  "):])[0]
	assert.Regexp(t, "Continuing "+id+" with grapnel, 6 messages so far:\n> /tmp\nYou said: /tmp\n", w.reads("/resume "+id+"\r"))
	w.Type("/quit\r")
	assert.Zero(t, w.ends())
	files, err := filepath.Glob(filepath.Join(dir, ".state", "history", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.NotContains(t, string(data), "secret")
}

func TestChatGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]struct {
		signal syscall.Signal
		code   int
	}{
		"interrupt":   {syscall.SIGINT, 0},
		"termination": {syscall.SIGTERM, exitTerminated},
		"hangup":      {syscall.SIGHUP, exitHungUp},
		"quit":        {syscall.SIGQUIT, exitTerminated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := chatAt(t, chatPlace(t), 80, 24)
			w.Type("half a line")
			w.Wait("half a line")
			assert.NotEqual(t, w.before, any(w.Mode()))
			require.NoError(t, w.cmd.Process.Signal(send.signal))
			if send.signal == syscall.SIGINT {
				w.Wait("leaves.\n>")
				require.NoError(t, w.cmd.Process.Signal(send.signal))
			}
			assert.Equal(t, send.code, w.ends())
		})
	}
}

func TestChatInASmallOrSimpleTerminal(t *testing.T) {
	t.Parallel()
	t.Run("20 columns", func(t *testing.T) {
		t.Parallel()
		w := chatAt(t, chatPlace(t), 80, 24)
		w.Resize(20, 8)
		w.Type("日本語 日本語 日本語 日本語")
		w.Wait("> 日本語 日本語 日\n本語 日本語")
		assert.Contains(t, w.reads("\r"), "\nYou said: 日本語 日\n本語 日本語 日本語\n")
		w.Type("\x04")
		assert.Zero(t, w.ends())
	})
	t.Run("no colour", func(t *testing.T) {
		t.Parallel()
		w := chatAt(t, chatPlace(t), 80, 24, "NO_COLOR=1")
		assert.Contains(t, w.reads("plan\r"), "\n## The plan\n- **first** 日本語\n", "the source")
		w.Type("\x04")
		assert.Zero(t, w.ends())
	})
	t.Run("dumb", func(t *testing.T) {
		t.Parallel()
		w := chatAt(t, chatPlace(t), 80, 24, "TERM=dumb")
		w.Type("one\\\ntwo\n")
		w.Until("it answers", func(s string) bool {
			return strings.Contains(s, "You said: one\ntwo\n— completed") && strings.HasSuffix(s, ">")
		})
		w.Type("change\n")
		w.Wait("[e]dit:")
		w.Type("n\n")
		w.Until("it is refused", func(s string) bool { return strings.Contains(s, "asks first: refused") && strings.HasSuffix(s, ">") })
		w.Type("\x03")
		w.Wait("leaves.\n>")
		w.Type("\x04")
		assert.Zero(t, w.ends())
		assert.Zero(t, w.Reads(), "no control sequence at all")
	})
}
