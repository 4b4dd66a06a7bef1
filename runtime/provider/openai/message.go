package openai

import (
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

func (e *encoder) messages(req message.ModelRequest) {
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
	images := 0 // in the results since the last other message
	for i, m := range req.Messages.All() {
		switch m.Role {
		case message.RoleTool:
			begin("tool")
			images += e.result(m)
		case message.RoleAssistant:
			begin("assistant")
			e.assistant(m)
		default:
			begin("user")
			e.user(m.Content)
		}
		e.raw(`}`)
		if images > 0 && (i+1 == req.Messages.Len() || req.Messages.At(i+1).Role != message.RoleTool) {
			begin("user")
			e.resultImages(req.Messages, i)
			e.raw(`}`)
			images = 0
		}
	}
}

// user writes a single text as a string, because not every server reads lists.
func (e *encoder) user(content message.List[message.Block]) {
	if content.Len() == 1 && content.At(0).Kind == message.BlockText {
		e.string(content.At(0).Text)
		return
	}
	if !contains(content, isImage) {
		e.texts(content)
		return
	}
	e.raw(`[`)
	for i, b := range content.All() {
		if i > 0 {
			e.raw(`,`)
		}
		if isImage(b) {
			e.image(b)
			continue
		}
		e.part(plain(b))
	}
	e.raw(`]`)
}

func contains(content message.List[message.Block], is func(message.Block) bool) bool {
	for _, b := range content.All() {
		if is(b) {
			return true
		}
	}
	return false
}

// texts writes the text of all blocks as one string.
func (e *encoder) texts(content message.List[message.Block]) {
	e.raw(`"`)
	for _, b := range content.All() {
		if b.Kind == message.BlockReasoning || b.Kind == message.BlockToolCall {
			continue
		}
		e.inside(plain(b))
	}
	e.raw(`"`)
}

func (e *encoder) part(text string) {
	e.raw(`{"type":"text","text":`)
	e.string(text)
	e.raw(`}`)
}

func isImage(b message.Block) bool {
	return b.Kind == message.BlockImage && (b.Data != "" || b.URI != "")
}

func (e *encoder) image(b message.Block) {
	e.raw(`{"type":"image_url","image_url":{"url":`)
	if b.Data == "" {
		e.string(b.URI)
	} else {
		e.raw(`"data:`)
		e.inside(orElse(b.MIME, "image/png"))
		e.raw(`;base64,`)
		e.inside(b.Data)
		e.raw(`"`)
		e.media += len(b.Data)
	}
	e.raw(`}}`)
}

func plain(b message.Block) string {
	switch {
	case b.Kind == message.BlockJSON:
		return string(b.JSON)
	case b.Text == "":
		return b.URI
	}
	return b.Text
}

// assistant writes an answer. Empty content is an empty string, because not every server
// accepts null.
func (e *encoder) assistant(m message.Message) {
	e.texts(m.Content)
	if e.reasoningKey != "" {
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

func (e *encoder) reasoning(content message.List[message.Block]) {
	if !contains(content, func(b message.Block) bool { return b.Kind == message.BlockReasoning }) {
		return
	}
	e.raw(`,`)
	e.string(e.reasoningKey)
	e.raw(`:"`)
	for _, b := range content.All() {
		if b.Kind == message.BlockReasoning {
			e.inside(b.Text)
		}
	}
	e.raw(`"`)
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

// result writes a tool's result and returns its number of images. The protocol has no mark
// for a failure, so the text says it.
func (e *encoder) result(m message.Message) (images int) {
	for _, b := range m.Result.Content.All() {
		if isImage(b) && b.Data != "" {
			images++
		}
	}
	text := m.Result.Text()
	switch {
	case text == "" && images > 0:
		text = "[the image follows]"
	case text == "" && m.Result.IsError():
		text = "failed: " + string(m.Result.Failure)
	}
	e.string(text)
	e.raw(`,"tool_call_id":`)
	e.string(m.CallID)
	return images
}

// resultImages writes the images of the results that end at message i, in a user's message:
// results of this protocol have only text.
func (e *encoder) resultImages(ms message.Messages, i int) {
	from := i
	for from > 0 && ms.At(from-1).Role == message.RoleTool {
		from--
	}
	e.raw(`[`)
	for n := from; n <= i; n++ {
		for _, b := range ms.At(n).Result.Content.All() {
			if !isImage(b) || b.Data == "" {
				continue
			}
			if e.buf[len(e.buf)-1] != '[' {
				e.raw(`,`)
			}
			e.part("An image of the result of " + ms.At(n).CallID + ":")
			e.raw(`,`)
			e.image(b)
		}
	}
	e.raw(`]`)
}
