package scale_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/grapnel-go/grapnel/client"
)

// built is the directory of the program; "" if it was not compiled.
var built string

// program compiles the program once for all tests.
var program = sync.OnceValues(func() (_ string, err error) {
	if *programFlag != "" {
		return *programFlag, nil
	}
	if built, err = os.MkdirTemp("", "grapnel-scale-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, "grapnel")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/grapnel-go/grapnel/cmd/grapnel").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// daemon is a process that serves, and is started again whenever it has ended.
type daemon struct {
	n      int
	socket string
	// command makes the process.
	command func(*daemon) *exec.Cmd
	relay   *relay // its way to the database
	log     string // the file of its output

	mu      sync.Mutex
	process *os.Process
	// down is how long it stays away when it ends next.
	down time.Duration
	work sync.WaitGroup
}

// supervise runs the process again and again until ctx ends.
func (d *daemon) supervise(ctx context.Context) {
	d.work.Go(func() {
		for ctx.Err() == nil {
			if err := d.once(ctx); err != nil {
				_ = os.WriteFile(d.log+".error", []byte(err.Error()), 0o600)
				return
			}
			d.mu.Lock()
			down := max(d.down, 100*time.Millisecond)
			d.down = 0
			d.mu.Unlock()
			pause(ctx, down)
		}
	})
}

// once runs the process to its end; the error is that it did not start.
func (d *daemon) once(ctx context.Context) error {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := d.command(d)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	d.mu.Lock()
	d.process = cmd.Process
	d.mu.Unlock()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	_ = cmd.Wait() // it was killed, or has no database to start with
	d.mu.Lock()
	d.process = nil
	d.mu.Unlock()
	_, err = fmt.Fprintf(log, "ended: %s\n", cmd.ProcessState)
	return err
}

// signal sends a signal to the process. After one that ends it, it stays away for so long.
func (d *daemon) signal(s syscall.Signal, down time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
	if d.process != nil {
		_ = d.process.Signal(s)
	}
}

// serves reports whether it answers.
func (d *daemon) serves(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := client.New(d.socket, nil).Health(ctx)
	return err == nil
}

// awaitService returns when it answers.
func (d *daemon) awaitService(ctx context.Context) {
	for pause(ctx, 20*time.Millisecond) && !d.serves(ctx) {
	}
}

// awaitEnd returns when it has no process.
func (d *daemon) awaitEnd(ctx context.Context) {
	for pause(ctx, 10*time.Millisecond) {
		d.mu.Lock()
		over := d.process == nil
		d.mu.Unlock()
		if over {
			return
		}
	}
}
