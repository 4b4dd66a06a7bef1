package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Inquiry asks a person several questions at once, or whether a tool call may run.
type Inquiry struct {
	// ID names the inquiry in its conversation and is unique in a turn. A tool that
	// asks uses the key of its call ([Env.Key]), so that the inquiry has the same id
	// when it is asked again after a restart. If it asks more than once it appends to
	// the key.
	ID        string                 `json:"id"`
	Questions message.List[Question] `json:"questions"`
	// Approval is the tool call that needs approval; nil for questions. It is not
	// serialised: the events of the call have it.
	Approval *ApprovalRequest `json:"-"`
	// Timeout is how long to wait for the answer; 0 waits until the turn ends.
	Timeout time.Duration `json:"timeout,omitzero"`
}

// IsZero reports whether it is no inquiry; it makes omitzero work.
func (q Inquiry) IsZero() bool { return q.ID == "" && q.Questions.Len() == 0 }

// Question is one question of an inquiry.
type Question struct {
	// Header is a word or two for a small space.
	Header string `json:"header,omitzero"`
	Text   string `json:"text"`
	// Options are the choices; without any the answer is text.
	Options message.List[Choice] `json:"options,omitzero"`
	// Multi: more than one may be chosen.
	Multi bool `json:"multi,omitzero"`
}

// Choice is one of the options of a question.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// ApprovalRequest is a tool call that a person approves or refuses. Its texts may
// quote a model: a program that displays them must make control characters visible.
type ApprovalRequest struct {
	// CallID is the model's id of the call, unique in the turn.
	CallID string
	// Tool is the public name of the tool.
	Tool string
	// Args are the arguments with which the tool will run, byte for byte unless they are masked.
	Args message.JSON
	// Masked: markers stand in Args in place of secrets, which the tool gets. Such a call is approved as it is: its answer has no other arguments,
	// and is not remembered.
	Masked bool
	// Reason is why the person is asked; may be empty.
	Reason string
	// Part is the part of the call that Reason is about, as the arguments have it; "" is none.
	Part string
	// Reaches are sentences about what the call would touch, and about what cannot be known of
	// it. It is an estimate: a call may touch more.
	Reaches message.List[string]
	// Remarks are sentences about what a person may overlook or misread in Args, such as
	// invisible characters.
	Remarks message.List[string]
	// Grant is what the call may do if it is approved; the zero Grant adds no limit.
	Grant Grant
	// ApprovedOnTimeout: without an answer in time the call is approved, not refused.
	ApprovedOnTimeout bool
	// Offers are the rules that the person may have remembered, the narrowest first. A call
	// that is too long to be shown whole has none.
	Offers message.List[Offer]
}

// Offer is a rule that the program can remember with an answer.
type Offer struct {
	// ID names the offer within its request.
	ID string
	// Text says which calls the remembered answer will cover: "exactly this call, in
	// this conversation".
	Text string
}

// Response answers an inquiry.
type Response struct {
	// Given has an element for each question, in their order.
	Given message.List[Given] `json:"given"`
	// Approval answers a request for approval; nil for questions. Like
	// [Inquiry.Approval] it is not serialised.
	Approval *ApprovalReply `json:"-"`
}

// IsZero reports whether it answers nothing; it makes omitzero work.
func (r Response) IsZero() bool { return r.Given.Len() == 0 && r.Approval == nil }

// Given is the answer to one question: labels of the chosen options, or the person's
// own text, or both.
type Given struct {
	Chosen message.List[string] `json:"chosen,omitzero"`
	Text   string               `json:"text,omitzero"`
}

// ApprovalReply answers a request for approval.
type ApprovalReply struct {
	// Answer is AnswerApprove, AnswerRefuse or AnswerModify. The zero value is none,
	// and an error.
	Answer Answer
	// Args are the arguments to run the tool with instead: a JSON object, with
	// AnswerModify only. They pass the same points as the model's, approval included.
	Args message.JSON
	// Reason becomes the result of the call, with AnswerRefuse only: UTF-8, at most
	// 4096 bytes. "" becomes a text which says that the user refused.
	Reason string
	// Remember is the id of an offer of the request; "" remembers nothing. A
	// modification cannot be remembered.
	Remember string
	// By names the person who answered; the host sets it. It has at most 256 bytes, no
	// control characters and no dots, and is neither ByRule nor ByTimeout.
	By string
}

// The last word of the path in an ApprovalDecision's verdict, if no person was asked or
// none answered.
const (
	ByRule    = "rule"    // a remembered answer decided
	ByTimeout = "timeout" // nobody answered in time
)

const maxApprovalReason, maxApprovalBy = 4096, 256

// Check returns an error, in words for the person who replied, if the reply does not fit
// the request.
func (r ApprovalRequest) Check(reply ApprovalReply) error {
	switch reply.Answer {
	case AnswerApprove, AnswerRefuse, AnswerModify:
	default:
		return fmt.Errorf("answer is %.20q; it is approve, refuse or modify", reply.Answer)
	}
	switch {
	case reply.Answer == AnswerModify && !isObject(reply.Args):
		return errors.New("args is no object; modify needs the arguments to run the tool with")
	case reply.Answer != AnswerModify && reply.Args != "":
		return errors.New("args goes with the answer modify only; leave it out")
	case reply.Answer != AnswerRefuse && reply.Reason != "":
		return errors.New("reason goes with the answer refuse only; leave it out")
	case len(reply.Reason) > maxApprovalReason || !utf8.ValidString(reply.Reason):
		return fmt.Errorf("reason has to be UTF-8 text of at most %d bytes", maxApprovalReason)
	case !isApprover(reply.By):
		return fmt.Errorf("by has to be a name of at most %d bytes, without control characters and dots, and not %s or %s", maxApprovalBy, ByRule, ByTimeout)
	case reply.Remember != "" && reply.Answer == AnswerModify:
		return errors.New("a modification is for its one call; leave remember out")
	case reply.Remember != "":
		return r.checkOffer(reply.Remember)
	}
	return nil
}

func (r ApprovalRequest) checkOffer(id string) error {
	var ids []string
	for _, o := range r.Offers.All() {
		if o.ID == id {
			return nil
		}
		ids = append(ids, o.ID)
	}
	return fmt.Errorf("remember is %.40q, which is none of the offers of this ask: %s", id, cmp.Or(strings.Join(ids, ", "), "there are none"))
}

func isObject(args message.JSON) bool {
	return strings.HasPrefix(strings.TrimSpace(string(args)), "{") && json.Valid([]byte(args))
}

// isApprover reports whether a name can follow the path of a hook without looking like
// another path, ByRule or ByTimeout.
func isApprover(by string) bool {
	return len(by) <= maxApprovalBy && utf8.ValidString(by) && by != ByRule && by != ByTimeout &&
		!strings.ContainsFunc(by, func(c rune) bool { return c == '.' || !unicode.IsPrint(c) })
}
