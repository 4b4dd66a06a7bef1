package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Channel reaches the people who can answer.
type Channel interface {
	// Ask shows the request and returns the answer. It blocks until somebody has
	// answered or ctx ends, whose cause ([context.Cause]) it then returns, unless an answer was
	// accepted from somebody just before: that one is returned, and counts. An error
	// refuses the call and is told to the operator. It is called from several
	// goroutines at once; of one turn there is one ask at a time.
	Ask(ctx context.Context, r Request) (Reply, error)
}

// Request is a call that waits for approval. Its texts may quote a model: whoever
// draws them on a screen makes control characters visible first.
type Request struct {
	// Agent calls the tool in this turn. Depth is 0 for a turn of the conversation
	// itself; a turn that another one runs is deeper, and its agent another one than
	// people talk to.
	Agent string
	Turn  string
	Depth int
	// Conversation is the id of the one that people see, at any depth.
	Conversation string
	// CallID is the model's id of the call, unique in the turn.
	CallID string
	// Tool is the public name of the tool.
	Tool string
	// Args are the arguments with which it will run, byte for byte.
	Args message.JSON
	// Reason is why somebody is asked; may be empty.
	Reason string
	Asked  time.Time
	// Expires is when the time for an answer is over; zero is never.
	Expires time.Time
	// ApprovedOnTimeout: the call is approved then, and not refused.
	ApprovedOnTimeout bool
	// Offers are what can be remembered, the narrowest first.
	Offers message.List[Offer]
}

// Offer is something that can be remembered with an answer.
type Offer struct {
	// ID names it among the offers of the request.
	ID string `json:"id"`
	// Text says all that the answer will then cover: "exactly this call, in this
	// conversation". It can be shown as it is.
	Text string `json:"text"`
}

// Reply is the answer to a request.
type Reply struct {
	// Answer is hook.AnswerApprove, hook.AnswerRefuse or hook.AnswerModify. The zero
	// value is none, and an error.
	Answer hook.Answer
	// Args are the arguments to run the tool with instead: a JSON object, with
	// AnswerModify only. They are bound, decided about and perhaps asked about like
	// the model's.
	Args message.JSON
	// Reason becomes the result of the call, with AnswerRefuse only; "" says that the
	// user said no.
	Reason string
	// Remember is the id of an offer of the request; "" remembers nothing. A
	// modification cannot be remembered.
	Remember string
	// By is who has answered, for the event: a name of at most MaxBy bytes, without
	// control characters and dots, and neither ByRule nor ByTimeout.
	By string
}

// Bounds of a reply, in bytes.
const (
	MaxReason = 4096
	MaxBy     = 64
)

// Check says what is wrong with a reply to the request, in words for who has given
// it; nil is nothing.
func (r Request) Check(reply Reply) error {
	switch reply.Answer {
	case hook.AnswerApprove, hook.AnswerRefuse, hook.AnswerModify:
	default:
		return fmt.Errorf("answer is %.20q; it is approve, refuse or modify", reply.Answer)
	}
	switch {
	case reply.Answer == hook.AnswerModify && !isObject(reply.Args):
		return errors.New("args is no object; modify needs the arguments to run the tool with")
	case reply.Answer != hook.AnswerModify && reply.Args != "":
		return errors.New("args goes with the answer modify only; leave it out")
	case reply.Answer != hook.AnswerRefuse && reply.Reason != "":
		return errors.New("reason goes with the answer refuse only; leave it out")
	case len(reply.Reason) > MaxReason || !utf8.ValidString(reply.Reason):
		return fmt.Errorf("reason has to be UTF-8 text of at most %d bytes", MaxReason)
	case !isName(reply.By):
		return fmt.Errorf("by has to be a name of at most %d bytes, without control characters and dots, and not %s or %s", MaxBy, ByRule, ByTimeout)
	case reply.Remember != "" && reply.Answer == hook.AnswerModify:
		return errors.New("a modification is for its one call; leave remember out")
	case reply.Remember != "" && !r.offers(reply.Remember):
		return fmt.Errorf("remember is %.40q, which is none of the offers of this ask: %s", reply.Remember, r.ids())
	}
	return nil
}

func isObject(args message.JSON) bool {
	return strings.HasPrefix(strings.TrimSpace(string(args)), "{") && json.Valid([]byte(args))
}

// isName reports whether the text can stand for who has answered: it cannot look
// like a path of hooks, and not like an answer that nobody gave.
func isName(by string) bool {
	return len(by) <= MaxBy && utf8.ValidString(by) && by != ByRule && by != ByTimeout &&
		!strings.ContainsFunc(by, func(c rune) bool { return c == '.' || !unicode.IsPrint(c) })
}

func (r Request) offers(id string) bool {
	for _, o := range r.Offers.All() {
		if o.ID == id {
			return true
		}
	}
	return false
}

func (r Request) ids() string {
	if r.Offers.Len() == 0 {
		return "there are none"
	}
	var out []string
	for _, o := range r.Offers.All() {
		out = append(out, o.ID)
	}
	return strings.Join(out, ", ")
}
