package hook

import "github.com/grapnel-go/grapnel/hook/message"

// Masked returns the event with text applied to each of its texts, and doc to its arguments and
// to structured results. Ids, names and numbers stay, and so does [Event.Failure], which is never
// serialised. It changes nothing that other events share.
func (e Event) Masked(text func(string) string, doc func(message.JSON) message.JSON) Event {
	e.Text = text(e.Text)
	if e.detail == nil {
		return e
	}
	d := *e.detail
	if d.Args != "" {
		d.Args = doc(d.Args)
	}
	d.Result = d.Result.Masked(text, doc)
	d.Inquiry = d.Inquiry.Masked(text, doc)
	d.Response = d.Response.masked(text)
	e.detail = &d
	return e
}

// Masked returns the inquiry with text applied to each of its texts, and doc to the arguments of
// the call that needs approval.
func (q Inquiry) Masked(text func(string) string, doc func(message.JSON) message.JSON) Inquiry {
	q.Questions = mapped(q.Questions, func(a Question) Question {
		a.Header, a.Text = text(a.Header), text(a.Text)
		a.Options = mapped(a.Options, func(c Choice) Choice { return Choice{text(c.Label), text(c.Description)} })
		return a
	})
	if q.Approval != nil {
		r := *q.Approval
		r.Args, r.Reason = doc(r.Args), text(r.Reason)
		r.Offers = mapped(r.Offers, func(o Offer) Offer { return Offer{o.ID, text(o.Text)} })
		q.Approval = &r
	}
	return q
}

func (r Response) masked(text func(string) string) Response {
	r.Given = mapped(r.Given, func(g Given) Given { return Given{mapped(g.Chosen, text), text(g.Text)} })
	return r
}

// mapped returns the list of what f makes of the elements.
func mapped[T any](l message.List[T], f func(T) T) message.List[T] {
	if l.Len() == 0 {
		return l
	}
	out := make([]T, l.Len())
	for i, v := range l.All() {
		out[i] = f(v)
	}
	return message.Freeze(out)
}
