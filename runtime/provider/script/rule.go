package script

import (
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// FinishNone ends a stream without a finish, as a cut connection does.
const FinishNone message.FinishReason = "none"

// Rule is an answer with its conditions. The package comment describes the fields by their
// names in a file.
type Rule struct {
	// Name is the rule's name in errors; "" is its number.
	Name string
	// When has the conditions. The zero When always holds. With nil the rule is part of
	// the sequence: the n-th rule without When answers model call n.
	When *When
	// Reason and Say are streamed in this order, unless "".
	Reason string
	Say    string
	// Calls follow the text.
	Calls []Call
	// Finish is the finish reason. "" is FinishTools with calls, else FinishStop.
	Finish message.FinishReason
	// Usage is the reported usage; nil is an estimate.
	Usage *message.Usage
	// Err ends the stream instead of a finish. A provider.Error has a class.
	Err  error
	Pace Pace
}

// When is a set of conditions, all of which must hold. A zero field is no
// condition.
type When struct {
	// User is the user's last message.
	User Text
	// System is the system prompt.
	System Text
	// Context is what hooks have put beside the conversation: the messages with a label.
	Context Text
	// Model is the id of the requested model.
	Model Text
	// Results must each be found among the tool results of this turn.
	Results []Result
	// Tools must all be offered, of NoTools none.
	Tools   []string
	NoTools []string
	// Turn counts from 1 in the conversation, Step from 1 in the turn, Call from
	// 1 in the conversation: model calls both.
	Turn int
	Step int
	Call int
}

// Text is a condition on a text. The zero Text is none.
type Text struct {
	Contains string
	Equals   string
	// Matches is a regular expression of package regexp, not anchored.
	Matches string
}

// Result is a condition on one tool result.
type Result struct {
	// Tool is the tool's name; "" is any.
	Tool string
	// Text is a condition on what message.ToolResult.Text returns.
	Text Text
	// Failed, if it is not nil, says whether the result is a failure.
	Failed *bool
}

// Call is one tool call.
type Call struct {
	Tool string
	// Args are the arguments; "" is {}.
	Args message.JSON
	// ID is the call's id; "" makes one of the position in the conversation.
	ID string
	// Raw, if it is not "", is sent instead of Args, as it is.
	Raw string
}

// Pace slows a stream down. The zero Pace does not wait.
type Pace struct {
	// Wait is the time before the first chunk.
	Wait time.Duration
	// Delta is the time before every further piece of text.
	Delta time.Duration
	// Bytes is the length of a piece of text or arguments, to the next border of
	// a character. 0 cuts text after words, and arguments not at all.
	Bytes int
}
