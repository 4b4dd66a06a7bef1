package provider

import (
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Defaults of Limits: twice the longest answers of today's models.
const (
	DefaultMaxText      = 8 << 20
	DefaultMaxArguments = 8 << 20
	DefaultMaxBlocks    = 1024
)

// maxName limits the id and the tool's name of a call, in bytes. No server sends longer
// ones.
const maxName = 1024

// Limits limit one reply of a model. A field of 0 or less is its default.
type Limits struct {
	// Text limits text, reasoning and metadata together, in bytes; 0 is DefaultMaxText.
	Text int
	// Arguments limits the arguments of all tool calls together, in bytes; 0 is
	// DefaultMaxArguments.
	Arguments int
	// Blocks limits the number of texts, reasonings and tool calls; 0 is
	// DefaultMaxBlocks.
	Blocks int
}

func (l Limits) text() int      { return positive(l.Text, DefaultMaxText) }
func (l Limits) arguments() int { return positive(l.Arguments, DefaultMaxArguments) }
func (l Limits) blocks() int    { return positive(l.Blocks, DefaultMaxBlocks) }

func positive(n, other int) int {
	if n > 0 {
		return n
	}
	return other
}

// Part is a part of a reply that Limits limit.
type Part string

// The parts.
const (
	PartText      Part = "text"
	PartArguments Part = "arguments"
	PartBlocks    Part = "blocks"
)

// TooLargeError is the error of a reply that exceeds its Limits. The stream was cut: there
// is no reply, and none of its calls may run.
type TooLargeError struct {
	Part  Part
	Limit int
}

var _ Classified = (*TooLargeError)(nil)

// Error names the limit, and how to raise it.
func (e *TooLargeError) Error() string {
	switch e.Part {
	case PartArguments:
		return fmt.Sprintf("the model's reply was cut off: its tool calls have more than %d bytes of arguments; "+
			"have it send less at once, or raise the limit (--max-arguments; Limits.Arguments)", e.Limit)
	case PartBlocks:
		return fmt.Sprintf("the model's reply was cut off: it has more than %d texts and tool calls; "+
			"have it do less at once, or raise the limit (Limits.Blocks)", e.Limit)
	}
	return fmt.Sprintf("the model's reply was cut off: its text is longer than %d bytes; "+
		"set a limit of tokens for it, or raise this one (--max-text; Limits.Text)", e.Limit)
}

// Classify implements Classified. A retry would have the same result.
func (e *TooLargeError) Classify() (message.FailureClass, time.Duration) {
	return message.FailureTooLarge, 0
}
