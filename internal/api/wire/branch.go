package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// NewFork asks for a conversation with the first turns of another one.
type NewFork struct {
	// Turns is how many of them it has.
	Turns int `json:"turns"`
	// Sender is whose it is; "" is a new one.
	Sender string `json:"sender,omitzero"`
}

// Rewind takes away what came behind the first turns of a conversation.
type Rewind struct {
	// Turns is how many of them stay.
	Turns int `json:"turns"`
}

// NewCompaction asks for a summary in the place of older turns.
type NewCompaction struct {
	// Keep is how many of the last turns stay as they are; 0 is the runtime's
	// default.
	Keep int `json:"keep,omitzero"`
	// Focus is what the summary has to pay attention to besides.
	Focus string `json:"focus,omitzero"`
}

// Compaction is what became of a conversation that was compacted.
type Compaction struct {
	Summary string `json:"summary"`
	// Archived is how many messages the summary stands for, and Kept how many
	// follow it.
	Archived int           `json:"archived"`
	Kept     int           `json:"kept"`
	Usage    message.Usage `json:"usage"`
	// Cost is in billionths of a US dollar.
	Cost hook.Cost `json:"cost,omitzero"`
}

// Matches are the messages that were found, the best first.
type Matches struct {
	Matches []Match `json:"matches"`
}

// Match is one message that was found.
type Match struct {
	Conversation string    `json:"conversation"`
	Project      string    `json:"project,omitzero"`
	Agent        string    `json:"agent"`
	Sender       string    `json:"sender"`
	Updated      time.Time `json:"updated"`
	// Message is its place in the messages of the conversation, from 0, or in its
	// archive.
	Message  int          `json:"message"`
	Archived bool         `json:"archived,omitzero"`
	Role     message.Role `json:"role"`
	// Snippet is the text around the words.
	Snippet string `json:"snippet"`
	// Around are the messages before and after, itself included.
	Around []Line `json:"around,omitzero"`
}

// Line is one message in the neighbourhood of a match, shortened.
type Line struct {
	Message int          `json:"message"`
	Role    message.Role `json:"role"`
	Text    string       `json:"text"`
}
