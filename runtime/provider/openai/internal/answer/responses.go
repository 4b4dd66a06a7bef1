package answer

import (
	"bytes"
	"cmp"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// between separates the parts of a summary of reasoning.
const between = "\n\n"

// response is the stream of one answer on the Responses wire.
type response struct {
	*Reader
	json  jsontext.Decoder
	data  bytes.Buffer
	event event
	// outs are the items of the output by their index; more than wire.MaxCalls are an error.
	outs []out
	ids  wire.IDs
	// calls is the number of calls; refused: a part of the answer is a refusal.
	calls   int
	refused bool
}

// out is an item that is being streamed.
type out struct {
	kind  outKind
	id    string
	phase string
	// half is half a character that waits for the other half.
	half rune
	// said: text has been passed on.
	said, refused, done bool
	// call is the index of a call, and args its arguments so far.
	call int
	args []byte
}

// outKind is the kind of an item.
type outKind uint8

const (
	unseen outKind = iota
	aText
	aThought
	aCall
	another // nothing that a history has
)

func kindOf(t wire.Text) outKind {
	switch t {
	case "message":
		return aText
	case "reasoning":
		return aThought
	case "function_call":
		return aCall
	}
	return another
}

// play reads events until the last one of the response. Only that one makes it whole.
func (r *response) play() error {
	for {
		ev, err := r.Stream.Next()
		if err != nil {
			return err
		}
		over, err := r.take(ev)
		switch {
		case r.left:
			return nil
		case err != nil:
			return err
		case over:
			r.Stream.Drain()
			return nil
		}
	}
}

// take reads one event; over reports that it was the last one.
func (r *response) take(ev sse.Event) (over bool, err error) {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case len(data) == 0:
		return false, nil
	case ev.Name == wire.Failed:
		return false, r.Server.Failure(data)
	case bytes.HasPrefix(data, []byte("[DONE]")):
		return false, r.Stream.NoFinish("there was only [DONE]")
	}
	r.data = *bytes.NewBuffer(data)
	r.json.Reset(&r.data, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r.event = event{At: -1}
	e := &r.event
	if err := json.UnmarshalDecode(&r.json, e); err != nil {
		return false, r.misread(err, ev)
	}
	if r.json.InputOffset() != int64(len(data)) {
		return false, r.Server.Broken("an event has something behind its JSON", data)
	}
	if e.Type == unnamed {
		e.Type = happeningOf(ev.Name)
	}
	switch e.Type {
	case errored:
		return false, r.Server.Failure(data)
	case unnamed, ignored:
		if e.Error != nil {
			return false, r.Server.Shown(e.Error.Error(http.StatusOK))
		}
		return false, nil
	case completed, incomplete, failed:
		return true, r.end(e.Type, &e.Response.Is)
	}
	return false, r.part(e)
}

// part takes an event about one item.
func (r *response) part(e *event) error {
	at := int(e.At)
	if at < 0 && e.Type == itemAdded {
		at = len(r.outs)
	} else if at < 0 {
		at = len(r.outs) - 1
	}
	switch {
	case at < 0:
		return r.Server.Broken("an event is about no item of the output", []byte(e.Delta.Text))
	case at >= wire.MaxCalls:
		return r.Server.Broken("there are more than 1024 items of output", nil)
	}
	for len(r.outs) <= at {
		r.outs = append(r.outs, out{})
	}
	o := &r.outs[at]
	if o.done {
		return r.Server.Broken("an item goes on after its end", []byte(e.Delta.Text))
	}
	switch e.Type {
	case itemAdded:
		if o.kind != unseen { // a call would begin again and never end
			return r.Server.Broken("an item begins twice", nil)
		}
		return r.begin(o, &e.Item.Is)
	case itemDone:
		return r.itemDone(o, &e.Item.Is)
	case argsDelta, argsDone:
		if o.kind != aCall {
			return r.Server.Broken("there are arguments of no tool call", []byte(e.Delta.Text))
		}
		if e.Type == argsDone {
			return r.whole(o, e.Arguments.Text)
		}
		r.args(o, wire.Glue(&o.half, e.Delta))
	case summaryAdded:
		if o.said {
			r.send(message.Chunk{Kind: message.ChunkReasoning, Text: between})
		}
	case summaryDelta:
		o.kind, o.said = aThought, o.said || !e.Delta.Empty()
		r.say(message.ChunkReasoning, &o.half, e.Delta)
	default:
		o.kind, o.said = aText, o.said || !e.Delta.Empty()
		o.refused = o.refused || e.Type == refusalDelta
		r.say(message.ChunkText, &o.half, e.Delta)
	}
	return nil
}

// begin takes the begin of an item.
func (r *response) begin(o *out, is *item) error {
	o.kind, o.id, o.phase = kindOf(is.Type), string(is.ID), string(is.Phase)
	if o.kind != aCall {
		return nil
	}
	id := cmp.Or(string(is.CallID), string(is.ID))
	switch {
	case is.Name == "":
		return r.Server.Broken("a tool call has no name", nil)
	case len(id) > maxWord || len(is.Name) > maxWord:
		return r.Server.Broken("the id or the name of a tool call is longer than 1024 bytes", nil)
	}
	o.call = r.calls
	r.calls++
	r.sent += len(is.Name)
	r.send(message.Chunk{Kind: message.ChunkCallStart, Index: o.call, CallID: r.ids.Unique(id, r.Messages, o.call), Tool: string(is.Name)})
	r.mark(Mark{ID: o.id, Model: r.Model})
	r.args(o, is.Arguments.Text)
	return nil
}

// mark passes on what the wire has to know of the newest block.
func (r *response) mark(m Mark) {
	r.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(r.Vendor, m)})
}

func (r *response) args(o *out, text string) {
	if text != "" {
		o.args = append(o.args, text...)
		r.send(message.Chunk{Kind: message.ChunkCallArgs, Index: o.call, Text: text})
	}
}

// whole takes all arguments of a call, of which a part may have come. A call whose parts are
// not the whole must not run.
func (r *response) whole(o *out, text string) error {
	if text == "" && len(o.args) > 0 {
		return nil // a server that does not repeat them
	}
	rest, ok := strings.CutPrefix(text, string(o.args))
	if !ok {
		return r.Server.Broken("the arguments of a tool call differ from their parts", []byte(text))
	}
	r.args(o, rest)
	return nil
}

// itemDone takes a whole item: it passes on what did not come in parts, and ends the block.
func (r *response) itemDone(o *out, is *item) error {
	if o.kind == unseen {
		if err := r.begin(o, is); err != nil {
			return err
		}
	}
	if kind := kindOf(is.Type); is.Type != "" && kind != o.kind {
		return r.Server.Broken("an item ends as another kind than it began", []byte(is.Type))
	}
	o.done = true
	o.id, o.phase = cmp.Or(string(is.ID), o.id), cmp.Or(string(is.Phase), o.phase)
	switch o.kind {
	case aThought:
		r.thought(o, is)
	case aText:
		r.text(o, is)
	case aCall:
		if rest := wire.Half(o.half); rest != "" {
			r.args(o, rest)
		}
		if err := r.whole(o, is.Arguments.Text); err != nil {
			return err
		}
		if is.Status != "incomplete" { // else it must not run
			r.send(message.Chunk{Kind: message.ChunkCallEnd, Index: o.call})
		} else {
			o.done = false
		}
	}
	return nil
}

func (r *response) thought(o *out, is *item) {
	parts := is.thought()
	text := strings.Join(parts, between)
	if o.said {
		r.tail(message.ChunkReasoning, &o.half)
		text = ""
	}
	of := Mark{ID: o.id, Model: r.Model, Encrypted: string(is.Encrypted)}
	if len(parts) > 1 {
		of.Summary = parts
	}
	switch {
	case of.Encrypted == "":
		if text != "" {
			r.send(message.Chunk{Kind: message.ChunkReasoning, Text: text})
		}
	case o.said:
		r.mark(of)
	default:
		b := message.Block{Kind: message.BlockReasoning, Text: text, Meta: provider.Meta(r.Vendor, of)}
		r.send(message.Chunk{Kind: message.ChunkBlock, Block: &b})
	}
}

func (r *response) text(o *out, is *item) {
	text, refused := is.said()
	o.refused = o.refused || refused
	if o.said {
		r.tail(message.ChunkText, &o.half)
	} else if text != "" {
		o.said = true
		r.send(message.Chunk{Kind: message.ChunkText, Text: text})
	}
	r.refused = r.refused || o.refused
	if o.said {
		r.mark(Mark{ID: o.id, Model: r.Model, Phase: o.phase, Refusal: o.refused})
	}
}

// end takes the last event of the response.
func (r *response) end(how happening, is *wholeOut) error {
	if how == failed || is.Error != nil || is.Status == "failed" || is.Status == "cancelled" {
		if is.Error != nil {
			return r.Server.Shown(is.Error.Error(http.StatusOK))
		}
		return r.Server.Shown(&provider.ServerError{Status: http.StatusOK, Message: "the server gave up: " + cmp.Or(string(is.Status), "failed")})
	}
	finish := r.finish(how, is)
	cut := finish == message.FinishLength || finish == message.FinishFilter
	if err := r.rest(is, cut); err != nil {
		return err
	}
	switch {
	case cut:
	case r.refused:
		finish = message.FinishFilter
	case r.calls > 0 && finish == message.FinishStop:
		finish = message.FinishTools
	}
	u, counted := is.tokens()
	if !counted {
		u = wire.Estimate(r.Text, r.sent)
	}
	r.send(message.Chunk{Kind: message.ChunkFinish, Finish: finish, Usage: u})
	return nil
}

func (r *response) finish(how happening, is *wholeOut) message.FinishReason {
	if how == completed && is.Status != "incomplete" {
		return message.FinishStop
	}
	switch is.Incomplete.Is.Reason {
	case "max_output_tokens", "max_tokens":
		return message.FinishLength
	case "content_filter":
		return message.FinishFilter
	}
	return message.FinishOther
}

// rest takes the items that only the last event has, as some servers send them, and ends
// what is open. Only an answer that was cut may have an open call.
func (r *response) rest(is *wholeOut, cut bool) error {
	for i := range is.Output {
		if i < len(r.outs) && (r.outs[i].done || r.outs[i].kind == aCall && cut) {
			continue
		}
		for len(r.outs) <= i {
			r.outs = append(r.outs, out{})
		}
		if err := r.itemDone(&r.outs[i], &is.Output[i]); err != nil {
			return err
		}
	}
	for i := range r.outs {
		o := &r.outs[i]
		switch {
		case o.done || o.kind == unseen || o.kind == another:
		case o.kind == aCall && !cut:
			return r.Server.Broken("a tool call has no end", o.args)
		case o.kind == aThought:
			r.tail(message.ChunkReasoning, &o.half)
		case o.kind == aText:
			r.tail(message.ChunkText, &o.half)
			r.refused = r.refused || o.refused
		}
	}
	return nil
}
