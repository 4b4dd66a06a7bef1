// Package jsonl exports a conversation as lines of JSON and imports it, to keep a copy or
// to move it to another store.
//
// The first line describes the file. Each other line is a message, archived ones first:
//
//	{"format":"grapnel conversation","version":1,"agent":"coder","sender":"me","created":"2026-05-06T07:08:09Z","turns":2,"archived":2,"messages":2}
//	{"turn":1,"message":{"role":"user","content":[{"kind":"text","text":"hi"}]}}
//	{"turn":1,"message":{"role":"assistant","content":[{"kind":"text","text":"hello"}]}}
//	{"turn":1,"summary":true,"message":{"role":"user","content":[{"kind":"text","text":"They greeted."}],"label":"summary"}}
//	{"turn":2,"message":{"role":"user","content":[{"kind":"text","text":"bye"}]}}
//
// The file has no project, lease, journal, events, states of hooks or rewound messages.
package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

const (
	format  = "grapnel conversation"
	version = 1
)

// header is the first line.
type header struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Agent    string    `json:"agent"`
	Sender   string    `json:"sender"`
	Created  time.Time `json:"created"`
	Turns    int       `json:"turns"`
	Archived int       `json:"archived"`
	Messages int       `json:"messages"`
}

// line is each of the others.
type line struct {
	Turn    int            `json:"turn"`
	Summary bool           `json:"summary,omitzero"`
	Message jsontext.Value `json:"message"`
}

// Export writes the conversation to w. With a [*store.DamagedError] it has written all
// readable messages. That file can be imported, unless the summary of an archive or the
// first message of a turn is missing.
func Export(ctx context.Context, s store.Porter, id string, w io.Writer) error {
	d, err := s.Dump(ctx, id)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return errors.Join(err, Write(w, d))
}

// Write writes a dump. Equal dumps are equal bytes.
func Write(w io.Writer, d store.Dump) error {
	if !utf8.ValidString(d.Key.Agent) || !utf8.ValidString(d.Key.Sender) {
		return fmt.Errorf("export the conversation of %q with %q: its key is not UTF-8, which JSON has to be; give it another Key", d.Key.Agent, d.Key.Sender)
	}
	err := writeLine(w, header{
		Format: format, Version: version, Agent: d.Key.Agent, Sender: d.Key.Sender, Created: d.Created.UTC(),
		Turns: d.Turns, Archived: len(d.Archive), Messages: len(d.Messages),
	})
	for _, part := range [][]store.Kept{d.Archive, d.Messages} {
		for _, k := range part {
			if err != nil {
				return err
			}
			var text string
			if text, err = codec.Encode(k.Message); err == nil {
				err = writeLine(w, line{Turn: k.Turn, Summary: k.Summary, Message: jsontext.Value(text)})
			}
		}
	}
	return err
}

func writeLine(w io.Writer, v any) error {
	// Keep the message's encoding as it is.
	text, err := json.Marshal(v, jsontext.PreserveRawStrings(true))
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// Import makes a conversation from the output of Export: under the key as, or under its
// own key if as is nil. It checks everything before it writes, and writes in one step.
// Errors are store.ErrExists if the key is taken, store.ErrKey if it is not valid, and a
// [*LineError] for a wrong line. With a [*CutError] it has imported the lines before the
// cut.
func Import(ctx context.Context, s store.Porter, r io.Reader, as *store.Key) (store.Record, error) {
	d, err := Read(r)
	var cut *CutError
	if err != nil && !errors.As(err, &cut) {
		return store.Record{}, err
	}
	if as != nil {
		d.Key = *as
	}
	rec, failed := s.Restore(ctx, d)
	if as == nil && errors.Is(failed, store.ErrKey) {
		failed = &LineError{1, failed, "or import it under another key"}
	}
	if failed != nil {
		return store.Record{}, failed
	}
	return rec, err
}
