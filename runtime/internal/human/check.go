package human

import (
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
)

func valid(r Request) error {
	q := r.Inquiry
	switch {
	case r.Call != nil:
	case q.ID == "":
		return errors.New("runtime: Ask: the inquiry has no id; set Inquiry.ID to the key of the call that asks, Env.Key")
	case q.Approval == nil && q.Questions.Len() == 0:
		return fmt.Errorf("runtime: Ask: inquiry %q has no question; ask at least one", q.ID)
	case q.Approval != nil && q.Questions.Len() > 0:
		return fmt.Errorf("runtime: Ask: inquiry %q has questions and a call to approve; ask two inquiries", q.ID)
	}
	return nil
}

func check(q Request, a Answer) error {
	if !q.answeredBy(a) && (q.Call != nil || a.Result != nil) {
		return errors.New("the request is of another kind: the result of a call answers a call")
	}
	if q.Call != nil {
		return nil
	}
	if q.Approval == nil {
		return checkGiven(q.Inquiry, a.Response)
	}
	if a.Approval == nil {
		return errors.New("the request is about a tool call; approve, refuse or modify it")
	}
	return q.Approval.Check(*a.Approval)
}

// checkGiven returns an error if the response does not fit the questions.
func checkGiven(q hook.Inquiry, r hook.Response) error {
	if r.Given.Len() != q.Questions.Len() {
		return fmt.Errorf("the inquiry has %d questions and the response %d answers; give one for each, in their order", q.Questions.Len(), r.Given.Len())
	}
	for i, given := range r.Given.All() {
		question := q.Questions.At(i)
		if given.Chosen.Len() > 1 && !question.Multi {
			return fmt.Errorf("answer %d chooses %d options; the question takes one", i+1, given.Chosen.Len())
		}
		for _, label := range given.Chosen.All() {
			if !slices.ContainsFunc(question.Options.Slice(), func(c hook.Choice) bool { return c.Label == label }) {
				return fmt.Errorf("answer %d chooses %.80q, which is no option; choose one of them, or give text", i+1, label)
			}
		}
	}
	return nil
}
