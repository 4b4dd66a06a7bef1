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

// article is what stands before the noun at the beginning of a sentence.
func article(k message.BlockKind) string {
	if noun(k) == "image" {
		return "An "
	}
	return "A "
}

// sendable reports whether a block is media that this wire takes. Media that exist only at
// an address which the wire cannot pass on are text: their address.
func (e *encoder) sendable(b *message.Block) bool {
	if !b.IsMedia() || b.Data == "" && b.URI == "" {
		return false
	}
	switch b.Kind {
	case message.BlockImage:
		return b.Data == "" || e.takesImage(b.MIME)
	case message.BlockDocument:
		return b.Data != "" || e.responses
	}
	return b.Data != "" && e.audioFormat(b) != ""
}

// takesImage reports whether an image of the media type can be sent. OpenAI refuses the whole
// request for another one, and with it all that follow; other servers may know more.
func (e *encoder) takesImage(mime string) bool {
	switch mime {
	case "", "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	form, ok := strings.CutPrefix(mime, "image/")
	return ok && !e.strict && message.ValidToolName(strings.NewReplacer("+", "", ".", "").Replace(form))
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
		fix := "use WAV or MP3 and a model for audio such as gpt-audio, or send a transcript"
		if b.Kind == message.BlockImage {
			fix = "use PNG, JPEG, GIF or WebP"
		}
		e.err = e.p.s.Refuse("the %s in the message (%.60q) cannot be sent to this model over the %s wire; %s",
			noun(b.Kind), cmp.Or(b.MIME, "of no media type"), e.wire(), fix)
	}
	return "[" + strings.ToLower(article(b.Kind)) + noun(b.Kind) + " was left out here, because this model does not take it]"
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
		e.part(article(h.block.Kind) + noun(h.block.Kind) + " of " + h.of + ":")
		e.raw(`,`)
		e.mediaPart(&h.block)
	}
	e.held = e.held[:0]
}
