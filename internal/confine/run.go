// Package confine runs a command in a sandbox for a person at a terminal.
package confine

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// Run runs a command in the sandbox, shows its output, and returns its exit code. One word is a line of shell. The command ends with ctx.
func Run(ctx context.Context, c *console.Console, s *sandbox.Sandbox, g sandbox.Grant, args []string) (code int, err error) {
	if ok, why := s.Confines(); !ok && why != "" {
		c.Note(why)
	}
	if len(args) == 1 {
		args = []string{"sh", "-c", args[0]}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return 0, err
	}
	cmd := sandbox.Command{Path: path, Args: args}
	if !term.IsTerminal(c.In) {
		cmd.Stdin = c.In
	}
	out, err := pass(screen.New(c.Written), nil)
	if err != nil {
		return 0, err
	}
	var printed strings.Builder
	errs, err := pass(screen.New(c.Err), &printed)
	if err != nil {
		out.end()
		return 0, err
	}
	cmd.Stdout, cmd.Stderr = out.w, errs.w
	p, err := s.Start(cmd, g)
	if err == nil {
		defer context.AfterFunc(ctx, p.Kill)()
	}
	out.end()
	errs.end()
	if err != nil {
		return 0, err
	}
	<-p.Done()
	code = p.Status().Shell()
	for _, line := range p.End().Lines(s.Hints(g, code, printed.String())) {
		c.Note(line)
	}
	return code, nil
}

// passed is an output of a process on its way to one of ours.
type passed struct {
	w    *os.File
	done chan struct{}
}

// pass shows what is written to the result, and keeps the beginning of it if keep is not nil.
func pass(to *screen.Output, keep *strings.Builder) (*passed, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &passed{w: w, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer r.Close()
		var text screen.Stream
		buf := make([]byte, 32<<10)
		for {
			n, err := r.Read(buf)
			if keep != nil && keep.Len() < 1<<20 {
				keep.Write(buf[:n])
			}
			_ = to.Print(text.Add(string(buf[:n]))) // the output tells whether one can write
			if err != nil {
				_ = to.Print(text.End())
				return
			}
		}
	}()
	return p, nil
}

// end waits until all that the process has written has passed.
func (p *passed) end() {
	_ = p.w.Close()
	<-p.done
}
