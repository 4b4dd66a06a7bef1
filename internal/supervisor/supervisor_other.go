//go:build !unix

package supervisor

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
)

// Supervisor starts commands as children of this process: this system has no supervisor
// process. New makes one. It is safe for concurrent use.
type Supervisor struct {
	mu      sync.Mutex // guards the fields below
	running map[*Process]bool
	closed  bool
}

// New returns a supervisor without commands.
func New() *Supervisor { return &Supervisor{running: map[*Process]bool{}} }

// Start starts the command.
func (s *Supervisor) Start(c Command) (*Process, error) {
	if c.Jail != nil {
		return nil, &JailError{Step: "start " + c.Path, Err: errors.ErrUnsupported}
	}
	cmd := &exec.Cmd{Path: c.Path, Args: c.Args, Env: lastSettings(c.Env), Dir: c.Dir}
	// A nil *os.File in an interface is not nil.
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	p := &Process{pid: cmd.Process.Pid, ended: make(chan struct{})}
	p.signal = func(bool) { _ = cmd.Process.Kill() }
	s.running[p] = true
	go s.wait(cmd, p)
	return p, nil
}

func (s *Supervisor) wait(cmd *exec.Cmd, p *Process) {
	_ = cmd.Wait() // the exit code is in ProcessState
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, p)
	p.status = Status{Code: cmd.ProcessState.ExitCode()}
	close(p.ended)
}

// Close kills all commands and waits for their end. A second Close does nothing.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	s.closed = true
	var left []*Process
	for p := range s.running {
		left = append(left, p)
	}
	s.mu.Unlock()
	for _, p := range left {
		p.Kill()
		<-p.Done()
	}
	return nil
}

func signalName(int) string { return "" }
