// Package redact masks secrets in all that leaves the process for people and for disks: a store
// behind [Redactor.Store], events, texts of logs and errors. What hooks, models and tools get is
// not masked. One detector finds the secrets: that of package sensitive.
package redact

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sensitive"
)

// Options say what is masked; nil is all zero values.
type Options struct {
	// Personal masks personal data as well as secrets.
	Personal bool
}

// Redactor masks what it finds, each with a marker of its kind: [secret: github-token]. What was
// masked once stays as it is. It is safe for concurrent use. A nil Redactor masks nothing in texts.
type Redactor struct{ find *sensitive.Detector }

// New returns a redactor.
func New(o *Options) *Redactor {
	if o == nil {
		o = &Options{}
	}
	return &Redactor{sensitive.New(&sensitive.Options{Personal: o.Personal})}
}

// Text masks a text.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return r.find.Mask(text)
}

// JSON masks a document, which stays one. A text that is no JSON is masked as a text.
func (r *Redactor) JSON(doc message.JSON) message.JSON {
	if doc == "" || !json.Valid([]byte(doc)) {
		return message.JSON(r.find.Mask(string(doc)))
	}
	return message.JSON(r.find.MaskJSON([]byte(doc)))
}

// Event masks an event.
func (r *Redactor) Event(ev hook.Event) hook.Event {
	ev.Text = r.Text(ev.Text)
	d := ev.Detail()
	d.Args, d.Result, d.Inquiry, d.Response = r.JSON(d.Args), r.result(d.Result), r.Inquiry(d.Inquiry), r.response(d.Response)
	return ev.WithChanged(d)
}

// Inquiry masks what a person is asked.
func (r *Redactor) Inquiry(q hook.Inquiry) hook.Inquiry {
	q.Questions = mapped(q.Questions, func(a hook.Question) hook.Question {
		a.Header, a.Text = r.Text(a.Header), r.Text(a.Text)
		a.Options = mapped(a.Options, func(c hook.Choice) hook.Choice {
			return hook.Choice{Label: r.Text(c.Label), Description: r.Text(c.Description)}
		})
		return a
	})
	if q.Approval != nil {
		a := *q.Approval
		args := r.JSON(a.Args)
		a.Reason, a.Part = r.Text(a.Reason), r.Text(a.Part)
		a.Reaches, a.Remarks = mapped(a.Reaches, r.Text), mapped(a.Remarks, r.Text)
		a.Offers = mapped(a.Offers, func(o hook.Offer) hook.Offer { return hook.Offer{ID: o.ID, Text: r.Text(o.Text)} })
		if args != a.Args { // what a person has not seen is not remembered
			_, hidden := r.find.MaskedJSON([]byte(a.Args))
			a.Args, a.Masked, a.Offers = args, true, message.List[hook.Offer]{}
			a.Remarks = a.Remarks.Append(fmt.Sprintf("what looks like a secret is masked here, %d bytes in all; the tool gets it as it is", hidden))
		}
		q.Approval = &a
	}
	return q
}

func (r *Redactor) response(a hook.Response) hook.Response {
	a.Given = mapped(a.Given, func(g hook.Given) hook.Given {
		return hook.Given{Chosen: mapped(g.Chosen, r.Text), Text: r.Text(g.Text)}
	})
	return a
}

// mapped returns the list of what f makes of the elements.
func mapped[T any](l message.List[T], f func(T) T) message.List[T] {
	if l.Len() == 0 {
		return l
	}
	out := l.Slice()
	for i := range out {
		out[i] = f(out[i])
	}
	return message.Freeze(out)
}

// Outcome masks how a turn ended, for people.
func (r *Redactor) Outcome(out hook.TurnOutcome) hook.TurnOutcome {
	if r == nil {
		return out
	}
	out.Message, out.Err = r.message(out.Message), r.Error(out.Err)
	out.Signals = mapped(out.Signals, func(s hook.StopSignal) hook.StopSignal {
		s.Text, s.Context = r.Text(s.Text), r.JSON(s.Context)
		return s
	})
	return out
}

// Error returns err with its text masked. It wraps err.
func (r *Redactor) Error(err error) error {
	if r == nil || err == nil {
		return err
	}
	if text := r.Text(err.Error()); text != err.Error() {
		return &maskedError{text, err}
	}
	return err
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }

// Pieces returns a writer that masks a text which comes in pieces, and writes whole lines of it on
// to w. Close writes the rest.
func (r *Redactor) Pieces(w io.Writer) io.WriteCloser { return r.find.NewWriter(w) }
