package view

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// writtenError is the JSON of an error.
type writtenError struct {
	// Text is safe to show.
	Text     string          `json:"text"`
	Canceled bool            `json:"canceled,omitzero"`
	Late     bool            `json:"late,omitzero"`
	Failure  *writtenFailure `json:"failure,omitzero"`
}

// writtenFailure is the JSON of a hook's failure, without its cause, which may quote secrets.
type writtenFailure struct {
	Subsystem string `json:"subsystem"`
	Point     string `json:"point"`
	Panic     bool   `json:"panic,omitzero"`
	Late      bool   `json:"late,omitzero"`
}

func errorOf(err error) *writtenError {
	if err == nil {
		return nil
	}
	w := &writtenError{Text: err.Error(), Canceled: errors.Is(err, context.Canceled), Late: errors.Is(err, context.DeadlineExceeded)}
	if f, ok := errors.AsType[*hook.Failure](err); ok {
		w.Text = f.Public()
		w.Failure = &writtenFailure{f.Subsystem, f.Point.String(), f.Panic, f.Late}
	}
	return w
}

// errUnwritten replaces a cause.
var errUnwritten = errors.New("its cause was not written down")

// readError is an error that was decoded from JSON.
type readError struct {
	text  string
	under []error
}

func (e *readError) Error() string { return e.text }

func (e *readError) Unwrap() []error { return e.under }

func (w *writtenError) read() error {
	if w == nil {
		return nil
	}
	e := &readError{text: w.Text}
	if w.Canceled {
		e.under = append(e.under, context.Canceled)
	}
	if w.Late {
		e.under = append(e.under, context.DeadlineExceeded)
	}
	if f := w.Failure; f != nil {
		e.under = append(e.under, &hook.Failure{Subsystem: f.Subsystem, Point: pointOf(f.Point), Err: errUnwritten, Panic: f.Panic, Late: f.Late})
	}
	return e
}

func pointOf(name string) hook.Point {
	for p, info := range point.All() {
		if info.Name == name {
			return p
		}
	}
	return 0
}
