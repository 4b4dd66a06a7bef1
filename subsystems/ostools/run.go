package ostools

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// drainTime is how long the outputs are read after the command's process group is dead.
// Only a process that left the group can still have them open.
const drainTime = 500 * time.Millisecond

// ending is how a command ended, and what the sandbox has to say.
type ending struct {
	code  int
	notes []string
}

// running is a command that runs, confined or not.
type running interface {
	Done() <-chan struct{}
	Kill()
	Status() supervisor.Status
}

// start starts a command, in the sandbox if there is one.
func (o *OS) start(c sandbox.Command, g sandbox.Grant) (running, error) {
	if o.sandbox != nil {
		return o.sandbox.Start(c, g)
	}
	return o.commands.Start(supervisor.Command{
		Path: c.Path, Args: c.Args, Dir: o.main.path, Env: append(slices.Clone(o.environ), c.Env...), Stdout: c.Stdout, Stderr: c.Stderr,
	})
}

// run runs a command until it or ctx ends, and then kills its whole process group. ended
// is false if ctx ended first. run leaves no goroutine and no open file.
func (o *OS) run(ctx context.Context, c sandbox.Command, g sandbox.Grant, stdout, stderr *capture) (end ending, ended bool, err error) {
	var out, errs pipe
	if err := out.open(); err != nil {
		return end, false, err
	}
	defer out.close()
	if err := errs.open(); err != nil {
		return end, false, err
	}
	defer errs.close()
	c.Stdout, c.Stderr = out.w, errs.w
	p, err := o.start(c, g)
	if err != nil {
		return end, false, err
	}
	_ = out.w.Close()
	_ = errs.w.Close()

	var drain sync.WaitGroup
	drain.Go(func() { _, _ = io.Copy(stdout, onlyReader{out.r}) })
	drain.Go(func() { _, _ = io.Copy(stderr, onlyReader{errs.r}) })
	select {
	case <-p.Done():
		ended = true
	case <-ctx.Done():
		p.Kill()
		<-p.Done()
	}
	stop := time.AfterFunc(drainTime, func() {
		_ = out.r.SetReadDeadline(time.Now())
		_ = errs.r.SetReadDeadline(time.Now())
	})
	drain.Wait()
	stop.Stop()
	end.code = p.Status().Shell()
	if confined, ok := p.(*sandbox.Process); ok {
		end.notes = confined.End().Lines(o.sandbox.Hints(g, end.code, stdout.String()+stderr.String()))
	}
	return end, ended, nil
}

// onlyReader hides the other methods of a file, so that io.Copy uses a buffer of fixed
// size.
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
