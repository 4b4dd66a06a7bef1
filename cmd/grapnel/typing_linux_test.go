package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/grapnel-go/grapnel/internal/test/tty"
)

// waits is the end of a screen on which the program waits for an answer.
var waits = regexp.MustCompile(`(\[e\]dit|\[s\]how all|\[n\]o|\(Enter for [a-z]+\)|leaves it\)): $`)

// typing runs a command at a terminal and answers each of its questions, as soon as
// it is asked, with the next line of a file: typing FILE COMMAND ARGUMENT…. Behind
// the last line comes Ctrl-D. What the terminal showed is in $WORK/.tty.
func typing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: typing FILE COMMAND ARGUMENT…")
	}
	master, slave, err := tty.Pair()
	ts.Check(err)
	defer func() { _ = master.Close() }()
	path, err := lookPath(args[1], ts.Getenv("PATH"))
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GRAPNEL_HOME", "XDG_RUNTIME_DIR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	ts.Check(slave.Close())
	shown := answer(master, ts.ReadFile(args[0]))
	err = cmd.Wait()
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), ".tty"), []byte(shown), 0o600))
	_, _ = ts.Stdout().Write(out.Bytes())
	_, _ = ts.Stderr().Write(errs.Bytes())
	if err != nil {
		ts.Fatalf("%v\n%s\n%s%s", err, shown, out.String(), errs.String())
	}
}

// answer types the lines, each at a question, until the program has closed its
// side, and returns what was on the screen.
func answer(master *os.File, lines string) string {
	rest := strings.SplitAfter(lines, "\n")
	var screen []byte
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		screen = append(screen, buf[:n]...)
		if err != nil {
			return strings.ReplaceAll(string(screen), "\r\n", "\n")
		}
		if !waits.Match(screen) {
			continue
		}
		next := "\x04"
		if len(rest) > 0 && rest[0] != "" {
			next, rest = rest[0], rest[1:]
		}
		if _, err := master.WriteString(next); err != nil {
			return string(screen)
		}
	}
}
