package openai

import (
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
	"github.com/grapnel-go/grapnel/runtime/provider/openai/internal/answer"
)

func (e *encoder) messages(req *message.ModelRequest) {
	first := true
	begin := func(role string) {
		if !first {
			e.raw(`,`)
		}
		first = false
		e.raw(`{"role":"`)
		e.raw(role)
		e.raw(`","content":`)
	}
	if req.System != "" {
		begin("system")
		e.string(req.System)
		e.raw(`}`)
	}
	newest := newestInput(req.Messages)
	for i, m := range req.Messages.All() {
		e.newest = i >= newest && m.Role != message.RoleAssistant
		switch m.Role {
		case message.RoleTool:
			begin("tool")
			e.result(m)
		case message.RoleAssistant:
			begin("assistant")
			e.assistant(m)
		default:
			begin("user")
			e.user(m.Content)
		}
		e.raw(`}`)
		if len(e.held) > 0 && !resultFollows(req.Messages, i) {
			begin("user")
			e.raw(`[`)
			e.after()
			e.raw(`]}`)
		}
	}
}

// newestInput returns the index of the last message that a person wrote; -1 if there is
// none.
func newestInput(ms message.Messages) int {
	for i := ms.Len() - 1; i >= 0; i-- {
		if m := ms.At(i); m.Role == message.RoleUser && m.Label == "" {
			return i
		}
	}
	return -1
}

// resultFollows reports whether the message behind i is the result of a tool.
func resultFollows(ms message.Messages, i int) bool {
	return i+1 < ms.Len() && ms.At(i+1).Role == message.RoleTool
}

// user writes a single text as a string, because not every server reads lists.
func (e *encoder) user(content message.List[message.Block]) {
	if content.Len() == 1 && content.At(0).Kind == message.BlockText {
		e.string(content.At(0).Text)
		return
	}
	if !e.hasMedia(content) {
		e.texts(content)
		return
	}
	e.raw(`[`)
	e.parts(content)
	e.raw(`]`)
}

func (e *encoder) hasMedia(content message.List[message.Block]) bool {
	for _, b := range content.All() {
		if e.sendable(&b) {
			return true
		}
	}
	return false
}

// parts writes the blocks of a user's message.
func (e *encoder) parts(content message.List[message.Block]) {
	for i, b := range content.All() {
		if i > 0 {
			e.raw(`,`)
		}
		if e.sendable(&b) {
			e.mediaPart(&b)
			continue
		}
		e.part(e.plain(&b))
	}
}

// texts writes the text of all blocks as one string. Media of an answer are held back.
func (e *encoder) texts(content message.List[message.Block]) {
	e.raw(`"`)
	for _, b := range content.All() {
		switch {
		case b.Kind == message.BlockReasoning || b.Kind == message.BlockToolCall:
		case e.sendable(&b):
			e.held = append(e.held, held{"the assistant", b})
		default:
			e.inside(e.plain(&b))
		}
	}
	e.raw(`"`)
}

func (e *encoder) part(text string) {
	if e.responses {
		e.raw(`{"type":"input_text","text":`)
	} else {
		e.raw(`{"type":"text","text":`)
	}
	e.string(text)
	e.raw(`}`)
}

// mediaPart writes media that are sendable.
func (e *encoder) mediaPart(b *message.Block) {
	switch {
	case e.responses:
		e.mediaItem(b)
	case b.Kind == message.BlockDocument:
		e.raw(`{"type":"file","file":{"filename":`)
		e.string(fileName(b))
		e.raw(`,"file_data":`)
		e.dataURL(b, "application/pdf")
		e.raw(`}}`)
	case b.Kind == message.BlockAudio:
		e.raw(`{"type":"input_audio","input_audio":{"data":`)
		e.string(b.Data)
		e.media += len(b.Data)
		e.raw(`,"format":`)
		e.string(e.audioFormat(b))
		e.raw(`}}`)
	default:
		e.raw(`{"type":"image_url","image_url":{"url":`)
		e.imageURL(b)
		e.raw(`}}`)
	}
}

func (e *encoder) imageURL(b *message.Block) {
	if b.Data == "" {
		e.string(b.URI)
		return
	}
	e.dataURL(b, "image/png")
}

// assistant writes an answer. Empty content is an empty string, because not every server
// accepts null.
func (e *encoder) assistant(m message.Message) {
	e.texts(m.Content)
	if e.p.o.ReasoningKey != "" {
		e.reasoning(m.Content)
	}
	first := true
	for _, b := range m.Content.All() {
		if b.Kind != message.BlockToolCall {
			continue
		}
		if first {
			e.raw(`,"tool_calls":[{"id":`)
		} else {
			e.raw(`,{"id":`)
		}
		first = false
		e.string(b.CallID)
		e.raw(`,"type":"function","function":{"name":`)
		e.string(b.Tool)
		e.raw(`,"arguments":`)
		e.arguments(string(b.JSON))
		e.raw(`}}`)
	}
	if !first {
		e.raw(`]`)
	}
}

// reasoning writes the reasoning that came from this vendor. A model does not take that of
// another one for its own.
func (e *encoder) reasoning(content message.List[message.Block]) {
	first := true
	for _, b := range content.All() {
		var of answer.Mark
		if b.Kind != message.BlockReasoning || !provider.MetaFor(e.p.o.Vendor, b.Meta, &of) {
			continue
		}
		if first {
			e.raw(`,`)
			e.string(e.p.o.ReasoningKey)
			e.raw(`:"`)
		}
		first = false
		e.inside(b.Text)
	}
	if !first {
		e.raw(`"`)
	}
}

// arguments writes the arguments of an earlier call. Arguments that are not an object are
// wrapped in one, because servers that parse them would refuse the whole history.
func (e *encoder) arguments(args string) {
	e.text = append(e.text[:0], args...)
	switch {
	case args == "":
		e.raw(`"{}"`)
	case wire.IsObject(e.text):
		e.string(args)
	default:
		e.text = append(quote.Append(append(e.text[:0], `{"unparsed_arguments":`...), args), '}')
		e.string(string(e.text))
	}
}

// result writes a tool's result. The protocol has no mark for a failure, so the text says
// it; media are held back, because results of this protocol have only text.
func (e *encoder) result(m message.Message) {
	from := len(e.held)
	for _, b := range m.Result.Content.All() {
		if b.Data != "" && e.sendable(&b) {
			e.held = append(e.held, held{"the result of " + m.CallID, b})
		}
	}
	text := e.resultText(&m.Result)
	if text == "" && len(e.held) > from {
		text = "[the " + noun(e.held[from].block.Kind) + " follows]"
	}
	e.string(text)
	e.raw(`,"tool_call_id":`)
	e.string(m.CallID)
}

// resultText returns the text of a result, with a sentence for media that the wire does not
// take and for a failure without words.
func (e *encoder) resultText(r *message.ToolResult) string {
	text := r.Text()
	for _, b := range r.Content.All() {
		if b.IsMedia() && b.Data != "" && !e.sendable(&b) {
			if text != "" {
				text += "\n"
			}
			text += e.leftOut(&b)
		}
	}
	if text == "" && r.IsError() {
		return "failed: " + string(r.Failure)
	}
	return text
}
