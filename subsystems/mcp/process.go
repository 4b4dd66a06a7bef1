package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// inherited are the variables that every server gets from the environment of
// this process: what a program needs to run at all, and no secrets. Everything
// else has to stand in the server's entry.
func inherited() []string {
	return []string{
		"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		// What programs on Windows need beyond that.
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES",
		"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	}
}

// command returns the command of the server, not started.
func (s *server) command() *exec.Cmd {
	lookup := s.m.o.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	cmd := exec.Command(s.cfg.Command, s.cfg.Args...)
	cmd.Dir = s.m.o.Dir
	cmd.Env = []string{} // not nil, which would be the whole environment
	for _, name := range inherited() {
		if value, set := lookup(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if s.m.o.Dir != "" {
		cmd.Env = append(cmd.Env, "CLAUDE_PROJECT_DIR="+s.m.o.Dir)
	}
	configured := make([]string, 0, len(s.cfg.Env))
	for name, value := range s.cfg.Env {
		configured = append(configured, name+"="+value)
	}
	slices.Sort(configured)
	cmd.Env = append(cmd.Env, configured...) // of two settings of one name the last counts
	return cmd
}

// process is a running server with both ends of its pipes that are ours. It
// leads a process group of its own, which ends with it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	exited chan struct{} // closed when the process has ended and its group was killed
}

// startProcess starts the command. Its error output goes to stderr.
func startProcess(cmd *exec.Cmd, stderr io.Writer) (*process, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		_, _ = in.Close(), stdin.Close()
		return nil, fmt.Errorf("start: %w", err)
	}
	// Pipes of our own instead of cmd's: its Wait closes the reading end when the
	// process has ended, and the last answers would be lost.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, stderr
	cmd.WaitDelay = settleTime // for those who inherited the error output
	ownGroup(cmd)
	err = cmd.Start()
	_, _ = in.Close(), out.Close()
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, fmt.Errorf("start: %w", err)
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: stdout, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the status is kept in cmd
		killGroup(cmd.Process.Pid)
		close(p.exited)
	}()
	return p, nil
}

// settle waits for the process to end, at most for d; false if it has not.
func (p *process) settle(d time.Duration) (status string, gone bool) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-p.exited:
		return p.status(), true
	case <-ctx.Done():
		return "", false
	}
}

// status says how the process ended; only after exited.
func (p *process) status() string {
	if p.cmd.ProcessState == nil {
		return "status unknown"
	}
	return p.cmd.ProcessState.String()
}

// stop ends the process and its group as the protocol asks: input closed, after
// the grace SIGTERM, after another SIGKILL. When hard is closed it does not wait.
func (p *process) stop(grace time.Duration, hard <-chan struct{}) {
	_ = p.stdin.Close()
	if p.within(grace, hard) {
		return
	}
	terminateGroup(p.cmd.Process.Pid)
	if p.within(grace, hard) {
		return
	}
	p.kill()
}

func (p *process) within(d time.Duration, hard <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
	case <-hard:
	}
	return false
}

// kill ends the process and its group at once and waits for it. What it has
// written can still be read.
func (p *process) kill() {
	select {
	case <-p.exited: // its id may be another process's by now
	default:
		killGroup(p.cmd.Process.Pid)
		<-p.exited
	}
}

// closePipes closes our ends. It may be called several times.
func (p *process) closePipes() {
	_, _ = p.stdin.Close(), p.stdout.Close()
}
