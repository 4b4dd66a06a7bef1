// Package stdout is a program's standard output whose loss cancels contexts: a pipe
// without a reader, a full disk.
//
// It formats nothing itself; package screen writes to it.
package stdout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Output is a standard output. It is lost with the first error of writing, or, once a
// context was bound to it, when the reader of the pipe goes away. Make it with New.
// Safe for concurrent use.
//
// A program that writes to it must handle SIGPIPE, which otherwise kills it at the first
// Write to a pipe without a reader.
type Output struct {
	file *os.File
	lost context.Context
	lose context.CancelCauseFunc
}

// New returns the output to the file. The caller closes the file, but not before all bound
// contexts have ended.
func New(file *os.File) *Output {
	lost, lose := context.WithCancelCause(context.Background())
	return &Output{file: file, lost: lost, lose: lose}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if err != nil {
		o.lose(LostError{err})
	}
	return n, err
}

// Lost returns a context that ends when the output is lost, with a [LostError] as
// its cause.
func (o *Output) Lost() context.Context { return o.lost }

// Bind returns a context that also ends when the output is lost. Until ctx ends, a
// goroutine watches whether the reader of a pipe goes away, also between writes.
func (o *Output) Bind(ctx context.Context) context.Context {
	if info, err := o.file.Stat(); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		watch(ctx, o.file, func() { o.lose(LostError{syscall.EPIPE}) })
	}
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(o.lost, func() { cancel(context.Cause(o.lost)) })
	context.AfterFunc(bound, func() { stop() })
	return bound
}

// LostError says why an output is lost. errors.Is finds context.Canceled in it.
type LostError struct{ Err error }

func (e LostError) Error() string {
	if errors.Is(e.Err, syscall.EPIPE) {
		return "the output could not be written: nobody reads it any more"
	}
	return fmt.Sprintf("the output could not be written: %v", e.Err)
}

// Unwrap returns context.Canceled and the error of writing.
func (e LostError) Unwrap() []error { return []error{context.Canceled, e.Err} }
