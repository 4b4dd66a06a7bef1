// Package typed has typed tools as Grapnel generates them: those of the scenarios
// Call and Schema.
package typed

import (
	"context"
	"errors"
	"strings"

	"github.com/grapnel-go/grapnel/bench/work"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

//go:generate go tool hookgen .

// Lists has the tool that is called.
//
//hook:subsystem
type Lists struct {
	hook.Nop
	find work.Finder
}

// Find finds the list with a title and says how much is on it.
//
//hook:tool name=find
func (l *Lists) Find(_ context.Context, in work.Input) (work.Answer, error) { return l.find(in) }

// Notes has a tool with ten fields.
//
//hook:subsystem
type Notes struct{ hook.Nop }

// Ten has the fields of a note; the tags for descriptions are those that the peers
// read.
type Ten struct {
	// Title of the note.
	Title string `json:"title" jsonschema:"the title of the note" jsonschema_description:"the title of the note"`
	// Body in Markdown.
	Body string `json:"body" jsonschema:"the body in Markdown" jsonschema_description:"the body in Markdown"`
	// Owner by name.
	Owner string `json:"owner" jsonschema:"the owner by name" jsonschema_description:"the owner by name"`
	// Tags to find it by.
	Tags []string `json:"tags" jsonschema:"tags to find it by" jsonschema_description:"tags to find it by"`
	// Folder to keep it in.
	Folder string `json:"folder,omitempty" jsonschema:"the folder to keep it in" jsonschema_description:"the folder to keep it in"`
	// Priority from 1.
	Priority int `json:"priority,omitempty" jsonschema:"the priority from 1" jsonschema_description:"the priority from 1"`
	// Weight in kilograms.
	Weight float64 `json:"weight,omitempty" jsonschema:"the weight in kilograms" jsonschema_description:"the weight in kilograms"`
	// Pinned notes are on top.
	Pinned bool `json:"pinned,omitempty" jsonschema:"whether it is on top" jsonschema_description:"whether it is on top"`
	// Due as a date.
	Due string `json:"due,omitempty" jsonschema:"the date when it is due" jsonschema_description:"the date when it is due"`
	// Links to other notes.
	Links []string `json:"links,omitempty" jsonschema:"links to other notes" jsonschema_description:"links to other notes"`
}

// Add adds a note.
//
//hook:tool name=add_note
func (*Notes) Add(context.Context, Ten) error { return nil }

// Desk is the composite of both.
//
//hook:composite
type Desk struct {
	Notes *Notes
	Lists *Lists
}

// place is what a call is told, in one piece, as the runtime has it.
type place struct {
	call hook.ToolCall
	env  hook.Env
}

// Caller calls find through the composite: Dispatch, which finds the owner, decodes
// and validates, and Run, which calls the tool and encodes. There is no runtime
// around it, so nothing decides about the call.
func Caller(find work.Finder) work.Caller {
	desk := &Desk{new(Notes), &Lists{find: find}}
	tool := desk.Lists.Schema()[0]
	return work.Caller{Call: func(ctx context.Context, args string) (string, error) {
		at := &place{call: *hook.NewToolCall(hook.ToolCallData{ID: "1", Tool: tool, Args: message.JSON(args)})}
		at.env = hook.Env{Call: &at.call, Attempt: 1}
		inv, ok := desk.Dispatch(ctx, &at.call)
		if !ok {
			return "", errors.New("typed: nobody has " + tool.Name)
		}
		if err := inv.Err(); err != nil {
			return "", err
		}
		result := inv.Runner().Run(ctx, &at.env)
		return text(result)
	}}
}

// text is what a model gets of a result.
func text(r message.ToolResult) (string, error) {
	if r.Content.Len() == 1 {
		if b := r.Content.At(0); b.Kind == message.BlockJSON && !r.IsError() {
			return string(b.JSON), nil
		}
	}
	var all strings.Builder
	for _, b := range r.Content.All() {
		all.WriteString(b.Text)
	}
	return "", errors.New("typed: " + all.String())
}

// Schema returns the schema of the tool with ten fields, which is a constant.
func Schema() (string, error) { return string((*Notes)(nil).Schema()[0].Input), nil }
