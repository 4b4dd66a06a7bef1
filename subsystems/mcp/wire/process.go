package wire

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

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

func (p *process) transport(func()) sdk.Transport {
	return &sdk.IOTransport{Reader: p.stdout, Writer: p.stdin}
}

func (p *process) gone() <-chan struct{} { return p.exited }

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) exit() (status string, ended bool) {
	if !p.within(settleTime, nil) {
		return "", false
	}
	if p.cmd.ProcessState == nil {
		return "status unknown", true
	}
	return p.cmd.ProcessState.String(), true
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

// release closes our ends.
func (p *process) release() {
	_, _ = p.stdin.Close(), p.stdout.Close()
}
