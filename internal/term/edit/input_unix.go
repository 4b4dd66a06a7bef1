//go:build unix

package edit

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// input reads a file with a wait that can be ended.
type input struct {
	file *os.File
	// waits and wakes are the ends of a pipe: a write to wakes ends a wait.
	waits, wakes *os.File
}

func newInput(file *os.File) (*input, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &input{file: file, waits: r, wakes: w}, nil
}

func (i *input) close() error { return errors.Join(i.wakes.Close(), i.waits.Close()) }

// wake ends the running wait, or else the next one.
func (i *input) wake() { _, _ = i.wakes.Write([]byte{0}) } // after Close there is no wait

// read waits for input, at most for the time most unless that is 0, and reads it. It returns
// 0 after wake or the time, and io.EOF at the end.
func (i *input) read(buf []byte, most time.Duration) (int, error) {
	in, woken := int(i.file.Fd()), int(i.waits.Fd())
	for {
		var fds unix.FdSet
		fds.Set(in)
		fds.Set(woken)
		var timeout *unix.Timeval
		if most > 0 {
			tv := unix.NsecToTimeval(most.Nanoseconds())
			timeout = &tv
		}
		n, err := unix.Select(max(in, woken)+1, &fds, nil, nil, timeout)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return 0, err
		case fds.IsSet(woken):
			var bytes [64]byte
			_, err := i.waits.Read(bytes[:])
			return 0, err
		}
		return i.take(buf)
	}
}

func (i *input) take(buf []byte) (int, error) {
	n, err := i.file.Read(buf)
	if errors.Is(err, unix.EIO) { // the terminal is gone
		err = io.EOF
	}
	return n, err
}

// forget drops input that was typed and not read yet.
func (i *input) forget() { _ = flush(int(i.file.Fd())) } // fails if the input is no terminal

// watch wakes the input when ctx ends and when the screen is resized, until stop
// is called.
func (i *input) watch(ctx context.Context) (stop func()) {
	end := context.AfterFunc(ctx, i.wake)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-resized:
				i.wake()
			case <-done:
				return
			}
		}
	})
	return func() {
		end()
		signal.Stop(resized)
		close(done)
		wg.Wait()
	}
}

// raw lets every key through; restore undoes that.
func (i *input) raw() (restore func() error, err error) {
	fd := int(i.file.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() error { return term.Restore(fd, state) }, nil
}

// suspend stops the process as Ctrl-Z does, until it is continued.
func suspend() { _ = unix.Kill(0, unix.SIGTSTP) } // on an error the process continues
