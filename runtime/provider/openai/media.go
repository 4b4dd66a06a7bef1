package openai

import (
	"cmp"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// held is a block of media that its message cannot have on the wire: it follows in a
// message of the user.
type held struct {
	of    string // "the result of call_1", "the assistant"
	block message.Block
}

// noun names a kind of media for the model.
func noun(k message.BlockKind) string {
	switch k {
	case message.BlockDocument:
		return "document"
	case message.BlockAudio:
		return "recording"
	}
	return "image"
}

// sendable reports whether a block is media that this wire takes. Media that exist only at
// an address which the wire cannot pass on are text: their address.
func (e *encoder) sendable(b *message.Block) bool {
	if !b.IsMedia() || b.Data == "" && b.URI == "" {
		return false
	}
	switch b.Kind {
	case message.BlockImage:
		return true
	case message.BlockDocument:
		return b.Data != "" || e.responses
	}
	return b.Data != "" && e.audioFormat(b) != ""
}

// audioFormat is the wire's word for the form of a recording; "" if it takes none of it.
func (e *encoder) audioFormat(b *message.Block) string {
	if e.responses {
		return ""
	}
	switch _, form, _ := strings.Cut(strings.ToLower(b.MIME), "/"); form {
	case "wav", "x-wav", "wave", "vnd.wave":
		return "wav"
	case "mpeg", "mp3":
		return "mp3"
	default:
		if e.strict {
			return ""
		}
		return form // another server may know it
	}
}

// leftOut returns the text in the place of media that the wire does not take. From the
// person's newest message on that is an error: nobody would know otherwise. In older ones it
// is not, or a conversation could never go on with this model.
func (e *encoder) leftOut(b *message.Block) string {
	if e.newest && e.err == nil {
		e.err = e.p.s.Refuse("the %s in the message (%s) cannot be sent to this model over the %s wire; "+
			"use WAV or MP3 and a model for audio such as gpt-audio, or send a transcript", noun(b.Kind), cmp.Or(b.MIME, "of no media type"), e.wire())
	}
	return "[a " + noun(b.Kind) + " was left out here, because this model does not take it]"
}

func (e *encoder) wire() Wire {
	if e.responses {
		return WireResponses
	}
	return WireChat
}

// plain returns a block as text.
func (e *encoder) plain(b *message.Block) string {
	switch {
	case b.Kind == message.BlockJSON:
		return string(b.JSON)
	case b.IsMedia() && b.Data != "":
		return e.leftOut(b)
	case b.Text == "":
		return b.URI
	}
	return b.Text
}

// dataURL writes the data of media as a string.
func (e *encoder) dataURL(b *message.Block, mime string) {
	e.raw(`"data:`)
	e.inside(cmp.Or(b.MIME, mime))
	e.raw(`;base64,`)
	e.inside(b.Data)
	e.raw(`"`)
	e.media += len(b.Data)
}

// fileName is the name of a document, which the wires want.
func fileName(b *message.Block) string { return cmp.Or(b.Name, "document.pdf") }

// after writes a sentence that says what follows, and the media, for everything held.
func (e *encoder) after() {
	for i := range e.held {
		h := &e.held[i]
		if e.buf[len(e.buf)-1] != '[' {
			e.raw(`,`)
		}
		article := "A "
		if h.block.Kind == message.BlockImage {
			article = "An "
		}
		e.part(article + noun(h.block.Kind) + " of " + h.of + ":")
		e.raw(`,`)
		e.mediaPart(&h.block)
	}
	e.held = e.held[:0]
}
