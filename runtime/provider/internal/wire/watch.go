package wire

import (
	"io"
	"time"
)

// watch is a response body that is cancelled when a read takes too long. The time between
// two reads does not count: it is the consumer's.
type watch struct {
	body   io.Reader
	cancel func()
	quiet  time.Duration // less than 1 is no bound
	// until is when the rest of the body must have come; zero is no such time.
	until time.Time
	timer *time.Timer
}

func (w *watch) start(d time.Duration) {
	switch {
	case d <= 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(d, w.cancel)
	default:
		w.timer.Reset(d)
	}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Read implements io.Reader.
func (w *watch) Read(b []byte) (int, error) {
	quiet := w.quiet
	if !w.until.IsZero() {
		quiet = shorter(quiet, max(time.Until(w.until), 1)) // an ended time ends the read at once
	}
	w.start(quiet)
	n, err := w.body.Read(b)
	w.stop()
	return n, err
}

// within limits the time for the rest of the body, however it comes.
func (w *watch) within(d time.Duration) {
	if w.until.IsZero() {
		w.until = time.Now().Add(d)
	}
}

// drain reads the rest of a response, if it comes at once.
func (w *watch) drain() {
	w.until = time.Time{}
	w.within(afterDone)
	_, _ = io.CopyN(io.Discard, w, 4<<10) // on an error the connection is just closed
}

// shorter returns the shorter of two limits; less than 1 is no limit.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 {
		return b
	}
	return min(a, b)
}
