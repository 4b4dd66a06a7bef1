package conn

import (
	"fmt"
	"io"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// Running is a process that was started.
type Running interface {
	Pid() int
	// Done returns a channel that is closed when the process has ended; Status is then how.
	Done() <-chan struct{}
	Status() supervisor.Status
	Terminate()
	Kill()
}

// process is a running server with our ends of its pipes. It leads its own process group,
// which ends with it.
type process struct {
	Running
	stdin  *os.File
	stdout *os.File
	exited chan struct{} // closed when the process has ended and its error output was read
}

func startProcess(start func(supervisor.Command) (Running, error), c supervisor.Command, stderr io.Writer) (_ *process, err error) {
	var opened []*os.File
	defer func() {
		if err != nil {
			for _, f := range opened {
				_ = f.Close()
			}
		}
	}()
	var pipes [3]struct{ r, w *os.File }
	for i := range pipes {
		if pipes[i].r, pipes[i].w, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		opened = append(opened, pipes[i].r, pipes[i].w)
	}
	in, out, errs := pipes[0], pipes[1], pipes[2]
	c.Stdin, c.Stdout, c.Stderr = in.r, out.w, errs.w
	started, err := start(c)
	if err != nil {
		return nil, err
	}
	_, _, _ = in.r.Close(), out.w.Close(), errs.w.Close()
	p := &process{Running: started, stdin: in.w, stdout: out.r, exited: make(chan struct{})}
	go p.watch(errs.r, stderr)
	return p, nil
}

// watch reads the error output until a little after the end of the process, because its
// children may still write.
func (p *process) watch(from *os.File, to io.Writer) {
	defer close(p.exited)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(to, from) // it ends with the last writer or at the deadline
	}()
	<-p.Done()
	_ = from.SetReadDeadline(time.Now().Add(settleTime))
	<-read
	_ = from.Close()
}

func (p *process) transport(func()) sdk.Transport {
	return &sdk.IOTransport{Reader: p.stdout, Writer: p.stdin}
}

func (p *process) gone() <-chan struct{} { return p.exited }

func (p *process) pid() int { return p.Pid() }

func (p *process) exit() (status string, ended bool) {
	if !p.within(exitTime, nil) {
		return "", false
	}
	return p.Status().String(), true
}

// stop ends the process and its group as the protocol requires: it closes the input, sends
// SIGTERM after the grace and SIGKILL after another. When hard is closed it does not wait.
func (p *process) stop(grace time.Duration, hard <-chan struct{}) {
	_ = p.stdin.Close()
	if p.within(grace, hard) {
		return
	}
	p.Terminate()
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

// kill ends the process and its group at once, and waits for it. Its output can still be
// read.
func (p *process) kill() {
	p.Kill()
	<-p.exited
}

func (p *process) release() {
	_, _ = p.stdin.Close(), p.stdout.Close()
}
