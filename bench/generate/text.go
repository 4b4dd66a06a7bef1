package generate

// plainText has what goverter, moq and stringer read.
const plainText = `package PACKAGE

import "context"

// Finder is an interface, for moq.
type Finder interface {
	Find(ctx context.Context, title string) (Note, error)
	List(ctx context.Context, from, count int) ([]Note, error)
	Delete(ctx context.Context, title string) error
}

// Converter is for goverter.
//
// goverter:converter
// goverter:enum no
type Converter interface {
	Note(in Stored) Note
	Notes(in []Stored) []Note
	Stored(in Note) Stored
}

// Stored is a note as it is stored.
type Stored struct {
	Title string
	Body  string
	Tags  []string
	Level Level
	Links map[string]string
}

// Level is for stringer.
type Level int

// The levels.
const (
	Low Level = iota
	Middle
	High
)
`

// toolsText has what hookgen reads.
const toolsText = `// Package PACKAGE keeps notes.
package PACKAGE

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// Desk is the composite.
//
//hook:composite
type Desk struct {
	Drafts  *Drafts
	Archive *Archive
}

// Kind is what a note is for.
//
//hook:enum
type Kind string

// The kinds.
const (
	Task Kind = "task"
	Idea Kind = "idea"
)

// Note is a note.
type Note struct {
	// Title of the note.
	Title string ` + "`json:\"title\" hook:\"minlen=1\"`" + `
	// Body in Markdown.
	Body string ` + "`json:\"body\"`" + `
	// Tags to find it by.
	Tags []string ` + "`json:\"tags,omitempty\"`" + `
	// Level of the note.
	Level Level ` + "`json:\"level,omitempty\"`" + `
	// Links by name.
	Links map[string]string ` + "`json:\"links,omitempty\"`" + `
}

// Query says which notes are meant.
type Query struct {
	// Title of the note.
	Title string ` + "`json:\"title\"`" + `
	// Kind of the note.
	Kind Kind ` + "`json:\"kind\"`" + `
	// Limit is how many at most.
	Limit int ` + "`json:\"limit,omitempty\" hook:\"min=0,max=100\"`" + `
}

// Drafts are notes that are being written.
//
//hook:subsystem prefix=draft_
type Drafts struct{ hook.Nop }

// Add adds a note.
//
//hook:tool
func (*Drafts) Add(context.Context, Note) error { return nil }

// Find finds notes.
//
//hook:tool readonly
func (*Drafts) Find(context.Context, Query) ([]Note, error) { return nil, nil }

// Count counts notes.
//
//hook:tool readonly
func (*Drafts) Count(context.Context, Query) (int, error) { return 0, nil }

// Drop deletes notes.
//
//hook:tool destructive
func (*Drafts) Drop(context.Context, Query) error { return nil }

// BeforeTool lets everything pass.
func (*Drafts) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.ToolDecision{}, nil
}

// Archive are notes that are done.
//
//hook:subsystem prefix=archive_
type Archive struct{ hook.Nop }

// Put puts a note there.
//
//hook:tool
func (*Archive) Put(context.Context, Note) error { return nil }

// Find finds notes.
//
//hook:tool readonly
func (*Archive) Find(context.Context, Query) ([]Note, error) { return nil, nil }

// Restore takes notes out.
//
//hook:tool
func (*Archive) Restore(context.Context, Query) ([]Note, error) { return nil, nil }

// Burn deletes notes for good.
//
//hook:tool destructive
func (*Archive) Burn(context.Context, Query) error { return nil }
`
