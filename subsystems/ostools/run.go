package ostools

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// drainTime is how long the outputs are read after the command's process group is dead.
// Only a process that left the group can still have them open.
const drainTime = 500 * time.Millisecond

// run runs a command until it or ctx ends, and then kills its whole process group. ended
// is false if ctx ended first. run leaves no goroutine and no open file.
func run(ctx context.Context, s *supervisor.Supervisor, c supervisor.Command, stdout, stderr io.Writer) (code int, ended bool, err error) {
	var out, errs pipe
	if err := out.open(); err != nil {
		return 0, false, err
	}
	defer out.close()
	if err := errs.open(); err != nil {
		return 0, false, err
	}
	defer errs.close()
	c.Stdout, c.Stderr = out.w, errs.w
	p, err := s.Start(c)
	if err != nil {
		return 0, false, err
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
	return p.Status().Shell(), ended, nil
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
