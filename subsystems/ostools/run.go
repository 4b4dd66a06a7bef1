package ostools

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// drainTime is how long the outputs are read after everything in the command's
// process group is dead. Only a process that left the group can still hold them.
const drainTime = 500 * time.Millisecond

// process is a started command, the leader of its own process group.
type process struct {
	cmd *exec.Cmd
	// mu guards reaped: while the leader is not reaped its id cannot be given to
	// another process, so only then is the group signalled.
	mu     sync.Mutex
	reaped bool
	ended  chan struct{}
}

// run runs a command until it ends or ctx does, and kills its whole process
// group either way. ended is false if ctx was first. When it returns, no
// goroutine and no open file is left.
func run(ctx context.Context, cmd *exec.Cmd, stdout, stderr io.Writer) (code int, ended bool, err error) {
	var out, errs pipe
	if err := out.open(); err != nil {
		return 0, false, err
	}
	defer out.close()
	if err := errs.open(); err != nil {
		return 0, false, err
	}
	defer errs.close()
	cmd.Stdout, cmd.Stderr = out.w, errs.w
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return 0, false, err
	}
	_ = out.w.Close()
	_ = errs.w.Close()

	p := &process{cmd: cmd, ended: make(chan struct{})}
	var wait, drain sync.WaitGroup
	drain.Go(func() { _, _ = io.Copy(stdout, onlyReader{out.r}) })
	drain.Go(func() { _, _ = io.Copy(stderr, onlyReader{errs.r}) })
	wait.Go(p.wait)

	select {
	case <-p.ended:
		ended = true
	case <-ctx.Done():
		ended = p.kill()
	}
	wait.Wait()
	stop := time.AfterFunc(drainTime, func() {
		_ = out.r.SetReadDeadline(time.Now())
		_ = errs.r.SetReadDeadline(time.Now())
	})
	drain.Wait()
	stop.Stop()
	return exitCode(cmd.ProcessState), ended, nil
}

// wait waits for the leader, kills what it left behind, and reaps it.
func (p *process) wait() {
	awaitExit(p.cmd)
	p.mu.Lock()
	killGroup(p.cmd.Process)
	_ = p.cmd.Wait() // the exit code is in ProcessState; without pipes of its own there is nothing else to say
	p.reaped = true
	p.mu.Unlock()
	close(p.ended)
}

// kill ends the command and reports whether it had ended by itself.
func (p *process) kill() (ended bool) {
	select {
	case <-p.ended:
		return true
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		killGroup(p.cmd.Process)
	}
	return false
}

// onlyReader hides the other methods of a file: io.Copy then uses one buffer of a
// fixed size.
type onlyReader struct{ io.Reader }

type pipe struct{ r, w *os.File }

func (p *pipe) open() (err error) {
	p.r, p.w, err = os.Pipe()
	return err
}

func (p *pipe) close() {
	_ = p.r.Close()
	_ = p.w.Close()
}
