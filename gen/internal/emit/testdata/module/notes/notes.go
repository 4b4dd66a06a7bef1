// Package notes is a subsystem with every kind of input.
package notes

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"example.com/try/shared"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Notes keeps notes.
//
//hook:subsystem prefix=note_
type Notes struct {
	hook.Nop
	Got any
}

// Priority of a note.
type Priority string

// The priorities.
const (
	Low    Priority = "low"
	normal Priority = "normal"
	High   Priority = "high"
)

// Level is a number with names.
type Level int

// The levels.
const (
	One Level = iota + 1
	Two
)

// Base is shared by inputs.
type Base struct {
	// Author of the change.
	Author string "json:\"author,omitzero\" hook:\"pattern='^[a-z]{2,8}(`x`)?$'\""
}

// AddInput is what add takes.
type AddInput struct {
	Base
	// Title of the note, unique.
	Title string `json:"title" hook:"minlen=1,maxlen=8"`
	// Priority of the note.
	Priority Priority `json:"priority,omitzero" hook:"default=normal"`
	// Level of the note.
	Level *Level `json:"level"`
	// Limit of lines.
	Limit int `json:"limit,omitzero" hook:"default=10,min=1,max=100"`
	// Small number.
	Small int8 `json:"small,omitzero"`
	// Ratio of it.
	Ratio float32 `json:"ratio,omitzero" hook:"min=0.5"`
	// Done or not.
	Done bool `json:"done,omitzero"`
	// ID of something, beyond 2^53.
	ID uint64 `json:"id,omitzero,string"`
	// Tags of the note.
	Tags []Priority `json:"tags,omitzero" hook:"minitems=1,maxitems=3"`
	// Matrix of numbers.
	Matrix [][]*int `json:"matrix,omitzero"`
	// Labels by name.
	Labels map[string]string `json:"labels,omitzero"`
	// Spans by name.
	Spans map[Priority]*shared.Span `json:"spans,omitzero"`
	// Every so often.
	Every shared.Span `json:"every,omitzero"`
	// Also these.
	Also []shared.Span `json:"also,omitzero"`
	// Where to put it.
	Where struct {
		// Line of the text.
		Line *uint `json:"line" hook:"required"`
	} `json:"where,omitzero"`
	// Names that may be null.
	Names *[]string `json:"names"`
	// Site to read.
	Site string `json:"site,omitzero" hook:"format=uri"`
	// Data in base64.
	Data []byte `json:"data,omitzero"`
	// At which time.
	At time.Time `json:"at,omitzero"`
	// Wait so long.
	Wait time.Duration `json:"wait,omitzero" hook:"default=1m30s"`
	// Meta of any kind.
	Meta json.RawMessage `json:"meta,omitzero"`
	// Extra of any kind.
	Extra message.JSON `json:"extra,omitzero"`
	// Free of any kind.
	Free any `json:"free,omitzero"`
}

// Add stores a new `note`.
//
//   - one
//   - two */ func init() { panic("injected") }
//
//hook:tool timeout=90s destructive idempotent exclusive=notes maxresult=1000 waits
func (n *Notes) Add(_ context.Context, in AddInput) (string, error) {
	n.Got = in
	return in.Title, nil
}

// Edit changes a note.
//
//hook:tool name=edit-it
func (n *Notes) Edit(_ context.Context, env *hook.Env, in *struct {
	// Title of the note.
	Title string `json:"title"`
}) (map[string]string, error) {
	defer func() { in.Title = "changed" }()
	return map[string]string{"title": in.Title, "key": env.Key}, nil
}

// List returns every note.
//
//hook:tool readonly openworld
func (n *Notes) List(context.Context) ([]string, error) { return []string{"<a>"}, nil }

// Drop removes nothing.
//
//hook:tool
func (n *Notes) Drop(_ context.Context, in Base) error {
	if in.Author == "" {
		return &hook.ToolError{Kind: message.FailNotFound, Text: "no such note"}
	}
	if in.Author == "no" {
		return errors.New("failed")
	}
	return nil
}

// Found is a result, and nothing but a result.
type Found struct {
	Head
	Parts []Part
}

// Head is embedded in a result.
type Head struct{ Line uint }

// Part lies in a result.
type Part struct{ Text string }

// Find finds nothing.
//
//hook:tool readonly
func (n *Notes) Find(context.Context) (Found, error) { return Found{}, nil }

// Clock is a subsystem of values.
//
//hook:subsystem
type Clock struct{ hook.Nop }

// Now tells the time.
//
//hook:tool
func (Clock) Now(context.Context) (message.ToolResult, error) { return message.TextResult("noon"), nil }
