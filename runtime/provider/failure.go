package provider

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Classified is an error of a stream with a class. Adapters return it if they know the
// class better than [Classify].
type Classified interface {
	error
	// Classify returns the class, and how long the provider asks to wait; 0 if it does
	// not say.
	Classify() (class message.FailureClass, retryAfter time.Duration)
}

// Error gives an error its class. Its text is that of Err.
type Error struct {
	Class message.FailureClass
	// RetryAfter is how long the provider asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Err is never nil.
	Err error
}

var _ Classified = (*Error)(nil)

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Classify implements Classified.
func (e *Error) Classify() (message.FailureClass, time.Duration) { return e.Class, e.RetryAfter }

// Classify returns the class of a stream's error: that of a Classified in it, else one by
// the kind of the error. A stream that ends without a finish was cut by the network. Other
// errors are FailureUnknown.
func Classify(err error) (class message.FailureClass, retryAfter time.Duration) {
	var c Classified
	if errors.As(err, &c) {
		if class, retryAfter = c.Classify(); class != "" {
			return class, max(retryAfter, 0)
		}
	}
	var n net.Error
	var file *fs.PathError
	switch {
	case errors.Is(err, ErrProtocol):
		class = message.FailureProtocol
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &n) && n.Timeout():
		class = message.FailureTimeout
	case errors.As(err, &file): // its errno looks like an error of the network
		class = message.FailureUnknown
	case n != nil, errors.Is(err, ErrNoFinish), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		class = message.FailureNetwork
	default:
		class = message.FailureUnknown
	}
	return class, max(retryAfter, 0)
}
