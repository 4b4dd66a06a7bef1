package console

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signalled is why the program's context has ended.
type Signalled struct{ Signal os.Signal }

func (s Signalled) Error() string {
	if s.Signal == os.Interrupt {
		return "interrupted"
	}
	return "told to end (" + s.Signal.String() + ")"
}

func (Signalled) Unwrap() error { return context.Canceled }

// Listen returns a context that the first signal ends, with [Signalled] as the
// cause; a second one ends the program at once. The caller calls stop. A write to a
// pipe that nobody reads is an error from then on, and does not end the program.
func Listen() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // else it was started to outlive its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	signals, pipes := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, ends...)
	signal.Notify(pipes, syscall.SIGPIPE) // signal.Ignore would reach the commands that are started
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(Signalled{s})
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		waiting.Wait()
	}
}

// Interrupts hands signals over until stop is called: an interrupt is Ctrl-C of a person, and the
// others end what is going on with [Signalled], so that the terminal is always given back.
func Interrupts(interrupt func(), end context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt {
					interrupt()
				} else {
					end(Signalled{s})
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		wg.Wait()
	}
}
