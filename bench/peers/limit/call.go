package limit

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Caller calls a typed tool with encoding/json on both sides: what one writes first.
func Caller(find work.Finder) work.Caller {
	return work.Caller{Call: func(_ context.Context, args string) (string, error) {
		var in work.Input
		if err := json.Unmarshal([]byte(args), &in); err != nil {
			return "", err
		}
		out, err := find(in)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(out)
		return string(text), err
	}}
}

// CodecCaller has a decoder and an encoder that know this input and this answer: the
// least that has to be done. The decoder knows no escapes, no blanks, no order but
// that of work.Args, and takes texts apart without copying them.
func CodecCaller(find work.Finder) work.Caller {
	return work.Caller{Call: func(_ context.Context, args string) (string, error) {
		in, ok := decode(args)
		if !ok {
			return "", errors.New("limit: these are other arguments than are known here")
		}
		out, err := find(in)
		if err != nil {
			return "", err
		}
		text := append(make([]byte, 0, 48), `{"title":`...)
		text = strconv.AppendQuote(text, out.Title)
		text = append(text, `,"found":`...)
		text = strconv.AppendInt(text, int64(out.Found), 10)
		return string(append(text, '}')), nil
	}}
}

func decode(args string) (in work.Input, ok bool) {
	rest, ok := strings.CutPrefix(args, `{"title":"`)
	if !ok {
		return in, false
	}
	in.Title, rest, ok = strings.Cut(rest, `","limit":`)
	if !ok || strings.Contains(in.Title, `\`) {
		return in, false
	}
	rest, ok = strings.CutSuffix(rest, "}")
	limit, err := strconv.Atoi(rest)
	in.Limit = limit
	return in, ok && err == nil
}

// Schema is that of the input with ten fields, written by hand.
func Schema() (string, error) { return schema, nil }

const schema = `{"type":"object","properties":{` +
	`"title":{"type":"string","description":"the title of the note"},` +
	`"body":{"type":"string","description":"the body in Markdown"},` +
	`"owner":{"type":"string","description":"the owner by name"},` +
	`"tags":{"type":"array","description":"tags to find it by","items":{"type":"string"}},` +
	`"folder":{"type":"string","description":"the folder to keep it in"},` +
	`"priority":{"type":"integer","description":"the priority from 1"},` +
	`"weight":{"type":"number","description":"the weight in kilograms"},` +
	`"pinned":{"type":"boolean","description":"whether it is on top"},` +
	`"due":{"type":"string","description":"the date when it is due"},` +
	`"links":{"type":"array","description":"links to other notes","items":{"type":"string"}}` +
	`},"required":["title","body","owner","tags"],"additionalProperties":false}`
