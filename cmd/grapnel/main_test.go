package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(watched{m}, programs())
}

// watched are the tests, which fail if goroutines outlive them.
type watched struct{ tests *testing.M }

// Run implements what testscript asks for.
func (w watched) Run() int {
	// Tests that were started with nohup ignore this signal, and so would the programs that they start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	code := w.tests.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func TestScripts(t *testing.T) {
	t.Parallel()
	play(t, slices.DeleteFunc(scripts(t), func(name string) bool { return !slices.Contains(core, filepath.Base(name)) }))
}

// TestMoreScripts plays the scripts that are not core.
func TestMoreScripts(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	play(t, slices.DeleteFunc(scripts(t), func(name string) bool { return slices.Contains(core, filepath.Base(name)) }))
}

// core are the scripts of what everybody uses. All of them take minutes.
var core = []string{"agents.txtar", "approval.txtar", "chat.txtar", "config.txtar", "resume.txtar", "run.txtar", "serve.txtar", "wrong.txtar"}

func play(t *testing.T, files []string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GRAPNEL_HOME", filepath.Join(env.WorkDir, ".state"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "namespaces" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return needs.HasNamespaces(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"jsonlines": jsonLines,
			"lines":     lines,
			"interrupted": func(ts *testscript.TestScript, neg bool, args []string) {
				sends(ts, os.Interrupt, exitInterrupted, args)
			},
			"terminated": func(ts *testscript.TestScript, neg bool, args []string) {
				sends(ts, syscall.SIGTERM, exitTerminated, args)
			},
			"hungup": func(ts *testscript.TestScript, neg bool, args []string) {
				sends(ts, syscall.SIGHUP, exitHungUp, args)
			},
			"awaits":  awaits,
			"queues":  queues,
			"history": history,
			"ids":     ids,
			"asked":   askedBy,
			"typing":  typing,
			"serving": serving, "certificate": certificate, "token": tokenFor,
		},
		RequireExplicitExec: true,
	})
}

// queues queues jobs of a kind in the project of the working directory, as a turn does: queues KIND KEY…
func queues(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: queues KIND KEY…")
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(ts.Getenv("GRAPNEL_HOME"), "conversations.db"), nil)
	ts.Check(err)
	defer func() { ts.Check(s.Close()) }()
	project, err := filepath.EvalSymlinks(ts.MkAbs("."))
	ts.Check(err)
	for _, key := range args[1:] {
		_, err = s.Enqueue(ctx, store.Job{Job: hook.Job{Kind: args[0], Key: key, Payload: `{"what":"PAYLOAD"}`}, Project: project, Conversation: "conv"})
		ts.Check(err)
	}
}

// scripts returns the files of the scripts. The race detector makes every start of the program slow; under it these are the scripts in which a
// daemon or a chat runs, where something happens at once.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	require.NoError(t, err)
	if !allocs.Counted {
		all = slices.DeleteFunc(all, func(name string) bool {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			return !bytes.Contains(text, []byte("grapnel serve")) && !bytes.Contains(text, []byte("grapnel chat"))
		})
	}
	require.NotEmpty(t, all)
	return all
}

// exits runs a command and compares its exit code: exits 2 grapnel run
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENT…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// jsonLines checks that every line of a file is a JSON object, and that the last
// one has the kind: jsonlines stdout outcome
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jsonlines FILE KIND")
	}
	var last struct {
		Kind string `json:"kind"`
	}
	for l := range strings.Lines(ts.ReadFile(args[0])) {
		last.Kind = ""
		if err := json.Unmarshal([]byte(l), &last); err != nil {
			ts.Fatalf("%q: %v", l, err)
		}
	}
	if last.Kind != args[1] {
		ts.Fatalf("the last line is of kind %q, want %q", last.Kind, args[1])
	}
}

// lines checks that a file has at most so many lines: lines stdout 60
func lines(ts *testscript.TestScript, neg bool, args []string) {
	var most int
	if neg || len(args) != 2 || json.Unmarshal([]byte(args[1]), &most) != nil {
		ts.Fatalf("usage: lines FILE MOST")
	}
	if n := strings.Count(ts.ReadFile(args[0]), "\n"); n > most {
		ts.Fatalf("%s has %d lines, at most %d are allowed", args[0], n, most)
	}
}

// sends starts a command, sends it the signal as soon as a file exists that it
// makes, wants the exit code, and keeps what it wrote in interrupted.out:
// interrupted FILE COMMAND ARGUMENT…
func sends(ts *testscript.TestScript, sig os.Signal, code int, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: interrupted FILE COMMAND ARGUMENT…")
	}
	path, err := lookPath(args[1], ts.Getenv("PATH"))
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GRAPNEL_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !exists(ts, args[0]) {
		select {
		case err := <-ended:
			ts.Fatalf("ended too early: %v\n%s", err, out.String())
		case <-time.After(poll):
		}
	}
	ts.Check(cmd.Process.Signal(sig))
	err = <-ended
	ts.Logf("%s", out.String())
	if cmd.ProcessState.ExitCode() != code {
		ts.Fatalf("exit: %v, want %d", err, code)
	}
	ts.Check(os.WriteFile(ts.MkAbs("interrupted.out"), out.Bytes(), 0o600))
}

// patience is how long a test waits for a file, and poll how often it looks: a
// test that looks all the time takes the processor from what it waits for.
const (
	patience = time.Minute
	poll     = 5 * time.Millisecond
)

func exists(ts *testscript.TestScript, name string) bool {
	_, err := os.Stat(ts.MkAbs(name))
	return err == nil
}

// awaits returns when a file exists, that a command in the background makes:
// awaits FILE
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaits FILE")
	}
	for range patience / poll {
		if exists(ts, args[0]) && listens(ts.MkAbs(args[0])) {
			return
		}
		<-time.After(poll)
	}
	ts.Fatalf("%s was not made within %v", args[0], patience)
}

// listens reports whether somebody listens on the file, if it is a socket: it is
// there a moment before anybody does.
func listens(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return err == nil
	}
	conn, err := net.Dial("unix", path)
	return err == nil && conn.Close() == nil
}

func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in %s", name, path)
}

// askedBy starts a turn on the daemon and returns when it asks a question, which
// stays open: asked SENDER TEXT
func askedBy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: asked SENDER TEXT")
	}
	ctx := context.Background()
	d := client.New(filepath.Join(ts.Getenv("GRAPNEL_HOME"), "run", "grapnel.sock"), nil)
	conv, err := d.Conversation(ctx, "grapnel", args[0])
	ts.Check(err)
	turn, err := d.Send(ctx, conv.ID, args[1])
	ts.Check(err)
	for item, err := range d.Follow(ctx, turn) {
		ts.Check(err)
		if item.Event.Kind == event.QuestionAsked {
			return
		}
	}
	ts.Fatalf("the turn has ended without a question")
}

// ids puts the ids of the conversations that the agent grapnel has with senders
// into the environment: ids SENDER…
func ids(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ids SENDER…")
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(ts.Getenv("GRAPNEL_HOME"), "conversations.db"), nil)
	ts.Check(err)
	defer func() { ts.Check(s.Close()) }()
	for _, sender := range args {
		rec, err := s.Conversation(ctx, store.Key{Project: project(ts), Agent: "grapnel", Sender: sender})
		ts.Check(err)
		ts.Setenv(sender, rec.ID)
	}
}

// project is the id of the project in the working directory.
func project(ts *testscript.TestScript) string {
	root, err := filepath.EvalSymlinks(ts.MkAbs("."))
	ts.Check(err)
	return root
}

// history writes what a conversation has in the database, one line for each
// message, to the file "history": history AGENT SENDER
func history(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: history AGENT SENDER")
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(ts.Getenv("GRAPNEL_HOME"), "conversations.db"), nil)
	ts.Check(err)
	defer func() { ts.Check(s.Close()) }()
	rec, err := s.Conversation(ctx, store.Key{Project: project(ts), Agent: args[0], Sender: args[1]})
	ts.Check(err)
	messages, err := s.Messages(ctx, rec.ID)
	ts.Check(err)
	var sb strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&sb, "%s %s %s %q\n", m.Role, m.Tool, m.Result.Failure, m.Text()+m.Result.Text())
	}
	ts.Check(os.WriteFile(ts.MkAbs("history"), []byte(sb.String()), 0o600))
}
