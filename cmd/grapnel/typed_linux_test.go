package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/tty"
)

// trials is how often each thing is tried.
var trials = flag.Int("typed.trials", 12, "how often something is typed too early")

// typedModel thinks for a moment before each of its calls.
func typedModel() string {
	var sb strings.Builder
	sb.WriteString("rules:\n")
	for i := range *trials {
		fmt.Fprintf(&sb, `  - when: {user: early, step: %d}
    say: "thinking %d for a while, and then for another while, until it is clear what to do"
    pace: {wait: 0s, delta: 60ms, bytes: 14}
    calls: [{tool: write, args: {file_path: early%d, content: x}}]
  - when: {user: twice, step: %d}
    say: "thinking %d"
    calls: [{tool: write, args: {file_path: a%d, content: x}}, {tool: write, args: {file_path: b%d, content: x}}]
`, i+1, i, i, i+1, i, i, i)
	}
	sb.WriteString(`  - {when: {user: ask me, step: 1}, say: "thinking about it", pace: {wait: 0s, delta: 60ms, bytes: 9}, calls: [
      {tool: ask_user, args: {questions: [{question: 'One?', header: A, options: [{label: left}, {label: right}]}, {question: 'Two?', header: B, options: [{label: up}, {label: down}]}]}}]}
  - {when: {user: ask me}, say: "heard"}
  - {when: always, say: done}
`)
	return sb.String()
}

// hasty is the known-bad variant: it takes what was typed before the question.
type hasty struct {
	ed  *edit.Editor
	out *screen.Output
}

func (h hasty) Answer(ctx context.Context, question string) (string, error) {
	_ = h.out.Print(screen.Rows(question))
	return h.ed.Read(ctx, edit.Line{})
}

func (h hasty) Edit(ctx context.Context, question, _ string) (string, error) {
	return h.Answer(ctx, question)
}

func (h hasty) Close() error { return h.ed.Close() }

// grapnelHasty is the program with the bad variant.
func grapnelHasty() {
	c := newCommand(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	c.NewPerson = func(in, out *os.File) (term.Answers, error) {
		ed, err := edit.New(in, out, &edit.Options{Dumb: true})
		return hasty{ed, screen.New(out)}, err
	}
	os.Exit(c.execute(os.Args[1:]))
}

// typist is a program at a terminal, and the terminal.
type typist struct {
	*tty.Terminal
	dir string
	cmd *exec.Cmd
}

func typistPlace(t *testing.T) string {
	dir := shortDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "typed.yaml"), []byte(typedModel()), 0o600))
	agents := filepath.Join(dir, ".grapnel", "agents")
	require.NoError(t, os.MkdirAll(agents, 0o700))
	unlimited := "---\nguard: {steps: -1, repeats: -1, tokens: -1, time: off}\n---\nDo it.\n" // each question is a step
	require.NoError(t, os.WriteFile(filepath.Join(agents, "grapnel.md"), []byte(unlimited), 0o600))
	return dir
}

// programAt starts a program at a terminal in a directory.
func programAt(t *testing.T, dir, program string, args ...string) *typist {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	w := &typist{Terminal: tty.Open(t, 150, 400), dir: dir}
	w.cmd = exec.Command(path, args...)
	w.cmd.Dir = dir
	w.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GRAPNEL_HOME=" + filepath.Join(dir, ".state"), "XDG_RUNTIME_DIR=" + dir, "TERM=xterm"}
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = w.TTY(), w.TTY(), w.TTY()
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill(); _ = w.cmd.Wait() })
	return w
}

// daemonAt serves the directory until the test ends.
func daemonAt(t *testing.T, dir string) {
	path, err := exec.LookPath("grapnel")
	require.NoError(t, err)
	cmd := exec.Command(path, "serve", "--model", "script:typed.yaml")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GRAPNEL_HOME=" + filepath.Join(dir, ".state"), "XDG_RUNTIME_DIR=" + dir}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	if _, err = out.Read(make([]byte, 1)); err != nil {
		ended()
		require.NoError(t, err, "the daemon does not serve: %s", said.String())
	}
	t.Cleanup(ended)
}

const allowIt = "Allow it? [y]es, [n]o, "

// early types a yes while the model thinks, and no when it asks. It returns how
// many calls ran all the same.
func (w *typist) early(t *testing.T, enter string) int {
	for i := range *trials {
		w.Until("it thinks", func(s string) bool { return strings.Contains(s, fmt.Sprintf("thinking %d", i)) })
		w.Type("y" + enter)
		w.Until("it asks, or goes on", func(s string) bool {
			return strings.Count(s, allowIt) > i || strings.Contains(s, fmt.Sprintf("thinking %d", i+1)) || strings.Contains(s, "— ")
		})
		w.Type("n" + enter)
	}
	return w.written(t, "early*")
}

// twice types yes twice at the first of two questions, and no at the second. It
// returns how often both ran.
func (w *typist) twice(t *testing.T, enter string) int {
	for i := range *trials {
		w.Until("it asks", func(s string) bool { return strings.Count(s, allowIt) >= 2*i+1 })
		w.Type("y" + enter + "y" + enter)
		w.Until("it asks again", func(s string) bool { return strings.Count(s, allowIt) >= 2*i+2 })
		w.Type("n" + enter)
		w.Until("it goes on", func(s string) bool {
			return strings.Contains(s, fmt.Sprintf("thinking %d", i+1)) || strings.Contains(s, "done")
		})
	}
	return w.written(t, "[ab]*") - *trials
}

func (w *typist) written(t *testing.T, pattern string) int {
	files, err := filepath.Glob(filepath.Join(w.dir, pattern))
	require.NoError(t, err)
	return len(files)
}

// TestWhatWasTypedBeforeAQuestionIsNoAnswer: in run, ask and chat, with cooked and
// raw terminals.
func TestWhatWasTypedBeforeAQuestionIsNoAnswer(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, prompt string) (*typist, string){
		"run": func(t *testing.T, prompt string) (*typist, string) {
			return programAt(t, typistPlace(t), "grapnel", "run", "--model", "script:typed.yaml", prompt), "\n"
		},
		"ask": func(t *testing.T, prompt string) (*typist, string) {
			dir := typistPlace(t)
			daemonAt(t, dir)
			return programAt(t, dir, "grapnel", "ask", prompt), "\n"
		},
		"chat": func(t *testing.T, prompt string) (*typist, string) {
			w := programAt(t, typistPlace(t), "grapnel", "chat", "--model", "script:typed.yaml")
			w.Wait("\n>")
			w.Type(prompt + "\r")
			return w, "\r"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, enter := start(t, "early")
			assert.Zero(t, w.early(t, enter), "a yes that was typed before the question ran a call")
			w, enter = start(t, "twice")
			assert.Zero(t, w.twice(t, enter), "a second yes answered the second question")
			t.Logf("FIGURE %s=%d questions, none answered by what was typed before", name, 3**trials)
			w, enter = start(t, "ask me")
			w.Until("it thinks", func(s string) bool { return strings.Contains(s, "thinking") })
			w.Type("1" + enter)
			w.Until("it asks", func(s string) bool { return strings.Contains(s, "One?") && strings.HasSuffix(s, "(Enter for none):") })
			w.Type("2" + enter + "1" + enter)
			w.Until("it asks again", func(s string) bool { return strings.Contains(s, "Two?") && strings.HasSuffix(s, "(Enter for none):") })
			w.Type("2" + enter)
			assert.Contains(t, w.Until("it ends", func(s string) bool { return strings.Contains(s, "— completed") }), "One? right\n  ? Two? down")
		})
	}
}

// TestTheBadVariantIsFound: who does not forget what was typed runs calls that
// nobody has seen.
func TestTheVariantThatTakesWhatWasTypedIsFound(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	w := programAt(t, typistPlace(t), "grapnel-hasty", "run", "--model", "script:typed.yaml", "early")
	found := w.early(t, "\n")
	assert.Positive(t, found)
	t.Logf("FIGURE bad.hasty=%d calls that ran by what was typed before", found)
}
