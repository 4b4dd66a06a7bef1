// Package askuser lets an agent ask the people it works for: the tool ask_user
// puts one to four questions with options and waits for the answer.
//
// The host ([hook.Host.Ask]) shows the questions and takes the answer: a terminal, a
// web page, an editor. People may always answer in their own words, or leave a
// question out.
//
// An answer approves nothing. The approval of a tool call shows the call itself; a
// model's question shows only the words of the model.
package askuser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// DefaultTimeout is how long people have for their answer.
const DefaultTimeout = 5 * time.Minute

// AskUser owns the tool ask_user. It keeps no state between calls and is safe for
// concurrent use; New makes one.
//
//hook:subsystem
type AskUser struct {
	hook.Nop
	timeout time.Duration
}

var _ hook.Hook = (*AskUser)(nil)

// Options are the settings of [AskUser]; nil is all zero values.
type Options struct {
	// Timeout is how long to wait for an answer; 0 is DefaultTimeout, negative waits
	// until the turn ends.
	Timeout time.Duration
}

// New returns the subsystem.
func New(o *Options) *AskUser {
	a := &AskUser{timeout: DefaultTimeout}
	if o != nil && o.Timeout != 0 {
		a.timeout = max(o.Timeout, 0)
	}
	return a
}

// SystemPrompt says when to ask and when not.
func (a *AskUser) SystemPrompt(cfg *hook.AgentConfig) string {
	return "Ask the user with " + cfg.ToolName(ToolAskUser) + " when you need a decision that is theirs and that you cannot find out " +
		"with your other tools: which of several ways, what they prefer, what an unclear request means. Put what belongs together into " +
		"one call. Do not ask for permission to use a tool; that is asked where it is needed. Without an answer, take the way that is " +
		"easiest to undo and say what you assumed."
}

// AskInput are the arguments of ask_user.
type AskInput struct {
	// Questions are put at once and answered together.
	Questions []Question `json:"questions" hook:"minitems=1,maxitems=4"`
}

// Question is one question.
type Question struct {
	// Question is the whole question, as one sentence with a question mark.
	Question string `json:"question" hook:"minlen=1,maxlen=1000"`
	// Header is a word or two that name the subject, for a small space: "Database".
	Header string `json:"header" hook:"minlen=1,maxlen=12"`
	// Options are what can be chosen. No option for "something else" is needed: the user can always answer in their own words.
	Options []Option `json:"options" hook:"minitems=2,maxitems=4"`
	// MultiSelect lets the user choose more than one option.
	MultiSelect bool `json:"multi_select,omitzero"`
}

// Option is one of the options of a question.
type Option struct {
	// Label is the option itself, in one to five words.
	Label string `json:"label" hook:"minlen=1,maxlen=80"`
	// Description is what choosing it means or brings.
	Description string `json:"description,omitzero" hook:"maxlen=500"`
}

// Ask puts questions to the user and waits for the answer. The user chooses
// among the options, answers in their own words, or leaves a question out.
//
//hook:tool name=ask_user trust=trusted readonly idempotent waits
func (a *AskUser) Ask(ctx context.Context, env *hook.Env, in AskInput) (message.ToolResult, error) {
	if err := check(in.Questions); err != nil {
		return message.ToolResult{}, err
	}
	inquiry := hook.Inquiry{ID: env.Key, Questions: message.Freeze(questions(in.Questions)), Timeout: a.timeout}
	r, err := env.Call.Host().Ask(ctx, inquiry)
	switch {
	case errors.Is(err, hook.ErrUnanswered):
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailTimeout, Text: a.unanswered()}
	case errors.Is(err, hook.ErrNoTurn):
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailOperation, Text: "There is nobody here who could be asked." + withoutAnswer}
	case err != nil:
		return message.ToolResult{}, err
	case unanswered(r):
		return message.ToolResult{}, &hook.ToolError{Kind: message.FailOperation, Text: "The user put the questions aside without an answer." + withoutAnswer}
	}
	return result(inquiry, r)
}

// withoutAnswer tells the model what to do without an answer.
const withoutAnswer = " Go on without: take the way that is easiest to undo and say what you assumed, or end with the question as your answer."

func (a *AskUser) unanswered() string {
	if a.timeout == 0 {
		return "Nobody answered." + withoutAnswer
	}
	return fmt.Sprintf("Nobody answered within %s.%s", a.timeout, withoutAnswer)
}

// check checks what the schema cannot express. Its errors say what to change.
func check(qs []Question) error {
	texts := map[string]int{}
	for i, q := range qs {
		at := fmt.Sprintf("questions[%d].", i)
		if strings.TrimSpace(q.Question) == "" || strings.TrimSpace(q.Header) == "" {
			return wrong(at + "question and " + at + "header must have a text that is not blank")
		}
		if j, twice := texts[fold(q.Question)]; twice {
			return wrong(fmt.Sprintf("%squestion is the same as that of questions[%d]: ask it once, with multi_select if several answers may hold", at, j))
		}
		texts[fold(q.Question)] = i
		labels := map[string]int{}
		for k, o := range q.Options {
			if fold(o.Label) == "" {
				return wrong(fmt.Sprintf("%soptions[%d].label is blank: write the option itself", at, k))
			}
			if j, twice := labels[fold(o.Label)]; twice {
				return wrong(fmt.Sprintf("%soptions[%d].label is the same as that of options[%d]: options must differ in their labels, so that an answer says which is meant", at, k, j))
			}
			labels[fold(o.Label)] = k
		}
	}
	return nil
}

func wrong(text string) error { return &hook.ToolError{Kind: message.FailArguments, Text: text + "."} }

// fold returns the text for comparisons that ignore case and repeated blanks, because
// people type labels without care for them.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

func questions(qs []Question) []hook.Question {
	out := make([]hook.Question, len(qs))
	for i, q := range qs {
		choices := make([]hook.Choice, len(q.Options))
		for j, o := range q.Options {
			choices[j] = hook.Choice{Label: strings.TrimSpace(o.Label), Description: strings.TrimSpace(o.Description)}
		}
		out[i] = hook.Question{
			Header: strings.TrimSpace(q.Header), Text: strings.TrimSpace(q.Question),
			Options: message.Freeze(choices), Multi: q.MultiSelect,
		}
	}
	return out
}

// result returns the answer for the model, a line for each question. Its Meta has the
// inquiry and the response for clients.
func result(q hook.Inquiry, r hook.Response) (message.ToolResult, error) {
	meta, err := json.Marshal(struct {
		Inquiry  hook.Inquiry  `json:"inquiry"`
		Response hook.Response `json:"response"`
	}{q, r})
	if err != nil {
		return message.ToolResult{}, fmt.Errorf("write the answer as JSON: %w", err)
	}
	var sb strings.Builder
	for i, question := range q.Questions.All() {
		var given hook.Given
		if i < r.Given.Len() {
			given = r.Given.At(i)
		}
		if i > 0 {
			sb.WriteByte('\n')
		}
		sb.WriteString(question.Text + " → " + answerText(given))
	}
	out := message.TextResult(sb.String())
	out.Meta = message.JSON(meta)
	return out, nil
}

func unanswered(r hook.Response) bool {
	for _, g := range r.Given.All() {
		if g.Chosen.Len() > 0 || strings.TrimSpace(g.Text) != "" {
			return false
		}
	}
	return true
}

func answerText(g hook.Given) string {
	text := strings.ReplaceAll(strings.TrimSpace(g.Text), "\n", "\n  ")
	chosen := strings.Join(g.Chosen.Slice(), "; ")
	switch {
	case chosen == "" && text == "":
		return "(no answer)"
	case text == "":
		return chosen
	case chosen == "":
		return "in their own words: " + text
	}
	return chosen + "; and in their own words: " + text
}
