package hook

import (
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Inquiry is the questions that are put to a person at once.
type Inquiry struct {
	// ID names the inquiry in its conversation, and is the same when it is put
	// again after a restart: the key of the call that asks ([Env.Key]). It is not
	// empty and not used twice in a turn: a call that asks more than once adds to it.
	ID        string                 `json:"id"`
	Questions message.List[Question] `json:"questions"`
	// Timeout is how long to wait for the answer; 0 waits as long as the turn goes
	// on.
	Timeout time.Duration `json:"timeout,omitzero"`
}

// IsZero reports whether it is no inquiry; it makes omitzero work.
func (q Inquiry) IsZero() bool { return q.ID == "" && q.Questions.Len() == 0 }

// Question is one question of an inquiry.
type Question struct {
	// Header is a word or two for a small space.
	Header string `json:"header,omitzero"`
	Text   string `json:"text"`
	// Options are what can be chosen; without any the answer is text.
	Options message.List[Choice] `json:"options,omitzero"`
	// Multi: more than one may be chosen.
	Multi bool `json:"multi,omitzero"`
}

// Choice is one of the options of a question.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// Response answers an inquiry.
type Response struct {
	// Given has an element for each question, in their order.
	Given message.List[Given] `json:"given"`
}

// IsZero reports whether it answers nothing; it makes omitzero work.
func (r Response) IsZero() bool { return r.Given.Len() == 0 }

// Given is the answer to one question: labels of what was chosen, or text of the
// person's own, or both.
type Given struct {
	Chosen message.List[string] `json:"chosen,omitzero"`
	Text   string               `json:"text,omitzero"`
}
