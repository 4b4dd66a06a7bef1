package wire

import (
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// NewFork asks for a conversation with the first turns of another one.
type NewFork struct {
	// Turns is how many of the first turns it has.
	Turns int `json:"turns"`
	// Sender is the sender of the new conversation; "" is a new sender.
	Sender string `json:"sender,omitzero"`
}

// Rewind removes everything after the first turns of a conversation.
type Rewind struct {
	// Turns is how many of the first turns stay.
	Turns int `json:"turns"`
	// Of is how many turns the caller has seen: if the conversation has another number by now, nothing is removed, with [CodeIdle]. 0 takes
	// whatever there is.
	Of int `json:"of,omitzero"`
}

// NewUndo asks to take back what turns changed in the project.
type NewUndo struct {
	// Turns is how many of the last turns with commands are undone; 0 is 1.
	Turns int `json:"turns,omitzero"`
	// Redo takes back the last undo instead.
	Redo bool `json:"redo,omitzero"`
	// DryRun changes nothing.
	DryRun bool `json:"dry_run,omitzero"`
	// Latest is the id of the first of Undone.Turns as a dry run said it: if another turn is the latest one by now, nothing is done, with
	// [CodeIdle]. "" takes whichever it is.
	Latest string `json:"latest,omitzero"`
}

// Undone is what an undo did, or would do. Paths are relative to the project; one that cannot be printed is quoted.
type Undone struct {
	// Turns are the turns that are undone, or done again, the latest first.
	Turns []UndoneTurn `json:"turns"`
	// Restored were put back or changed, and Removed had been created.
	Restored []string `json:"restored"`
	Removed  []string `json:"removed"`
	// Conflicts stay as they are, because somebody else changed them. Of Lost there is no copy.
	Conflicts []NotUndone `json:"conflicts"`
	Lost      []NotUndone `json:"lost"`
	// Unended: the program ended within the turn, so that what others changed since counts as its own.
	Unended bool `json:"unended,omitzero"`
}

// UndoneTurn is a turn of the conversation.
type UndoneTurn struct {
	ID string `json:"id"`
	// Number counts the turns of the conversation from 1.
	Number int `json:"number"`
}

// NotUndone is a path that stays as it is.
type NotUndone struct {
	Path string `json:"path"`
	// Why is the reason, as words for people.
	Why string `json:"why"`
}

// NewCompaction asks for a summary that replaces older turns.
type NewCompaction struct {
	// Keep is how many of the last turns stay as they are; 0 is the runtime's
	// default.
	Keep int `json:"keep,omitzero"`
	// Focus names what the summary must also preserve.
	Focus string `json:"focus,omitzero"`
}

// Compaction is the result of a compaction.
type Compaction struct {
	Summary string `json:"summary"`
	// Archived is how many messages the summary replaces, and Kept how many follow it.
	Archived int           `json:"archived"`
	Kept     int           `json:"kept"`
	Usage    message.Usage `json:"usage"`
	// Cost is in billionths of a US dollar.
	Cost hook.Cost `json:"cost,omitzero"`
}

// Matches are the messages that a search found, the best first.
type Matches struct {
	Matches []Match `json:"matches"`
}

// Match is one message that a search found.
type Match struct {
	Conversation string    `json:"conversation"`
	Project      string    `json:"project,omitzero"`
	Agent        string    `json:"agent"`
	Sender       string    `json:"sender"`
	Updated      time.Time `json:"updated"`
	// Message is the index of the message in the conversation, from 0; with Archived, in
	// its archive.
	Message  int  `json:"message"`
	Archived bool `json:"archived,omitzero"`
	// Summary: the match is the summary of the messages in the archive.
	Summary bool         `json:"summary,omitzero"`
	Role    message.Role `json:"role"`
	// Snippet is the text around the words found.
	Snippet string `json:"snippet"`
	// Around are the messages before and after the match, with the match itself.
	Around []Line `json:"around,omitzero"`
}

// Line is one message near a match, shortened.
type Line struct {
	Message int          `json:"message"`
	Role    message.Role `json:"role"`
	Text    string       `json:"text"`
}
